"""Outputs of tools that are in no file of a machine: benchmarks, NCCL's and engines' logs, short lists. They are kept
as they are, by kind; facts/posted_texts.py reads them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from importlib import import_module

from ...util.at_first_use import dataclass, regex

__all__ = ["WORDS", "Post", "kinds"]

#: As far as a text is looked at for what it is.
_HEAD = 256 * 1024
_LISTED = regex(r"^GPU \d{1,3}: \S.{0,80}? \(UUID: ", re.MULTILINE)
_FAILED = regex(r"NVIDIA-SMI (?:has failed|couldn)|Failed to initialize NVML|Unable to determine the device handle"
                r"|No devices were found|[Gg][Pp][Uu] is lost|nvidia-smi: (?:command )?not found|"
                r"command not found: nvidia-smi|nvidia-smi['\u2019] not found")
_FAILURE = "nvidia-smi's failure"
#: `lspci -vvv` numbers them, `lspci -v` does not.
_REGION = regex(r"^[ \t]*(?:Region \d: )?Memory at \S", re.MULTILINE)


def _of(parser: str, name: str) -> Callable[[str], object]:
    """Return a search for the sign by which a parser knows its texts. For the sake of start-up time the parser is
    loaded only where one of its words is in a text."""

    def found(head: str) -> object:
        sign: re.Pattern[str] = getattr(import_module(f"...parsers.{parser}", __package__), name)
        return sign.search(head)

    return found


#: kind -> (words without which nothing of it is there, what finds its sign)
_SIGNS: tuple[tuple[str, tuple[str, ...], Callable[[str], object]], ...] = (
    ("nvidia-smi", ("NVIDIA-SMI ",), _of("nvidia.smi_table", "TABLE")),
    ("nvidia-smi -L", ("(UUID: ",), lambda head: _LISTED.search(head)),
    ("nvidia-smi nvlink -s", ("Link ",), _of("nvidia.small_outputs", "NVLINK")),
    (_FAILURE, ("NVIDIA-SMI ", "NVML", "device handle", "No devices", "s lost", "not found"),
     lambda head: _FAILED.search(head)),
    ("lspci -v", ("Memory at ",), lambda head: _REGION.search(head)),
    ("lspci -t", ("]-+-", "]--"), _of("pci.lspci_tree", "START")),
    ("NCCL log", (" NCCL ",), _of("nvidia.nccl_log", "LINE")),
    ("nccl-tests", ("# nThread", "# nccl-tests", " Pid ", "Test NCCL failure", "Test CUDA failure", "Test timeout"),
     _of("nvidia.nccl_tests", "START")),
    ("p2pBandwidthLatencyTest", ("P2P",), _of("nvidia.bench_grids", "LATENCY_TEST")),
    ("nvbandwidth", ("nvbandwidth", "_memcpy_"), _of("nvidia.bench_grids", "BANDWIDTH")),
    ("engine log", ("ll_reduce", "llreduce", "nccl==", "SymmMem", "engine (v", "(EngineCore", "(Worker",
                    "(APIServer", ".py:", "EngineDeadError", "server_args=", "SIGQUIT received",
                    *(f"TP{rank}] " for rank in range(8))),
     _of("containers.engine_log", "MARK")),
    ("lsmod", ("Used by", "nvidia", "nouveau"), _of("nvidia.small_outputs", "LSMOD")),
    ("modinfo", ("filename:",), _of("nvidia.small_outputs", "MODINFO")),
    ("nvcc --version", ("Cuda comp",), _of("nvidia.small_outputs", "NVCC")),
    ("ls /dev/nvidia*", ("nvidia",), _of("nvidia.small_outputs", "DEVICE")),
)


#: Without one of these a text holds nothing of any kind.
WORDS = tuple(dict.fromkeys(word for _, words, _ in _SIGNS for word in words))


@dataclass(frozen=True)
class Post:
    """One text of a kind, and the file it is from."""

    origin: str
    text: str


def kinds(text: str) -> Iterator[str]:
    """Yield every kind of output that a text holds."""
    head = text[:_HEAD]
    for kind, words, sign in _SIGNS:
        if any(map(head.__contains__, words)) and sign(head) and (kind != _FAILURE or _has_failed(text)):
            yield kind


def _has_failed(text: str) -> bool:
    from ...parsers.nvidia.smi_failure import failures  # start-up time

    return bool(failures(text))
