"""`tunecheck audit --from`: who is missing from the folder, what in it is not read, and what is too old."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from tests.unit.cli.carried import Fleet, box


def one_line(text: str) -> str:
    return " ".join(text.split())


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
        code, out, _ = fleet.run("audit", "--from", "boxes/")
        said = one_line(out)
        assert code == 3 and "3 hosts: 1 ok, 2 unreachable" in said
        assert "2 hosts of the last audit are not in boxes/: gpu2, gpu3; counted as missing" in said
    fleet.put(3)
    code, out, _ = fleet.audit("--gone", "gpu2")
    assert code == 0 and "2 hosts: 2 ok" in out
    assert fleet.audit()[0] == 0
    code, _, err = fleet.audit("-i", "gpu1,", "--gone", "gpu2")
    assert code == 2 and "--gone is for --from FOLDER alone" in one_line(err)


def test_with_an_inventory_its_hosts_are_asked_and_files_of_others_are_named(fleet: Fleet) -> None:
    (fleet.folder / "hosts.json").write_text(json.dumps({"h200": {"hosts": {"gpu1": {}, "gpu8": {}}}}))
    code, out, _ = fleet.audit("-i", "hosts.json")
    said = one_line(out)
    assert code == 3 and "2 hosts: 1 ok, 1 unreachable" in said and "no file gpu8.json in boxes" in said
    assert "boxes holds files of 2 hosts that the inventory has not, which are left out: gpu2, gpu3" in said


def test_files_that_are_not_read_are_named(fleet: Fleet) -> None:
    deep = fleet.files / "dc1/rack1"
    deep.mkdir(parents=True)
    for name in ("gpu7.json.gz", "gpu8", "gpu9.tar.zst", "dc1/rack1/gpu6.json", ".hidden"):
        (fleet.files / name).write_text("x")
    code, out, _ = fleet.audit()
    said = one_line(out)
    assert code == 0 and "4 files in boxes are not read: gpu7.json.gz, gpu8, gpu9.tar.zst, dc1/rack1/gpu6.json" in said
    assert ".hidden" not in said


def test_an_old_snapshot_is_incomplete_and_its_age_is_said(fleet: Fleet) -> None:
    fleet.put(2, created=1577836800.0)
    fleet.put(3, created=time.time() + 3 * 86400)
    code, out, _ = fleet.audit()
    said = one_line(out)
    assert code == 3 and "3 hosts: 1 ok, 2 partial" in said
    assert "snapshot of 2020-01-01: " in said and " years old" in said
    assert "3 days ahead of this machine's clock" in said
    assert "3 hosts: 3 partial" in one_line(fleet.audit("--max-age", "20m")[1])
    fleet.put(3)
    assert fleet.audit("--max-age", "5000w")[0] == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read_says_so(fleet: Fleet) -> None:
    (fleet.files / "gpu3.json").chmod(0)
    code, out, _ = fleet.audit()
    assert code == 3 and "1 refused" in out and "Permission denied" in out


def test_a_clone_of_a_host_outside_the_limit_has_its_group(fleet: Fleet) -> None:
    (fleet.folder / "hosts.json").write_text(json.dumps({"h200": {"hosts": {"gpu1": {}, "gpu2": {}}}}))
    (fleet.files / "gpu2.json").write_bytes((fleet.files / "gpu1.json").read_bytes())
    fleet.audit("-i", "hosts.json")
    causes = json.loads(fleet.audit("-i", "hosts.json", "--limit", "gpu2", "--json")[1])["causes"]
    assert {cause["group"] for cause in causes if cause["fact"] == "host.key"} == {"h200"}


# -- which machine is it ----------------------------------------------------------------------------------------------

#: Audits of boxes that were renamed or swapped may not fail the night.
DRIFT = ("--fail-on", "drift")


def keys(fleet: Fleet) -> list[dict[str, Any]]:
    """The causes about who a box is."""
    causes = json.loads(fleet.run("fleet", "--json")[1])["causes"]
    return [cause for cause in causes if cause["authority"] == "identity"]


def renamed(fleet: Fleet, old: str, new: str) -> None:
    (fleet.files / f"{old}.json").rename(fleet.files / f"{new}.json")


def test_a_renamed_machine_is_incomplete_until_the_old_name_is_gone_and_never_drift(fleet: Fleet) -> None:
    fleet.audit()
    renamed(fleet, "gpu2", "new2")
    for _ in range(2):
        code, out, _ = fleet.audit(*DRIFT)
        said = one_line(out)
        assert code == 3 and "4 hosts: 3 ok, 1 unreachable" in said and "HIGH" not in out and not keys(fleet), out
        assert "most likely gpu2 is called new2 now" in said and "--gone gpu2" in said
    code, out, _ = fleet.audit(*DRIFT, "--gone", "gpu2")
    assert code == 0 and "new2 is the machine that was gpu2" in out and not keys(fleet), out
    code, out, _ = fleet.audit(*DRIFT)
    assert code == 0 and "gpu2" not in out and not keys(fleet), out
    rows = json.loads(fleet.run("blame", "kernel.cmdline.iommu", "--host", "new2", "--json")[1])["rows"]
    assert [row["since"]["seen"] for row in rows] == [1], "its history is that of the machine"


def test_an_old_name_that_answers_again_is_a_clone(fleet: Fleet) -> None:
    fleet.audit()
    renamed(fleet, "gpu2", "new2")
    assert fleet.audit(*DRIFT)[0] == 3
    fleet.put(2)
    values = set()
    for state in ("new", "known", "known"):
        code, out, _ = fleet.audit(*DRIFT)
        [cause] = keys(fleet)
        assert code == 1 and (cause["severity"], cause["hosts"], cause["state"]) == ("high", ["gpu2", "new2"], state)
        assert (cause["since"]["after"], cause["since"]["seen"]) == (2, 3)
        assert "fix: on the clone, as root: rm /etc/machine-id; systemd-machine-id-setup" in one_line(out)
        values.add(cause["value"])
    assert len(values) == 1 and len(values.pop()) == 32, "always the key, never a name"
    fleet.run("waive", "host.key", "--host", "*2", "--until", "never", "--reason", "two names of one box")
    assert fleet.audit(*DRIFT)[0] == 0


def test_two_names_that_exchanged_their_machines_are_no_clones(fleet: Fleet) -> None:
    fleet.audit()
    renamed(fleet, "gpu1", "x")
    renamed(fleet, "gpu2", "gpu1")
    renamed(fleet, "x", "gpu2")
    code, out, _ = fleet.audit(*DRIFT)
    assert code == 0 and not keys(fleet), out
    assert "gpu1 is the machine that was gpu2" in out and "gpu2 is the machine that was gpu1" in out
    for _ in range(2):
        code, out, _ = fleet.audit(*DRIFT)
        assert code == 0 and "is the machine" not in out and "changed" not in out and not keys(fleet), out


def test_a_replaced_machine_is_told_with_both_keys_and_its_interval(fleet: Fleet) -> None:
    fleet.audit()
    (fleet.files / "gpu3.json").write_bytes(box(7))
    code, out, _ = fleet.audit(*DRIFT)
    [cause] = keys(fleet)
    assert code == 1 and cause["hosts"] == ["gpu3"] and "since not known" not in out
    assert (cause["since"]["after"], cause["since"]["seen"]) == (1, 2)
    assert len(cause["before"]) == len(cause["value"]) == 32 and cause["before"] != cause["value"]
    assert f"host.key: {cause['before']} -> {cause['value']}" in one_line(out)
    assert fleet.audit(*DRIFT)[0] == 0


def test_host_key_can_be_waived_and_blame_says_where_to_look(fleet: Fleet) -> None:
    fleet.audit()
    for verb in ("blame", "history"):
        given = ("host.key",) if verb == "blame" else ("--fact", "host.key")
        code, out, _ = fleet.run(verb, *given, "--host", "gpu1")
        assert code == 0 and "says who the box is" in one_line(out)
        assert "tunecheck drift --host gpu1 --fact host.key" in one_line(out)
    assert fleet.run("drift", "--host", "gpu1", "--fact", "host.key")[0] == 0
    code, out, err = fleet.run("waive", "host.key", "--host", "gpu3", "--until", "never", "--reason", "renamed")
    assert code == 0 and "host.key on host gpu3" in out, err
    (fleet.files / "gpu3.json").write_bytes(box(7))
    code, out, _ = fleet.audit(*DRIFT)
    assert code == 0 and "WAIVED" in out and "renamed" in out
    code, _, err = fleet.run("waive", "host.kye", "--host", "gpu3", "--until", "30d", "--reason", "x")
    assert code == 2 and "did you mean host.key" in one_line(err)
