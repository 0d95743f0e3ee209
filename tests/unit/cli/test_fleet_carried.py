"""`tunecheck audit --from`: who is missing from the folder, what in it is not read, and what is too old."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from tests.unit.cli.carried import Fleet


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
