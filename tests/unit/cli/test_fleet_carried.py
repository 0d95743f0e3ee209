"""`tunecheck audit --from`: who is missing from the folder, what in it is not read, and what is too old."""

from __future__ import annotations

import json
import shlex
import time
from pathlib import Path
from typing import Any

import pytest
from tests.unit.cli.carried import ROOT, Fleet, box, naming, reason, statuses

from tunecheck.errors import Misuse
from tunecheck_fleet.focus import focus
from tunecheck_fleet.folder import MAX_AGE_S
from tunecheck_fleet.judge import report
from tunecheck_fleet.outputs.reach_first import reach_first
from tunecheck_fleet.snapshot_age import Age, misfit
from tunecheck_fleet.store import open_store
from tunecheck_fleet.which_audit import as_left


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    fleet = Fleet(tmp_path)
    for number in (1, 2, 3):
        fleet.put(number)
    return fleet


def test_a_host_of_the_last_audit_without_a_file_is_missing_until_it_is_said_to_be_gone(fleet: Fleet) -> None:
    assert fleet.audit()[0] == 0
    for number in (2, 3):
        (fleet.files / f"gpu{number}.json").unlink()
    for _ in range(2):      # it does not become normal
        code, document = fleet.seen(source="boxes/")
        assert code == 3 and statuses(document) == {"gpu1": "ok", "gpu2": "unreachable", "gpu3": "unreachable"}
        assert naming(document["notes"], "boxes/", "gpu2", "gpu3", "--gone")
    fleet.put(3)
    code, document = fleet.seen("--gone", "gpu2")
    assert code == 0 and statuses(document) == {"gpu1": "ok", "gpu3": "ok"}
    assert fleet.audit()[0] == 0
    flaw, said = fleet.refused("audit", "--from", "boxes", "-i", "gpu1,", "--gone", "gpu2")
    assert flaw is Misuse.DOES_NOT_BELONG and naming([said], "--gone")


def test_what_is_said_of_a_host_that_is_gone_says_so(fleet: Fleet) -> None:
    def of(host: str) -> tuple[str, str]:
        """Its report, and whom that asks to be reached."""
        with open_store(str(fleet.store)) as store:
            seen = report(store, store.last_audit_with(host), about=host)
            return fleet.run("drift", "--host", host)[1], reach_first(as_left(store, focus(seen, host, None), host))[0]

    assert fleet.audit()[0] == 0
    (fleet.files / "gpu2.json").unlink()
    assert fleet.audit()[0] == 3
    said, reach = of("gpu2")
    assert "not asked for" not in said and reach.startswith("first gpu2")
    for more in (("--gone", "gpu2"), ()):
        assert fleet.audit(*more)[0] == 0
        said, reach = of("gpu2")
        assert "gpu2 is not asked for since #3: it was declared gone" in said and not reach
        assert "not asked for" not in of("gpu1")[0]
    fleet.put(2)
    assert fleet.audit()[0] == 0 and "not asked for" not in of("gpu2")[0]


def test_a_file_that_lies_in_no_groups_folder_any_more_is_named(fleet: Fleet) -> None:
    """Its folder is its group: outside it the box is compared with others than before."""
    rack = fleet.files / "rack1"
    rack.mkdir()
    for number in (1, 2):
        (fleet.files / f"gpu{number}.json").rename(rack / f"gpu{number}.json")
    assert not naming(fleet.seen()[1]["notes"], "no group")
    (rack / "gpu2.json").rename(fleet.files / "gpu2.json")
    assert naming(fleet.seen()[1]["notes"], "gpu2 was in", "rack1 in the last audit", "no group", "into", "rack1")
    assert not naming(fleet.seen()[1]["notes"], "no group"), "it was so in the last audit"


def test_with_an_inventory_its_hosts_are_asked_and_files_of_others_are_named(fleet: Fleet) -> None:
    (fleet.folder / "hosts.json").write_text(json.dumps({"h200": {"hosts": {"gpu1": {}, "gpu8": {}}}}))
    code, document = fleet.seen("-i", "hosts.json")
    assert code == 3 and statuses(document) == {"gpu1": "ok", "gpu8": "unreachable"}
    assert naming([reason(document, "gpu8")], "gpu8.json", "boxes")
    assert naming(document["notes"], "boxes", "gpu2", "gpu3")


