"""`available PCIe bandwidth, limited by` in a kernel log without lspci: told of GPUs, and of nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.imports.test_import import folder

from tunecheck.facts.snapshot import gather
from tunecheck.host.imported.machine import load_import
from tunecheck.rules import judge
from tunecheck.rules.context import Case

_DRIVEN = "[    6.500000] nvidia 0000:a1:00.0: enabling device (0140 -> 0142)\n"
_FOUND = "[    3.150000] pci 0000:a1:00.0: [{}] type 00 class {}\n"
_XID = "[  900.500000] NVRM: Xid (PCI:0000:a1:00): 31, pid=7, name=python3, MMU Fault\n"


def line(now: str, most: str, who: str = "pci 0000:a1:00.0") -> str:
    return (f"[    3.250000] {who}: 126.028 Gb/s available PCIe bandwidth, limited by {now} link at 0000:a0:03.1 "
            f"(capable of 504.112 Gb/s with {most} link)\n")


@pytest.mark.parametrize(("log", "found"), [
    (line("32.0 GT/s PCIe x4", "32.0 GT/s PCIe x16") + _DRIVEN, {"link-width": "narrow-at-boot"}),
    (line("16.0 GT/s PCIe x16", "32.0 GT/s PCIe x16") + _DRIVEN, {"link-speed": "slow-at-boot"}),
    (line("16.0 GT/s x8", "32.0 GT/s x16") + _XID, {"link-width": "narrow-at-boot", "link-speed": "slow-at-boot"}),
    (line("16.0 GT/s PCIe x8", "32.0 GT/s PCIe x16", "nvidia 0000:a1:00.0"),
     {"link-width": "narrow-at-boot", "link-speed": "slow-at-boot"}),
    (_FOUND.format("10de:2bb5", "0x030200 PCIe Legacy Endpoint") + line("16.0 GT/s PCIe x8", "32.0 GT/s PCIe x16"),
     {"link-width": "narrow-at-boot", "link-speed": "slow-at-boot"}),
    (_FOUND.format("10de:2204", "0x030000") + line("32.0 GT/s x8", "32.0 GT/s x16"), {"link-width": "narrow-at-boot"}),
    # NVIDIA also makes sound functions and bridges; others make displays.
    (_FOUND.format("10de:22e8", "0x040300") + line("32.0 GT/s x8", "32.0 GT/s x16"), {}),
    (_FOUND.format("1a03:2000", "0x030000") + line("32.0 GT/s x8", "32.0 GT/s x16"), {}),
    # An idle link is at 2.5 GT/s to save power; a network card is no GPU.
    (line("2.5 GT/s PCIe x16", "32.0 GT/s PCIe x16") + _DRIVEN, {}),
    (line("16.0 GT/s PCIe x8", "32.0 GT/s PCIe x16", "mlx5_core 0000:b1:00.0") + _DRIVEN, {}),
])
def test_it_is_told_where_no_lspci_tells(tmp_path: Path, log: str, found: dict[str, str]) -> None:
    findings = [each for each in judge(Case(gather(load_import(folder(tmp_path, log)), None, True)), "preflight")
                if each.id in ("link-width", "link-speed")]
    assert {each.id: each.code for each in findings if each.outcome == "warn"} == found
    assert all(each.outcome in ("warn", "unknown") for each in findings)
