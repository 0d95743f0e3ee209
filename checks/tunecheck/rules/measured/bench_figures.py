"""bench-figures: what p2pBandwidthLatencyTest, nvbandwidth and nccl-tests measured is what the path can carry.

A pass needs the path: without it a figure has nothing to be compared with. Figures that contradict each other are wrong
on any path: peer access that changes nothing or does harm, two directions that share one, a GPU far below its peers,
values that arrived wrong."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from ...facts.peer_paths import PairPath
from ...model.absence import Absence
from ...model.finding import Finding, Remedy
from ...parsers.nvidia.bench_grids import FAILED, Bench
from ...util.text import some
from ..check import EVERY, Check, Family, Heading
from ..codes import NO_COMPARISON
from ..context import Case
from . import bench_broken, bench_peers, bench_sums
from .bench_both_ways import BOTH, below_way
from .bench_words import KINDS, Pair, Places, figures_text, missing, named, span, tells_way, way_outputs
from .pair_expected import Expected, blame, by_table, expected, remedy
from .short_of import is_below, share_below
from .slower_links import look, slower

CHECK = Check(
    "bench-figures", "figures of known benchmarks are what the path can carry",
    Heading.ACCELERATORS, 100, Family.MEASURED, EVERY, of_posts=True,
)
_ID = CHECK.id
CODES = {
    "slow": "A benchmark's figure is below what the path can carry.",
    "slow-both-ways": "Both directions at once carry less than the path can.",
    "no-pair-in-text": "The text holds no figure between two GPUs.",
    "broken-pair": "Peer access makes copies far slower than without it, or its writes time out.",
    "same-as-staged": "Peer access changes nothing: the copies go through the host.",
    "late": "A write to the peer takes as long as a way through the host.",
    "shared": "Both directions at once carry little more than one.",
    "below-peers": "A GPU's or pair's figure is far below those of the others in the same table.",
    "slow-host-copy": "A GPU and the host exchange data slower than the links between them carry.",
    "wrong-values": "A benchmark found wrong values.",
    "one-direction": "The text holds the figures of one direction, or of both at once, alone.",
    "cut": "The text of a benchmark is cut before its last lines, or its lines are broken.",
    "below-known": "An all-reduce benchmark is slower than what such boards are known for.",
    "too-small": "The largest message of an all-reduce is too small to compare with a known figure.",
    "larger-is-judged": "The messages of an all-reduce are too small to compare, and a larger run of the same kind is "
                        "judged.",
    "below-path": "A collective's bus bandwidth is a small part of what the way between its GPUs carries.",
    "below-host": "A collective's bus bandwidth is less than the host's memory would carry.",
    "drops-with-size": "A collective is far slower with its largest size than with a smaller one.",
    "test-failed": "A benchmark, or a test of it, ended with an error.",
    "tests-left-out": "Some tests were left out, as this machine cannot run them, and nvbandwidth does not name them.",
    "sums-not-checked": "The benchmark did not check its sums (N/A in the column #wrong, as -c 0 asks for): its speed "
                        "is known, and not whether its values are right; run it again with -c 1.",
}
_BAD = 0.8
#: p2pBandwidthLatencyTest times five copies without a warm-up: on healthy H200s it shows 0.857 to 0.988 of what copies
#: reach, where nvbandwidth repeats within 0.2 %.
_ROUGH = {"p2pBandwidthLatencyTest": 0.85}

_Slow = tuple[float, Pair, PairPath | None, Expected]


def judge(case: Case) -> Iterator[Finding]:
    for bench in case.snapshot.posted.benches:
        yield from _bench(case, bench)
    for test in case.snapshot.posted.tests:
        yield from bench_sums.judged(_ID, case, test)


def _bench(case: Case, bench: Bench) -> Iterator[Finding]:
    cut = sorted(kind for kind, grid in bench.grids.items() if grid.cut)
    places = Places.of(case, bench)
    bad, explained = bench_broken.contradictions(_ID, bench, places)
    told = set(explained)
    hosts = list(bench_peers.host_copies(_ID, case, bench, places))
    rows = []
    for kind, both in KINDS:
        figures, double = _without(bench.grid(kind), explained), _without(bench.grid(both), explained)
        if bench.grid(kind) or bench.grid(both):
            slow, good, open_, asks = _compared(case, bench, figures, places)
            told |= {pair for _, pair, _, _ in slow}
            rows.append((kind, both, figures, double, slow, good, open_, asks))
    bad += [*hosts, *(each for kind, both, _, double, slow, *_ in rows for each in below_way(
        _ID, bench, both, double, bench.grid(kind), places, {pair for _, pair, _, _ in slow}))]
    bad += _failed(bench)
    bad += bench_peers.outliers(_ID, case, bench, places, told, {each.subject for each in hosts})
    yield from bad
    for kind, _, figures, double, slow, good, open_, asks in rows:
        text = f"{named(bench, kind)}: {figures_text(figures, double)}"
        if slow:
            worst, _, path, wanted = min(slow, key=lambda item: item[0])
            enough = _good(bench, wanted)
            over = path is None or path.latency_class == "nvlink"
            link = slower([(way, figures[pair], enough) for _, pair, way, each in slow if way and not each.upper])
            hop = (link.text if link else "") or blame([item[2] for item in slow if item[2]], good)
            share = share_below(worst, enough)
            yield Finding(_ID, "slow", kind, "fail" if worst < _BAD and not wanted.upper else "warn", "behaviour",
                          f"{text}; at worst {share} of {wanted.why} {wanted.one_way:.1f}{hop}", share,
                          f"{enough:.0%} or more", (bench.tool,), remedy(path, over) if over else look(link))
        elif (open_ or not figures or not double or cut) and (figures or double):
            lacks, fix = ("", None) if figures and double else missing(bench, kind, both=bool(figures))
            if not figures and any(_wanted(case, bench, pair, places) is None for pair in double):
                lacks += _add(case, bench)
            shows, why = figures_text(figures, double), f"the table {', '.join(cut)} is cut" if cut else lacks
            shown = f"{named(bench, kind)}: " + (
                f"nothing to compare {shows} with: {open_}" if open_ else f"{why}; {shows}")
            code = NO_COMPARISON if open_ else "cut" if cut else "one-direction"
            yield Finding(_ID, code, kind, "unknown", "behaviour", shown, span(figures or double), "",
                          (bench.tool,), fix if code == "one-direction" else _way(case, bench) if asks else None)
        elif not bad:
            least = _least(case, bench, figures, double, places)
            yield Finding(_ID, "ok", kind, "pass", "behaviour", f"{text}, as the path predicts; expected {least}",
                          span(figures), least, (bench.tool,))
    if not rows and not bad and "JSON" in cut:
        yield Finding(_ID, "cut", bench.tool, "unknown", "behaviour", f"{bench.tool}: its JSON is cut or damaged: give "
                      "all of the output of nvbandwidth -j", evidence=(bench.tool,))
    elif not rows and not bad and bench.left_out:
        yield Finding(_ID, "tests-left-out", bench.tool, "unknown", "behaviour", f"{bench.tool} left out "
                      f"{bench.left_out} tests (\"Waived\"), without their names, and has no figure between two GPUs: "
                      "it leaves those out where no pair has peer access; add: nvidia-smi topo -p2p r",
                      str(bench.left_out), "", (bench.tool,))
    elif not rows and not bad:
        known = [f"{kind} {span(grid.figures)} GB/s" for kind, grid in bench.grids.items() if "GPU" in kind]
        yield Finding(_ID, "no-pair-in-text", bench.tool, "unknown", "behaviour",
                      f"{bench.tool}: no figure between two GPUs is in the text"
                      + (f"; {', '.join(known)}" if known else ""), evidence=(bench.tool,))


def _failed(bench: Bench) -> list[Finding]:
    """Return the finding about tests that failed. [] where none did."""
    failed = [kind[len(FAILED):] for kind in bench.grids if kind.startswith(FAILED)]
    if not failed:
        return []
    return [Finding(_ID, "test-failed", bench.tool, "fail", "behaviour", f"{bench.tool} failed: {some(failed, 4)}",
                    some(failed, 4), "every test passed or waived", (bench.tool,), Remedy.typed(
                        "run that test again by itself; wrong data or a CUDA error is no matter of speed: see "
                        "`sudo dmesg` for Xid and AER, then run `sudo tunecheck p2p`"))]


def _least(case: Case, bench: Bench, figures: Mapping[Pair, float], double: Mapping[Pair, float], places: Places
           ) -> str:
    """Return from which figures on these are fine, of the pair with the highest demand: "51.8 GB/s or more one way"."""
    one = [_good(bench, wanted) * wanted.one_way for pair in figures
           if (wanted := _wanted(case, bench, pair, places)) is not None and wanted.one_way is not None]
    both = [BOTH * path.two_way for pair in double if (path := places.way(pair)) is not None and path.two_way
            and bench_broken.predicted(places, pair)]
    return f"{max(one):.1f} GB/s or more one way" + (f", {max(both):.1f} both ways" if both else "")


def _wanted(case: Case, bench: Bench, pair: Pair, places: Places) -> Expected | None:
    """Return what a pair should reach, by the tree, or by the driver's table where there is no tree."""
    path = places.way(pair)
    return by_table(case, [bench.devices.get(gpu, ("", ""))[1] for gpu in pair]) if path is None else \
        expected(case, path)


