"""What the p2p trial runs on: the GPUs of one process with buffers, and the copies between them.

Copies are 512 MiB: each by the copy engine costs a fixed 3 to 4.5 us, which reads 2.5 % low at 64 MiB and 9 % at 16 MiB
(2 x H200). One warm-up, then event, copies, event.
"""

from __future__ import annotations

from collections.abc import Callable
from ctypes import c_uint, c_ulonglong
from dataclasses import dataclass

from ...errors import TrialError
from .cuda import Cuda, CudaError, Device

__all__ = ["COPIES", "GB", "SIZE", "SPARE", "UNEVEN", "Gpu", "Peers", "Wrong", "copies_of", "fitting", "out_of_memory",
           "samples_of", "seed_of"]

SIZE = 512 << 20
SAMPLES, COPIES = 5, 4
#: Of the quick trial: on Gen5 x16 a copy of 512 MiB takes 10 ms, and four GPUs have twelve directions.
_QUICK_SAMPLES, _QUICK_COPIES = 3, 2
GB = 1e6                            # bytes per millisecond -> GB/s
#: Of two directions at once, one that is faster by more than this might end before the other's timed copies do.
UNEVEN = 1.5
_SMALLEST = 16 << 20
#: What is left free beside the buffers of a trial: for its own small ones, and for the driver.
SPARE = 64 << 20
_OUT_OF_MEMORY = 2


@dataclass(frozen=True)
class Wrong:
    """Words that did not arrive as sent: how many, the byte offset of one, what stood there."""

    words: int
    offset: int
    found: int


@dataclass
class Gpu:
    """One GPU with its buffers. ``source`` and ``landing`` are ``size`` bytes each, ``notes`` 4 KiB for the kernels'
    answers."""

    device: Device
    source: int
    landing: int
    notes: int
    start: int
    end: int


class Peers:
    """The GPUs of a trial: ``gpus`` in the order of ``ordinals``. Peer access is off until enable()."""

    def __init__(self, cuda: Cuda, ordinals: list[int], step: Callable[[], None], size: int = SIZE) -> None:
        self.cuda = cuda
        self.step = step
        devices = []
        for ordinal in ordinals:
            devices.append(Device(cuda, ordinal))
            step()
        self.size = fitting(cuda, devices, size)
        self.gpus = [Gpu(device, device.alloc(self.size), device.alloc(self.size), device.alloc(4096), device.event(),
                         device.event()) for device in devices]
        for number, gpu in enumerate(self.gpus):
            self.fill(gpu, gpu.source, self.size, seed_of(number))
            gpu.device.sync()
            step()

    def enable(self, on: bool = True) -> None:
        """Let every GPU reach every other one, or take that back."""
        for gpu in self.gpus:
            for other in self.gpus:
                if other is not gpu:
                    (gpu.device.enable_peer if on else gpu.device.disable_peer)(other.device)

    def fill(self, gpu: Gpu, address: int, size: int, seed: int) -> None:
        gpu.device.use()
        gpu.device.launch("tc_fill", gpu.device.multiprocessors * 4, 512, c_ulonglong(address),
                          c_ulonglong(size // 4), c_uint(seed))

    def check(self, gpu: Gpu, address: int, size: int, seed: int) -> Wrong | None:
        """Read every word back on the GPU that owns it. Return what is wrong, None where all words are right."""
        gpu.device.memset(gpu.notes, 0, 16)
        gpu.device.sync()
        gpu.device.launch("tc_check", gpu.device.multiprocessors * 4, 512, c_ulonglong(address),
                          c_ulonglong(size // 4), c_uint(seed), c_ulonglong(gpu.notes))
        gpu.device.sync()
        words = memoryview(gpu.device.read(gpu.notes, 16)).cast("I")
        return Wrong(words[0], (words[1] | words[2] << 32) * 4, words[3]) if words[0] else None

    def poison(self, gpu: Gpu, size: int) -> None:
        """Overwrite the landing buffer, so that what is found there afterwards was really written by the copy."""
        gpu.device.memset(gpu.landing, 0xEE, size)
        gpu.device.sync()

    def by_engine(self, runs_on: Gpu, to: Gpu, source: Gpu, size: int = 0) -> None:
        """Queue one copy by the copy engine of ``runs_on``: a write where that is the source, else a read."""
        runs_on.device.use()
        runs_on.device.copy(to.landing, source.source, size or self.size)

    def by_kernel(self, runs_on: Gpu, to: Gpu, source: Gpu, loops: int = 1, size: int = 0) -> None:
        """Queue ``loops`` copies by the SMs of ``runs_on``: writes where that is the source, else reads."""
        runs_on.device.use()
        runs_on.device.launch("tc_copy", runs_on.device.multiprocessors, 512, c_ulonglong(to.landing),
                              c_ulonglong(source.source), c_ulonglong((size or self.size) // 16), c_uint(loops))


def samples_of(quick: bool) -> int:
    """Return how many samples a figure has."""
    return _QUICK_SAMPLES if quick else SAMPLES


def copies_of(quick: bool) -> int:
    """Return how many copies a sample times."""
    return _QUICK_COPIES if quick else COPIES


def fitting(cuda: Cuda, devices: list[Device], size: int) -> int:
    """Return the size of buffers in bytes that the fullest GPU allows: halved until two buffers fit into its free
    memory. TrialError where not even the smallest do."""
    free = []
    for device in devices:
        device.use()
        free.append(cuda.memory()[0])
    while size * 2 + SPARE > min(free) and size > _SMALLEST:
        size //= 2
    if size * 2 + SPARE > min(free):
        raise TrialError(f"out of memory: {min(free) >> 20} MiB are free on one GPU, a trial needs "
                         f"{size * 2 + SPARE >> 20} MiB; stop what uses it")
    return size


def seed_of(number: int) -> int:
    """Return the seed of a GPU's data. Each GPU has its own, so that data from the wrong one never matches."""
    return 0x51ED270B * (number + 1) & 0xFFFFFFFF


def out_of_memory(error: CudaError) -> bool:
    return error.code == _OUT_OF_MEMORY
