"""NCCL through ctypes: the library the user's engine would load, wherever it is.

Only what an all-reduce needs. Measured against nccl-tests in graphs on 2 x H200: 0.96 to 0.99 of its times.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import os
import sys
from ctypes import c_char, c_char_p, c_int, c_size_t, c_void_p
from pathlib import Path

from ...errors import TrialError

__all__ = ["HALF", "Nccl", "NcclMissingError"]

HALF = 6
_SUM = 0
_IN_PROGRESS = 7
#: Ours, vLLM's and SGLang's; an image may set the latter.
_NAMED_BY = ("TUNECHECK_NCCL", "VLLM_NCCL_SO_PATH", "SGLANG_NCCL_SO_PATH")


class NcclMissingError(TrialError):
    """There is no libnccl on this machine."""


class _UniqueId(ctypes.Structure):
    _fields_ = [("bytes", c_char * 128)]


class Nccl:
    """NCCL's library. It is loaded from ``path`` where that is given, else from TUNECHECK_NCCL or what an engine was
    told to load, else from an installed wheel, else from where the loader finds it."""

    def __init__(self, path: str | None = None) -> None:
        self.path = path or next(filter(None, map(os.environ.get, _NAMED_BY)), None) or _of_a_wheel() or "libnccl.so.2"
        try:
            self._library = ctypes.CDLL(self.path)
            self.path = _loaded(self.path)
        except OSError as error:
            raise NcclMissingError(f"no usable libnccl ({error}); in the checkout run: {sys.prefix}/bin/pip install "
                                   "'.[nccl]', or name one with --nccl FILE, or use the inference image's: tunecheck "
                                   "trial --in-container IMAGE"
                                   ) from None
        self._library.ncclGetErrorString.restype = c_char_p
        self._library.ncclCommInitRank.argtypes = [ctypes.POINTER(c_void_p), c_int, _UniqueId, c_int]
        number = c_int()
        self._call("ncclGetVersion", ctypes.byref(number))
        self.version = number.value

    def _call(self, name: str, *arguments: object) -> None:
        code = getattr(self._library, name)(*arguments)
        if code not in (0, _IN_PROGRESS):
            text = self._library.ncclGetErrorString(c_int(code)) or b"unknown error"
            raise TrialError(f"{name}: {text.decode('utf-8', 'replace')} ({code})")

    def unique_id(self) -> bytes:
        """Return the id that rank 0 makes and all ranks join with."""
        value = _UniqueId()
        self._call("ncclGetUniqueId", ctypes.byref(value))
        return bytes(bytearray(value))

    def join(self, ranks: int, identity: bytes, rank: int) -> c_void_p:
        """Return the communicator; this returns when every rank is there."""
        value = c_void_p()
        self._call("ncclCommInitRank", ctypes.byref(value), c_int(ranks), _UniqueId.from_buffer_copy(identity),
                   c_int(rank))
        return value

    def all_reduce(self, source: int, to: int, count: int, communicator: c_void_p, stream: int) -> None:
        """Queue a sum of ``count`` numbers in half precision over all ranks."""
        self._call("ncclAllReduce", c_void_p(source), c_void_p(to), c_size_t(count), c_int(HALF), c_int(_SUM),
                   communicator, c_void_p(stream))


def _loaded(path: str) -> str:
    """Return the file that the loader found for a bare name: which version was measured is known by it afterwards."""
    if "/" in path:
        return path
    try:
        mapped = {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "/" in line}
    except OSError:
        return path
    return next((each for each in sorted(mapped) if Path(each).name.startswith("libnccl.so")), path)


def _of_a_wheel() -> str | None:
    with contextlib.suppress(ImportError, ValueError):
        found = importlib.util.find_spec("nvidia")
        for folder in (found.submodule_search_locations or ()) if found else ():
            path = Path(folder) / "nccl" / "lib" / "libnccl.so.2"
            if path.exists():
                return str(path)
    return None