def _good(bench: Bench, wanted: Expected) -> float:
    """Return the share of what a pair should reach from which on this benchmark's figure is fine."""
    return min(wanted.good, _ROUGH.get(bench.tool, wanted.good))


def _without(figures: Mapping[Pair, float], explained: Collection[Pair]) -> dict[Pair, float]:
    return {pair: value for pair, value in figures.items() if pair not in explained}


def _given(case: Case) -> str:
    """Return what is known of the way between two GPUs where there is no PCI tree: the driver's table has a word for
    it, and no widths."""
    table = case.snapshot.posted.table.value
    words = list(dict.fromkeys(table.relations.values())) if table is not None else []
    if table is None or not words or any(word.startswith("NV") or not word for word in words):
        return "the path between the GPUs is not given"
    return f"{table.source} says {some(words, 3)}, and not how wide and fast its links are"


def _not_in_tree(bench: Bench, pair: Pair) -> str:
    """Return why the PCI tree has no way between two GPUs of a benchmark: it lacks one, or their addresses are not
    told."""
    named = [bdf for gpu in pair if (bdf := bench.devices.get(gpu, ("", ""))[0])]
    return f"the PCI tree does not have both of its GPUs ({', '.join(named)})" if len(named) == len(pair) else \
        "the benchmark does not name the addresses of its GPUs"


