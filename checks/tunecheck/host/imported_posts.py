"""Outputs of tools that no file of a machine holds: benchmarks, NCCL's and engines' logs, short lists. They are kept as
they are, by kind; facts/posted.py reads them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..formats import (
    bench_grids,
    engine_log,
    lspci_tree,
    nccl_log,
    nccl_tests,
    small_outputs,
    smi_failure,
    smi_table,
)

__all__ = ["Post", "kinds"]

#: As far as a text is looked at for what it is.
_HEAD = 256 * 1024
_LISTED = re.compile(r"^GPU \d{1,3}: \S.{0,80}? \(UUID: ", re.MULTILINE)
_FAILED = re.compile(r"NVIDIA-SMI (?:has failed|couldn)|Failed to initialize NVML|Unable to determine the device handle"
                     r"|No devices were found|[Gg][Pp][Uu] is lost|nvidia-smi: (?:command )?not found|"
                     r"command not found: nvidia-smi|nvidia-smi['\u2019] not found")
#: kind -> (words without which nothing of it is there, the sign)
_SIGNS: tuple[tuple[str, tuple[str, ...], re.Pattern[str]], ...] = (
    ("nvidia-smi", ("NVIDIA-SMI ",), smi_table.TABLE),
    ("nvidia-smi -L", ("(UUID: ",), _LISTED),
    ("nvidia-smi's failure", ("NVIDIA-SMI ", "NVML", "device handle", "No devices", "s lost", "not found"), _FAILED),
    ("lspci -v", ("Region 1: Memory",), re.compile(r"Region 1: Memory at \S")),
    ("lspci -t", ("]-+-", "]--"), lspci_tree.START),
    ("NCCL log", (" NCCL ",), nccl_log.LINE),
    ("nccl-tests", ("# nThread", "# nccl-tests", " Pid "), nccl_tests.START),
    ("p2pBandwidthLatencyTest", ("P2P",), bench_grids.LATENCY_TEST),
    ("nvbandwidth", ("nvbandwidth", "_memcpy_"), bench_grids.BANDWIDTH),
    ("engine log", ("ll_reduce", "llreduce", "nccl==", "SymmMem", "engine (v"), engine_log.MARK),
    ("lsmod", ("Used by", "nvidia", "nouveau"), small_outputs.LSMOD),
    ("modinfo", ("filename:",), small_outputs.MODINFO),
    ("nvcc --version", ("Cuda comp",), small_outputs.NVCC),
    ("ls /dev/nvidia*", ("nvidia",), small_outputs.DEVICE),
)


@dataclass(frozen=True)
class Post:
    """One text of a kind, and the file it is from."""

    origin: str
    text: str


def kinds(text: str) -> Iterator[str]:
    """Every kind of output that a text holds."""
    head = text[:_HEAD]
    for kind, words, sign in _SIGNS:
        if any(word in head for word in words) and sign.search(head) and (
                kind != "nvidia-smi's failure" or smi_failure.failures(text)):
            yield kind
