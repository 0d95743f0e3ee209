"""Kernel logs with dates: lines from before the boot are of an earlier one."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.imports.test_import import folder

from tunecheck.host.imported.log_dates import older
from tunecheck.host.imported.machine import load_import
from tunecheck.host.prefetch import PAST

_XID = "NVRM: Xid (PCI:0000:2b:00): 79, GPU has fallen off the bus."
_NOW = "Sep 19 16:18:02 bubz kernel: [68183.615790] pcieport 0000:00:03.1: AER: Corrected error received\n"
_ISO = "2025-09-19T16:18:02+0000 bubz kernel: [68183.615790] pcieport 0000:00:03.1: AER: Corrected error received\n"


@pytest.mark.parametrize("log", [_NOW, _ISO])
@pytest.mark.parametrize(("date", "is_older"), [
    ("May 18 19:02:39", True), ("Sep 15 10:00:00", True), ("2025-05-18T19:02:39+0000", True),
    # The same boot, one that began at another time zone's midnight, and a day that is as far ahead as behind.
    ("Sep 19 10:00:00", False), ("Sep 17 22:00:00", False), ("Nov  1 10:00:00", False), ("Mar 10 10:00:00", False),
])
def test_lines_from_before_the_boot_are_older(log: str, date: str, is_older: bool) -> None:
    assert older(log, f"{date} box kernel: {_XID}\n") == is_older
    assert not older(f"{date} box kernel: {_XID}\n", log), "without the seconds since boot nothing is told"


def test_new_year_is_no_half_year() -> None:
    january = "Jan  3 00:00:10 bubz kernel: [500000.000000] usb 1-1: new device\n"
    assert not older(january, f"Dec 30 10:00:00 bubz kernel: {_XID}\n")
    assert older(january, f"Dec  3 10:00:00 bubz kernel: {_XID}\n")


@pytest.mark.parametrize("first", [0, 1])
def test_an_xid_of_an_earlier_boot_is_named_as_one(tmp_path: Path, first: int) -> None:
    texts = [f"May 18 19:02:39 bubz kernel: {_XID}\n", _NOW]
    door = load_import(folder(tmp_path, texts[first], texts[1 - first]))
    assert _XID in door.run(PAST).stdout and _XID not in door.run(("dmesg",)).stdout
