"""Logs of NCCL of two machines are refused; those of one job on several machines are not."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.refusing import refused

from tunecheck.host.imported.machine import load_import
from tunecheck.parsers.text.damage import Damage


def _log(host: str, ranks: tuple[int, ...] = (0, 1), size: int = 2, nodes: int = 0, job: str = "") -> str:
    told = f" nNodes {nodes} localRanks 1 localRank 0 MNNVL 0" if nodes else ""
    more = f" commId {job}" if job else ""
    return f"{host}:11:99 [0] NCCL INFO Bootstrap: Using eth0:10.0.0.7<0>\n" + "".join(
        f"{host}:{11 + rank}:99 [{rank}] NCCL INFO ncclCommInitRank comm 0x7f rank {rank} nranks {size}{told}{more} "
        "- Init START\n" for rank in ranks)


_WARNS = "hgx1:11:99 [0] transport/nvls.cc:254 NCCL WARN Cuda failure 1 'invalid argument'\n"
#: Each text is a file.
_TWO = {
    "a job on each": [_log("gpu07", nodes=1), _log("hgx1", nodes=1)],
    "only one says that it has one machine": [_log("gpu07", (0,)), _log("hgx1", (0,), 8, 1)],
    "all ranks are on each": [_log("gpu07"), _log("hgx1")],
    "a warning alone": [_log("gpu07"), _WARNS],
    "both in one text": [_log("gpu07", nodes=1) + _log("hgx1", nodes=1)],
    "behind a program's name": ["(Worker_TP0 pid=1)" + _log("gpu07", nodes=1).replace("\n", "\n(Worker_TP0 pid=1)"),
                                _log("hgx1", nodes=1)],
    "rank 0 on each": [_log("gpu07", (0,), 16), _log("hgx1", (0,), 16)],
    "three": [_log("gpu07", (0,), 2, 2), _log("gpu08", (1,), 2, 2), _log("hgx1", nodes=1)],
}
_ONE = {
    "one text of two machines": [_log("gpu07", (0,), 2, 2) + _log("hgx1", (1,), 2, 2)],
    "a file of each machine": [_log("gpu07", (0,), 2, 2), _log("hgx1", (1,), 2, 2)],
    "the number is told in one": [_log("gpu07", (0,), 2, 2), _WARNS],
    "a group within each machine": [_log("gpu07", nodes=1) + _log("gpu07", (0,), 4, 2)
                                    + _log("hgx1", nodes=1) + _log("hgx1", (3,), 4, 2)],
    "one communicator": [_log("gpu07", (0,), job="0xabc"), _log("hgx1", (1,), job="0xabc")],
    "an old NCCL, one text": [_log("gpu07", tuple(range(8)), 16) + _log("hgx1", tuple(range(8, 16)), 16)],
    "an old NCCL, two files": [_log("gpu07", tuple(range(8)), 16), _log("hgx1", tuple(range(8, 16)), 16)],
    "the same machine, twice": [_log("gpu07", nodes=1), _log("gpu07", nodes=1)],
    "with its domain": [_log("gpu07", nodes=1), _log("gpu07.example.com", nodes=1)],
    "containers": [_log("0a1b2c3d4e5f", nodes=1), _log("a0a1b2c3d4e5", nodes=1)],
    "a torn line": [_log("gpu07", nodes=1) + "Channel 0gpu07:12:99 [1] NCCL INFO x\npu07:12:99 [1] NCCL INFO y\n"],
    "behind programs' names": ["(Worker pid=1)" + _log("gpu07", nodes=1) + "(Worker pid=2)" + _log("gpu07", nodes=1)],
}


def _files(folder: Path, texts: list[str]) -> str:
    for number, text in enumerate(texts):
        (folder / f"{number}.txt").write_text(text)
    return str(folder)


@pytest.mark.parametrize("name", _TWO)
def test_logs_of_two_machines_are_refused(name: str, tmp_path: Path) -> None:
    last = len(_TWO[name]) - 1
    with refused(Damage.CONTRADICTS, *(["gpu07", "0.txt", "hgx1", f"{last}.txt"] if last else ["gpu07", "hgx1"])):
        load_import(_files(tmp_path, _TWO[name]))


@pytest.mark.parametrize("name", _ONE)
def test_logs_of_one_job_are_not(name: str, tmp_path: Path) -> None:
    load_import(_files(tmp_path, _ONE[name]))