def _add(case: Case, bench: Bench) -> str:
    """Return the end of a sentence that asks for what tells the way."""
    wanted = tells_way(case, bench)
    return f"; {wanted}" if wanted else ""


def _way(case: Case, bench: Bench) -> Remedy | None:
    """Return how the way between the GPUs gets known: a fix, so that the report's next step can name it."""
    wanted = way_outputs(case, bench)
    commands = [part for each in wanted for part in (" and ", each)][1:]
    return Remedy.of("add the output of: ", *commands) if wanted else None


def _compared(case: Case, bench: Bench, figures: Mapping[Pair, float], places: Places
              ) -> tuple[list[_Slow], list[PairPath], str, bool]:
    """Return (share, pair, path, what is expected) of the pairs that are too slow, the paths of the good pairs, why the
    other pairs cannot be judged, and whether the way between them is what is missing. A pair has no path where a table
    alone says that it is joined by NVLink."""
    slow: list[_Slow] = []
    good: list[PairPath] = []
    open_, asks = "", False
    for pair, value in figures.items():
        path, wanted = places.way(pair), _wanted(case, bench, pair, places)
        if wanted is None:
            asks = asks or (not open_ and not case.snapshot.topology.devices)
            open_ = open_ or (_given(case) if not case.snapshot.topology.devices else
                              _not_in_tree(bench, pair))
            continue
        if wanted.one_way is None:
            hidden = path is not None and path.pair.relation.absence is Absence.NOT_DERIVABLE
            asks = asks or (not open_ and (hidden or path is None))
            open_ = open_ or wanted.why
        elif is_below(value, _good(bench, wanted) * wanted.one_way):
            slow.append((value / wanted.one_way, pair, path, wanted))
        elif path is not None:
            good.append(path)
    return slow, good, open_, asks
