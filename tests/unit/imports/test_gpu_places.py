"""Texts of two machines or boots, told by the addresses of their GPUs."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest
from tests.unit.imports.deletion_bases import own
from tests.unit.imports.smi_texts import GPU, HEAD, row, table
from tests.unit.imports.test_fragments import load
from tests.unit.refusing import refused

from tunecheck.parsers.text.damage import Damage

_BOOT = "[    0.000000] Linux version 6.12.1 (gcc) #1 SMP\n[    0.000000] Command line: root=/dev/sda1 ro\n"
_TREE = next(base.texts for base in own() if base.name == "acs-iommu, folder")["lspci.txt"]
_AT = (0x03, 0x04)      # where that machine has its GPUs
_OTHER = (0x46, 0x47)
_BOARD = GPU.replace("RTX PRO 6000 Blackwell Server Edition", "H100").replace("0x2BB510DE", "0x233010DE")


def _q(*buses: int, attached: int = 0) -> str:
    return HEAD.format(count=attached or len(buses)) + "".join(
        _BOARD.format(bus=f"{bus:02X}") for bus in buses)


def _table(*buses: int) -> str:
    return table(*(row(index=number, bus=f"{bus:02X}", name="NVIDIA H100") for number, bus in enumerate(buses)))


def _log(*buses: int) -> str:
    return _BOOT + "".join(f"[    1.{bus:06}] pci 0000:{bus:02x}:00.0: [10de:2330] type 00 class 0x030200 PCIe "
                           "Endpoint\n" for bus in buses)


def _drawing(*buses: int) -> str:
    rows = [f"{at + 1:02x}.0-[{bus:02x}]----00.0  NVIDIA Corporation GH100 [H100 SXM5 80GB]"
            for at, bus in enumerate(buses)]
    return f"-[0000:00]-+-{rows[0]}\n" + "".join(f"           +-{each}\n" for each in rows[1:-1]) + (
        f"           \\-{rows[-1]}\n")


def _grids(*buses: int) -> str:
    return ("[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]\n" + "".join(
        f"Device: {number}, NVIDIA H100, pciBusID: {bus:x}, pciDeviceID: 0, pciDomainID:0\n"
        for number, bus in enumerate(buses)) + "Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)\n"
        "   D\\D     0      1 \n     0 1015.27  52.60 \n     1  52.60 945.63 \n")


def _nvbandwidth(*buses: int) -> str:
    return "nvbandwidth Version: v0.8\nBuilt from Git version: v0.8\n\n" + "".join(
        f"Device {number}: NVIDIA H100 (00000000:{bus:02X}:00)\n" for number, bus in enumerate(buses)) + (
        "\nRunning device_to_device_memcpy_read_ce.\nmemcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n"
        "           0         1\n 0       N/A    52.60\n 1    52.60       N/A\n\nSUM x 1\n\n")


def _ranks(*buses: int, hosts: tuple[str, ...] = ("box", "box")) -> str:
    ranks = "".join(f"#  Rank {rank:2} Group  0 Pid   4000 on {hosts[rank % 2]:>10} device {rank:2} "
                    f"[0000:{bus:02x}:00] NVIDIA H100\n" for rank, bus in enumerate(buses))
    return ("# nccl-tests version 2.18.2 nccl-headers=22809 nccl-library=22809\n# nThread 1 nGpus 2\n# Using devices\n"
            f"{ranks}#\n# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 30.0\n#\n")


def _lspci(*buses: int) -> str:
    text = _TREE
    for old, new in zip(_AT, buses, strict=False):
        text = text.replace(f"\n{old:02x}:00.0 ", f"\n{new:02x}:00.0 ").replace(
            f"secondary={old:02x}, subordinate={old:02x}", f"secondary={new:02x}, subordinate={new:02x}")
    return text


_LISTS = {"lspci": _lspci, "nvidia-smi": _q, "nvidia-smi, its table": _table, "the kernel log": _log,
          "lspci -tv": _drawing}
_RUNS = {"p2pBandwidthLatencyTest": _grids, "nvbandwidth": _nvbandwidth, "nccl-tests": _ranks}
_WHICH = [(one, other) for one, other in permutations(_LISTS | _RUNS, 2)
          if not {one, other} <= {*_RUNS} and {one, other} != {"nvidia-smi", "nvidia-smi, its table"}]
#: What another comparison says of these: only one of the lists, or another board at the address.
_OTHERWISE = ({"lspci", "the kernel log"},)


@pytest.mark.parametrize(("one", "other"), _WHICH)
def test_two_texts_without_a_common_gpu_are_of_two_machines(one: str, other: str, tmp_path: Path) -> None:
    """Whatever names the GPUs, both lists and both files are told; with one in common, or the same, they are read."""
    texts = _LISTS | _RUNS
    # That of other addresses would have ports without a device.
    first, second = (_OTHER, _AT) if other == "lspci" else (_AT, _OTHER)
    with refused(Damage.CONTRADICTS, "0.txt", "1.txt") as told:
        load(tmp_path, texts[one](*first), texts[other](*second))
    assert {one, other} in _OTHERWISE or all(f"0000:{bus:02x}:00.0" in str(told.value) for bus in (*_AT, *_OTHER))
    load(tmp_path, texts[one](*_AT), texts[other](*_AT))
    load(tmp_path, texts[one](*first), texts[other](first[0], second[0]))


@pytest.mark.parametrize("texts", [
    (_q(*_AT), _lspci(*_OTHER).replace("Kernel driver in use: nvidia", "Kernel driver in use: vfio-pci")),
    (_q(0x46), _lspci(*_AT)), (_q(*_OTHER, attached=4), _grids(*_AT)), (_grids(*_AT), _nvbandwidth(*_OTHER)),
    (_q(*_AT), _ranks(*_OTHER, hosts=("a", "b"))),
], ids=["given to guests", "one GPU", "a part of the list", "two runs", "a run on two machines"])
def test_texts_that_may_be_of_one_machine(texts: tuple[str, ...], tmp_path: Path) -> None:
    load(tmp_path, *texts)


@pytest.mark.parametrize("text", [_q, _table, _grids, _nvbandwidth, _ranks])
def test_another_device_in_the_place_of_a_gpu(text: object, tmp_path: Path) -> None:
    assert callable(text)
    with refused(Damage.CONTRADICTS, "another maker"):
        load(tmp_path, text(0x00, _AT[1]), _lspci(*_AT))
