"""Texts of two machines, told by the driver that is loaded and by the models of the boards."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.imports.test_fragments import PLAIN, QUERY, load
from tests.unit.imports.test_named_boards import run
from tests.unit.refusing import refused

from tunecheck.parsers.text.damage import Damage

_BOOT = "[    0.000000] Linux version 6.12.1 (gcc) #1 SMP\n[    0.000000] Command line: root=/dev/sda1 ro\n"


def _loads(*versions: str) -> str:
    return _BOOT + "".join(f"[    {number}.100000] NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  {version}  "
                           "Release Build  (dvs-builder@U22)\n" for number, version in enumerate(versions, 8))


_REPORT = QUERY % "16x"     # of 595.58.03, one NVIDIA H100


@pytest.mark.parametrize(("texts", "drivers"), [
    ((_REPORT, _loads("580.159.04")), ["595.58.03", "580.159.04"]),
    ((_REPORT, _loads("595.58.03", "580.159.04")), ["595.58.03", "580.159.04"]),
    ((PLAIN, _loads("595.58.03")), ["580.159.04", "595.58.03"])])
def test_another_driver_than_the_log_loaded(tmp_path: Path, texts: tuple[str, ...], drivers: list[str]) -> None:
    with refused(Damage.CONTRADICTS, *drivers, "0.txt", "1.txt"):
        load(tmp_path, *texts)


@pytest.mark.parametrize("texts", [
    (_REPORT, _loads("595.58.03")), (_REPORT, _loads("580.159.04", "595.58.03")), (_REPORT, _BOOT), (PLAIN, _BOOT),
    (_REPORT.replace("595.58.03", "N/A"), _loads("580.159.04")), (_loads("580.159.04"),),
    ("$ journalctl -k -b -1\n" + _loads("580.159.04"), _REPORT),
    (_loads("580.159.04") + _loads("595.58.03").replace("6.12.1", "6.12.2"), _REPORT),
], ids=["the same", "loaded anew", "no load", "table", "not told", "log alone", "an earlier boot", "two boots"])
def test_no_other_driver(tmp_path: Path, texts: tuple[str, ...]) -> None:
    load(tmp_path, *texts)


def _list(*names: str) -> str:
    return "".join(f"GPU {number}: {name} (UUID: GPU-{number}1111111-2222-3333-4444-555555555555)\n"
                   for number, name in enumerate(names))


def _test(*names: str) -> str:
    devices = "".join(f"Device: {number}, {name}, pciBusID: {number + 2}, pciDeviceID: 0, pciDomainID:0\n"
                      for number, name in enumerate(names))
    return ("[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]\n" + devices + "Unidirectional P2P=Enabled Bandwidth (P2P "
            "Writes) Matrix (GB/s)\n   D\\D     0      1 \n     0 1015.27   6.60 \n     1   6.60 945.63 \n")


_OLD, _NEW, _H200 = "NVIDIA GeForce RTX 4090", "NVIDIA GeForce RTX 5090", "NVIDIA H200"


@pytest.mark.parametrize(("texts", "names"), [
    ((_test(_OLD, _OLD), _list(_NEW, _NEW)), ["p2pBandwidthLatencyTest", _OLD, "nvidia-smi -L", _NEW]),
    ((_test(_OLD, _OLD), _list(*[_NEW] * 8)), [_OLD, _NEW]),
    ((run(_H200, _H200), _list(_NEW, _NEW)), ["nccl-tests", _H200, _NEW]),
    ((_test(_OLD), _REPORT), [_OLD, "NVIDIA H100"]), ((_test(_OLD), PLAIN), [_OLD, _H200]),
])
def test_a_benchmark_of_other_boards(tmp_path: Path, texts: tuple[str, ...], names: list[str]) -> None:
    with refused(Damage.CONTRADICTS, *names, "0.txt", "1.txt"):
        load(tmp_path, *texts)


@pytest.mark.parametrize("texts", [
    (_test(_OLD, _OLD), _list(_OLD, _OLD)), (_test(_OLD), _list(_NEW, _OLD)), (_test("GeForce RTX 4090"), _list(_OLD)),
    (_test(_OLD, _OLD), _list(_NEW)), (_test(f"{_H200} MIG 1g.18gb"), _list(_H200)),
    (_test(_OLD), _list(_NEW) + "\t Link 0: 26.562 GB/s\n"),
    (run(_H200, _H200, hosts=("a", "b")), _list(_NEW, _NEW)), (_test(_OLD), _REPORT.replace("GPUs : 1", "GPUs : 2")),
    (_test(_OLD), _test(_NEW)),
], ids=["the same", "some of them", "an older name", "a list that may be cut", "MIG", "links of one", "two machines",
        "one of two", "two runs"])
def test_no_other_boards(tmp_path: Path, texts: tuple[str, ...]) -> None:
    load(tmp_path, *texts)


def _joined(gpus: int, *linked: int, word: str = "NV18") -> str:
    """What `nvidia-smi topo -m` prints of a machine on which these GPUs are joined by NVLink."""
    rows = "".join(f"GPU{one}\t" + "\t".join(
        " X " if one == other else word if {one, other} <= {*linked} else "SYS" for other in range(gpus))
        + "\t0-15\t0\t\tN/A\n" for one in range(gpus))
    head = "\t".join(f"GPU{number}" for number in range(gpus))
    return f"$ nvidia-smi topo -m\n\t{head}\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n{rows}\n"


def _tree(*boards: tuple[str, str]) -> str:
    return "".join(f"{number:02x}:00.0 3D controller [0302]: NVIDIA Corporation X [10de:{ids}]\n\tControl: I/O- Mem+\n"
                   f"\tKernel driver in use: {driver}\n\n" for number, (ids, driver) in enumerate(boards, 6))


_PRO = "NVIDIA RTX PRO 6000 Blackwell Workstation Edition"


@pytest.mark.parametrize(("texts", "names"), [
    ((_test(_PRO, _PRO), _joined(2, 0, 1)), ["NV18", "p2pBandwidthLatencyTest", _PRO]),
    ((_test(_NEW, _NEW), _joined(2, 0, 1, word="NV4")), ["NV4", _NEW]),
    ((run(_PRO, _PRO), _joined(8, *range(8))), ["nccl-tests", _PRO]),
    ((_list(_PRO, _PRO), _joined(2, 0, 1)), ["nvidia-smi -L", _PRO]),
    ((_test(_PRO.removeprefix("NVIDIA "), _H200), _joined(2, 0, 1)), ["RTX PRO 6000"]),
    ((_list(_H200, _PRO, _PRO), _joined(3, 0, 1)), ["nvidia-smi -L", _PRO]),
    ((_tree(("2bb1", "nvidia"), ("2bb1", "nvidia")), _joined(2, 0, 1)), ["lspci"]),
])
def test_boards_without_nvlink_are_not_joined_by_it(tmp_path: Path, texts: tuple[str, ...], names: list[str]) -> None:
    with refused(Damage.CONTRADICTS, "topo -m", *names, "0.txt", "1.txt"):
        load(tmp_path, *texts)


@pytest.mark.parametrize("texts", [
    (_test(_H200, _H200), _joined(2, 0, 1)), (_test(_PRO, _PRO), _joined(2)), (_test(_PRO, _PRO), _joined(4, 0, 1)),
    (run(_PRO, _PRO) * 2, _joined(4, 0, 1)), (_list(_H200, _H200, _PRO), _joined(3, 0, 1)),
    (_test("NVIDIA RTX 9999", "NVIDIA RTX 9999"), _joined(2, 0, 1)),
    (_test("NVIDIA RTX PRO 4500 Blackwell", "NVIDIA RTX PRO 4500 Blackwell"), _joined(2, 0, 1)),
    (_tree(("2335", "nvidia"), ("2335", "nvidia"), ("2bb1", "vfio-pci")), _joined(2, 0, 1)),
], ids=["with NVLink", "over PCIe", "two other boards", "one run twice", "one beside two", "a board that is not known",
        "its NVLink is not known", "given to a guest"])
def test_boards_that_may_be_joined(tmp_path: Path, texts: tuple[str, ...]) -> None:
    load(tmp_path, *texts)


_RTX = ("2bb5", "nvidia")       # a name of the driver's own is known of it


def test_a_benchmark_of_other_boards_than_the_tree_has(tmp_path: Path) -> None:
    with refused(Damage.CONTRADICTS, "nccl-tests", _H200, "lspci", "RTX PRO 6000"):
        load(tmp_path, run(_H200, _H200), _tree(*[_RTX] * 8))


@pytest.mark.parametrize("boards", [
    (_RTX,), (_RTX, ("2bb5", "vfio-pci")), (_RTX, _RTX, ("2684", "nvidia")), (_RTX, ("2335", "nvidia"))],
    ids=["fewer than ran", "one given away", "one without a known name", "one of them"])
def test_a_tree_that_may_hold_the_boards_of_the_benchmark(tmp_path: Path, boards: tuple[tuple[str, str], ...]) -> None:
    load(tmp_path, run(_H200, _H200), _tree(*boards))


def _found(*devices: tuple[int, str]) -> str:
    return _BOOT + "".join(f"[    1.{number:06}] pci 0000:{number:02x}:00.0: [10de:{ids}] type 00 class 0x030200 PCIe "
                           "Legacy Endpoint\n" for number, ids in devices)


def test_a_kernel_log_that_found_other_devices(tmp_path: Path) -> None:
    with refused(Damage.CONTRADICTS, "10de:2335", "0000:06:00.0", "10de:2bb5", "0.txt", "1.txt"):
        load(tmp_path, _found((6, "2335"), (7, "2335"), (8, "2335")), _tree(_RTX, _RTX, _RTX))


@pytest.mark.parametrize("found", [
    ((6, "2bb5"), (7, "2bb5"), (8, "2bb5")), ((6, "2335"), (7, "2335"), (8, "2bb5")), ((6, "2335"),),
    ((6, "2bb5"), (33, "2335"), (34, "2335"))], ids=["the same", "two exchanged", "one other", "one in common"])
def test_a_kernel_log_that_may_be_of_the_same_machine(tmp_path: Path, found: tuple[tuple[int, str], ...]) -> None:
    load(tmp_path, _found(*found), _tree(_RTX, _RTX, _RTX))


@pytest.mark.parametrize(("found", "said"), [
    (((32, "2bb5"), (33, "2bb5")), ("0000:20:00.0", "0000:06:00.0")), (((65, "2bb5"),), ("0000:41:00.0",)),
    (((6, "2335"), (7, "2335")), ("10de:2335", "10de:2bb5"))], ids=["elsewhere", "one elsewhere", "other models"])
def test_boards_are_where_the_boot_found_them(tmp_path: Path, found: tuple[tuple[int, str], ...],
                                              said: tuple[str, ...]) -> None:
    tree = _tree(_RTX, _RTX)
    with refused(Damage.CONTRADICTS, *said, "0.txt", "1.txt"):
        load(tmp_path, _found(*found), tree)
    (tmp_path / "part").mkdir()     # of a part of a log nothing follows: it may have lost the lines of the others
    load(tmp_path / "part", _found(*found).removeprefix(_BOOT), tree)


def test_a_board_has_one_model(tmp_path: Path) -> None:
    tree = _tree(_RTX)
    same = "GPU 00000000:06:00.0\n    Product Name : NVIDIA X\n        Device Id : 0x2BB510DE\n"
    head = "==============NVSMI LOG==============\n\nDriver Version : 580.159.04\nAttached GPUs : 1\n"
    load(tmp_path, head + same, tree)
    (tmp_path / "other").mkdir()
    with refused(Damage.CONTRADICTS, "10de:2335", "10de:2bb5", "0.txt", "1.txt"):
        load(tmp_path / "other", head + same.replace("2BB5", "2335"), tree)
