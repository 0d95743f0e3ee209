"""Texts of two boots in one folder: refused, never mixed."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.imports.test_bug_report import REPORT
from tests.unit.imports.test_import import LOG, folder
from tests.unit.refusing import refused

from tunecheck.facts.snapshot import gather
from tunecheck.host.imported.machine import load_import
from tunecheck.model.absence import Absence
from tunecheck.parsers.text.damage import Damage

SAME = "root=/dev/sda1 ro pci=noacs\n"


def test_a_stale_command_line_beside_the_log_of_another_boot_is_refused(tmp_path: Path) -> None:
    with refused(Damage.CONTRADICTS, "iommu=pt", "pci=noacs"):
        load_import(folder(tmp_path, "root=/dev/sda1 ro iommu=pt\n", LOG))


def test_two_command_lines_are_refused(tmp_path: Path) -> None:
    """With the files, of which the operator keeps those of one boot."""
    there = folder(tmp_path, SAME, "root=/dev/sda1 ro iommu=off\n")
    with refused(Damage.CONTRADICTS, "/proc/cmdline", *sorted(each.name for each in Path(there).iterdir())):
        load_import(there)


def test_the_same_one_is_believed_also_where_a_disk_is_blacked_out_or_the_kernel_adds_words(tmp_path: Path) -> None:
    more = "[    0.000002] Kernel command line: quiet root=/dev/sda1 ro pci=noacs\n"
    for line in (SAME, "root=xxxx ro pci=noacs\n", "quiet root=/dev/sda1 ro pci=noacs\n"):
        assert load_import(folder(tmp_path, line, LOG + more)).read_bytes("/proc/cmdline").decode() == line


def test_the_journal_of_another_boot_in_a_bug_report_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(REPORT.replace("ro pci=noacs", "ro iommu=pt", 1))
    snapshot = gather(load_import(str(tmp_path / "a")), None, True)
    assert snapshot.host is not None
    assert snapshot.host.kernel.cmdline.value == ("root=/dev/sda1", "ro", "iommu=pt")
    assert snapshot.host.kernel.log.absence is Absence.NOT_IN_IMPORT


_XID = "[  500.123456] NVRM: Xid (PCI:0000:03:00): 79, pid=1, name=x, GPU has fallen off the bus.\n"
_OTHER = "[  501.123456] NVRM: Xid (PCI:0000:03:00): 31, pid=1, name=x, Ch 00000008\n"
_MANY = "".join(f"[    1.{number:06d}] usb 1-1: a\n" for number in range(200))
_WHOLE = f"[    0.000000] Linux version 6.12.1\n{_MANY}{_XID}[  900.000000] usb 1-1: b\n"


@pytest.mark.parametrize(("text", "codes", "earlier"), [
    (_XID + _WHOLE, [79], 0), (_WHOLE + _XID, [79], 0), (_XID + _OTHER + _WHOLE, [79, 31], 0),
    (_OTHER + _WHOLE, [79], 1), (_XID.replace("500", "501") + _WHOLE, [79], 1),
    (_WHOLE + _WHOLE.replace("500", "600"), [79], 1),
], ids=["above", "below", "with another of the same boot", "of another boot", "at another time", "two boots"])
def test_a_line_with_the_same_time_is_of_the_same_boot(tmp_path: Path, text: str, codes: list[int],
                                                       earlier: int) -> None:
    (tmp_path / "a").write_text(text)
    snapshot = gather(load_import(str(tmp_path / "a")), None, True, with_past=True)
    assert snapshot.host is not None and snapshot.host.kernel.log.value is not None
    assert [(each.code, each.count) for each in snapshot.host.kernel.log.value.events.xids] == [
        (code, 1) for code in codes]
    assert len(snapshot.past.value.boots if snapshot.past.value else ()) == earlier
