"""What both directions of a pair carry at once, beside what its way can carry and what one direction carries alone: for
bench-figures."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from ...facts.peer_paths import PairPath
from ...model.finding import Finding, Remedy
from ...parsers.nvidia.bench_grids import Bench
from .bench_broken import predicted
from .bench_words import DUPLEX, Pair, Places, pairs_text
from .pair_expected import blame
from .short_of import is_below, share_below

__all__ = ["BOTH", "below_way"]

#: Of what both directions together can carry. Healthy pairs behind one switch: 0.87 to 0.97; with a hairpin: 0.45.
BOTH, _BAD = 0.8, 0.7
#: The registers show nothing: what was measured is of another time, or what they do not show is at work.
_JOINED = Remedy.typed("no port redirects by the registers as given, so either they were changed after the measurement "
                       "or something else joins both directions (the switch's firmware, its partitions): measure again "
                       "with `sudo tunecheck p2p`")
_HINDERED = Remedy.typed("one direction alone is well, and both share no link: measure again while nothing else uses "
                         "the links: `sudo tunecheck p2p`; then see link-errors of the way")
_ALONE = Remedy.typed("one direction alone tells a slow link from one that both directions share: measure both with "
                      "`sudo tunecheck p2p`")

_Low = tuple[float, Pair, PairPath]


def below_way(check: str, bench: Bench, both: str, double: Mapping[Pair, float], single: Mapping[Pair, float],
              places: Places, slow: Collection[Pair]) -> Iterator[Finding]:
    """Yield findings about pairs whose two directions at once are far below the prediction. Pairs that are ``slow`` in
    one direction alone, and in both as much, have one cause, which the finding about one direction says."""
    low: dict[Remedy, list[_Low]] = {}
    for pair, value in double.items():
        path, alone = places.way(pair), single.get(pair)
        if path is None or not path.two_way or not predicted(places, pair) or not is_below(
                value, BOTH * path.two_way):
            continue
        joined = bool(alone) and is_below(value, DUPLEX * (alone or 0))
        if pair not in slow or joined:
            low.setdefault(_JOINED if joined else _HINDERED if alone else _ALONE, []).append(
                (value / path.two_way, pair, path))
    for number, (fix, rows) in enumerate(low.items()):
        worst, pair, path = min(rows, key=lambda row: row[0])
        pairs = pairs_text(sorted(each for _, each, _ in rows))
        beside = f"; one direction alone {single[pair]:.1f}" if single.get(pair) else ""
        told = f"{beside}: they share a link" if fix is _JOINED else beside
        hop = "" if fix is _HINDERED else blame([each for _, _, each in rows], [])
        yield Finding(check, "slow-both-ways", f"{both}, {pairs}" if number else both,
                      "fail" if worst < _BAD else "warn", "behaviour", f"{bench.tool} ({both}): {double[pair]:.1f} "
                      f"GB/s, {share_below(worst, BOTH)} of predicted {path.two_way:.1f}, between {pairs}{told}{hop}",
                      share_below(worst, BOTH), f"{BOTH:.0%} or more", (bench.tool,), fix)
