"""The p2p trial's measurements between GPUs of one process. Each hands its result over at once.

Methods as in nvbandwidth, against which they were held (docs/benchmarks): see peers.py for sizes. Figures are GB/s
(10^9 bytes) and nanoseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import permutations

from .cuda import Cuda
from .duplex import both_ways, groups
from .latency import chases, lay_chain, ping_pong
from .peers import COPIES, GB, SIZE, Gpu, Peers, copies_of, samples_of, seed_of
from .worker import Context

__all__ = ["run"]

_SIZES = (4, 8, 64, 4096, 65536 + 4, 1 << 20, 16 << 20)
_QUICK_SIZES = (4, 65536 + 4, 16 << 20)


def run(context: Context) -> None:
    """Run the whole trial on ``ordinals`` (CUDA's numbers), with buffers of ``size`` bytes. Order: data first, because
    copies that arrive wrong must not be timed. ``quick``: every pair all the same, but fewer sizes and samples, and
    neither SM copies nor several flows at once: what is proven at every start of a service. Pairs that share no link
    are measured at once."""
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
    at_once = groups(context, peers)
    for some in at_once:
        _one_way(context, peers, some, quick)
        _one_way(context, peers, [(b, a) for a, b in some], quick)
    for gpu in peers.gpus:
        lay_chain(peers, gpu)
        context.beat.step()
    for some in at_once:
        chases(context, peers, some)
    for some in at_once:
        both_ways(context, peers, some, quick)
        for a, b in some:
            ping_pong(context, peers, a, b)
    if len(peers.gpus) > 2 and not quick:
        _flows(context, peers)


def _control(context: Context, peers: Peers, a: int, b: int) -> None:
    """Copy without peer access, through the host. If this is wrong, the GPU or the host is, and P2P is not judged."""
    source, to, size = peers.gpus[a], peers.gpus[b], min(peers.size, 64 << 20)
    peers.poison(to, size)
    rate, = _timed(peers, [(source, lambda: peers.by_engine(source, to, source, size))], size, samples=3, copies=1)
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


def _timed(peers: Peers, copies_by: Sequence[tuple[Gpu, Callable[[], None]]], size: int, samples: int,
           copies: int) -> list[list[float]]:
    """Return GB/s of each sample, for each (the GPU that copies, how it queues one copy), all at once: one warm-up,
    then ``copies`` between two events."""
    result: list[list[float]] = [[] for _ in copies_by]
    for _ in range(samples):
        for number in range(copies + 1):
            for runs_on, one in copies_by:
                runs_on.device.use()
                if number == 1:
                    runs_on.device.record(runs_on.start)
                one()
        for runs_on, _ in copies_by:
            runs_on.device.use()
            runs_on.device.record(runs_on.end)
        for (runs_on, _), taken in zip(copies_by, result, strict=True):
            runs_on.device.sync()
            taken.append(size * copies / peers.cuda.milliseconds(runs_on.start, runs_on.end) / GB)
    return result


def _one_way(context: Context, peers: Peers, ways: Sequence[tuple[int, int]], quick: bool) -> None:
    """Measure these directions at once."""
    pairs = [(peers.gpus[a], peers.gpus[b]) for a, b in ways]
    for kind, by_reader, copy in (("engine write", False, peers.by_engine), ("engine read", True, peers.by_engine),
                                  ("kernel write", False, peers.by_kernel), ("kernel read", True, peers.by_kernel)):
        if quick and kind != "engine write":
            continue
        queue = [(to if by_reader else source, partial(copy, to if by_reader else source, to, source))
                 for source, to in pairs]
        found = _timed(peers, queue, peers.size, samples_of(quick), copies_of(quick))
        for (a, b), samples in zip(ways, found, strict=True):
            context.result(kind="one way", a=a, b=b, way=kind, samples=samples, copies=copies_of(quick),
                           at_once=len(ways))
        context.beat.step()


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
        for _ in range(COPIES):
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
    return sent / peers.cuda.milliseconds(gate.start, gate.end) / GB
