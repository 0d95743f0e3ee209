"""bench-figures: what p2pBandwidthLatencyTest, nvbandwidth and nccl-tests measured is what the path can carry.

A pass needs the path: without it a figure has nothing to be compared with. Figures that contradict each other are wrong
on any path: peer access that changes nothing, two directions that share one, values that arrived wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...facts.peer_paths import PairPath, paths
from ...model.finding import Finding, Remedy
from ...parsers.nvidia.bench_grids import Bench
from ...parsers.nvidia.nccl_tests import NcclTest
from ...spec.boards import Board, board, board_named
from ...util.text import some
from ..check import EVERY, Check, Family, Heading
from ..codes import NO_COMPARISON, NO_PEER_ACCESS
from ..context import Case
from .pair_expected import Expected, blame, by_table, expected, remedy

CHECK = Check(
    "bench-figures", "figures of known benchmarks are what the path can carry",
    Heading.ACCELERATORS, 100, Family.MEASURED, EVERY, of_posts=True,
)
_ID = CHECK.id
CODES = {
    "slow": "A benchmark's figure is below what the path can carry.",
    "no-pair-in-text": "The text holds no figure between two GPUs.",
    "same-as-staged": "Peer access changes nothing: the copies go through the host.",
    "late": "A write to the peer takes as long as a way through the host.",
    "shared": "Both directions at once carry little more than one.",
    "wrong-values": "A benchmark found wrong values.",
    "one-direction": "The text holds the figures of one direction, or of both at once, alone.",
    "cut": "The text of a benchmark is cut before its last lines.",
    "below-known": "An all-reduce benchmark is slower than what such boards are known for.",
    "sums-not-checked": "The benchmark did not check its sums.",
}
#: Two directions at once carry 1.7 to 2 times one where they do not share a link (evidence: p2p-duplex).
_DUPLEX = 1.5
#: Copies through the host reach 22 to 39 GB/s on boxes where direct ones reach 50 or more; equal within 15 % is no P2P.
_SAME = 1.15
#: A GPU's write to its peer takes 0.4 to 2.4 us directly, and 10 to 17 through the host.
_STAGED_US = 6.0
_BAD = 0.8
_ADD = "add: sudo lspci -nnvvv"
_STAGED = Remedy.typed("see `nvidia-smi topo -p2p r`, acs-redirect and iommu-mode; then: `sudo tunecheck p2p`")
_SHARED = Remedy.typed("see acs-redirect: a port that redirects sends both directions over one uplink; then: "
                 "`sudo tunecheck p2p`")
_KINDS = (("one way", "both ways"), ("write", "both write"), ("read", "both read"))

_Pair = tuple[int, int]


def judge(case: Case) -> Iterator[Finding]:
    for bench in case.snapshot.posted.benches:
        yield from _bench(case, bench)
    for test in case.snapshot.posted.tests:
        yield from _test(case, test)


def _bench(case: Case, bench: Bench) -> Iterator[Finding]:
    cut = sorted(kind for kind, grid in bench.grids.items() if grid.cut)
    bad = list(_contradictions(bench))
    yield from bad
    ways = {frozenset((path.pair.a, path.pair.b)): path for path in paths(case.snapshot)}
    number = {device.bdf: index for index, device in enumerate(case.snapshot.topology.devices)}
    for kind, both in _KINDS:
        figures, double = bench.grid(kind), bench.grid(both)
        if not figures and not double:
            continue
        slow, good, open_ = _compared(case, bench, figures, ways, number)
        text = f"{bench.tool} ({kind}): {_range(figures)} GB/s one way" if figures else f"{bench.tool}"
        text += f", {_range(double)} both ways" if double else ""
        if slow:
            worst, path, wanted = min(slow, key=lambda item: item[0])
            hop = blame([item[1] for item in slow if item[1]], good)
            yield Finding(_ID, "slow", kind, "fail" if worst < _BAD and not wanted.upper else "warn", "behaviour",
                          f"{text}: at worst {worst:.0%} of {wanted.why} {wanted.one_way:.1f}{hop}", f"{worst:.0%}",
                          "90% or more", (bench.tool,), remedy(path, path is None))
        elif open_ or not figures or not double or cut:
            why = open_ or (f"the table {', '.join(cut)} is cut" if cut else
                            f"only {'one way' if figures else 'both ways'} is in the text")
            code = NO_COMPARISON if open_ else "cut" if cut else "one-direction"
            yield Finding(_ID, code, kind, "unknown", "behaviour", f"{text}: {why}", _range(figures or double), "",
                          (bench.tool,))
        elif not bad:
            yield Finding(_ID, "ok", kind, "pass", "behaviour", f"{text}, as the path predicts", _range(figures), "",
                          (bench.tool,))
    if not any(bench.grid(kind) or bench.grid(both) for kind, both in _KINDS) and not bad:
        hosts = [f"{kind} {_range(grid.figures)} GB/s" for kind, grid in bench.grids.items() if "GPU" in kind]
        yield Finding(_ID, "no-pair-in-text", bench.tool, "unknown", "behaviour",
                      f"{bench.tool}: {', '.join(hosts) or 'no figure'}; no "
                      "figure between two GPUs is in the text", evidence=(bench.tool,))


def _contradictions(bench: Bench) -> Iterator[Finding]:
    """Yield findings about figures that are wrong whatever the path is."""
    direct, staged = bench.grid("one way"), bench.grid("one way off")
    access, late, slow = bench.grid("access"), bench.grid("latency"), bench.grid("latency off")
    refused = sorted(pair for pair, value in access.items() if value == 0)
    if refused:
        yield Finding(_ID, NO_PEER_ACCESS, _pairs(refused), "warn", "behaviour",
                      f"{bench.tool}: no peer access between "
                      f"{_pairs(refused)}: its figures there are copies through the host", "0", "1", (bench.tool,),
                      _STAGED)
    # A slow link is as slow both ways round; a latency of the host's says that it is the host's way.
    same = sorted(pair for pair, value in direct.items() if pair in staged and value < _SAME * staged[pair]
                  and access.get(pair, 1.0) and (late.get(pair, _STAGED_US) >= _STAGED_US))
    if same:
        worst = min(same, key=lambda pair: direct[pair])
        yield Finding(_ID, "same-as-staged", _pairs(same), "warn", "behaviour",
                      f"{bench.tool}: peer access changes nothing between "
                      f"{_pairs(same)}: {direct[worst]:.1f} GB/s with it and {staged[worst]:.1f} without, so copies go "
                      "through the host", f"{direct[worst]:.1f} GB/s", "more than through the host", (bench.tool,),
                      _STAGED)
    high = sorted(pair for pair, value in late.items() if value >= _STAGED_US and access.get(pair, 1.0)
                  and value > 0.5 * slow.get(pair, value))
    if high and not set(high) <= set(same):
        worst = max(high, key=lambda pair: late[pair])
        yield Finding(_ID, "late", _pairs(high), "warn", "behaviour", f"{bench.tool}: a write to the peer takes "
                      f"{late[worst]:.1f} us between {_pairs(high)}: it goes through the host", f"{late[worst]:.1f} us",
                      "below 3 us", (bench.tool,), _STAGED)
    for kind, both in _KINDS:
        one, two = bench.grid(kind), bench.grid(both)
        half = sorted(pair for pair, value in two.items() if one.get(pair) and value < _DUPLEX * one[pair]
                      and pair not in same)
        if half:
            worst = min(half, key=lambda pair: two[pair] / one[pair])
            yield Finding(_ID, "shared", _pairs(half), "warn", "behaviour",
                          f"{bench.tool}: both directions at once carry "
                          f"{two[worst]:.1f} GB/s, one alone {one[worst]:.1f} ({_pairs(half)}): they share a link",
                          f"{two[worst] / one[worst]:.2f}", f"{_DUPLEX} x one direction alone, or more",
                          (bench.tool,), _SHARED)


def _compared(case: Case, bench: Bench, figures: Mapping[_Pair, float], ways: Mapping[frozenset[int], PairPath],
              number: Mapping[str, int]
              ) -> tuple[list[tuple[float, PairPath | None, Expected]], list[PairPath], str]:
    """Return three things: (share, path, what is expected) of the pairs that are too slow, the paths of the good pairs,
    and why the other pairs cannot be judged. A pair has no path where a table alone says that it is joined by
    NVLink."""
    slow: list[tuple[float, PairPath | None, Expected]] = []
    good: list[PairPath] = []
    open_ = ""
    for pair, value in figures.items():
        here = [number.get(bench.devices.get(gpu, ("", ""))[0]) for gpu in pair]
        path = ways.get(frozenset(gpu for gpu in here if gpu is not None)) if None not in here else None
        wanted = by_table(case, [bench.devices.get(gpu, ("", ""))[1] for gpu in pair]) if path is None else \
            expected(case, path)
        if wanted is None:
            open_ = open_ or (f"nothing to compare with: the path between the GPUs is not given; {_ADD}"
                              if not case.snapshot.topology.devices else
                              "nothing to compare with: the benchmark's GPUs are not those of the PCI tree, or it does "
                              "not name their addresses")
            continue
        if wanted.one_way is None:
            open_ = open_ or f"nothing to compare with: {wanted.why}"
        elif value < wanted.good * wanted.one_way:
            slow.append((value / wanted.one_way, path, wanted))
        elif path is not None:
            good.append(path)
    return slow, good, open_


def _test(case: Case, test: NcclTest) -> Iterator[Finding]:
    name = test.name or "nccl-tests"
    ranks = len(test.ranks)
    large = max(test.rows, key=lambda row: row.size, default=None)
    text = f"{name}, {ranks} rank{'' if ranks == 1 else 's'}"
    if large and large.size >= 1 << 20:
        text += f": {large.busbw:.1f} GB/s bus bandwidth at {large.size >> 20} MiB"
    if test.wrong:
        yield Finding(_ID, "wrong-values", name, "fail", "behaviour",
                      f"{text}: {test.wrong} values are wrong", str(test.wrong), "0",
                      (name,), Remedy.typed("the data path is broken: see acs-redirect, iommu-mode, link-errors and "
                                            "xid; then: `sudo tunecheck p2p`"))
        return
    known = _board(case, test)
    prior = getattr(known, f"bus_{ranks}_gb_s", None) if known and "all_reduce" in name else None
    if test.cut:
        yield Finding(_ID, "cut", name, "unknown", "behaviour",
                      f"{text}; the text is cut before its last lines", "", "",
                      (name,))
    elif large is not None and prior is not None and large.size >= 1 << 27 and large.busbw < _BAD * prior:
        yield Finding(_ID, "below-known", name, "warn", "behaviour", f"{text}, {large.busbw / prior:.0%} of what "
                      f"{known.name if known else ''} reached", f"{large.busbw:.1f}", f"{prior} GB/s", (name,),
                      Remedy("without NVLink try NCCL_MIN_NCHANNELS=8 and NCCL_P2P_LEVEL=SYS; with it see nvidia-smi "
                             "nvlink -s"))
    elif prior is None or large is None or large.size < 1 << 27 or any(row.wrong is None for row in test.rows):
        unchecked = bool(test.rows) and any(row.wrong is None for row in test.rows)
        why = "the sums were not checked" if unchecked else \
            "nothing to compare with: no figure of such boards at that size is known here" if known else \
            f"nothing to compare with: {_unknown_boards(case, test)}"
        yield Finding(_ID, "sums-not-checked" if unchecked else NO_COMPARISON, name, "unknown", "behaviour",
                      f"{text}; {why}", "", "", (name,))
    else:
        yield Finding(_ID, "ok", name, "pass", "behaviour", f"{text}, {large.busbw / prior:.0%} of what "
                      f"{known.name if known else ''} reached, no value wrong", f"{large.busbw:.1f}", f"{prior} GB/s",
                      (name,))


def _board(case: Case, test: NcclTest) -> Board | None:
    """Return what board all ranks are on: by its PCI id where the tree holds it, else by the name that the benchmark
    prints. None where they differ, or are in several machines: what is known is known of one."""
    ids = {device.bdf: device.ids for device in case.snapshot.topology.devices}
    boards = [board(ids[rank.bdf]) if ids.get(rank.bdf) else board_named(rank.name) for rank in test.ranks]
    alike = boards and all(each == boards[0] for each in boards) and len({rank.host for rank in test.ranks}) == 1
    return boards[0] if alike else None


def _unknown_boards(case: Case, test: NcclTest) -> str:
    """Return why no figure of the boards is known."""
    names, machines = sorted({rank.name for rank in test.ranks}), len({rank.host for rank in test.ranks})
    if not names:
        return f"which boards they are is not given; {_ADD}"
    if machines > 1:
        return f"its ranks are on {machines} machines"
    if len(names) > 1:
        return f"its ranks are on boards of different kinds ({some(names, 3)})"
    return f"no figure of {names[0]} is known here{'' if case.snapshot.topology.devices else f'; {_ADD}'}"


def _range(figures: Mapping[_Pair, float]) -> str:
    if not figures:
        return "?"
    low, high = min(figures.values()), max(figures.values())
    return f"{low:.1f}" if f"{low:.1f}" == f"{high:.1f}" else f"{low:.1f} to {high:.1f}"


def _pairs(pairs: list[_Pair]) -> str:
    shown = list(dict.fromkeys(f"GPU{min(pair)}-GPU{max(pair)}" for pair in pairs))
    return some(shown, 4)