def test_files_that_are_not_read_are_named(fleet: Fleet) -> None:
    deep = fleet.files / "dc1/rack1"
    deep.mkdir(parents=True)
    for name in ("gpu7.json.gz", "gpu8", "gpu9.tar.zst", "dc1/rack1/gpu6.json", ".hidden"):
        (fleet.files / name).write_text("x")
    code, document = fleet.seen()
    assert code == 0 and naming(document["notes"], "4", "boxes", "gpu7.json.gz", "gpu8", "gpu9.tar.zst",
                                "dc1/rack1/gpu6.json")
    assert not [note for note in document["notes"] if ".hidden" in note]
    assert naming(document["notes"], "tunecheck", "snapshot --from boxes/gpu9.tar.zst --json boxes/gpu9.json")


@pytest.mark.parametrize("name", ["gpu1.tar.zst", "rack 1/gpu1.tar.zst"])
def test_a_folder_of_recordings_alone_says_how_they_become_snapshots(fleet: Fleet, name: str) -> None:
    """What it says can be pasted, and the audit then has the host."""
    for each in fleet.files.iterdir():
        each.unlink()
    recording = fleet.files / name
    recording.parent.mkdir(exist_ok=True)
    recording.write_bytes((ROOT / "tests/fixtures/h200-2gpu-vm.tar.zst").read_bytes())
    flaw, said = fleet.refused("audit", "--from", "boxes")
    assert flaw is Misuse.EMPTY and "HOST.json" not in said
    command = shlex.split(said.partition("make it: tunecheck ")[2])
    assert command[:2] == ["snapshot", "--from"] and fleet.run(*command)[0] == 0
    assert list(statuses(fleet.seen()[1])) == ["gpu1"]
    other = fleet.folder / "other"
    other.mkdir()
    (other / "notes.json").write_text("{}")
    (other / "gpu2.tar.zst").write_text("x")
    (other / "gpu3.tar.zst").write_text("x")
    flaw, said = fleet.refused("audit", "--from", "other")
    assert flaw is Misuse.EMPTY and "--from other/gpu2.tar.zst --json other/gpu2.json, and the same for 1 more" in said


def test_an_old_snapshot_is_incomplete_and_its_age_is_said(fleet: Fleet) -> None:
    fleet.put(2, created=1577836800.0)
    fleet.put(3, created=time.time() + 3 * 86400)
    code, document = fleet.seen()
    assert code == 3 and statuses(document) == {"gpu1": "ok", "gpu2": "partial", "gpu3": "partial"}
    assert naming([reason(document, "gpu2")], "2020-01-01", "years") and naming([reason(document, "gpu3")], "3", "days")
    assert set(statuses(fleet.seen("--max-age", "20m")[1]).values()) == {"partial"}
    fleet.put(3)
    assert fleet.audit("--max-age", "5000w")[0] == 0


def test_a_snapshot_of_unknown_age_is_incomplete(fleet: Fleet) -> None:
    file = fleet.files / "gpu2.json"
    file.write_text(json.dumps({**json.loads(file.read_bytes()), "created": "yesterday"}))
    code, document = fleet.seen()
    assert code == 3 and statuses(document) == {"gpu1": "ok", "gpu2": "partial", "gpu3": "ok"}
    assert "'yesterday'" in reason(document, "gpu2")


@pytest.mark.parametrize(("created", "code", "shown"), [
    (..., Age.UNSTATED, "2026-11-21T18:00:00Z"), (None, Age.UNSTATED, "created"),
    ("", Age.UNSTATED, "created"), (5, Age.NO_TIME, " 5, "),
    ("yesterday", Age.NO_TIME, "'yesterday', "),
    ({"x": 1}, Age.NO_TIME, "{'x': 1}"), ("2020-01-01T00:00:00Z", Age.OLD, "2020-01-01"),
    ("2999-01-01T00:00:00Z", Age.AHEAD, "2999-01-01")])
