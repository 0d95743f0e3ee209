"""What a pair should reach, from its way through the tree or, over NVLink, from boards that were measured."""

from __future__ import annotations

from collections.abc import Sequence

from ...facts.peer_paths import PairPath
from ...model.finding import Remedy
from ...spec.boards import Board, board, board_named
from ...util.at_first_use import dataclass
from ..context import Case
from ..nvidia.posted_gpus import given_names, nvlink_words

__all__ = ["Expected", "blame", "by_table", "expected", "remedy"]

#: Share of the predicted payload rate that is fine. Measured on Gen5 PIX: 52 to 57 of 57.6 (0.90 to 0.99).
_PREDICTED = 0.9
#: Share of a board's measured figure: healthy pairs repeat within 0.2 %, and one lost link of 18 costs 5.6 %.
_BOARD = 0.95


@dataclass(frozen=True)
class Expected:
    """What a pair should reach. ``one_way`` in GB/s, None where there is nothing to compare with; ``why`` then says so,
    else where the figure is from. Below ``good`` x ``one_way`` is too little. ``upper``: it is only an upper bound."""

    one_way: float | None
    why: str
    good: float = _PREDICTED
    upper: bool = False


def expected(case: Case, path: PairPath | None) -> Expected:
    """Return the prediction where the tree allows one; for a pair with NVLink what the board is known to reach."""
    if path is None:
        return Expected(None, "the tree says nothing about this pair")
    if path.latency_class == "nvlink":
        return _of_board(case, path)
    if path.one_way is None:
        return Expected(None, path.reason or "no prediction")
    if path.only:
        return Expected(None, f"{path.one_way:.1f} GB/s are predicted {path.only}")
    if path.latency_class in ("switch", "cascade") or path.pair.relation.value in ("PIX", "PXB"):
        return Expected(path.one_way, "predicted")
    return Expected(path.one_way, "predicted at most", upper=True)


def remedy(path: PairPath | None, nvlink: bool = False) -> Remedy:
    """Return where to look for the cause of a slow link. ``nvlink``: it is one of these, though no path is known."""
    if nvlink or (path is not None and path.latency_class == "nvlink"):
        return Remedy.typed("see `nvidia-smi nvlink -s` and `nvidia-smi nvlink -e`: links that are down, or count "
                            "errors under load")
    return Remedy("see link-speed, link-width, link-payload and link-errors of that hop, under load")


def _of_board(case: Case, path: PairPath) -> Expected:
    devices = case.snapshot.topology.devices
    a, b = devices[path.pair.a], devices[path.pair.b]
    known = board(a.ids) if a.ids == b.ids else None
    told = case.snapshot.topo_text.value
    return _over_nvlink(known, told.relations.get((a.bdf, b.bdf), "") if told else "")


def by_table(case: Case, names: Sequence[str]) -> Expected | None:
    """Return the same of any pair where the PCI tree is not given and `nvidia-smi topo -m` joins every pair by NVLink.
    ``names``: how the benchmark calls the two boards, "" where it does not. None where it may be PCIe."""
    words = nvlink_words(case.snapshot)
    if not words or case.snapshot.topology.devices:
        return None
    called = {name for name in names if name} or set(given_names(case.snapshot))
    if not called:
        return Expected(None, "NVLink, and which boards they are is not given")
    known = board_named(called.pop()) if len(called) == 1 else None
    return _over_nvlink(known, words.pop() if len(words) == 1 else "")


def _over_nvlink(known: Board | None, word: str) -> Expected:
    if known is None or known.p2p_one_way_gb_s is None:
        return Expected(None, "NVLink, and no figure of two such boards is known")
    if word != f"NV{known.nvlinks}":
        return Expected(None, f"the figure for {known.name} is for NV{known.nvlinks}, and this pair has "
                        f"{word or 'an unknown number of links'}")
    return Expected(float(known.p2p_one_way_gb_s), f"measured on {known.name}", _BOARD)


def blame(slow: Sequence[PairPath], good: Sequence[PairPath]) -> str:
    """Return the hop to look at as the end of a sentence: what all slow ways have and no good one has, else the slowest
    link of the way. "" where none is known."""
    if not slow:
        return ""
    fine = {hop.bdf for path in good for hop in path.hops}
    shared = [hop.bdf for hop in slow[0].hops if hop.bdf not in fine
              and all(hop.bdf in [other.bdf for other in path.hops] for path in slow)]
    if good and shared:
        return f"; only the slow pairs cross {', '.join(shared)}"
    link = slow[0].slowest
    if link is None:
        return ""
    state = f", {link.max_gen and f'Gen{link.max_gen} x{link.max_width} is possible'}" \
        if link.text != f"x{link.max_width} Gen{link.max_gen}" else ""
    return f"; the narrowest link of the way is {link.name} ({link.text}{state})"
