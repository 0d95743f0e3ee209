"""One thing that happened is said, counted, approved and waived as one, whatever was audited since."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.unit.cli.carried import Fleet

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


@pytest.mark.parametrize("by", ["fact", "id", "id-on-host"])
def test_a_waiver_covers_what_the_same_thing_moved(fleet: Fleet, by: str) -> None:
    before = fleet.run("fleet")[1]
    assert "more facts of the same audit" in before
    about = {"fact": ("gpu.count", "--host", "gpu1"), "id": (_of(before, "gpu.count"),),
             "id-on-host": (_of(before, "gpu.count"), "--host", "gpu?")}[by]
    code, out, err = fleet.run("waive", *about, *_WHY)
    assert (code, out.count("\n")) == (0, 1), err
    assert "1: gpu.count on host gpu1" in out
    for text in (fleet.run("fleet")[1], fleet.audit()[1]):
        assert not [line for line in _causes(text) if "GPU" in line or "gpu." in line or "pcie." in line], text
        assert re.search(r"(?m)^WAIVED +gpu\.count: 2 -> 1.*more facts of the same audit", text), text


def test_what_happens_after_the_waiver_was_made_is_news(fleet: Fleet) -> None:
    assert fleet.run("waive", "gpu.count", "--host", "gpu1", *_WHY)[0] == 0
    fleet.put(1, gpus=1, hmm="0", watts=450)
    text = fleet.audit()[1]
    assert len(_causes(text)) == 2 and any("gpu-power-limit GPU0" in line for line in _causes(text)), text


def test_one_waiver_is_not_made_twice(fleet: Fleet) -> None:
    assert fleet.run("waive", "gpu.count", "--host", "gpu1", *_WHY)[0] == 0
    code, _, err = fleet.run("waive", "gpu.count", "--host", "gpu1", "--until", "9w", "--reason", "again")
    assert code == 2 and "waiver 1 says that already" in err and "board is being replaced" in err
    assert "tunecheck waive --end 1" in err
    assert fleet.run("waive", "--list")[1].count("\n") == 1
    # Another value, host or end of the old one is another waiver.
    assert fleet.run("waive", "gpu.count", "--host", "gpu2", *_WHY)[0] == 0
    assert fleet.run("waive", "gpu.count", "--host", "gpu1", "--value", "1", *_WHY)[0] == 0
    assert fleet.run("waive", "--end", "1")[0] == 0
    assert fleet.run("waive", "gpu.count", "--host", "gpu1", *_WHY)[0] == 0


def test_an_id_that_is_none_or_elsewhere_is_said(fleet: Fleet) -> None:
    code, _, err = fleet.run("waive", "00000000", *_WHY)
    assert code == 2 and "no open finding '00000000'" in err
    name = _of(fleet.run("fleet")[1], "gpu.count")
    code, _, err = fleet.run("waive", name, "--host", "gpu2", *_WHY)
    assert code == 2 and f"{name} is not on gpu2; it is on gpu1" in err
    code, _, err = fleet.run("waive", name, "--group", "all", *_WHY)
    assert code == 2 and "leave --group out" in err
    assert fleet.run("waive", "--list")[1] == "no waiver\n"


@pytest.mark.parametrize("heard", [False, True])
def test_an_audit_of_other_hosts_hides_nothing(fleet: Fleet, heard: bool) -> None:
    name = _of(fleet.run("fleet")[1], "gpu.count")
    other = fleet.folder / "other"
    other.mkdir()
    (other / "mybox.json").write_bytes(b"{}" if not heard else (fleet.files / "gpu2.json").read_bytes())
    if heard:
        fleet.put(9)
        (fleet.files / "gpu9.json").rename(other / "mybox.json")
    fleet.run("audit", "--from", "other")
    text = fleet.run("fleet")[1]
    if heard:
        assert "tunecheck audit #3," in text and re.search(r"NOTE +audit #2 \(files of \S+\) has 2 other hosts", text)
        assert name in fleet.run("fleet", "--audit", "2")[1]
    else:
        assert "tunecheck audit #2," in text and name in text
        assert re.search(r"NOTE +audit #3 \(files of \S+\) is newer, and no host of it ever answered", text)
        assert "gpu1" in fleet.run("fleet", "hosts")[1]
    assert name in fleet.run("drift", "--host", "gpu1")[1]
    for verb, taken in (("acknowledge", 1), ("approve", 2)):
        code, out, err = fleet.run(verb, name)
        assert code == 0, err
        assert f"{taken}: {name} " in out and "as of #2" in out
    code, _, err = fleet.run("approve", name)
    assert code == 2 and name in err, "it is approved by now"


def test_the_audit_may_be_named(fleet: Fleet) -> None:
    name = _of(fleet.run("fleet")[1], "gpu.count")
    code, _, err = fleet.run("approve", name, "--audit", "1")
    assert code == 2 and f"audit #1 has no open finding '{name}'" in err
    code, _, err = fleet.run("approve", "--list", "--audit", "1")
    assert code == 2 and "--audit" in err
    code, out, _ = fleet.run("approve", name, "--audit", "2")
    assert code == 0 and "as of #2" in out
