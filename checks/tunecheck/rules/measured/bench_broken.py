"""Figures of a benchmark that are wrong whatever the way between the GPUs is: for bench-figures."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Remedy
from ...parsers.nvidia.bench_grids import Bench
from ..codes import NO_PEER_ACCESS
from ..nvidia.peer_access import NO_PEERS
from ..pcie.relation_advice import without_peers
from .bench_words import DUPLEX, KINDS, Pair, Places, named, pairs_text
from .pair_expected import remedy
from .short_of import figure_below, is_below

__all__ = ["contradictions"]

#: Copies through the host reach 22 to 39 GB/s on boxes where direct ones reach 50 or more; equal within 15 % is no P2P.
_SAME = 1.15
#: No direct way is half as fast as the one through the host, which takes the same links twice.
_BROKEN = 0.5
#: A GPU's write to its peer takes 0.4 to 2.4 us directly, and 10 to 17 through the host.
_STAGED_US = 6.0
#: Beyond this, and three times of what it takes through the host, writes to the peer get lost and time out.
_LOST_US = 50.0
#: Where to look. ACS is named only where it may be the reason: not where the tree shows no port that redirects.
_AGAIN = "; then: `sudo tunecheck p2p`"
_LOSES = ("until the cause is mended run engines with NCCL_P2P_DISABLE=1; copies through the host are well there, so "
          "both links are: what is between them loses peer writes; see ")
_LOST = Remedy.typed(f"{_LOSES}iommu-mode, acs-redirect and xid{_AGAIN}")
_LOST_DIRECT = Remedy.typed(f"{_LOSES}iommu-mode and xid{_AGAIN}")
_SHARED = Remedy.typed(f"see acs-redirect: a port that redirects sends both directions over one uplink{_AGAIN}")
_SHARED_DIRECT = Remedy.typed("no port redirects by the registers as given; measure again while nothing else uses the "
                              "links: `sudo tunecheck p2p`")
_STAGED = Remedy.typed(f"see `nvidia-smi topo -p2p r`, acs-redirect and iommu-mode{_AGAIN}")
_STAGED_DIRECT = Remedy.typed(f"see `nvidia-smi topo -p2p r` and iommu-mode{_AGAIN}")
_LETTERS = Remedy.typed("see p2p-capability and `nvidia-smi topo -p2p r`: its letters say why the driver refuses")


def contradictions(check: str, bench: Bench, places: Places) -> tuple[list[Finding], set[Pair]]:
    """Return findings, and the pairs whose figures they explain: these are no figures of a direct way."""
    direct, staged = bench.grid("one way"), bench.grid("one way off")
    access, late, slow = bench.grid("access"), bench.grid("latency"), bench.grid("latency off")
    found: list[Finding] = []
    refused = sorted(pair for pair, value in access.items() if value == 0)
    if refused:
        found.append(Finding(check, NO_PEER_ACCESS, pairs_text(refused), "warn", "behaviour",
                             f"{bench.tool}: no peer access between {pairs_text(refused)}; its figures there are "
                             "copies through the host", "0", "1", (bench.tool,), _LETTERS))
    broken = sorted(_broken(bench) - set(refused))
    if broken:
        found.append(_of_broken(check, bench, broken, places))
    known = {*refused, *broken}
    # A slow link is as slow both ways round; a latency of the host's says that it is the host's way.
    same = sorted(pair for pair, value in direct.items() if pair in staged and value < _SAME * staged[pair]
                  and pair not in known and (late.get(pair, _STAGED_US) >= _STAGED_US))
    if same:
        worst = min(same, key=lambda pair: direct[pair])
        found.append(Finding(check, "same-as-staged", pairs_text(same), "warn", "behaviour",
                             f"{bench.tool}: peer access changes nothing between {pairs_text(same)}; "
                             f"{direct[worst]:.1f} GB/s with it and {staged[worst]:.1f} without, so copies go through "
                             "the host", f"{direct[worst]:.1f} GB/s", "more than through the host", (bench.tool,),
                             _staged(places, same)))
    high = sorted(pair for pair, value in late.items() if value >= _STAGED_US and pair not in known
                  and value > 0.5 * slow.get(pair, value))
    if high and not set(high) <= set(same):
        worst = max(high, key=lambda pair: late[pair])
        found.append(Finding(check, "late", pairs_text(high), "warn", "behaviour", f"{bench.tool}: a write to the peer "
                             f"takes {late[worst]:.1f} us between {pairs_text(high)}: it goes through the host",
                             f"{late[worst]:.1f} us", "below 3 us", (bench.tool,), _staged(places, high)))
    found += _shared(check, bench, {*known, *same, *high}, places)
    return found, known


def _broken(bench: Bench) -> set[Pair]:
    """Return the pairs between which peer access makes copies far slower than without it, or lets writes time out."""
    pairs: set[Pair] = set()
    for on, off in (("one way", "one way off"), ("both ways", "both ways off")):
        without = bench.grid(off)
        pairs |= {pair for pair, value in bench.grid(on).items() if value < _BROKEN * without.get(pair, 0.0)}
    without = bench.grid("latency off")
    return pairs | {pair for pair, value in bench.grid("latency").items()
                    if value >= _LOST_US and value > 3 * without.get(pair, 0.0)}


def _of_broken(check: str, bench: Bench, broken: list[Pair], places: Places) -> Finding:
    """Return the finding about pairs whose peer access does harm, with all figures of the worst of them."""
    direct, late = bench.grid("one way"), bench.grid("latency")
    worst = max(broken, key=lambda pair: (late.get(pair, 0.0), -direct.get(pair, 0.0)))
    told = []
    for kind, off, words, unit in (("one way", "one way off", "one way", "GB/s"),
                                   ("both ways", "both ways off", "both ways", "GB/s"),
                                   ("latency", "latency off", "a write takes", "us")):
        on, without = bench.grid(kind).get(worst), bench.grid(off).get(worst)
        if on is not None:
            told.append(f"{words} {on:.1f} {unit}" + (f" with it and {without:.1f} without"
                                                      if without is not None else ""))
    name = f"GPU{worst[0]} to GPU{worst[1]}: " if len(broken) > 1 else ""
    figures = {f"{value:.1f} {unit}": None for grid, unit in ((direct, "GB/s"), (bench.grid("both ways"), "GB/s"),
                                                             (late, "us")) if (value := grid.get(worst)) is not None}
    observed = next(iter(figures), "")
    return Finding(check, "broken-pair", pairs_text(broken), "fail", "behaviour", f"{bench.tool}: peer access between "
                   f"{pairs_text(broken)} is broken ({name}{'; '.join(told)})", observed,
                   "faster than through the host, below 3 us", (bench.tool,),
                   _LOST_DIRECT if places.direct(broken) else _LOST)


def _shared(check: str, bench: Bench, explained: set[Pair], places: Places) -> Iterator[Finding]:
    """Yield findings about two directions that carry little more than one. Where the way is known and nothing on it
    redirects, the prediction of both directions says it (bench-figures, slow-both-ways)."""
    for kind, both in KINDS:
        one, two = bench.grid(kind), bench.grid(both)
        half = sorted(pair for pair, value in two.items() if one.get(pair) and is_below(value, DUPLEX * one[pair])
                      and pair not in explained and not predicted(places, pair))
        if half:
            worst = min(half, key=lambda pair: two[pair] / one[pair])
            yield Finding(check, "shared", pairs_text(half), "warn", "behaviour",
                          f"{named(bench, kind)}: both directions at once carry {two[worst]:.1f} GB/s, one alone "
                          f"{one[worst]:.1f} ({pairs_text(half)}): they share a link",
                          figure_below(two[worst] / one[worst], DUPLEX),
                          f"{DUPLEX} x one direction alone, or more", (bench.tool,),
                          remedy(None, nvlink=True) if places.over_nvlink(half) else
                          _SHARED_DIRECT if places.direct(half) else _SHARED)


def predicted(places: Places, pair: Pair) -> bool:
    """Whether PCIe alone explains what both directions of a pair carry: its way lies below one switch, or several."""
    path = places.way(pair)
    return path is not None and path.two_way is not None and not path.only and (
        path.latency_class in ("switch", "cascade"))


def _staged(places: Places, pairs: list[Pair]) -> Remedy:
    """Return where to look for the reason of copies through the host."""
    if places.peers.whole in NO_PEERS:
        return without_peers(places.peers)
    return _STAGED_DIRECT if places.direct(pairs) else _STAGED
