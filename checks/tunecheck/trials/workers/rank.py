"""One rank of the all-reduce trial: its buffers, the other ranks' scratch, and numbers whose sums are exact."""

from __future__ import annotations

import ctypes
import struct
from array import array
from collections.abc import Sequence
from ctypes import c_uint, c_ulonglong

from .cuda import Cuda, Device
from .peers import SPARE
from .rendezvous import Meeting
from .worker import Context

__all__ = ["HALF_OF", "RING", "Rank"]

RING = 4096                 # stamps in tc_reduce
_LARGE = (4 << 20, 16 << 20, 64 << 20, 256 << 20)
_LARGEST_OWN = 1 << 20
_LIMIT_CLOCKS = 400_000_000     # about 0.2 s: then the kernel gives up


class _Peers(ctypes.Structure):
    _fields_ = [("scratch", c_ulonglong * 8)]


class Rank:
    """This rank's buffers, and the other ranks' scratch opened through IPC."""

    def __init__(self, context: Context) -> None:
        given = context.parameters
        self.context = context
        self.rank, self.ranks = given["worker"], len(given["ordinals"])
        self.meeting = Meeting(given["folder"], self.rank, self.ranks)
        context.beat.phase("driver")
        self.cuda = Cuda()
        self.device = Device(self.cuda, given["ordinals"][self.rank])
        context.beat.phase("join")
        self.large = self._fitting(given.get("large", _LARGE))
        context.beat.phase("memory")
        self.slots = _LARGEST_OWN // 8
        self.scratch = self.device.alloc(2 * self.ranks * self.slots * 16)
        self.control = self.device.alloc(4096)
        self.stamps = self.device.alloc(RING * 8)
        self.size = max([_LARGEST_OWN, *self.large])
        self.input, self.output = self.device.alloc(self.size), self.device.alloc(self.size)
        self.device.memset(self.scratch, 0, 2 * self.ranks * self.slots * 16)
        self.device.memset(self.control, 0, 4096)
        self.device.sync()
        if not given.get("own", True):      # the staged arm keeps away from peer memory altogether
            return
        context.beat.phase("join")
        handles = self.meeting.exchange("scratch", self.device.export(self.scratch))
        self.peers = _Peers()
        for rank, handle in enumerate(handles):
            self.peers.scratch[rank] = self.scratch if rank == self.rank else self.device.open(handle)
        self.meeting.exchange("open")

    def _fitting(self, sizes: Sequence[int]) -> list[int]:
        """Return the sizes that the fullest GPU allows: each halved until its two buffers fit into what is free there,
        left out below what the own kernel takes. All ranks must make the same all-reduces."""
        self.device.use()
        told = self.meeting.exchange("memory", str(self.cuda.memory()[0]).encode())
        free, found = min(map(int, told)), set()
        for size in sizes:
            while size * 2 + SPARE > free and size > _LARGEST_OWN:
                size //= 2
            if size * 2 + SPARE <= free:
                found.add(size)
        return sorted(found)

    def values(self, count: int) -> bytes:
        """Return this rank's input: ``count`` numbers in half precision that are small whole numbers and differ by rank
        and place."""
        return _tiled(_codes(self.rank), count)

    def expected(self, count: int) -> bytes:
        return _tiled([sum(each) for each in zip(*(_codes(rank) for rank in range(self.ranks)), strict=True)], count)

    def own(self, size: int) -> None:
        """Queue one all-reduce of ``size`` bytes by our own kernel."""
        words = size // 8
        grid = max(1, min(self.device.multiprocessors, words // 512))
        self.device.launch("tc_reduce", grid, 512, c_ulonglong(self.input), c_ulonglong(self.output), self.peers,
                           c_uint(self.rank), c_uint(self.ranks), c_uint(words), c_uint(self.slots),
                           c_ulonglong(self.control), c_ulonglong(_LIMIT_CLOCKS), c_ulonglong(self.stamps))

    def gave_up(self) -> tuple[int, int]:
        """Return the epoch at which the kernel gave up (0: it did not), and for which rank it had waited."""
        words = struct.unpack("4I", self.device.read(self.control, 16))
        return words[2], words[3]


#: A prime that divides no size: a shifted or repeated part does not look right. 8 x 60 is exact in halves.
_PERIOD = 4093
HALF_OF = [struct.unpack("H", struct.pack("e", float(number)))[0] for number in range(60 * 8 + 1)]


def _codes(rank: int) -> list[int]:
    return [(i * 7 + i * i % 89 + rank * 13) % 61 for i in range(_PERIOD)]


def _tiled(numbers: list[int], count: int) -> bytes:
    one = array("H", [HALF_OF[number] for number in numbers]).tobytes()
    return (one * (count // _PERIOD + 1))[:count * 2]
