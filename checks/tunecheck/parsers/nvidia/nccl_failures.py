"""Which lines of a log of NCCL, or of PyTorch about NCCL, say that a job broke. Wordings of NCCL 2.8 to 2.28
(src/transport/net_ib.cc, src/misc/socket.cc, src/include/checks.h) and of PyTorch 2.0 to 2.9 (ProcessGroupNCCL.cpp)."""

from __future__ import annotations

import re
from typing import Iterator

from ...util.at_first_use import regex

__all__ = ["kind_of", "of_torch"]

_OF_TORCH = regex(r"ProcessGroupNCCL\.cpp:\d{1,5}\] ?([^\n]{1,2000})|(DistBackendError: NCCL error[^\n]{0,2000})"
                  r"|^[ \t]*(nccl(?:RemoteError|SystemError|UnhandledCudaError|InternalError): [^\n]{0,400})",
                  re.MULTILINE)
#: kind -> its words. A line is of the first kind that it fits. What NCCL says of a peer that went is a warning: it also
#: says it where a job ended well.
_KINDS = (
    # src/misc/shmutils.cc: "Error: failed to extend /dev/shm/nccl-AbCdEf to 33030532 bytes, error: No space left ..."
    ("shm too small", regex(r"failed to extend /dev/shm|/dev/shm/\S{1,80}[^\n]{0,120}No space left on device")),
    ("collective timeout", regex(
        r"Watchdog caught collective operation timeout|NCCL operations have failed or timed out"
        r"|[Hh]eartbeat monitor timed out|watchdog (?:thread )?(?:got stuck|is stuck|hang)"
        r"|collective[^\n]{0,60} timed out|ncclCommAbort timed out")),
    ("network failed", regex(
        r"NET/(?:IB|Socket|OFI|UCX)\b[^\n]{0,80}(?:[Gg]ot completion|[Cc]ompletion with error"
        r"|[Aa]sync (?:fatal )?event ?:\s*(?!\s|GID|client|LID|SM |P_?[Kk]ey|port active))|ibv_\w+[^\n]{0,60} failed"
        r"|[Cc]onnection (?:reset by|refused)|[Cc]onnect(?:ion)?[^\n]{0,80} (?:failed|timed out)"
        r"|\b(?:recv|send|Call to (?:connect|accept|recv\w*|send\w*|poll))[^\n]{0,80} failed ?: "
        r"|ncclRemoteError|remote process exited")),
    ("cuda failed", regex(r"Cuda failure(?: \d{1,4})? '(?!invalid argument|peer access)|CUDA error: "
                          r"|unhandled cuda error|ncclUnhandledCudaError")),
    ("nccl failed", regex(r"DistBackendError|nccl(?:System|Internal)Error|watchdog thread terminated with exception")),
)


def kind_of(line: str) -> str:
    """Return what the line says broke: shm too small, collective timeout, network failed, cuda failed or nccl failed.
    "" where it is any other warning."""
    return next((kind for kind, words in _KINDS if words.search(line)), "")


def of_torch(text: str) -> "Iterator[str]":
    """Yield PyTorch's lines about NCCL that say that something broke."""
    if "ProcessGroupNCCL" not in text and "DistBackendError" not in text:
        return
    for found in _OF_TORCH.finditer(text):
        line = next(each for each in found.groups() if each).strip()
        if kind_of(line):
            yield line
