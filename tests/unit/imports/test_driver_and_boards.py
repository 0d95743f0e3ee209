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
