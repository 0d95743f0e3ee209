"""What was measured between two GPUs, as matrices: rows are sources, columns destinations, one matrix per quantity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...model.measurement import Measured, Measurement
from ...util.at_first_use import dataclass
from ...util.text import and_more
from .quantities import KINDS, OTHERS, Kind, legend, level, short

__all__ = ["Cell", "Heat", "Quantity", "heat"]

_DIRECT = ("switch", "cascade")
_LISTED = 2000

_Pair = tuple[int, int]


@dataclass(frozen=True)
class Cell:
    """One cell of a matrix. ``level`` 5 (best) to 1, 0: nothing to compare with. ``facts``: name and text, shown where
    a reader points at the cell."""

    text: str
    share: str
    level: int
    weakest: bool = False
    wrong: str = ""
    facts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Quantity:
    """One matrix. ``id`` is safe in HTML ids. ``rows`` follow Heat.gpus; None on the diagonal."""

    id: str
    title: str
    unit: str
    meaning: str
    legend: tuple[tuple[int, str], ...]
    rows: tuple[tuple[Cell | None, ...], ...]
    weakest: str


@dataclass(frozen=True)
class Heat:
    """All matrices of a document. ``listed``: every figure of a pair as one row of texts; empty where there are too
    many. ``methods``: how each quantity was measured, each once."""

    gpus: tuple[int, ...]
    quantities: tuple[Quantity, ...]
    listed: tuple[tuple[str, ...], ...]
    methods: tuple[str, ...]
    flows: tuple[str, ...]


def heat(found: Measured, data: Mapping[str, Any]) -> Heat | None:
    """Return the matrices of a document ``data``; None where no pair was measured."""
    count = len(data.get("accelerators", ()))
    chosen = found.notes.get("chosen")
    numbers = range(count) if chosen is None else (number for number in chosen if 0 <= number < count)
    gpus = tuple(sorted(set(numbers)))
    paths = _paths(data)
    view = _View(found, paths, set(gpus))
    quantities = tuple(view.quantity(kind, gpus) for kind in KINDS if view.figures(kind.trial, kind.what))
    listed = list(view.listed())
    if not listed:
        return None
    flows = tuple(f"{each.what}: {each.value:.1f} GB/s in sum over {each.more.get('flows', 0):.0f} flows"
                  for each in found.find("flows"))
    rows = tuple(row for row, _ in listed) if len(listed) <= _LISTED else ()
    return Heat(gpus, quantities, rows, tuple(dict.fromkeys(method for _, method in listed)), flows)


def _paths(data: Mapping[str, Any]) -> dict[_Pair, dict[str, Any]]:
    """Return the document of each pair by its two GPU numbers, in both orders."""
    numbers = {board["bdf"]: board["index"] for board in data.get("accelerators", ())}
    found = {}
    for pair in data.get("pairs", ()):
        a, b = numbers[pair["a"]], numbers[pair["b"]]
        found[a, b] = found[b, a] = pair
    return found


class _View:
    def __init__(self, found: Measured, pairs: Mapping[_Pair, dict[str, Any]], gpus: set[int]) -> None:
        self._found, self._pairs, self._gpus = found, pairs, gpus
        self._wrong = dict(_wrong(found))
        self._refused = {(a, b) for a, b in found.notes.get("no_access") or ()}
        self._seen: dict[tuple[str, str], dict[_Pair, Measurement]] = {}

    def figures(self, trial: str, what: str) -> dict[_Pair, Measurement]:
        if (trial, what) not in self._seen:
            self._seen[trial, what] = {(each.a, each.b): each for each in self._found.find(trial, what)
                                       if each.a in self._gpus and each.b in self._gpus and each.a != each.b
                                       and each.a is not None and each.b is not None}
        return self._seen[trial, what]

    def quantity(self, kind: Kind, gpus: tuple[int, ...]) -> Quantity:
        once = self.figures(kind.trial, kind.what)
        values = [each.value for each in once.values()]
        worst = min(values) if kind.more_is_better else max(values)
        uneven = min(values) != max(values)
        weakest = [pair for pair, each in once.items() if each.value == worst] if uneven else []
        rows = tuple(tuple(None if a == b else self._cell(kind, (a, b), weakest) for b in gpus) for a in gpus)
        arrow = "-" if kind.trial == "both ways" else "\u2192"
        named = f"GPU{weakest[0][0]}{arrow}GPU{weakest[0][1]}" if weakest else ""
        more = and_more(len(weakest) - 1)
        return Quantity(kind.id, kind.title, kind.unit, kind.meaning, legend(kind), rows,
                        f"{named} {worst:.{kind.digits}f} {kind.unit}{more}" if named else "")

    def _cell(self, kind: Kind, pair: _Pair, weakest: list[_Pair]) -> Cell:
        each = self._either(kind, pair)
        # What is measured in both directions at once is wrong when either is.
        ways = (pair, pair[::-1]) if kind.trial == "both ways" else (pair,)
        wrong = next((self._wrong[way] for way in ways if way in self._wrong), "")
        if each is None:
            why = "no peer access" if pair in self._refused else "not measured"
            return Cell("?", "", 0, wrong=wrong, facts=(("Measured", why), *self._also(kind.trial, pair)))
        share, limit, against = self._share(kind, pair, each)
        least = pair in weakest or (kind.trial == "both ways" and pair[::-1] in weakest)
        facts = [("Measured", f"{each.value:.{kind.digits}f} {kind.unit}" + (", the weakest" if least else "")
                  + (f"; {wrong}" if wrong else "")),
                 ("Predicted", limit), ("Share", against), ("Method", each.method),
                 ("Samples", f"{each.samples}, spread {_percent(each.spread)}"),
                 ("Verified", "no" if wrong or not each.verified else "yes: the data was read back and compared")]
        return Cell(f"{each.value:.{kind.digits}f}", short(kind, share), 0 if wrong else level(share), least, wrong,
                    (*facts, *self._also(kind.trial, pair)))

    def _either(self, kind: Kind, pair: _Pair) -> Measurement | None:
        once = self.figures(kind.trial, kind.what)
        return once.get(pair) or (once.get(pair[::-1]) if kind.trial == "both ways" else None)

    def _share(self, kind: Kind, pair: _Pair, each: Measurement) -> tuple[float | None, str, str]:
        """Return the share of what was to be expected (None where nothing was), the prediction in words, and what the
        share is of."""
        path = self._pairs.get(pair, {}).get("path") or {}
        predicted = path.get(kind.predicted) if kind.predicted else None
        if predicted:
            upper = path.get("latency_class") not in _DIRECT
            share = each.value / predicted
            return share, _prediction(path, predicted, upper), f"{share * 100:.0f} % of the prediction"
        why = f"none: {path.get('reason') or 'unknown'}" if kind.predicted else "none: there is none for latency"
        name = self._class(pair)
        same = [other.value for between, other in self.figures(kind.trial, kind.what).items()
                if self._class(between) == name]
        if len(same) < 2:
            return None, why, f"none: the only figure of its class ({name})"
        best = max(same) if kind.more_is_better else min(same)
        share = each.value / best if kind.more_is_better else best / each.value
        return share, why, (f"{short(kind, share)} {'of' if kind.more_is_better else 'over'} the best of its class "
                            f"({name}, {best:.{kind.digits}f} {kind.unit})")

    def _class(self, pair: _Pair) -> str:
        known = self._pairs.get(pair, {})
        return str((known.get("path") or {}).get("latency_class") or known.get("relation") or "unknown way")

    def _also(self, trial: str, pair: _Pair) -> tuple[tuple[str, str], ...]:
        said = []
        for other, what, name in OTHERS[trial]:
            once = self.figures(other, what)
            each = once.get(pair) or (once.get(pair[::-1]) if what == "ping-pong" or other == "both ways" else None)
            if each:
                said.append(f"{name} {each.value:.{0 if each.unit == 'ns' else 1}f} {each.unit}")
        return (("Beside it", ", ".join(said)),) if said else ()

    def listed(self) -> Iterator[tuple[tuple[str, ...], str]]:
        """Yield every figure of a pair: (pair, what, figure, predicted, share, samples, spread, verified), and its
        method."""
        for kind in KINDS:
            for pair, each in sorted(self.figures(kind.trial, kind.what).items()):
                share, limit, _ = self._share(kind, pair, each)
                yield self._row(kind.trial, pair, kind.title.lower(), each, limit.partition(" (")[0].partition(":")[0],
                                short(kind, share))
        for trial, what, name in dict.fromkeys(other for group in OTHERS.values() for other in group):
            for pair, each in sorted(self.figures(trial, what).items()):
                yield self._row("both ways" if what == "ping-pong" else trial, pair, f"{trial}, {name}", each, "", "")

    def _row(self, trial: str, pair: _Pair, what: str, each: Measurement, limit: str,
             share: str) -> tuple[tuple[str, ...], str]:
        named = f"GPU{pair[0]}{'-' if trial == 'both ways' else chr(0x2192)}GPU{pair[1]}"
        verified = each.verified and pair not in self._wrong
        return ((named, what, f"{each.value:.{0 if each.unit == 'ns' else 1}f} {each.unit}", limit, share,
                 str(each.samples), _percent(each.spread), "yes" if verified else "no"), f"{what}: {each.method}")


def _wrong(found: Measured) -> Iterator[tuple[_Pair, str]]:
    for each in found.wrong:
        if each["trial"] in ("control", "integrity", "ping-pong") and None not in (each.get("a"), each.get("b")):
            yield (each["a"], each["b"]), "a flag was lost" if each["trial"] == "ping-pong" else "wrong data"


def _prediction(path: Mapping[str, Any], predicted: float, upper: bool) -> str:
    slowest = path.get("slowest")
    link = f" (slowest link {slowest['link']} x{slowest['width']} Gen{slowest['gen']})" if slowest else ""
    return f"{'at most ' if upper else ''}{predicted:.1f} GB/s{link}"


def _percent(share: float) -> str:
    return f"{share * 100:.2g} %"