def test_what_does_not_fit_of_a_snapshots_time(created: Any, code: Age, shown: str) -> None:
    document = {key: value for key, value in json.loads(box(2)).items() if key != "created"}
    found = misfit(json.dumps(document if created is ... else {**document, "created": created}).encode(), MAX_AGE_S)
    assert found is not None and found.code is code and shown in found.text
    assert misfit(box(2), MAX_AGE_S) is None


def test_a_file_that_is_older_than_what_the_history_has_is_left_out(fleet: Fleet) -> None:
    now = int(time.time())
    fleet.put(2, hmm="0", created=now - 60)
    fleet.audit()
    fleet.put(2, created=now - 7200)
    for _ in range(2):
        code, document = fleet.seen()
        assert code == 3 and statuses(document)["gpu2"] == "unreachable" and not document["causes"]
        when = [time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(now - ago)) for ago in (7200, 60)]
        assert naming([reason(document, "gpu2")], *when)
    fleet.put(2, created=now - 30)
    code, document = fleet.seen()
    assert code == 0 and [(cause["before"], cause["value"]) for cause in document["causes"]
                          if cause["fact"].endswith("uvm_disable_hmm")] == [("0", "1")]


def test_a_clock_that_was_ahead_does_not_keep_the_right_time_out(fleet: Fleet) -> None:
    fleet.put(2, created=time.time() + 30 * 86400)
    assert fleet.audit()[0] == 3
    fleet.put(2)
    assert fleet.audit()[0] == 0


def audits(fleet: Fleet) -> int:
    with open_store(str(fleet.store), create=False) as store:
        return len(store.audits())


def test_a_mistaken_gone_is_refused_before_anything_is_recorded(fleet: Fleet) -> None:
    def gone(host: str) -> tuple[Any, str]:
        return fleet.refused("audit", "--from", "boxes", "--gone", host)

    flaw, said = gone("gpu9")
    assert flaw is Misuse.NOT_THERE and naming([said], "--gone", "gpu9", "boxes")
    fleet.audit()
    (fleet.files / "gpu2.json").unlink()
    flaw, said = gone("gpu22")
    assert flaw is Misuse.NO_SUCH and naming([said], "boxes", "#1", "gpu2")
    flaw, said = gone("gpu1")
    assert flaw is Misuse.ALREADY and naming([said], "--gone", "gpu1", "boxes/gpu1.json")
    assert audits(fleet) == 1 and fleet.audit("--gone", "gpu2")[0] == 0
    flaw, said = gone("gpu2")
    assert flaw is Misuse.NO_SUCH and naming([said], "#2", "--gone")


def test_a_mistaken_baseline_is_refused_before_the_night_is_recorded(fleet: Fleet) -> None:
    fleet.audit()
    fleet.put(2, hmm="0")
    for baseline, names in (("host:gpu33", ("3", "gpu3")), ("audit:99", ("--baseline", "audit:99", "#1", "#1")),
                            ("audit:0", ("audit:0",))):
        flaw, said = fleet.refused("audit", "--from", "boxes", "--baseline", baseline)
        assert flaw is Misuse.NO_SUCH and naming([said], *names), said
    assert audits(fleet) == 1
    code, document = fleet.seen("--baseline", "audit:1", "--fail-on", "drift")
    assert code == 1 and [(cause["before"], cause["value"]) for cause in document["causes"]
                          if cause["fact"].endswith("uvm_disable_hmm")] == [("1", "0")]
    assert fleet.audit("--baseline", "host:gpu3", "--fail-on", "drift")[0] == 1


def test_a_baseline_is_before_the_audit_that_is_taken_up(fleet: Fleet) -> None:
    with open_store(str(fleet.store)) as store:
        store.begin(f"files of {fleet.files}", [(f"gpu{number}", "ungrouped") for number in (1, 2, 3)])
    with open_store(str(fleet.store)) as store:
        store.begin("another", [("gpu8", "ungrouped")])
        store.finish(2)
    flaw, said = fleet.refused("audit", "--from", "boxes", "--baseline", "audit:2")
    assert flaw is Misuse.NO_SUCH and naming([said], "audit:2", "#1")
    assert fleet.audit()[0] == 0 and audits(fleet) == 2


