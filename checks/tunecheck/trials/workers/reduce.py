"""One rank of the all-reduce trial: small messages by our own kernel and by NCCL, large ones by NCCL, and the soak.

Small ones in CUDA graphs: from Python an eager launch costs 14 to 20 us and would be all that is measured. Sums are of
small whole numbers in half precision, which are exact, so that every result can be compared to the bit.
"""

from __future__ import annotations

import ctypes
import statistics
import struct
from array import array
from collections.abc import Sequence
from ctypes import c_uint, c_ulonglong
from itertools import pairwise

from .cuda import Cuda, Device
from .nccl import Nccl, NcclMissingError
from .peers import SPARE
from .rendezvous import Meeting
from .worker import Context

__all__ = ["HALF_OF", "Rank", "run"]

SIZES = (8, 256, 1024, 8192, 32768, 65536, 131072, 262144, 1 << 20)
_LARGE = (4 << 20, 16 << 20, 64 << 20, 256 << 20)
_LARGEST_OWN = 1 << 20
_LAUNCHES = 200
_REPLAYS = 10
_RING = 4096                # stamps in tc_reduce
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
        self.stamps = self.device.alloc(_RING * 8)
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
        """Each as large as the fullest GPU allows: halved until its two buffers fit into what is free there, left out
        below what the own kernel takes. All ranks must make the same all-reduces."""
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
        """This rank's input: halves that are small whole numbers and differ by rank and place."""
        return _tiled(_codes(self.rank), count)

    def expected(self, count: int) -> bytes:
        return _tiled([sum(each) for each in zip(*(_codes(rank) for rank in range(self.ranks)), strict=True)], count)

    def own(self, size: int) -> None:
        """Queue one all-reduce by our own kernel."""
        words = size // 8
        grid = max(1, min(self.device.multiprocessors, words // 512))
        self.device.launch("tc_reduce", grid, 512, c_ulonglong(self.input), c_ulonglong(self.output), self.peers,
                           c_uint(self.rank), c_uint(self.ranks), c_uint(words), c_uint(self.slots),
                           c_ulonglong(self.control), c_ulonglong(_LIMIT_CLOCKS), c_ulonglong(self.stamps))

    def gave_up(self) -> tuple[int, int]:
        """Epoch at which the kernel gave up (0: it did not), and for which rank it had waited."""
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


def run(context: Context) -> None:
    """The trial of one rank."""
    rank = Rank(context)
    sizes = context.parameters.get("sizes", SIZES)
    if context.parameters.get("own", True) and not _small(rank, "own", rank.own, sizes):
        return
    if context.parameters.get("nccl") is False:
        return
    try:
        library = Nccl(context.parameters.get("nccl_path"))
    except NcclMissingError as error:
        context.result(kind="nccl", missing=str(error))
        return
    context.beat.phase("join")
    identity = rank.meeting.exchange("nccl", library.unique_id() if rank.rank == 0 else b"")[0]
    communicator = library.join(rank.ranks, identity, rank.rank)
    context.result(kind="nccl", version=library.version, path=library.path)

    def reduce(size: int) -> None:
        library.all_reduce(rank.input, rank.output, size // 2, communicator, rank.device.stream)

    _small(rank, "nccl", reduce, sizes)
    for size in rank.large:
        _large(rank, size, reduce)
    if context.parameters.get("soak_seconds"):
        from .soak import soak  # it needs this module

        soak(rank, reduce)


def _small(rank: Rank, who: str, reduce: object, sizes: tuple[int, ...]) -> bool:
    """Latency of every size; False where our own kernel gave up waiting for a peer."""
    assert callable(reduce)
    for size in sizes:
        rank.context.beat.phase("verify")
        count = size // 2
        rank.device.write(rank.input, rank.values(count))
        rank.device.memset(rank.output, 0xEE, size)
        rank.device.sync()
        rank.meeting.exchange(f"{who}.{size}")
        rank.device.use()
        reduce(size)
        rank.device.sync()
        wrong = rank.device.read(rank.output, size) != rank.expected(count)
        if who == "own" and _gave_up(rank, size, "verified"):
            return False
        rank.context.beat.phase("measure")
        per, each = _replayed(rank, who, reduce, size)
        if who == "own" and _gave_up(rank, size, "measured"):
            return False
        again = rank.device.read(rank.output, size) != rank.expected(count)
        rank.context.result(kind=who, size=size, microseconds=per, wrong=wrong or again, **each)
    return True


def _gave_up(rank: Rank, size: int, when: str) -> bool:
    """Whether any rank's kernel did. All go on, or none: else one waits for an all-reduce that nobody makes."""
    epoch, waited_for = rank.gave_up()
    if epoch:
        rank.context.result(kind="own", size=size, gave_up=True, waited_for=waited_for)
    return any(rank.meeting.exchange(f"own.{size}.{when}", b"1" if epoch else b""))


def _replayed(rank: Rank, who: str, reduce: object, size: int) -> tuple[list[float], dict[str, float]]:
    """Microseconds per all-reduce of each replay; of our own kernel also the distribution over single ones."""
    assert callable(reduce)
    device = rank.device
    device.begin_capture()
    for _ in range(_LAUNCHES):
        reduce(size)
    graph = device.end_capture()
    start, end = device.event(), device.event()
    per: list[float] = []
    single: list[int] = []
    for replay in range(_REPLAYS + 2):
        rank.meeting.exchange(f"{who}.{size}.{replay}")
        device.use()
        # Ranks leave the meeting up to a millisecond apart; one all-reduce on the GPUs brings them together.
        reduce(8)
        device.record(start)
        device.launch_graph(graph)
        device.record(end)
        device.sync()
        rank.context.beat.step()
        if replay < 2:      # warm-up
            continue
        per.append(rank.cuda.milliseconds(start, end) * 1000 / _LAUNCHES)
        if who == "own":
            epoch = struct.unpack("I", device.read(rank.control, 4))[0]
            ring = struct.unpack(f"{_RING}Q", device.read(rank.stamps, _RING * 8))
            stamps = [ring[(epoch - _LAUNCHES + 1 + i) % _RING] for i in range(_LAUNCHES)]
            single += [later - earlier for earlier, later in pairwise(stamps[10:])]
    # Times of the library and of the stamp together are no latency: they have names of their own.
    kind = "" if who == "own" else "stamped_"
    if kind:
        single = _stamped(rank, who, reduce, size)
    single.sort()
    at = {f"{kind}p{name}_ns": single[min(len(single) - 1, int(share * len(single)))]
          for name, share in (("50", 0.5), ("90", 0.9), ("99", 0.99))}
    return per, {**at, f"{kind}max_ns": single[-1], f"{kind}mean_ns": statistics.fmean(single)}


def _stamped(rank: Rank, who: str, reduce: object, size: int) -> list[int]:
    """Nanoseconds from one all-reduce to the next, of a library that takes no stamps: a kernel of one thread after each
    takes them, so these are the times of both. For the distribution; the latency is that without stamps."""
    assert callable(reduce)
    device = rank.device
    device.begin_capture()
    for number in range(_LAUNCHES):
        reduce(size)
        device.launch("tc_stamp", 1, 1, c_ulonglong(rank.stamps), c_uint(number))
    graph = device.end_capture()
    found: list[int] = []
    for replay in range(3):
        rank.meeting.exchange(f"{who}.{size}.stamps.{replay}")
        device.use()
        reduce(8)
        device.launch_graph(graph)
        device.sync()
        rank.context.beat.step()
        stamps = struct.unpack(f"{_LAUNCHES}Q", device.read(rank.stamps, _LAUNCHES * 8))
        found += [later - earlier for earlier, later in pairwise(stamps[10:])] if replay else []
    return found


def _large(rank: Rank, size: int, reduce: object) -> None:
    """Bus bandwidth in GB/s: bytes / time x 2 (n - 1) / n, as nccl-tests counts it."""
    assert callable(reduce)
    device = rank.device
    rank.context.beat.phase("measure")
    start, end = device.event(), device.event()
    samples = []
    for sample in range(6):
        rank.meeting.exchange(f"large.{size}.{sample}")
        device.use()
        reduce(8)
        device.record(start)
        for _ in range(5):
            reduce(size)
        device.record(end)
        device.sync()
        rank.context.beat.step()
        if sample:
            seconds = rank.cuda.milliseconds(start, end) / 1000 / 5
            samples.append(size / seconds * 2 * (rank.ranks - 1) / rank.ranks / 1e9)
    rank.context.result(kind="bus", size=size, samples=samples)
