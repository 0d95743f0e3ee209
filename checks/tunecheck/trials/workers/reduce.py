"""The all-reduce trial of one rank: small messages by our own kernel and by NCCL, large ones by NCCL, and the soak.

Small ones in CUDA graphs: from Python an eager launch costs 14 to 20 us and would be all that is measured. Sums are of
small whole numbers in half precision, which are exact, so that every result can be compared to the bit.
"""

from __future__ import annotations

import statistics
import struct
from ctypes import c_uint, c_ulonglong
from itertools import pairwise

from .nccl import Nccl, NcclMissingError
from .rank import RING, Rank
from .worker import Context

__all__ = ["run"]

SIZES = (8, 256, 1024, 8192, 32768, 65536, 131072, 262144, 1 << 20)
_LAUNCHES = 200
_REPLAYS = 10


def run(context: Context) -> None:
    """Run the all-reduce trial of one rank."""
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
        from .soak import soak  # start-up time: few runs soak

        soak(rank, reduce)


def _small(rank: Rank, who: str, reduce: object, sizes: tuple[int, ...]) -> bool:
    """Measure the latency of every size. Return False where our own kernel gave up waiting for a peer."""
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
    """Whether the kernel of any rank gave up. All go on, or none: else one waits for an all-reduce that nobody
    makes."""
    epoch, waited_for = rank.gave_up()
    if epoch:
        rank.context.result(kind="own", size=size, gave_up=True, waited_for=waited_for)
    return any(rank.meeting.exchange(f"own.{size}.{when}", b"1" if epoch else b""))


def _replayed(rank: Rank, who: str, reduce: object, size: int) -> tuple[list[float], dict[str, float]]:
    """Return microseconds per all-reduce of each replay; of our own kernel also the distribution over single ones."""
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
            ring = struct.unpack(f"{RING}Q", device.read(rank.stamps, RING * 8))
            stamps = [ring[(epoch - _LAUNCHES + 1 + i) % RING] for i in range(_LAUNCHES)]
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
    """Return nanoseconds from one all-reduce to the next, of a library that takes no stamps. A kernel of one thread
    after each takes them, so these are the times of both. They are for the distribution; the latency is that without
    stamps."""
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
    """Measure the bus bandwidth in GB/s: bytes / time x 2 (n - 1) / n, as nccl-tests counts it."""
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
