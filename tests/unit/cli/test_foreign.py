"""Inputs that once cost minutes or gigabytes: judged or refused within seconds, by the command itself."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.fuzz.hostile import BUNDLES, RECORDING, answers, many_packages

from tunecheck.errors import TunecheckError
from tunecheck.facts.kernel.boot import boot
from tunecheck.facts.nvidia.packages import Packages
from tunecheck.facts.snapshot import gather
from tunecheck.facts.snapshot_file import Stored, packed, unpack
from tunecheck.host.bundle import pack
from tunecheck.host.foreign import Limit
from tunecheck.model.absence import Absence
from tunecheck.parsers.packages.packages import Package
from tunecheck.parsers.text.bounds import json_of, name_of
from tunecheck.parsers.text.damage import Damage, DamagedError
from tunecheck.spec.frozen import load_frozen
from tunecheck_fleet.apart import Judge
from tunecheck_fleet.model import Answer


@pytest.fixture(scope="module")
def document() -> str:
    return packed(Stored(gather(answers().host(), None, True), None), 1790000000.0).decode()


#: A process of its own, for what other tests' processes cost is counted in this one.
_MEASURED = """
import json, resource, sys
from click.testing import CliRunner
from tunecheck.cli.main import cli
from tunecheck.errors import TunecheckError
result, error = (found := CliRunner().invoke(cli, sys.argv[1:])), found.exception
cost = resource.getrusage(resource.RUSAGE_CHILDREN)
usual = error is None or isinstance(error, (SystemExit, TunecheckError))
flaw = getattr(getattr(error, "flaw", None), "name", "")
print(json.dumps([usual, flaw, result.output + str(error), cost.ru_utime + cost.ru_stime, cost.ru_maxrss]))
"""


def outcome(path: Path, *more: str, verb: str = "preflight") -> tuple[str, str]:
    """Why the command refused the file, as a code, and what it said, on either stream. It is no traceback and cost no
    more than 5 s and 300 MiB."""
    done = subprocess.run([sys.executable, "-c", _MEASURED, verb, "--from", str(path), *more], capture_output=True,
                          text=True, timeout=120, check=True)
    usual, flaw, said, seconds, most = json.loads(done.stdout)
    assert usual, said
    assert seconds < 6
    assert most < 300 << 10
    return flaw, str(said)


@pytest.mark.parametrize(("name", "code", "names"), [
    ("old-format", Damage.TOO_LARGE, "32 MiB"), ("old-format-small", Damage.TOO_MANY, "600000"),
    ("fake-gpus", None, "2000 accelerators"), ("submenus", None, " 16"), ("blank-lines", None, "/boot/grub/grub.cfg")])
def test_a_bundle_costs_seconds(tmp_path: Path, name: str, code: Damage | None, names: str) -> None:
    """Refused, or judged with the fact that is too much as unknown."""
    path = tmp_path / "x"
    path.write_bytes(BUNDLES[name]())
    flaw, said = outcome(path, "-v")
    assert flaw == (code.name if code else "") and names in said


def test_sixty_thousand_devices_cost_seconds(tmp_path: Path) -> None:
    path = tmp_path / "lspci.txt"
    board = ("VGA compatible controller [0300]: NVIDIA Corporation Device [10de:2bb5] (rev a1)\n\tCapabilities: [78] "
             "Express (v2) Legacy Endpoint, MSI 00\n\t\tLnkSta:\tSpeed 32GT/s, Width x16\n\n")
    path.write_text("".join(f"{number >> 16:04x}:{number >> 8 & 255:02x}:{number >> 3 & 31:02x}.{number & 7} {board}"
                            for number in range(60_000)))
    flaw, said = outcome(path, verb="topo")
    assert flaw in Limit.__members__ or "4096" in said, said[:2000]


def test_twenty_thousand_packages_and_patterns(tmp_path: Path, document: str) -> None:
    path = tmp_path / "s.json"
    path.write_bytes(many_packages(json.loads(document)))
    assert outcome(path)[0] == Damage.TOO_MANY.name
    path.write_bytes(many_packages(json.loads(document), 200))      # as many as there may be: judged
    assert outcome(path)[0] == ""


def test_holds_are_looked_up_in_linear_time() -> None:
    """20,000 names against 20,000 patterns took hours; also where a caller passes the limits by."""
    from tunecheck.model.fact import known

    many = tuple(Package(f"nvidia-driver-{number}", "595.71.05-1", False) for number in range(20_000))
    found = Packages("dpkg", known(many, ""), (("nvidia-driver-1* libnvidia-*", "version 595*", 1001),), True,
                     (*(f"linux-{number}" for number in range(20_000)), "nvidia-driver-77$", "nvidia-driver-19.*"),
                     known((), ""))
    begun = time.process_time()
    assert sum(found.left_alone(each) for each in many) == 1112
    assert sum(found.pinned(each) for each in many) == 11_111
    assert time.process_time() - begun < 3


@pytest.mark.parametrize(("place", "value", "damage", "shown"), [
    (("hostname", "value"), "gpu7;curl evil", Damage.BAD_NAME, "host"),
    (("hostname", "value"), "a\nb", Damage.BAD_NAME, "host"),
    (("host", "kernel", "release", "value"), "6.8.0 $(reboot)", Damage.BAD_NAME, "kernel"),
    (("host", "packages", "installed"), {"value": [{"name": "nvidia-driver;id", "version": "1", "held": False}],
                                         "source": ""}, Damage.BAD_NAME, "package"),
    (("topology", "names"), ["a\x1b[2J", "b"], Damage.BAD_NAME, "GPU"),
    (("topology", "names"), ["a"] * 20_000, Damage.TOO_MANY, "20000"),
])
def test_names_that_are_none_are_no_snapshot(document: str, place: tuple[str, ...], value: object, damage: Damage,
                                             shown: str) -> None:
    found = json.loads(document)
    at = found["snapshot"]
    for key in place[:-1]:
        at = at[key]
    at[place[-1]] = value
    with pytest.raises(DamagedError, match=rf"\b{shown}\b") as refused:
        unpack(json.dumps(found).encode())
    assert refused.value.damage is damage


def test_what_is_read_with_such_a_name_is_unknown_and_stays_readable(document: str) -> None:
    """The reader keeps to the limits of the decoder: a snapshot that tunecheck writes it also reads."""
    found = answers()
    found.reads["/proc/sys/kernel/hostname"] = b"gpu7;curl evil\n"
    snapshot = gather(found.host(), None, True)
    assert not snapshot.hostname.known and snapshot.hostname.absence is Absence.NOT_UNDERSTOOD
    assert unpack(packed(Stored(snapshot, None))).snapshot == snapshot


def test_a_gpu_listed_twice_with_html(tmp_path: Path, document: str) -> None:
    found = json.loads(document)
    for part, name in (("accelerators", "value"), ("names", None)):
        at = found["snapshot"]["topology"][part]
        listed = at[name] if name else at
        listed[1:] = listed[:1]
    path = tmp_path / "s.json"
    path.write_text(json.dumps(found))
    assert outcome(path, "--html", str(tmp_path / "r.html"))[0] == Damage.TWICE.name
    twice = answers()
    twice.lists["/sys/bus/pci/devices"] *= 2
    (tmp_path / "b").write_bytes(pack(twice, created=0))
    outcome(tmp_path / "b", "--html", str(tmp_path / "r.html"))
    assert (tmp_path / "r.html").exists()


def test_a_log_that_fails_without_a_word() -> None:
    from tunecheck.facts.kernel.kernel import kernel
    from tunecheck.host import Completed
    from tunecheck.host.prefetch import DMESG

    found = answers()
    found.runs[DMESG] = Completed(DMESG, 1, "", " \n")
    assert kernel(found.host()).log.reason is not None


def test_a_spec_that_is_nested_deeply() -> None:
    deep = "[" * 900 + "]" * 900
    inside = '{"schema": "tunecheck/spec/1", "host": "x", "profile": "", "sources": {}, "spec": {"accelerators": '
    for text in ("[" * 100_000, inside + deep + "}}", inside + '{"pci_ids": ' + deep + "}}}"):
        with pytest.raises(TunecheckError):
            load_frozen(text.encode())


def test_one_answer_of_a_fleet_spoils_its_own_row(document: str) -> None:
    good, bad = document.encode(), many_packages(json.loads(document))
    with Judge({}, b"k" * 32) as judge:
        rows = [judge.seen(Answer(f"gpu{number}", "g", "ok", content)) for number, content in
                enumerate((good, bad, b"[" * 100_000, good))]
        assert [row.status for row in rows] == ["partial", "garbled", "garbled", "partial"] or [
            row.status for row in rows] == ["ok", "garbled", "garbled", "ok"]
        from tunecheck_fleet.read import seen

        direct = seen(Answer("gpu0", "g", "ok", good), None, b"k" * 32)
        assert direct == rows[0]


def test_a_box_that_judges_itself_is_never_clean(document: str) -> None:
    with Judge({}, None, pushed=True) as judge:
        found = judge.seen(Answer("gpu1", "g", "ok", document.encode()))
    assert found.outcomes["spec"] == "unknown"
    assert (found.problems[0].check, found.problems[0].code) == ("spec-present", "sent-spec")


def test_values_are_counted_before_they_are_made() -> None:
    begun = time.process_time()
    for piece in (b"[],", b"{},", b"1,"):
        text = b"[" + piece * 2_000_000 + b"1]"
        with pytest.raises(DamagedError) as refused:
            json_of(text, 8 << 20)
        assert refused.value.damage is Damage.TOO_MANY
    assert time.process_time() - begun < 5
    assert json_of(b'["a,b"]', 100) == ["a,b"]
    assert name_of("package", "libc6:amd64") == "libc6:amd64"


def test_the_recording_of_a_real_machine_is_judged(tmp_path: Path) -> None:
    assert outcome(RECORDING)[0] == ""
    assert boot(answers().host(), "6.8.0").staged is not None
