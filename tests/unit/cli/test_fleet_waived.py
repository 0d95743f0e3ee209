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
    """The lines of what counts."""
    return [line for line in text.splitlines() if line.startswith(("HIGH", "MEDIUM", "LOW"))]


def _of(text: str, fact: str) -> str:
    found = re.search(rf"(?m)^\S+ .*{re.escape(fact)}.*; id ([0-9a-f]{{8}})", text)
    assert found, text
    return found[1]


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
    assert (code, out.count("\n")) == (0, 1), err
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
