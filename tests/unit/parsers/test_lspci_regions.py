"""The memory regions of lspci: which one is BAR1, and which have no address."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.imports.test_fragments import findings, snap

from tunecheck.parsers.pci.lspci_regions import bar1_sizes, without_address

_HEAD = "06:00.0 3D controller [0302]: NVIDIA Corporation X [10de:%s] (rev a1)\n\tControl: I/O- Mem+ BusMaster+\n"
_SMALL = "\tRegion 0: Memory at fc000000 (32-bit, non-prefetchable) [size=16M]\n"
_WIDE = "\tRegion 0: Memory at 7b000000000 (64-bit, prefetchable) [size=64M]\n"
_SRIOV = ("\tCapabilities: [bcc v1] Single Root I/O Virtualization (SR-IOV)\n"
          "\t\tRegion 0: Memory at 0000000000000000 (64-bit, prefetchable)\n"
          "\t\tRegion 1: Memory at <unassigned> (64-bit, prefetchable)\n")


def _region(number: int, address: str, marks: str) -> str:
    return f"\tRegion {number}: Memory at {address} (64-bit, prefetchable){marks}\n"


@pytest.mark.parametrize(("first", "number"), [(_SMALL, 1), (_WIDE, 2), ("", 1)], ids=["32-bit", "64-bit", "none"])
@pytest.mark.parametrize(("marks", "size"), [
    (" [size=128G]", 131072), (" [size=256M]", 256), (" [disabled] [size=128G]", None), ("", None),
    (" [virtual] [size=128G]", None)])
def test_bar1_is_the_region_behind_region_0(first: str, number: int, marks: str, size: int | None) -> None:
    text = _HEAD % "2bb5" + first + _region(number, "76000000000", marks) + _region(4, "7b0", " [size=32M]") + _SRIOV
    assert bar1_sizes(text) == ({"0000:06:00.0": size} if size else {})
    assert without_address(text) == {}


@pytest.mark.parametrize("dress", [str, lambda text: text.replace("\t", "  "), lambda text: text.replace("\t", "")],
                         ids=["tabs", "spaces", "bare"])
@pytest.mark.parametrize(("line", "number"), [
    ("\tRegion 2: Memory at <unassigned> (64-bit, prefetchable)\n", 2),
    ("\tRegion 2: Memory at <unassigned> (64-bit, prefetchable) [disabled]\n", 2),
    ("\tRegion 0: Memory at <ignored> (32-bit, non-prefetchable) [size=16M]\n", 0),
    ("\tMemory at <unassigned> (64-bit, prefetchable) [disabled]\n", -1)])
def test_a_region_without_an_address_is_told(dress: type, line: str, number: int) -> None:
    text = dress("00:00.0 Host bridge [0600]: Intel [8086:29c0]\n\tControl: I/O+\n" + _HEAD % "2335" + line + _SRIOV)
    assert without_address(text) == {"0000:06:00.0": (number,)} and bar1_sizes(text) == {}


@pytest.mark.parametrize(("region", "expected"), [
    (_region(2, "76000000000", " [size=256M]"), {"bar1-size": ("fail", "256 MiB")}),
    (_region(2, "76000000000", " [size=128G]"), {"bar1-size": ("pass", "131072 MiB")}),
    (_region(2, "<unassigned>", " [disabled]"), {"bar-assignment": ("fail", "BAR 2")})])
def test_one_text_of_lspci_is_judged_without_a_log(tmp_path: Path, region: str,
                                                   expected: dict[str, tuple[str, str]]) -> None:
    text = ("00:00.0 Host bridge [0600]: Intel [8086:29c0]\n\tControl: I/O+\n\n"
            "05:00.0 VGA compatible controller [0300]: ASPEED Technology, Inc. [1a03:2000]\n\tControl: I/O+\n"
            "\tRegion 1: Memory at fb000000 (32-bit, non-prefetchable) [size=128K]\n\n"
            + _HEAD % "2bb5" + _WIDE + region + "\tKernel driver in use: nvidia\n\n")
    snapshot = snap(tmp_path, text)
    for check, (outcome, observed) in expected.items():
        (found,) = findings(snapshot, check)
        assert (found.outcome, found.observed) == (outcome, observed)
