"""The CUDA driver API through ctypes on libcuda.so.1: only workers import this, never the parent.

A thin binding rather than cuda-bindings: on 2 x H200 a process had its first kernels after 434 ms against 556 ms, every
figure measured through both was the same, and the box needs no 8 MB of wheels in a version that fits its driver.
Names and numbers are cuda.h's. Every call returns a CUresult; anything but the ones named is a CudaError.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import c_char, c_char_p, c_float, c_int, c_size_t, c_ubyte, c_uint, c_ulonglong, c_void_p
from pathlib import Path
from typing import Any

from ...errors import TrialError

__all__ = ["Cuda", "CudaError", "Device", "ptx"]

_LIBRARY = "libcuda.so.1"
_NOT_READY, _PEER_ALREADY = 600, 704
_PORTABLE, _MAPPED = 1, 2
_MULTIPROCESSORS, _MAJOR, _MINOR, _COMPUTE_MODE, _PCI_BUS, _PCI_DEVICE, _PCI_DOMAIN = 16, 75, 76, 20, 33, 34, 50


class CudaError(TrialError):
    """A call of the CUDA driver failed. ``code`` is the CUresult: 2 out of memory, 46 devices unavailable, 100 no
    device, 700 illegal address, 719 ..."""

    def __init__(self, call: str, code: int, name: str) -> None:
        self.code = code
        self.name = name
        super().__init__(f"{call}: {name} ({code})")


class _IpcHandle(ctypes.Structure):
    _fields_ = [("bytes", c_char * 64)]


class Device:
    """One GPU: ``context`` is its primary context; ``functions`` the kernels, by name."""

    def __init__(self, cuda: Cuda, ordinal: int) -> None:
        self.cuda = cuda
        self.ordinal = ordinal
        self.multiprocessors = cuda.attribute(_MULTIPROCESSORS, ordinal)
        self.capability = cuda.attribute(_MAJOR, ordinal) * 10 + cuda.attribute(_MINOR, ordinal)
        self.bdf = cuda.bdf(ordinal)
        self.context = cuda.pointer("cuDevicePrimaryCtxRetain", ordinal)
        self._functions: dict[str, int] = {}
        self.use()
        self.stream = cuda.pointer("cuStreamCreate", c_uint(1))       # 1: does not wait for the default stream

    def use(self) -> None:
        """Make this GPU the current one for CUDA calls of this thread."""
        self.cuda.call("cuCtxSetCurrent", c_void_p(self.context))

    def function(self, name: str) -> int:
        """Return a kernel of the package's PTX; the driver compiles it once and keeps the code."""
        if not self._functions:
            self._module = self.cuda.pointer("cuModuleLoadData", ptx())
        if name not in self._functions:
            self._functions[name] = self.cuda.pointer("cuModuleGetFunction", c_void_p(self._module), name.encode())
        return self._functions[name]

    def launch(self, name: str, grid: int, block: int, *arguments: Any, stream: int | None = None) -> None:
        """Launch a kernel. ``arguments`` are ctypes values in the order of the kernel's parameters."""
        pointers = (c_void_p * len(arguments))(*[ctypes.cast(ctypes.pointer(each), c_void_p) for each in arguments])
        self.cuda.call("cuLaunchKernel", c_void_p(self.function(name)), grid, 1, 1, block, 1, 1, 0,
                       c_void_p(stream or self.stream), pointers, None)

    def alloc(self, size: int) -> int:
        value = c_ulonglong()
        self.use()
        self.cuda.call("cuMemAlloc_v2", ctypes.byref(value), c_size_t(size))
        return value.value

    def free(self, address: int) -> None:
        self.use()
        self.cuda.call("cuMemFree_v2", c_ulonglong(address))

    def host_alloc(self, size: int) -> int:
        """Return the address of new pinned memory of the host, which the copy engines and the kernels of every GPU
        reach at the same address. Its pages come from the NUMA node that this thread runs on."""
        value = c_void_p()
        self.use()
        self.cuda.call("cuMemHostAlloc", ctypes.byref(value), c_size_t(size), c_uint(_PORTABLE | _MAPPED))
        return value.value or 0

    def host_free(self, address: int) -> None:
        self.use()
        self.cuda.call("cuMemFreeHost", c_void_p(address))

    def event(self) -> int:
        self.use()
        return self.cuda.pointer("cuEventCreate", c_uint(0))

    def record(self, event: int, stream: int | None = None) -> None:
        self.cuda.call("cuEventRecord", c_void_p(event), c_void_p(stream or self.stream))

    def wait_for(self, event: int, stream: int | None = None) -> None:
        """Let what follows on the stream start after ``event`` (which may be another GPU's)."""
        self.cuda.call("cuStreamWaitEvent", c_void_p(stream or self.stream), c_void_p(event), c_uint(0))

    def sync(self, stream: int | None = None) -> None:
        self.use()
        self.cuda.call("cuStreamSynchronize", c_void_p(stream or self.stream))

    def done(self, stream: int | None = None) -> bool:
        """Whether all work of the stream is done; never waits."""
        return self.cuda.call("cuStreamQuery", c_void_p(stream or self.stream), ok=(0, _NOT_READY)) == 0

    def copy(self, to: int, source: int, size: int, stream: int | None = None) -> None:
        """Queue a copy of ``size`` bytes by the copy engine of this GPU. Without peer access it goes through the host,
        silently."""
        self.cuda.call("cuMemcpyAsync", c_ulonglong(to), c_ulonglong(source), c_size_t(size),
                       c_void_p(stream or self.stream))

    def memset(self, address: int, byte: int, size: int) -> None:
        """Set ``size`` bytes in the stream's order: cuMemsetD8 comes back early, in the default stream, for which ours
        never waits."""
        self.use()
        self.cuda.call("cuMemsetD8Async", c_ulonglong(address), c_ubyte(byte), c_size_t(size), c_void_p(self.stream))

    def write(self, address: int, data: bytes) -> None:
        """Write ``data`` to the GPU's memory, and come back when it has arrived; cuMemcpyHtoD comes back when the data
        is staged."""
        self.use()
        self.cuda.call("cuMemcpyHtoDAsync_v2", c_ulonglong(address), data, c_size_t(len(data)), c_void_p(self.stream))
        self.sync()

    def read(self, address: int, size: int) -> bytes:
        buffer = ctypes.create_string_buffer(size)
        self.use()
        self.cuda.call("cuMemcpyDtoH_v2", buffer, c_ulonglong(address), c_size_t(size))
        return buffer.raw

    def begin_capture(self) -> None:
        self.use()
        self.cuda.call("cuStreamBeginCapture_v2", c_void_p(self.stream), c_int(2))      # 2: relaxed

    def end_capture(self) -> int:
        """Return the captured work as an executable graph."""
        graph = self.cuda.pointer_last("cuStreamEndCapture", c_void_p(self.stream))
        return self.cuda.pointer("cuGraphInstantiateWithFlags", c_void_p(graph), c_ulonglong(0))

    def launch_graph(self, graph: int) -> None:
        self.use()
        self.cuda.call("cuGraphLaunch", c_void_p(graph), c_void_p(self.stream))

    def enable_peer(self, other: Device) -> None:
        """Let this GPU reach the memory of ``other`` directly; once is enough."""
        self.use()
        self.cuda.call("cuCtxEnablePeerAccess", c_void_p(other.context), c_uint(0), ok=(0, _PEER_ALREADY))

    def disable_peer(self, other: Device) -> None:
        self.use()
        self.cuda.call("cuCtxDisablePeerAccess", c_void_p(other.context), ok=(0, 705))

    def export(self, address: int) -> bytes:
        """Return a handle with which another process of this machine opens the allocation at ``address``."""
        handle = _IpcHandle()
        self.use()
        self.cuda.call("cuIpcGetMemHandle", ctypes.byref(handle), c_ulonglong(address))
        return bytes(bytearray(handle))

    def open(self, handle: bytes) -> int:
        """The address, in this process, of an allocation that another one exported."""
        value = c_ulonglong()
        self.use()
        self.cuda.call("cuIpcOpenMemHandle_v2", ctypes.byref(value), _IpcHandle.from_buffer_copy(handle), c_uint(1))
        return value.value


