"""One thing that happened is said, counted, approved and waived as one, whatever was audited since."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.unit.cli.carried import Fleet, box, naming, one_line

from tunecheck.errors import Misuse

_WHY = ("--until", "30d", "--reason", "board is being replaced")


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    """Two audits: in the second gpu1 has lost a GPU."""
    fleet = Fleet(tmp_path)
    for number in (1, 2):
        fleet.put(number)
    assert fleet.audit()[0] == 0
    fleet.put(1, gpus=1)
    assert "gpu.count" in fleet.audit()[1]
    return fleet


def _causes(text: str) -> list[str]:
    """The lines of what counts: with -v the facts of an entry stand below it, and count with it."""
    return [line for line in text.splitlines()
            if line.startswith(("HIGH", "MEDIUM", "LOW")) and "; part of " not in line]


def _of(text: str, fact: str) -> str:
    found = re.search(rf"(?m)^\S+ .*{re.escape(fact)}.*; id ([0-9a-f]{{8}})", text)
    assert found, text
    return found[1]


def _covered(line: str) -> set[str]:
    """What a decision's line names."""
    parts = [part.removeprefix("covers also ").removeprefix("covers ") for part in one_line(line).split("; ")
             if part.startswith("covers ")]
    return {re.sub(r" \(audit #\d+\)$", "", each) for part in parts for each in part.split(", ")}


@pytest.mark.parametrize("by", ["fact", "id"])
def test_a_waiver_names_all_that_it_covers(fleet: Fleet, by: str) -> None:
    """When it is made, in the list, and in the report: there is nothing waived that none of them names."""
    told = fleet.run("fleet")[1]
    code, made, err = fleet.run("waive", *(("gpu.count", "--host", "gpu1") if by == "fact" else
                                           (_of(told, "gpu.count"),)), *_WHY)
    assert code == 0, err
    document = json.loads(fleet.run("fleet", "--json")[1])
    waived = {cause["fact"] for cause in document["causes"] if cause["waived"]}
    listed = fleet.run("waive", "--list")[1]
    for text in (made.splitlines()[0], listed.splitlines()[0]):
        assert {name.partition(" ")[0] for name in _covered(text)} == waived and len(waived) > 5
    entry, = (each for each in document["entries"] if each["kind"] == "waived")
    assert f"covers also {len(entry['more'])} findings" in one_line(fleet.run("fleet")[1])


@pytest.mark.parametrize("verb", ["acknowledge", "approve"])
def test_a_decision_says_the_same_when_it_is_made_and_in_the_list(fleet: Fleet, verb: str) -> None:
    found = json.loads(fleet.run("fleet", "--json")[1])
    entry = next(each for each in found["entries"] if each["fact"] == "gpu.count")
    code, made, err = fleet.run(verb, entry["id"], "--author", "mk")
    assert code == 0, err
    assert made == fleet.run(verb, "--list")[1]
    assert "1 GPU fewer (1 of 2)" in made, "the title that the report has"
    names = {name.partition(" ")[0] for name in _covered(made)}
    assert names <= {entry["fact"], *entry["more"]}
    assert verb == "approve" or names == {entry["fact"], *entry["more"]}


def test_waivers_of_one_finding_are_ended_by_the_command_that_is_printed(fleet: Fleet) -> None:
    fleet.put(2, gpus=1)
    fleet.audit()
    entry = next(each for each in json.loads(fleet.run("fleet", "--json")[1])["entries"] if len(each["hosts"]) == 2)
    out = fleet.run("waive", entry["id"], *_WHY)[1]
    assert out.count("covers") >= 2 and out.splitlines()[-1].startswith("to end all of it: tunecheck waive --end 1,2")
    flaw, said = fleet.refused("acknowledge", entry["id"])
    assert flaw is Misuse.OVER, said
    assert naming([said], "waived", "board is being replaced", "tunecheck waive --end 1,2"), said
    assert fleet.refused("waive", "--end", "1-3")[0] is Misuse.NO_SUCH
    assert fleet.run("waive", "--list")[1].count("\n") == 2, "all of them or none"
    for wrong in ("0", "x", "2-1", "1-", "", "1,,2"):
        assert fleet.refused("waive", "--end", wrong)[0] is Misuse.MALFORMED
    ended = out.splitlines()[-1].partition("--end ")[2].split()[0]
    assert fleet.run("waive", "--end", ended)[0] == 0
    assert fleet.run("waive", "--list")[1] == "no waiver\n"


def test_the_list_and_the_verdict_count_the_same(fleet: Fleet) -> None:
    for more in ((), ("-v",)):
        text = fleet.run("fleet", *more)[1]
        said, = re.findall(r"(?m)^CAUSES  ([^;\n]*)", text)
        counted, = re.findall(r"(?m)^DRIFT: (\d+) causes?", text)
        assert sum(map(int, re.findall(r"\d+", said))) == int(counted) == len(_causes(text)), text


@pytest.mark.parametrize(("about", "audit"), [
    (("gpu.count", "--host", "gpu1"), 2), (("gpu.*", "--host", "gpu?"), 2), (("gpu.count", "--host", "gpu2"), None),
    (("gpu.vbios", "--host", "gpu2"), None),
])
@pytest.mark.parametrize("another", [False, True])
def test_a_new_waiver_says_what_it_covers(fleet: Fleet, about: tuple[str, ...], audit: int | None, another: bool,
                                          tmp_path: Path) -> None:
    """Of what the last audit shows, also where an audit of other boxes came later; the list says the same."""
    if another:
        beside = tmp_path / "beside"
        beside.mkdir()
        (beside / "gpu7.json").write_bytes(box(7))
        assert fleet.run("audit", "--from", str(beside))[0] == 0
    code, out, err = fleet.run("waive", *about, *_WHY, "--json")
    made, = json.loads(out)["rows"]
    assert (code, made["last_matched"]) == (0, audit), err
    assert json.loads(fleet.run("waive", "--list", "--json")[1])["rows"] == [made]
    fleet.run("waive", "--end", str(made["id"]))
    out = fleet.run("waive", *about, *_WHY)[1]
    assert (f"#{audit}" in out) == (audit is not None)


