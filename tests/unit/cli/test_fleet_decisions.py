"""What somebody says of a finding: acknowledged, approved, waived, for a time or for good."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from tests.unit.cli.carried import Fleet, naming, one_line

from tunecheck.errors import Misuse
from tunecheck_fleet.judge import report
from tunecheck_fleet.outputs.text import FOR_GOOD
from tunecheck_fleet.store import open_store


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    return Fleet(tmp_path)


def test_waived_is_shown_and_not_counted_and_repaired_is_resolved(fleet: Fleet) -> None:
    for number in range(1, 7):
        fleet.put(number)
    fleet.audit()
    fleet.put(2, iommu=None)
    assert fleet.audit("--fail-on", "drift")[0] == 1
    code, out, err = fleet.run("waive", "kernel.cmdline.iommu", "--host", "gpu2", "--until", "30d", "--reason",
                               "board is being replaced", "--author", "kim")
    assert code == 0 and naming([out], "1", "kernel.cmdline.iommu", "gpu2", "kim", "board is being replaced"), err
    code, out, _ = fleet.run("fleet", "--fail-on", "drift")
    assert code == 0 and "WAIVED" in out and "board is being replaced" in out and "kim" in out
    row, = json.loads(fleet.run("waive", "--list", "--json")[1])["rows"]
    assert (row["author"], row["last_matched"]) == ("kim", 2) and "#2" in fleet.run("waive", "--list")[1]
    assert naming([fleet.run("waive", "--end", "1")[1]], "1", "kernel.cmdline.iommu")
    assert fleet.run("fleet", "--fail-on", "drift")[0] == 1
    flaw, said = fleet.refused("waive", "--end", "1")
    assert flaw is Misuse.NO_SUCH and naming([said], "1", "--list")
    fleet.put(2)
    code, out, _ = fleet.audit("--fail-on", "drift")
    assert code == 0 and "RESOLVED" in out
    values = [row["value"] for row in json.loads(fleet.run("blame", "kernel.cmdline.iommu", "--host", "gpu2",
                                                           "--json")[1])["rows"]]
    assert values == ["pt", None, "pt"]


def test_an_id_may_be_short_or_in_capitals_and_an_approved_one_is_told_as_that(fleet: Fleet) -> None:
    for number in range(1, 7):
        fleet.put(number)
    fleet.audit()
    fleet.put(2, hmm="0")
    fleet.put(3, iommu=None)
    causes = [cause for cause in fleet.seen()[1]["causes"]
              if cause["counts"] and cause["authority"] in ("previous", "majority")]
    first = causes[0]["id"]
    for short in (first[:3], first[:2].upper()):
        flaw, _ = fleet.refused("approve", short)
        assert flaw is Misuse.NO_SUCH
    for named in (first.upper(), first[:6], first[:6].upper()):
        code, out, err = fleet.run("acknowledge", named, "--owner", "ann")
        assert code == 0 and first in out, err
    assert fleet.run("approve", first[:6], "--author", "kim")[0] == 0
    for verb in (("approve",), ("acknowledge",), ("waive", "--until", "30d", "--reason", "x")):
        flaw, said = fleet.refused(verb[0], first[:7].upper(), *verb[1:])
        assert flaw is Misuse.ALREADY and naming([said], first, "kim", "approve", "--end"), said


@pytest.mark.parametrize("link", ["nolink", "ftp://x/1", "https://"])
def test_a_link_of_an_acknowledgement_is_an_address(fleet: Fleet, link: str) -> None:
    flaw, said = fleet.refused("acknowledge", "12345678", "--link", link)
    assert flaw is Misuse.MALFORMED and link in said


def test_a_change_is_open_until_somebody_says_what_it_is(fleet: Fleet) -> None:
    """New, open, acknowledged, on more hosts, approved, taken back, waived, gone: each as drift or not, with its id."""
    for number in range(1, 7):
        fleet.put(number)
    fleet.audit()

    def night(*changed: int) -> dict[str, Any]:
        for number in range(1, 7):
            fleet.put(number, iommu=None if number in changed else "pt")
        code, out, _ = fleet.audit("--json", "--fail-on", "drift")
        return found(code, out)

    def found(code: int, out: str) -> dict[str, Any]:
        document = json.loads(out)
        open_ones = [each for each in document["causes"] if each["fact"] == "kernel.cmdline.iommu"]
        assert code == int(document["summary"]["outcome"] == "drift")
        return open_ones[0] if open_ones else {}

    def again() -> dict[str, Any]:
        code, out, _ = fleet.run("fleet", "--json", "--fail-on", "drift")
        return found(code, out)

    first = night(3)
    assert (first["kind"], first["hosts"]) == ("new", ["gpu3"])
    assert night(3)["kind"] == "known" and night(3)["id"] == first["id"]
    name = first["id"]
    code, out, _ = fleet.run("acknowledge", name, "--owner", "ann", "--link", "https://t.example/7", "--note", "cable",
                             "--author", "mk")
    assert code == 0 and naming([one_line(out)], "1", name, "ungrouped", "kernel.cmdline.iommu", "mk", "#4"), out
    _, out, _ = fleet.run("fleet")
    assert naming([one_line(out)], "ann", "https://t.example/7", "cable"), out
    assert again()["kind"] == "acknowledged" and again()["counts"]
    grown = night(3, 4)
    assert (grown["kind"], grown["id"], grown["covered"]) == ("grown", name, ["gpu3"])
    assert [(each["state"], each["hosts"], each["since"]["seen"]) for each in grown["waves"]] == [
        ("known", ["gpu3"], 2), ("new", ["gpu4"], 5)]
    flaw, answer = fleet.refused("approve", name[:-1] + ("0" if name[-1] != "0" else "1"))
    assert flaw is Misuse.NO_SUCH and naming([answer], name)
    code, out, _ = fleet.run("approve", name, "--note", "as ordered", "--json")
    row, = json.loads(out)["rows"]
    assert code == 0 and (row["kind"], row["note"], row["finding"]) == ("approve", "as ordered", name)
    shown = again()
    assert (shown["kind"], shown["counts"], shown["approved"]["note"]) == ("approved", False, "as ordered")
    said = night(3, 4)
    # gpu3 was found to differ from most, which more than half still do; of gpu4 nothing but its change was told.
    assert (said["kind"], said["counts"], said["hosts"]) == ("approved", False, ["gpu3"])
    said = night(3)
    assert (said["kind"], said["counts"], said["approved"]["note"]) == ("approved", False, "as ordered")
    code, out, _ = fleet.run("approve", "--end", "2", "--json")
    assert code == 0 and json.loads(out)["rows"][0]["ended"] and again()["counts"]
    fleet.run("waive", "kernel.cmdline.iommu", "--host", "gpu*", "--until", "30d", "--reason", "lab")
    assert again()["kind"] == "waived"
    flaw, answer = fleet.refused("acknowledge", name)
    assert flaw is Misuse.OVER and naming([answer], name, "#7")
    assert night()["kind"] == "resolved"
    flaw, answer = fleet.refused("approve", name)
    assert flaw is Misuse.OVER and naming([answer], name, "#8")
    assert fleet.run("approve", "--list")[1].count("\n") == 2
    rows = json.loads(fleet.run("approve", "--list", "--json")[1])["rows"]
    assert sorted((each["kind"], bool(each["ended"])) for each in rows) == [("acknowledge", False), ("approve", True)]


def test_an_acknowledgement_of_what_is_over_says_so(fleet: Fleet) -> None:
    for number in range(1, 4):
        fleet.put(number)
    fleet.audit()
    fleet.put(2, iommu=None)
    fleet.audit()
    with open_store(str(fleet.store)) as store:
        names = [each.id for each in report(store).causes if each.counts and "gpu2" in each.hosts]
    assert names and fleet.run("acknowledge", *names, "--owner", "ann")[0] == 0

    def listed() -> tuple[str, list[tuple[bool, int | None]]]:
        rows = json.loads(fleet.run("acknowledge", "--list", "--json")[1])["rows"]
        return fleet.run("acknowledge", "--list")[1], [(each["over"], each["over_since"]) for each in rows]

    for _ in range(2):
        said, rows = listed()
        assert "over" not in said and rows == [(False, None)] * len(names)
        fleet.audit()
    fleet.put(2)
    for _ in range(2):
        fleet.audit()
        said, rows = listed()
        assert said.count("; over") == len(names) and all(each for each, _ in rows)
        assert {since for _, since in rows} <= {5, None}


def test_an_accepted_state_is_for_good_in_every_output(fleet: Fleet) -> None:
    for number in (1, 2, 3):
        fleet.put(number)
    fleet.audit()
    fleet.put(2, hmm="0")
    fact = "module.parameter.nvidia-uvm.uvm_disable_hmm"
    _, out, _ = fleet.run("waive", fact, "--host", "gpu2", "--until", "never", "--reason", "so it is")
    assert FOR_GOOD in out
    fleet.audit("--junit", "a.xml", "--html", "a.html", "--json", "a.json")
    _, out, _ = fleet.run("fleet")
    page, junit = (fleet.folder / "a.html").read_text(), (fleet.folder / "a.xml").read_text()
    assert naming([one_line(out)], "1", FOR_GOOD) and naming([page], "1", FOR_GOOD)
    assert f'message="waived {FOR_GOOD}: so it is"' in junit and "9999" not in out + page + junit
    assert "1 host: gpu2" in junit and "1 hosts" not in junit


def test_a_waiver_that_is_over_is_said_before_what_is_restless(fleet: Fleet) -> None:
    fleet.put(1)
    fleet.audit()
    with open_store(str(fleet.store)) as store:
        store.waive("gpu.vbios", reason="r", author="kim", until=time.time() + 1, host="gpu1")
    time.sleep(1.1)
    (fleet.files / "gpu2.json").write_text("no")
    notes = json.loads(fleet.audit("--json")[1])["notes"]
    assert naming(notes[:1], "1", "gpu.vbios"), notes


def test_what_an_acknowledgement_covers_besides_is_named(fleet: Fleet) -> None:
    for gpus in (2, 1):
        fleet.put(1, gpus=gpus)
        fleet.audit()
    entries = json.loads(fleet.run("fleet", "--json")[1])["entries"]
    entry = next(each for each in entries if each["more"])
    code, out, _ = fleet.run("acknowledge", entry["id"], "--author", "mk")
    assert code == 0 and "covers also" in one_line(out), out
    assert len(one_line(out).partition("covers also ")[2].split(", ")) >= 1


def test_who_takes_over_what_another_one_acknowledged_is_told(fleet: Fleet) -> None:
    """Two people at work on one thing have to learn of each other; a third hears of the one whose word holds."""
    for gpus in (2, 1):
        fleet.put(1, gpus=gpus)
        fleet.audit()
    [found, *_] = json.loads(fleet.run("fleet", "--json")[1])["entries"]
    said = {}
    for number, author in enumerate(("ann", "bob", "eve")):
        code, said[author], _ = fleet.run("acknowledge", found["id"], "--author", author, "--owner", f"team{number}")
        assert code == 0
    assert "in place of" not in said["ann"]
    assert "in place of 1 (by ann, owner team0), which holds again if this is taken back" in one_line(said["bob"])
    assert "in place of 2 (by bob, owner team1)" in one_line(said["eve"]) and "by ann" not in said["eve"]
    _, out, _ = fleet.run("acknowledge", found["id"], "--author", "joe", "--json")
    assert [row["in_place_of"] for row in json.loads(out)["rows"]] == [[3]]
    listed = json.loads(fleet.run("acknowledge", "--list", "--json")[1])["rows"]
    assert len(listed) > 1 and not any("in_place_of" in row for row in listed), "it is told when one is made"
    for number, holds in ((4, "eve"), (3, "bob"), (2, "ann")):
        fleet.run("acknowledge", "--end", str(number))
        causes = json.loads(fleet.run("fleet", "--json")[1])["causes"]
        assert {each["acknowledged"]["author"] for each in causes if each["id"] == found["id"]} == {holds}
