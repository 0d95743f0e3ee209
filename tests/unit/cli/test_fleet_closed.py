"""Snapshots, and folders of them, that whoever runs the audit may not read: said, and never clean."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.cli.carried import Fleet, naming, one_line, reason, statuses

from tunecheck_fleet.folder import Folder


@pytest.fixture
def nobody() -> Iterator[Fleet]:
    """The fleet of a user who may not read everything. In a folder of its own: pytest's are for their owner alone."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("needs root, to be another user, and setpriv")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)
        fleet = Fleet(Path(folder))
        for number in (1, 2, 3):
            fleet.put(number)
        os.chown(fleet.store.parent, 65534, 65534)
        try:
            started = as_nobody(fleet, "--version")[0] == 0
        except PermissionError:
            started = False
        if not started:
            pytest.skip("another user may not start this Python")
        yield fleet


def as_nobody(fleet: Fleet, *arguments: str) -> tuple[int, str, str]:
    done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", sys.executable, "-m",
                           "tunecheck", *arguments], cwd=fleet.folder, env={**fleet.env, "HOME": "/nonexistent"},
                          text=True, capture_output=True, timeout=120, check=False)
    return done.returncode, done.stdout, one_line(done.stderr)


def audit_of(nobody: Fleet) -> tuple[int, dict[str, Any]]:
    code, out, err = as_nobody(nobody, "audit", "--from", "boxes", "--json")
    assert out, err
    return code, json.loads(out)


def test_what_may_not_be_read_is_said_and_never_clean(nobody: Fleet) -> None:
    (nobody.files / "gpu3.json").chmod(0)
    code, document = audit_of(nobody)
    assert code == 3 and statuses(document) == {"gpu1": "ok", "gpu2": "ok", "gpu3": "refused"}
    assert naming([reason(document, "gpu3")], "boxes/gpu3.json", "Permission denied")


def test_a_group_folder_that_may_not_be_read_is_said_and_never_clean(nobody: Fleet) -> None:
    rack = nobody.files / "rack1"
    rack.mkdir(mode=0o700)
    (nobody.files / "lost+found").mkdir(mode=0o700)
    (nobody.files / "gpu3.json").rename(rack / "gpu3.json")
    for _ in range(2):      # no host of it is known by name
        code, document = audit_of(nobody)
        assert code == 3 and statuses(document) == {"gpu1": "ok", "gpu2": "ok", "rack1/*": "refused"}
        assert naming(document["notes"], "boxes", "rack1", "Permission denied")
        assert "lost+found" not in json.dumps(document)
    rack.chmod(0o755)
    code, document = audit_of(nobody)
    assert code == 0 and statuses(document) == {"gpu1": "ok", "gpu2": "ok", "gpu3": "ok"}
    rack.chmod(0o700)
    for _ in range(2):
        code, document = audit_of(nobody)
        assert code == 3 and statuses(document)["gpu3"] == "refused"
        assert naming([reason(document, "gpu3")], "boxes/rack1", "Permission denied")


def test_with_an_inventory_a_host_may_be_in_the_folder_that_may_not_be_read(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path)
    fleet.put(1)
    folder = replace(Folder.read(str(fleet.files)), closed={"rack1": PermissionError(13, "Permission denied")})
    said = {answer.host: (answer.status, answer.reason) for answer in folder.answers({"gpu1": "h200", "gpu9": "h200"})}
    assert said["gpu1"][0] == "ok" and said["gpu9"][0] == "refused"
    assert naming([said["gpu9"][1]], "gpu9.json", str(fleet.files), f"{fleet.files}/rack1", "Permission denied")


def test_a_pipe_among_the_snapshots_spoils_only_its_own_row(tmp_path: Path) -> None:
    """It is not waited for, though nobody ever writes into it."""
    fleet = Fleet(tmp_path)
    fleet.put(1)
    os.mkfifo(fleet.files / "gpu3.json")
    (fleet.files / "gpu4.json").mkdir()
    answers = {answer.host: answer for answer in Folder.read(str(fleet.files)).answers(
        {f"gpu{number}": "ungrouped" for number in (1, 3, 4)})}
    assert [answers[f"gpu{number}"].status for number in (1, 3, 4)] == ["ok", "garbled", "garbled"]
    assert naming([answers["gpu3"].reason], "gpu3.json")


def test_a_top_folder_that_may_not_be_read_is_a_usage_error(nobody: Fleet) -> None:
    nobody.files.chmod(0o700)
    for given in (("--from", "boxes"), ("--from", "boxes/deeper"), ("-i", "boxes/inventory")):
        code, out, err = as_nobody(nobody, "audit", *given)
        assert (code, out) == (2, "") and naming([err], given[1], "Permission denied"), err
        assert "Traceback" not in err