class Cuda:
    """The CUDA driver's library, initialised. CudaError 100 where there is no device, OSError where there is no
    library."""

    def __init__(self) -> None:
        try:
            self._library = ctypes.CDLL(_LIBRARY)
        except OSError:
            raise TrialError(f"{_LIBRARY} is not installed: no NVIDIA driver for CUDA programs here; install "
                             "the driver's libcuda package, in a container pass the GPUs through (CDI)") from None
        self._library.cuGetErrorName.argtypes = [c_int, ctypes.POINTER(c_char_p)]
        self.call("cuInit", c_uint(0))
        number = c_int()
        self.call("cuDriverGetVersion", ctypes.byref(number))
        self.version = number.value
        self.call("cuDeviceGetCount", ctypes.byref(number))
        self.count = number.value

    def call(self, name: str, *arguments: Any, ok: Sequence[int] = (0,)) -> int:
        code: int = getattr(self._library, name)(*arguments)
        if code not in ok:
            text = c_char_p()
            self._library.cuGetErrorName(code, ctypes.byref(text))
            raise CudaError(name, code, (text.value or b"unknown error").decode("ascii", "replace"))
        return code

    def pointer(self, name: str, *arguments: Any) -> int:
        """Call a function whose first parameter takes the pointer that it makes, and return that pointer."""
        value = c_void_p()
        self.call(name, ctypes.byref(value), *arguments)
        return value.value or 0

    def pointer_last(self, name: str, *arguments: Any) -> int:
        """Call a function whose last parameter takes the pointer that it makes, and return that pointer."""
        value = c_void_p()
        self.call(name, *arguments, ctypes.byref(value))
        return value.value or 0

    def attribute(self, number: int, ordinal: int) -> int:
        value = c_int()
        self.call("cuDeviceGetAttribute", ctypes.byref(value), c_int(number), c_int(ordinal))
        return value.value

    def bdf(self, ordinal: int) -> str:
        """Return the PCI address as the kernel writes it. The order of CUDA's numbers is not the bus order."""
        domain, bus, device = (self.attribute(number, ordinal) for number in (_PCI_DOMAIN, _PCI_BUS, _PCI_DEVICE))
        return f"{domain:04x}:{bus:02x}:{device:02x}.0"

    def compute_mode(self, ordinal: int) -> int:
        """Return the compute mode of a GPU: 0 default, 2 prohibited, 3 exclusive process."""
        return self.attribute(_COMPUTE_MODE, ordinal)

    def memory(self) -> tuple[int, int]:
        """Return free and total bytes of the current GPU."""
        free, total = c_size_t(), c_size_t()
        self.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value, total.value

    def can_access_peer(self, of: int, other: int) -> bool:
        """Whether the driver claims that one GPU reaches the other's memory. Capability only: boxes on which the first
        peer write hangs say yes."""
        value = c_int()
        self.call("cuDeviceCanAccessPeer", ctypes.byref(value), c_int(of), c_int(other))
        return bool(value.value)

    def milliseconds(self, start: int, end: int) -> float:
        """Return the milliseconds between two recorded events."""
        value = c_float()
        self.call("cuEventElapsedTime", ctypes.byref(value), c_void_p(start), c_void_p(end))
        return value.value


def ptx() -> bytes:
    """Return the package's kernels as PTX text, with the zero byte at its end that the driver wants."""
    return (Path(__file__).parents[1] / "kernels" / "tunecheck.ptx").read_bytes() + b"\0"
