"""What the texts of nvidia-smi show of several GPUs, without the PCI tree: a fault in them is never a pass."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.imports.smi_texts import HEAD, row, table
from tests.unit.imports.test_smi_faults import FINE

from tunecheck.app.draft import drafted
from tunecheck.facts.snapshot import gather
from tunecheck.host.imported.machine import load_import
from tunecheck.model.finding import Finding
from tunecheck.parsers.nvidia.fabric_health import of_mask, of_report
from tunecheck.rules import judge
from tunecheck.rules.context import Case

_MODE = "        Current                           : {0}\n        Pending                           : {0}\n    GPU UUID"
_CUT = FINE.replace(_MODE.format("Disabled"), _MODE.format("Enabled"))
LISTED = "".join(
    f"GPU {number}: NVIDIA H200 (UUID: GPU-{number}1111111-2222-3333-4444-555555555555)\n" for number in (0, 1)
)


def told(path: Path, *texts: str, verb: str = "preflight") -> list[Finding]:
    for number, text in enumerate(texts):
        (path / f"{number}.txt").write_text(text)
    found: list[Finding] = judge(Case(gather(load_import(str(path)), None, verb != "topo")), verb)
    return found


def judged(path: Path, check: str, *texts: str) -> list[tuple[str, str]]:
    return sorted((each.outcome, each.code) for each in told(path, *texts) if each.id == check)


def of(*gpus: str, count: int = 0) -> str:
    """A report of these GPUs, each at a bus of its own."""
    return HEAD.format(count=count or len(gpus)) + "\n".join(
        gpu.replace("00000000:06", f"00000000:{6 + place:02x}").replace("555506", f"55550{6 + place}")
        for place, gpu in enumerate(gpus)
    )


MIG = {
    "one of four by -q": ((of(FINE, FINE, _CUT, FINE),), ["fail", "pass"]),
    "all by -q": ((of(_CUT, _CUT),), ["fail"]),
    "the only GPU": ((of(_CUT),), ["pass"]),
    "more are attached than shown": ((of(_CUT, count=4),), ["fail", "unknown"]),
    "how many are attached is cut off": ((of(_CUT).replace("Attached GPUs", "Attached"),), ["unknown", "unknown"]),
    "a list of two": ((of(_CUT), LISTED), ["fail"]),
    "one of two by the table": ((table(row(), row(bus="07", index=1, mig="Enabled")),), ["fail", "pass"]),
    "the table's only row": ((table(row(mig="Enabled")),), ["pass"]),
}


@pytest.mark.parametrize("name", MIG)
def test_mig_beside_gpus_of_any_source(tmp_path: Path, name: str) -> None:
    texts, outcomes = MIG[name]
    assert [outcome for outcome, _ in judged(tmp_path, "gpu-mig", *texts)] == outcomes


HEALTH = {
    "Summary": ("Healthy", "Limited Capacity"),
    "Bandwidth": ("Full", "Degraded"),
    "Route Recovery in progress": ("False", "True"),
    "Route Unhealthy": ("False", "True"),
    "Access Timeout Recovery": ("False", "True"),
    "Incorrect Configuration": ("None", "Insufficient NVLinks"),
    "Partition Assigned": ("True", "False"),
    "GFM State": ("Connected", "Disconnected"),
}


def joined(state: str = "Completed", status: str = "Success", without: str = "", **health: str) -> str:
    told = {name: health.get(name.replace(" ", "_"), sound) for name, (sound, _) in HEALTH.items() if name != without}
    words = "".join(f"            {name:<34}: {word}\n" for name, word in told.items())
    return FINE.replace(
        "        State                             : N/A\n",
        f"        State : {state}\n        Status : {status}\n        Health\n{words}",
    )


def test_a_sound_fabric_passes(tmp_path: Path) -> None:
    assert judged(tmp_path, "fabric-state", of(joined(), joined())) == [("pass", "ok")]
    assert judged(tmp_path, "fabric-manager", of(joined(), joined())) == [("pass", "ok")]


@pytest.mark.parametrize("status", ["Unknown Error", "Insufficient Resources", "Timeout", "GPU is lost", "In Use"])
def test_joined_with_an_error_is_not_joined(tmp_path: Path, status: str) -> None:
    text = of(joined(), joined(status=status))
    assert judged(tmp_path, "fabric-state", text) == [("fail", "not-joined")]
    assert "pass" not in {outcome for outcome, _ in judged(tmp_path, "fabric-manager", text)}


@pytest.mark.parametrize("name", HEALTH)
def test_each_word_of_the_fabrics_health(tmp_path: Path, name: str) -> None:
    key = name.replace(" ", "_")
    assert judged(tmp_path, "fabric-state", of(joined(), joined(**{key: HEALTH[name][1]}))) == [("fail", "unhealthy")]
    if name != "Incorrect Configuration":  # any word of it is a fault
        assert judged(tmp_path, "fabric-state", of(joined(), joined(**{key: "Perhaps"}))) == [
            ("unknown", "health-unknown")
        ]
    assert judged(tmp_path, "fabric-state", of(joined(), joined(**{key: "[Unknown Error]"}))) == [
        ("unknown", "health-unknown")
    ]
    if name not in ("Partition Assigned", "GFM State"):  # since which driver they are there is not known
        assert judged(tmp_path, "fabric-state", of(joined(), joined(without=name))) == [("unknown", "health-unknown")]


def test_the_health_of_an_earlier_driver_and_of_none(tmp_path: Path) -> None:
    gone = of(joined().partition("        Health")[0] + "    Processes : None\n")
    assert judged(tmp_path, "fabric-state", gone) == [("unknown", "health-unknown")]
    assert judged(tmp_path, "fabric-state", gone.replace("595.71.05", "535.54.03")) == [("pass", "ok")]
    assert judged(tmp_path, "fabric-state", of(joined()).replace("Status : Success\n", "\n")) == [
        ("unknown", "health-unknown")
    ]


def test_nvmls_numbers_say_the_same_as_the_report() -> None:
    sound = 2 | 2 << 2 | 2 << 4 | 2 << 6 | 1 << 8 | 1 << 12 | 1 << 14
    assert (of_mask(0, 0), of_mask(sound, 1), of_mask(2, 0)) == (None, [], [])
    wrong = {
        (1, 3): "Bandwidth",
        (1 << 2, 3 << 2): "Route Recovery in progress",
        (1 << 4, 3 << 4): "Route Unhealthy",
        (1 << 6, 3 << 6): "Access Timeout Recovery",
        (5 << 8, 15 << 8): "Incorrect Configuration",
        (2 << 12, 3 << 12): "Partition Assigned",
        (2 << 14, 3 << 14): "GFM State",
    }
    for (bits, field), name in wrong.items():
        told = of_report({"fabric/health/" + name.lower().replace(" ", "_"): HEALTH[name][1]}, "")
        found = of_mask(sound & ~field | bits, 1)
        assert found and told and [each.lower() for each in found] == [each.lower() for each in told]
    assert of_mask(sound, 2) == ["unhealthy"] and of_mask(sound, 3) == ["limited capacity"]


def relations(*words: str, gpus: int) -> str:
    """A table of `nvidia-smi topo -m`; words: of the pairs 0-1, 0-2, ..., or one for all of them."""
    pairs = [(a, b) for a in range(gpus) for b in range(a + 1, gpus)]
    known = dict(zip(pairs, words if len(words) > 1 else words * len(pairs), strict=True))
    head = "".join(f"\tGPU{number}" for number in range(gpus)) + "\tCPU Affinity\n"
    return head + "".join(f"GPU{a}\t" + "\t".join(" X " if a == b else known[min(a, b), max(a, b)] for b in range(gpus))
                          + "\t0-31\n" for a in range(gpus))


def links_of(gpus: int, other: int, word: str, most: str = "NV18") -> str:
    """The table of GPUs that are joined by NV18, but GPU number ``other``."""
    return relations(*(word if other in (a, b) else most for a in range(gpus) for b in range(a + 1, gpus)), gpus=gpus)


def named(name: str, gpus: int) -> str:
    return table(*(row(index=number, bus=f"{6 + number:02x}", name=name) for number in range(gpus)))


LINKS = {
    "one of eight B200 without": ((named("NVIDIA B200", 8), links_of(8, 3, "NODE")), ["nvlink-lost"]),
    "all of eight B200 without": ((named("NVIDIA B200", 8), relations("NODE", gpus=8)), ["nvlink-lost"]),
    "two H200 without": ((named("NVIDIA H200", 2), relations("SYS", gpus=2)), ["nvlink-lost"]),
    "one of eight without, no names": ((links_of(8, 3, "SYS"),), ["nvlink-lost"]),
    "one pair without": ((relations(*("NV18",) * 5, "NODE", gpus=4),), ["nvlink-lost"]),
    "one has fewer": ((links_of(8, 3, "NV15"),), ["fewer-links"]),
    "all of eight B200 have fewer": ((named("NVIDIA B200", 8), relations("NV17", gpus=8)), ["fewer-links"]),
    "all have the same": ((named("NVIDIA B200", 8), relations("NV18", gpus=8)), []),
    "H200 NVL in bridged pairs": ((named("NVIDIA H200 NVL", 4), relations(
        "NV18", "NODE", "NODE", "NODE", "NODE", "NV18", gpus=4)), []),
    "a mesh without switches": ((relations("NV1", "NV1", "NV2", "NV2", "NV1", "NV1", gpus=4),), []),
    "two H200 have fewer": ((named("NVIDIA H200", 2), relations("NV12", gpus=2)), ["fewer-links"]),
    "four H200 have fewer": ((named("NVIDIA H200", 4), relations("NV12", gpus=4)), ["fewer-links"]),
    "two H200 have all": ((named("NVIDIA H200", 2), relations("NV18", gpus=2)), []),
    "four H200 without switches": ((named("NVIDIA H200", 4), relations("NV6", gpus=4)), []),
    "two of four H200 without switches": ((named("NVIDIA H200", 2), relations("NV6", gpus=2)), []),
    "two boards of which it is not known": ((named("NVIDIA H100", 2), relations("NV12", gpus=2)), []),
    "H200 NVL joined by a bridge": ((named("NVIDIA H200 NVL", 2), relations("NV12", gpus=2)), []),
    "boards without NVLink": ((relations("NODE", gpus=4),), []),
}


@pytest.mark.parametrize("verb", ["topo", "preflight"])
@pytest.mark.parametrize("name", LINKS)
def test_nvlinks_of_the_drivers_table(tmp_path: Path, name: str, verb: str) -> None:
    texts, codes = LINKS[name]
    found = told(tmp_path, *texts, verb=verb)
    assert [each.code for each in found if each.id == "fabric-state" and each.outcome == "fail"] == codes
    assert "nvlink-lost" not in codes or not [each for each in found if each.id == "topo-relation"
                                              and each.outcome != "skip"]
    assert not [each for each in found if each.id in ("fabric-state", "fabric-manager") and each.outcome == "pass"]


@pytest.mark.parametrize(("words", "gpus", "odd"), [
    (("NV18",) * 27 + ("NV17",), 8, ["GPU6-GPU7"]), (("NV17", *("NV18",) * 26, "NV16"), 8, ["GPU0-GPU1, GPU6-GPU7"]),
    (("NV8",) * 27 + ("NV7",), 8, ["GPU6-GPU7"]), (("NV4",) * 5 + ("NV3",), 4, ["GPU2-GPU3"]),
    (("NV18", "NV18", "NV17"), 3, ["GPU1-GPU2"]), (("NV2", "NV2", "NV1"), 3, []),
    (("NV1", "NV2", "NV2", "NV1", "NV2", "NV1"), 4, []), (("NV4",) * 5 + ("NODE",), 4, [])])
def test_a_pair_with_fewer_links_than_the_others(tmp_path: Path, words: tuple[str, ...], gpus: int,
                                                 odd: list[str]) -> None:
    for verb in ("topo", "preflight"):
        found = [each for each in told(tmp_path, relations(*words, gpus=gpus), verb=verb) if each.id == "fabric-state"]
        assert [each.subject for each in found if each.code == "odd-pair" and each.outcome == "warn"] == odd
        assert not [each for each in found if each.outcome in ("fail", "pass")]


def test_inactive_links_of_nvlink_s(tmp_path: Path) -> None:
    links = "".join(f"\t Link {number}: 53.125 GB/s\n" for number in range(18))
    first, second = LISTED.splitlines()
    text = f"{first}\n{links}{second}\n{links}"
    assert ("fail", "links-down") not in judged(tmp_path, "fabric-state", text)
    found = told(tmp_path, text.replace("Link 17: 53.125 GB/s", "Link 17: <inactive>"))
    assert [each.subject for each in found if each.code == "links-down"] == ["GPU0", "GPU1"]


def _links(up: int, whole: int = 18, gpus: int = 2) -> str:
    return "".join(f"GPU {gpu}: NVIDIA H200 (UUID: GPU-{gpu}1111111-2222-3333-4444-555555555555)\n" + "".join(
        f"\t Link {number}: {'53.125 GB/s' if number < up else '<inactive>'}\n" for number in range(whole))
        for gpu in range(gpus))


@pytest.mark.parametrize(("word", "up", "whole", "code"), [
    ("NV12", 18, 18, "links-disagree"), ("NV12", 12, 18, "links-down"), ("NV12", 12, 12, "fewer-links"),
    ("NV18", 18, 18, ""), ("NV6", 18, 18, "")])
@pytest.mark.parametrize("gpus", [2, 4])
def test_links_by_both_texts_are_one_finding(tmp_path: Path, word: str, up: int, whole: int, code: str, gpus: int
                                             ) -> None:
    """What the table and `nvidia-smi nvlink -s` tell fits: a mesh of four has fewer links a pair than are up."""
    found = told(tmp_path, named("NVIDIA H200", gpus), relations(word, gpus=gpus), _links(up, whole, gpus))
    assert {each.code for each in found if each.id == "fabric-state" and each.outcome in ("fail", "warn")} == {
        *[code] * bool(code)}
    assert all(each.remedy and "nvidia-smi nvlink -s" in each.remedy.text for each in found
               if each.code == code and code)


def test_a_board_of_nvswitches_is_not_said_to_have_none(tmp_path: Path) -> None:
    assert judged(tmp_path, "fabric-state", named("NVIDIA B200", 8)) == [("unknown", "need-unknown")]
    assert judged(tmp_path, "fabric-modules", named("NVIDIA B200", 8)) == [("unknown", "unread")]
    up = of(joined(), joined()).replace("0x2BB510DE", "0x290110DE")
    assert judged(tmp_path, "fabric-modules", up) == [("pass", "joined")]
    assert judged(tmp_path, "fabric-state", named("NVIDIA GeForce RTX 5090", 2)) == [("skip", "no-nvswitch")]


def replays(count: int, rollovers: int | None) -> str:
    line = "" if rollovers is None else f"        Replay Number Rollovers : {rollovers}\n"
    return FINE.replace("        Replays Since Reset               : 3\n"
                        "        Replay Number Rollovers           : 0\n",
                        f"        Replays Since Reset               : {count}\n{line}")


@pytest.mark.parametrize(("one", "other", "found"), [
    ((48211, 3), (0, 0), ("warn", "replayed")), ((48211, 0), (2, 0), ("warn", "replayed")),
    ((2, 1), (0, 0), ("warn", "replayed")), ((7, None), (0, 0), ("unknown", "tree-unread")),
    ((7, 0), (0, 0), ("unknown", "tree-unread")), ((1200, 0), (1100, 0), ("unknown", "tree-unread"))])
def test_replays_that_nvidia_smi_counts(tmp_path: Path, one: tuple[int, int | None], other: tuple[int, int],
                                        found: tuple[str, str]) -> None:
    assert judged(tmp_path, "link-errors", of(replays(*one), replays(*other))) == [found]


def test_a_whole_report_is_not_asked_for_again(tmp_path: Path) -> None:
    line = "        Unrepairable Memory               : No\n"
    assert line in FINE
    (found,) = [each for each in told(tmp_path, of(FINE.replace(line, ""))) if each.id == "gpu-ecc"]
    assert found.outcome == "unknown" and "nvidia-smi -q" not in found.text
    cut = of(FINE.replace(line, ""), count=2)
    assert any(": nvidia-smi -q" in each.text for each in told(tmp_path, cut) if each.id == "gpu-ecc")
    for driver, outcome in (("580.95.05", "pass"), ("580.119.02", "pass"), ("580.159.04", "unknown")):
        text = of(FINE.replace(line, "")).replace("595.71.05", driver)
        assert [one for one, _ in judged(tmp_path, "gpu-ecc", text)] == [outcome]
    fabric = of(FINE.replace("    Fabric\n        State                             : N/A\n", "").replace(
        "RTX PRO 6000 Blackwell Server Edition", "B200").replace("0x2BB510DE", "0x290110DE"))
    for check in ("fabric-state", "fabric-manager"):
        assert not [each for each in told(tmp_path, fabric) if each.id == check and ": nvidia-smi -q" in each.text]
        assert judged(tmp_path, check, fabric) == [("unknown", "need-unknown")]


_NONE = "|  No running processes found  |\n+------+\n"
_ROWS = "|    0   N/A  N/A            4711      C   python3                                  1000MiB |\n+------+\n"


@pytest.mark.parametrize(("below", "busy", "found"), [
    (_NONE, {"draw": "80W"}, ("warn", "stuck-or-wedged")), (_NONE, {"draw": "598W"}, ("unknown", "processes-hidden")),
    (_ROWS, {"draw": "598W"}, ("pass", "busy-with-process")), ("", {"draw": "598W"}, ("unknown", "unread")),
    (_ROWS.replace("+------+\n", ""), {"draw": "598W"}, ("unknown", "unread"))])
def test_the_tables_own_list_of_processes(tmp_path: Path, below: str, busy: dict[str, str],
                                          found: tuple[str, str]) -> None:
    assert judged(tmp_path, "gpu-ghost", table(row(busy="100%", **busy)) + below) == [found]


def test_what_a_table_shows_of_heat_power_and_fans(tmp_path: Path) -> None:
    assert judged(tmp_path, "gpu-temperature", table(row(heat="93C"))) == [("warn", "hot")]
    assert judged(tmp_path, "gpu-temperature", table(row(heat="70C"))) == [("unknown", "unread")]
    long = "NVIDIA RTX PRO 6000 Bl..."
    low = table(row(name=long, limit="600W"), row(name=long, limit="300W", index=1, bus="07"))
    assert ("warn", "below-others") in judged(tmp_path, "gpu-power-limit", low)
    other = table(row(name=long, limit="600W"), row(name="NVIDIA RTX 4000", limit="300W", index=1, bus="07"))
    assert "below-others" not in {code for _, code in judged(tmp_path, "gpu-power-limit", other)}
    assert judged(tmp_path, "nvml-answers", table(row(), row(fan="ERR!", index=1, bus="07"))) == [
        ("warn", "value-refused")]


def test_mixed_models_are_named_with_their_counts(tmp_path: Path) -> None:
    long = "NVIDIA RTX PRO 6000 Bl..."
    text = table(row(name=long), row(name="NVIDIA H200", index=1, bus="07"), row(name=long, index=2, bus="08"))
    (found,) = [each for each in told(tmp_path, text) if each.id == "nvml-answers"]
    assert "2 x NVIDIA RTX PRO 6000 Bl..." in found.text and "1 x NVIDIA H200" in found.text
    lines = drafted(gather(load_import(str(tmp_path)), None, True)).observations
    assert any("2 x NVIDIA RTX PRO 6000 Bl..." in line and "1 x NVIDIA H200" in line for line in lines)


@pytest.mark.parametrize(("lines", "observed", "numbers"), [
    ("\t Link 1: Replay Errors: 1233\n\t Link 1: Recovery Errors: 0\n\t Link 1: CRC Errors: 99281\n", "2 counters",
     ("1233", "99281")),
    ("\t Link 0: Symbol Errors: 2\n\t Link 0: Link recovery failed events: 3\n\t Link 0: FEC Errors - 0: 9999\n",
     "1 counters", ("3",)),
    ("\t Link 0: CRC Errors: 0\n", "", ()), ("", None, ()), ("\t Link 0: 26.562 GB/s\n", None, ())])
def test_the_counters_of_nvlinks_are_judged(tmp_path: Path, lines: str, observed: str | None,
                                            numbers: tuple[str, ...]) -> None:
    """None: the text has none."""
    (tmp_path / "a").write_text("GPU 0: NVIDIA H100 (UUID: GPU-1f4c1c7a-26f3-7c0b-8a63-111111111111)\n" + lines)
    kinds = [kind for kind in load_import(str(tmp_path / "a")).origins if "nvlink -e" in kind]
    assert bool(kinds) == (observed is not None)
    assert ("GPU0 link 0: 2 Symbol Errors" in "".join(kinds)) == ("Symbol" in lines), "what is not judged is named"
    found = [each for each in told(tmp_path, (tmp_path / "a").read_text()) if each.code == "links-count-errors"]
    assert [each.observed for each in found] == ([observed] if observed else [])
    assert all(number in each.text for each in found for number in numbers)
    assert {each.outcome for each in found} <= {"warn"}
