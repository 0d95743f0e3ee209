"""A history on a disk without space, or one that is only read: both are said as what they are."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from tests.unit.refusing import refused

from tunecheck.errors import Misuse, UsageError
from tunecheck_fleet.store import open_store
from tunecheck_fleet.store.sql.db_errors import Trouble, refusal

from .stores import SqliteMakes, seen


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("mount") is None, reason="mounting needs root")
def test_a_full_disk_and_a_read_only_one(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(disk)], capture_output=True).returncode:
        pytest.skip("this machine does not let us mount")
    try:
        makes = SqliteMakes(tmp_path)
        store = makes.open(str(disk / "fleet.db"))
        head = store.begin("all", [])
        with refused(Trouble.FULL, str(disk / "fleet.db")):
            for number in range(1000):
                store.put(head.id, seen(f"h{number}", {"x": number}, document=os.urandom(20_000)))
        kept = len(store.hosts(head.id))
        assert 0 < kept < 1000 and {state.status for state in store.hosts(head.id)} == {"ok"}
        with suppress(UsageError):      # to give its turn back it needs a page, which may not be there
            makes.close()
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        with refused(Misuse.UNWRITABLE, str(disk / "fleet.db")):
            open_store(str(disk / "fleet.db"))
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("mount") is None, reason="mounting needs root")
@pytest.mark.parametrize("options", [*(f"size={kib}k" for kib in (4, 8, 16, 32, 48, 64, 100)), "size=4m,nr_inodes=2"])
def test_a_disk_too_small_for_a_new_history(tmp_path: Path, options: str) -> None:
    """SQLite says of some sizes that the disk is full, of others that it cannot be read or the file not be opened."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", str(disk)], capture_output=True).returncode:
        pytest.skip("this machine does not let us mount")
    try:
        makes = SqliteMakes(tmp_path)
        with refused(Trouble.FULL, str(disk / "fleet.db")):
            makes.open(str(disk / "fleet.db")).begin("all", [])
        makes.close()
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize(("code", "trouble"), [
    (sqlite3.SQLITE_IOERR, Trouble.DISK), (sqlite3.SQLITE_CANTOPEN, Trouble.CANNOT_OPEN)])
@pytest.mark.parametrize(("free", "flags", "full"), [
    (0, 0, True), (1, 0, True), (1000, 0, False), (0, os.ST_RDONLY, False)])
def test_an_error_of_the_disk_is_told_from_a_full_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int,
                                                      trouble: Trouble, free: int, flags: int, full: bool) -> None:
    found = os.statvfs_result((4096, 4096, 1000, free, free, 100, 50, 50, flags, 255))
    monkeypatch.setattr(os, "statvfs", lambda place: found)
    error = sqlite3.OperationalError("x")
    error.sqlite_errorcode = code
    assert refusal(str(tmp_path / "x.db"), error).flaw is (Trouble.FULL if full else trouble)