@pytest.mark.parametrize("by", ["fact", "id", "id-on-host"])
def test_a_waiver_covers_what_the_same_thing_moved(fleet: Fleet, by: str) -> None:
    before = fleet.run("fleet")[1]
    entry, = (each for each in json.loads(fleet.run("fleet", "--json")[1])["entries"] if each["fact"] == "gpu.count")
    assert len(entry["more"]) > 5
    about = {"fact": ("gpu.count", "--host", "gpu1"), "id": (_of(before, "gpu.count"),),
             "id-on-host": (_of(before, "gpu.count"), "--host", "gpu?")}[by]
    code, out, err = fleet.run("waive", *about, *_WHY)
    assert code == 0 and naming([out.splitlines()[-1]], "tunecheck waive --end 1"), err
    assert naming([out], "1", "gpu.count", "gpu1")
    for text in (fleet.run("fleet")[1], fleet.audit()[1]):
        assert not [line for line in _causes(text) if "GPU" in line or "gpu." in line or "pcie." in line], text
        assert re.search(r"(?m)^WAIVED +1 GPU fewer \(1 of 2\): gpu\.count 2 -> 1", text), text


def test_what_happens_after_the_waiver_was_made_is_news(fleet: Fleet) -> None:
    assert fleet.run("waive", "gpu.count", "--host", "gpu1", *_WHY)[0] == 0
    fleet.put(1, gpus=1, hmm="0", watts=450)
    text = fleet.audit()[1]
    assert len(_causes(text)) == 2 and any("gpu-power-limit GPU0" in line for line in _causes(text)), text


def test_one_waiver_is_not_made_twice(fleet: Fleet) -> None:
    assert fleet.run("waive", "gpu.count", "--host", "gpu1", *_WHY)[0] == 0
    flaw, said = fleet.refused("waive", "gpu.count", "--host", "gpu1", "--until", "9w", "--reason", "again")
    assert flaw is Misuse.ALREADY and naming([said], "1", "board is being replaced", "tunecheck waive --end 1")
    assert fleet.run("waive", "--list")[1].count("\n") == 1
    # Another value, host or end of the old one is another waiver.
    assert fleet.run("waive", "gpu.count", "--host", "gpu2", *_WHY)[0] == 0
    assert fleet.run("waive", "gpu.count", "--host", "gpu1", "--value", "1", *_WHY)[0] == 0
    assert fleet.run("waive", "--end", "1")[0] == 0
    assert fleet.run("waive", "gpu.count", "--host", "gpu1", *_WHY)[0] == 0


def test_an_id_that_is_none_or_elsewhere_is_said(fleet: Fleet) -> None:
    name = _of(fleet.run("fleet")[1], "gpu.count")
    for given, code, names in ((("00000000",), Misuse.NO_SUCH, ("00000000",)),
                               ((name, "--host", "gpu2"), Misuse.NO_SUCH, (name, "gpu2", "gpu1")),
                               ((name, "--group", "all"), Misuse.DOES_NOT_BELONG, (name, "--group"))):
        flaw, said = fleet.refused("waive", *given, *_WHY)
        assert flaw is code and naming([said], *names)
    assert json.loads(fleet.run("waive", "--list", "--json")[1])["rows"] == []


@pytest.mark.parametrize("heard", [False, True])
def test_an_audit_of_other_hosts_hides_nothing(fleet: Fleet, heard: bool) -> None:
    name = _of(fleet.run("fleet")[1], "gpu.count")
    other = fleet.folder / "other"
    other.mkdir()
    cut = b'{"schema": "tunecheck/snapshot/1"'
    (other / "mybox.json").write_bytes((fleet.files / "gpu2.json").read_bytes() if heard else cut)
    if heard:
        fleet.put(9)
        (fleet.files / "gpu9.json").rename(other / "mybox.json")
    fleet.run("audit", "--from", "other")
    shown = json.loads(fleet.run("fleet", "--json")[1])
    if heard:
        assert shown["audit"]["id"] == 3 and naming(shown["notes"], "#2", str(fleet.files), "2")
        assert name in fleet.run("fleet", "--audit", "2")[1]
    else:
        assert shown["audit"]["id"] == 2 and name in [cause["id"] for cause in shown["causes"]]
        assert naming(shown["notes"], "#3", str(other))
        assert "gpu1" in fleet.run("fleet", "hosts")[1]
    assert name in fleet.run("drift", "--host", "gpu1")[1]
    for verb, taken in (("acknowledge", 1), ("approve", 2)):
        code, out, err = fleet.run(verb, name)
        assert code == 0 and naming([one_line(out)], str(taken), name, "#2"), err
    flaw, said = fleet.refused("approve", name)
    assert flaw is Misuse.ALREADY and name in said, "it is approved by now"


def test_the_audit_may_be_named(fleet: Fleet) -> None:
    name = _of(fleet.run("fleet")[1], "gpu.count")
    flaw, said = fleet.refused("approve", name, "--audit", "1")
    assert flaw is Misuse.NO_SUCH and naming([said], "#1", name)
    flaw, said = fleet.refused("approve", "--list", "--audit", "1")
    assert flaw is Misuse.DOES_NOT_BELONG and naming([said], "--audit")
    code, out, _ = fleet.run("approve", name, "--audit", "2", "--json")
    assert code == 0 and json.loads(out)["rows"][0]["audit"] == 2
