"""The p2p trial's measurements between GPUs of one process. Each hands its result over at once.

Methods as in nvbandwidth, against which they were held (docs/benchmarks): see peers.py for sizes. Figures are GB/s
(10^9 bytes) and nanoseconds.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable
from ctypes import c_uint, c_ulonglong
from itertools import permutations

from .cuda import Cuda
from .peers import SIZE, Gpu, Peers, seed_of
from .worker import Context

__all__ = ["run"]

_SAMPLES, _COPIES = 5, 4
_SIZES = (4, 8, 64, 4096, 65536 + 4, 1 << 20, 16 << 20)
#: Of the quick trial: on Gen5 x16 a copy of 512 MiB takes 10 ms, and four GPUs have twelve directions.
_QUICK_SAMPLES, _QUICK_COPIES = 3, 2
_QUICK_SIZES = (4, 65536 + 4, 16 << 20)
#: From many SMs: their ways differ by 60 ns (2 x H200), and which SM a block gets is not ours to choose. Of eleven, one
#: more or less on the longer way moved the mean by 0.7 %.
_CHASE_BYTES, _CHASE_STRIDE, _CHASE_LOADS, _CHASE_BLOCKS = 2 << 20, 128, 3000, 44
#: Of two directions at once, one that is faster by more than this might end before the other's timed copies do.
_UNEVEN = 1.5
_SPIN_CLOCKS = 1_000_000_000        # about half a second
_GB = 1e6                           # bytes per millisecond -> GB/s


def run(context: Context) -> None:
    """Run the whole trial on ``ordinals`` (CUDA's numbers), with buffers of ``size`` bytes. Order: data first, because
    copies that arrive wrong must not be timed. ``quick``: every pair all the same, but fewer sizes and samples, and
    neither SM copies nor several flows at once: what is proven at every start of a service."""
    quick = bool(context.parameters.get("quick"))
    context.beat.phase("driver")
    peers = Peers(Cuda(), context.parameters["ordinals"], context.beat.step, context.parameters.get("size", SIZE))
    context.result(size=peers.size, gpus=[gpu.device.bdf for gpu in peers.gpus])
    pairs = list(permutations(range(len(peers.gpus)), 2))
    context.beat.phase("verify")
    for a, b in pairs:
        _control(context, peers, a, b)
    refused = [[a, b] for a, b in pairs
               if not peers.cuda.can_access_peer(peers.gpus[a].device.ordinal, peers.gpus[b].device.ordinal)]
    if refused:
        context.result(no_access=refused)
        return
    peers.enable()
    for a, b in pairs:
        _integrity(context, peers, a, b, quick)
    context.beat.phase("measure")
    for a, b in pairs:
        _one_way(context, peers, a, b, quick)
    for a, b in pairs:
        if a < b:
            _latency(context, peers, a, b)
            _both_ways(context, peers, a, b, quick)
            _ping_pong(context, peers, a, b)
    if len(peers.gpus) > 2 and not quick:
        _flows(context, peers)


def _control(context: Context, peers: Peers, a: int, b: int) -> None:
    """Copy without peer access, through the host. If this is wrong, the GPU or the host is, and P2P is not judged."""
    source, to, size = peers.gpus[a], peers.gpus[b], min(peers.size, 64 << 20)
    peers.poison(to, size)
    rate = _timed(peers, source, lambda: peers.by_engine(source, to, source, size), size, samples=3, copies=1)
    wrong = peers.check(to, to.landing, size, seed_of(a))
    context.result(kind="control", a=a, b=b, samples=rate, wrong=wrong.__dict__ if wrong else None)
    context.beat.step()


def _integrity(context: Context, peers: Peers, a: int, b: int, quick: bool) -> None:
    """Copy every size, by copy engine and by SM stores and loads, and read every word back where it arrived."""
    source, to = peers.gpus[a], peers.gpus[b]
    sizes = [*(size for size in _SIZES if size < peers.size), peers.size] if not quick else [
        size for size in _QUICK_SIZES if size <= peers.size]
    ways: tuple[tuple[str, Callable[[int], None], int], ...] = (
        ("engine write", lambda size: peers.by_engine(source, to, source, size), 4),
        ("engine read", lambda size: peers.by_engine(to, to, source, size), 4),
        ("kernel write", lambda size: peers.by_kernel(source, to, source, 1, size), 16),
        ("kernel read", lambda size: peers.by_kernel(to, to, source, 1, size), 16),
    )
    right = True
    for name, copy, unit in ways:
        runs_on = source if name.endswith("write") else to
        for size in sizes:
            if size % unit:
                continue
            peers.poison(to, size)
            copy(size)
            runs_on.device.sync()
            wrong = peers.check(to, to.landing, size, seed_of(a))
            context.beat.step()
            if wrong:
                context.result(kind="integrity", a=a, b=b, way=name, size=size, wrong=wrong.__dict__)
                right = False
                break
    if right:
        context.result(kind="integrity", a=a, b=b, way="all", sizes=sizes)


def _timed(peers: Peers, runs_on: Gpu, one: Callable[[], None], size: int, samples: int = _SAMPLES,
           copies: int = _COPIES) -> list[float]:
    """Return GB/s of each sample: one warm-up, then ``copies`` between two events."""
    result = []
    device = runs_on.device
    for _ in range(samples):
        device.use()
        one()
        device.record(runs_on.start)
        for _ in range(copies):
            one()
        device.record(runs_on.end)
        device.sync()
        result.append(size * copies / peers.cuda.milliseconds(runs_on.start, runs_on.end) / _GB)
    return result


def _one_way(context: Context, peers: Peers, a: int, b: int, quick: bool) -> None:
    source, to = peers.gpus[a], peers.gpus[b]
    if quick:
        rates = _timed(peers, source, lambda: peers.by_engine(source, to, source), peers.size, _QUICK_SAMPLES,
                       _QUICK_COPIES)
        context.result(kind="one way", a=a, b=b, way="engine write", samples=rates, copies=_QUICK_COPIES)
        context.beat.step()
        return
    for kind, runs_on, copy in (
        ("engine write", source, lambda: peers.by_engine(source, to, source)),
        ("engine read", to, lambda: peers.by_engine(to, to, source)),
        ("kernel write", source, lambda: peers.by_kernel(source, to, source)),
        ("kernel read", to, lambda: peers.by_kernel(to, to, source)),
    ):
        context.result(kind="one way", a=a, b=b, way=kind, samples=_timed(peers, runs_on, copy, peers.size),
                       copies=_COPIES)
        context.beat.step()


def _both_ways(context: Context, peers: Peers, a: int, b: int, quick: bool) -> None:
    """Measure each direction while the other one is loaded from before its start to after its end."""
    ways = (("engine write", peers.by_engine), ("kernel write", peers.by_kernel))
    copies = _QUICK_COPIES if quick else _COPIES
    for way, copy in ways[:1] if quick else ways:
        samples = []
        for _ in range(_QUICK_SAMPLES if quick else _SAMPLES):
            rates = _at_once(peers, a, b, copy, copies)
            if max(rates) > min(rates) * _UNEVEN:
                rates = [_under_load(peers, x, y, copy, copies) for x, y in ((a, b), (b, a))]
            samples.append(sum(rates))
        context.result(kind="both ways", a=a, b=b, way=way, samples=samples, copies=copies)
        context.beat.step()


_Copy = Callable[[Gpu, Gpu, Gpu], None]


def _at_once(peers: Peers, a: int, b: int, copy: _Copy, copies: int) -> list[float]:
    """Return GB/s of both directions in one go: ``copies`` timed, one before them and more than as many behind. That is
    load enough for one that is slower by less than _UNEVEN."""
    x, y = peers.gpus[a], peers.gpus[b]
    y.device.use()
    y.device.record(y.start)        # neither begins before the other may
    x.device.use()
    x.device.wait_for(y.start)
    for number in range(2 * copies + 2):
        for here, there in ((x, y), (y, x)):
            here.device.use()
            if number in (1, copies + 1):
                here.device.record(here.start if number == 1 else here.end)
            copy(here, there, here)
    for here in (x, y):
        here.device.sync()
    return [peers.size * copies / peers.cuda.milliseconds(here.start, here.end) / _GB for here in (x, y)]


def _under_load(peers: Peers, timed: int, other: int, copy: _Copy, copies: int) -> float:
    """Return GB/s of one direction, the other one loaded three times as long."""
    x, y = peers.gpus[timed], peers.gpus[other]
    y.device.use()
    y.device.record(y.start)
    for _ in range(copies * 3):
        copy(y, x, y)
    x.device.use()
    x.device.wait_for(y.start)
    copy(x, y, x)
    x.device.record(x.start)
    for _ in range(copies):
        copy(x, y, x)
    x.device.record(x.end)
    x.device.sync()
    y.device.sync()
    return peers.size * copies / peers.cuda.milliseconds(x.start, x.end) / _GB


def _latency(context: Context, peers: Peers, a: int, b: int) -> None:
    """Measure a chain of dependent loads through the other one's memory, from several SMs: nanoseconds per load. Both
    ways at once: a load under way is no load for the other one's (830.1 and 830.2 ns; one by one 829.7 and 830.0, 2 x
    H100)."""
    ways = ((a, b), (b, a))
    for _, owner in ways:
        _lay_chain(peers, peers.gpus[owner])

    def chase(targets: tuple[int, ...]) -> list[float]:
        for (reader, owner), target in zip(ways, targets, strict=True):
            here = peers.gpus[reader]
            here.device.use()
            here.device.launch("tc_chase", here.device.multiprocessors, 1, c_ulonglong(peers.gpus[owner].landing),
                               c_uint(_CHASE_LOADS), c_uint(target), c_ulonglong(here.notes))
        for reader, _ in ways:
            peers.gpus[reader].device.sync()
        context.beat.step()
        return [struct.unpack("Q", peers.gpus[reader].device.read(peers.gpus[reader].notes, 8))[0] / _CHASE_LOADS
                for reader, _ in ways]

    blocks = [peers.gpus[reader].device.multiprocessors for reader, _ in ways]
    places = list(zip(*[range(0, most, max(1, most // _CHASE_BLOCKS)) for most in blocks], strict=False))
    # The first chase meets cold translations and an owner that was just written to: 1,087 to 1,130 ns where the others
    # take 830 (2 x H200), which made the mean of eleven 3 % too high.
    chase(places[0])
    samples = [chase(each) for each in places]
    for (reader, owner), found in zip(ways, zip(*samples, strict=True), strict=True):
        context.result(kind="latency", a=reader, b=owner, way="pointer chase", samples=list(found))


def _lay_chain(peers: Peers, owner: Gpu) -> None:
    """Write the chain of loads: each word of ``owner``'s landing buffer holds the address of the one a stride further,
    the last ones those at its beginning."""
    base, count, ahead = owner.landing, min(_CHASE_BYTES, peers.size) // 8, _CHASE_STRIDE // 8
    chain = array("Q", range(base + ahead * 8, base + count * 8, 8)) + array("Q", range(base, base + ahead * 8, 8))
    owner.device.write(base, chain.tobytes())


def _ping_pong(context: Context, peers: Peers, a: int, b: int) -> None:
    """Measure the round trip of a flag through both memories; give up after a bounded number of clocks."""
    left, right = peers.gpus[a], peers.gpus[b]
    samples, gave_up = [], False
    for attempt in range(5):
        offset = attempt * 4096       # another address each time: it differs by 10 % between addresses
        for gpu in (left, right):
            gpu.device.memset(gpu.landing + offset, 0, 4)
            gpu.device.sync()
        for gpu, other, first in ((left, right, 1), (right, left, 0)):
            gpu.device.use()
            gpu.device.launch("tc_pingpong", 1, 1, c_ulonglong(gpu.landing + offset),
                              c_ulonglong(other.landing + offset), c_uint(0), c_uint(50), c_uint(1000),
                              c_uint(first), c_ulonglong(_SPIN_CLOCKS), c_ulonglong(gpu.notes))
        for gpu in (left, right):
            gpu.device.sync()
        nanoseconds, rounds, timeout = struct.unpack("3Q", left.device.read(left.notes, 24))
        gave_up = gave_up or bool(timeout) or bool(struct.unpack("3Q", right.device.read(right.notes, 24))[2])
        if gave_up:
            break
        samples.append(nanoseconds / rounds)
        context.beat.step()
    context.result(kind="latency", a=a, b=b, way="ping-pong", samples=samples, gave_up=gave_up)


def _flows(context: Context, peers: Peers) -> None:
    """Measure several transfers at once: a ring, and every GPU to every other. GB/s in sum."""
    count = len(peers.gpus)
    ring = [(number, (number + 1) % count) for number in range(count)]
    for name, flows in (("ring", ring), ("all pairs", list(permutations(range(count), 2))),
                        *(("collapse", flows) for flows in context.parameters.get("collapse", []))):
        _together(peers, flows)     # warm-up
        context.result(kind="flows", way=name, flows=flows, samples=[_together(peers, flows) for _ in range(3)])
        context.beat.step()


def _together(peers: Peers, flows: list[tuple[int, int]]) -> float:
    """Start all copies on a common event and return their GB/s in sum. Each GPU's copies run one after the other on its
    own stream."""
    gate = peers.gpus[flows[0][0]]
    gate.device.use()
    gate.device.record(gate.start)
    by_source: dict[int, list[int]] = {}
    for a, b in flows:
        by_source.setdefault(a, []).append(b)
    sent = 0
    for a, targets in by_source.items():
        source = peers.gpus[a]
        source.device.use()
        source.device.wait_for(gate.start)
        for _ in range(_COPIES):
            for b in targets:
                peers.by_kernel(source, peers.gpus[b], source, 1, peers.size // 4)
                sent += peers.size // 4
        source.device.record(source.end)
    # Events of different GPUs can't be subtracted. Queued before anything is waited for: else this process' own way
    # from one GPU to the next is measured too.
    gate.device.use()
    for a in by_source:
        gate.device.wait_for(peers.gpus[a].end)
    gate.device.record(gate.end)
    for a in by_source:
        peers.gpus[a].device.sync()
    gate.device.sync()
    return sent / peers.cuda.milliseconds(gate.start, gate.end) / _GB