@pytest.mark.parametrize(("given", "flaw", "shown"), [
    (("--source", "timer"), Misuse.DOES_NOT_BELONG, "--source"),
    (("--source", "live"), Misuse.DOES_NOT_BELONG, "--source"),
    (("--forks", "3"), Misuse.DOES_NOT_BELONG, "--forks"),
    (("--link", "foo"), Misuse.MALFORMED, "https://host/path"),
    (("--link", "javascript://x/y"), Misuse.MALFORMED, "https://host/path"),
    (("--link", "https://"), Misuse.MALFORMED, "https://host/path"),
    (("--max-age", "1"), Misuse.MALFORMED, "--max-age 1h")])
def test_options_that_say_nothing_or_nonsense_are_usage_errors(fleet: Fleet, given: tuple[str, ...], flaw: Misuse,
                                                               shown: str) -> None:
    found, said = fleet.refused("audit", "--from", "boxes", *given)
    assert found is flaw and naming([said], given[0]) and shown in said
    assert not fleet.store.exists()


def test_options_that_say_the_usual_are_none(fleet: Fleet) -> None:
    assert fleet.audit("--source", "auto", "--link", "http://fleet.example.org/fleet.html", "--max-age", "90d")[0] == 0


def test_a_folder_is_the_same_one_however_it_is_spelled(fleet: Fleet) -> None:
    fleet.audit()
    (fleet.files / "gpu2.json").unlink()
    for spelled in ("./boxes", "boxes/", str(fleet.files), f"../{fleet.folder.name}/boxes"):
        code, document = fleet.seen(source=spelled)
        assert code == 3 and statuses(document) == {"gpu1": "ok", "gpu2": "unreachable", "gpu3": "ok"}, spelled
        assert naming(document["notes"], spelled, "gpu2")
    (fleet.folder / "hosts.json").write_text(json.dumps({"h200": {"hosts": {"gpu1": {}}}}))
    scopes = {fleet.seen("-i", spelled)[1]["audit"]["scope"]
              for spelled in ("hosts.json", "./hosts.json", str(fleet.folder / "hosts.json"))}
    assert len(scopes) == 1 and naming(list(scopes), f"{fleet.folder}/hosts.json", str(fleet.files))


def test_a_link_that_leads_elsewhere_every_night_is_one_place(fleet: Fleet) -> None:
    latest = fleet.folder / "latest"
    latest.symlink_to("boxes")
    assert fleet.seen(source="latest")[0] == 0
    later = fleet.files.rename(fleet.folder / "2026-11-22")
    latest.unlink()
    latest.symlink_to(later)
    (later / "gpu2.json").unlink()
    code, document = fleet.seen(source="latest")
    assert code == 3 and statuses(document)["gpu2"] == "unreachable" and naming(document["notes"], "latest", "gpu2")


def test_two_folders_of_one_name_are_two(fleet: Fleet) -> None:
    fleet.audit()
    other = fleet.folder / "elsewhere/boxes"
    other.mkdir(parents=True)
    (fleet.files / "gpu3.json").rename(other / "gpu3.json")
    fleet.folder = other.parent
    code, document = fleet.seen()
    assert code == 0 and statuses(document) == {"gpu3": "ok"}
    assert naming(document["notes"], str(other), "#1", str(fleet.files))


def test_a_clone_of_a_host_outside_the_limit_has_its_group(fleet: Fleet) -> None:
    (fleet.folder / "hosts.json").write_text(json.dumps({"h200": {"hosts": {"gpu1": {}, "gpu2": {}}}}))
    (fleet.files / "gpu2.json").write_bytes((fleet.files / "gpu1.json").read_bytes())
    fleet.audit("-i", "hosts.json")
    causes = fleet.seen("-i", "hosts.json", "--limit", "gpu2")[1]["causes"]
    assert {cause["group"] for cause in causes if cause["fact"] == "host.key"} == {"h200"}
