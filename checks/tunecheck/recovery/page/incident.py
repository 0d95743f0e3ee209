"""One incident of a served model for the browser: what, when, who, what was done, and the minutes before it as plots.

All of it comes from the journal and from the folder of evidence. Names are those of processes and engines: data, which
the template escapes and this cuts short. The engine's log, which may hold what its users wrote, is not in the page."""

from __future__ import annotations

import datetime
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ... import __version__
from ...report.html.shell import render
from ...util.at_first_use import dataclass
from ..model import Incident, Record, Step
from ..words import because, sentence
from .strips import Strip, Trace, strip

__all__ = ["Evidence", "incident"]

_VERDICTS = {Step.SERVING: ("pass", "It serves and is accepted again"), Step.MOVED_AGAIN: ("pass", "It moved again"),
             Step.REPORTED: ("warn", "Reported; nothing was stopped"), Step.DRAINED: ("warn", "Drained"),
             Step.STAYS_DOWN: ("fail", "It stays down: a person is needed"),
             Step.INTERRUPTED: ("unknown", "Interrupted")}
#: Samples are drawn as means of so many pieces.
_PIECES = 120
_MOST_ROWS, _MOST_TEXT, _MOST_LOOKS = 60, 240, 2000
#: Beyond so many GPUs lines are not told apart: then lowest, median and highest.
_MOST_LINES = 3


@dataclass(frozen=True)
class Evidence:
    """``watch``: the last verdict (tunecheck/watch/1); ``timeline``: looks before it, oldest first; ``threads``: of the
    unit; ``files``: names and sizes. ``why_not``: why there is none, "" where there is."""

    watch: Mapping[str, Any]
    timeline: tuple[Mapping[str, Any], ...] = ()
    threads: tuple[Mapping[str, Any], ...] = ()
    files: tuple[tuple[str, int], ...] = ()
    why_not: str = ""


def incident(found: Incident, evidence: Evidence, host: str, when: datetime.datetime) -> str:
    """The whole page. ``when``: it was made, in UTC."""
    first, last = found.records[0], found.last
    outcome, verdict = _VERDICTS.get(last.step, ("unknown", "It is under way"))
    rows = _looks(evidence.timeline, first.at)
    pieces = _pieces(rows)
    frozen = _number(evidence.watch.get("frozen_seconds")) or 0.0
    crosses = [(0.0, "noticed"), *([(-frozen, "last progress")] if frozen >= 1 else [])]
    strips = [each for each in _strips(pieces, crosses) if each is not None]
    return render(
        "incident.html.j2", ("page.css", "measured.css", "incident.css"), [], ("common.js",), incident=found,
        first=first, last=last, outcome=outcome, verdict=verdict, why=_why(last), when=when,
        host=_short(host), unit=_short(first.unit), codes=[_short(each) for each in first.codes[:_MOST_ROWS]],
        tunecheck=__version__, noticed=_utc(first.at), reasons=_reasons(evidence.watch, first),
        culprit=_culprit(evidence.watch), url=_short(evidence.watch.get("url")), out=_out(found, frozen), frozen=frozen,
        steps=[_step(each, first.at) for each in found.records], strips=strips, states=_states(rows),
        samples=list(_table(pieces)), gpus=_gpu_names(pieces), threads=list(_threads(evidence.threads)),
        stuck=sum(1 for each in evidence.threads if each.get("state") in ("T", "D")),
        every=len(evidence.threads), why_not=_short(evidence.why_not),
        files=[(_short(name), size) for name, size in evidence.files[:_MOST_ROWS]])


# ---- samples ---------------------------------------------------------------------------------------------------------

@dataclass(frozen=True)
class _Look:
    """Second from the event; what was told then. ``gpus``: by address, utilisation in %, memory in %, W, KiB over its
    links since some time."""

    at: float
    state: str
    running: float | None
    waiting: float | None
    generated: float | None
    gpus: Mapping[str, tuple[float | None, ...]]
    reasons: str = ""


@dataclass(frozen=True)
class _Piece:
    """Means over a part of the time. ``gpus``: utilisation, memory, W, MB/s."""

    at: float
    state: str
    tok_s: float | None
    running: float | None
    waiting: float | None
    gpus: Mapping[str, tuple[float | None, ...]]


def _looks(timeline: Sequence[Mapping[str, Any]], noticed: float) -> list[_Look]:
    found: list[_Look] = []
    for row in timeline[-_MOST_LOOKS:]:
        at = _number(row.get("at"), signed=True)
        gpu_rows = row.get("gpus")
        if at is None or not -86400 <= at - noticed <= 86400:
            continue
        gpus = {_short(name)[:24]: _gpu(values) for name, values in gpu_rows.items() if isinstance(values, list)} \
            if isinstance(gpu_rows, dict) else {}
        reasons = row.get("reasons")
        found.append(_Look(at - noticed, _short(row.get("state")), _number(row.get("running")),
                           _number(row.get("waiting")), _number(row.get("generated")), gpus,
                           _short(", ".join(map(str, reasons)) if isinstance(reasons, list) else "")))
    return sorted(found, key=lambda each: each.at)


def _gpu(values: Sequence[Any]) -> tuple[float | None, ...]:
    numbers = [_number(each) for each in [*values, None, None, None, None][:4]]
    return (numbers[0], numbers[1], None if numbers[2] is None else numbers[2] / 1000, numbers[3])


def _pieces(looks: Sequence[_Look]) -> list[_Piece]:
    """At most _PIECES of even length; one without a look has no value."""
    if len(looks) < 2:
        return []
    first, last = looks[0].at, looks[-1].at
    length = max((last - first) / _PIECES, 1.0)
    groups: dict[int, list[int]] = {}
    for index, look in enumerate(looks):
        groups.setdefault(int((look.at - first) / length), []).append(index)
    found = []
    for number in range(max(groups) + 1):
        members = groups.get(number, [])
        inside = [looks[index] for index in members]
        # A rate is of the time since the look before.
        pairs = [(looks[index - 1], looks[index]) for index in members
                 if index and looks[index].at - looks[index - 1].at <= max(3 * length, 10.0)]
        names = dict.fromkeys(name for look in inside for name in look.gpus)
        found.append(_Piece(
            inside[-1].at if inside else first + (number + 0.5) * length, inside[-1].state if inside else "",
            _rate([(one.generated, two.generated, two.at - one.at) for one, two in pairs]),
            _mean(look.running for look in inside), _mean(look.waiting for look in inside),
            {name: (*(_mean(look.gpus[name][at] for look in inside if name in look.gpus) for at in range(3)),
                    _link([(one.gpus[name][3], two.gpus[name][3], two.at - one.at) for one, two in pairs
                           if name in one.gpus and name in two.gpus])) for name in names}))
    return found


def _link(pairs: Sequence[tuple[float | None, float | None, float]]) -> float | None:
    kib = _rate(pairs)
    return None if kib is None else kib * 1024 / 1e6


def _rate(pairs: Sequence[tuple[float | None, float | None, float]]) -> float | None:
    """Growth a second. A counter that fell began anew: it says nothing of that time."""
    steps = [(two - one, seconds) for one, two, seconds in pairs if one is not None and two is not None and two >= one]
    passed = sum(seconds for _, seconds in steps)
    return sum(grown for grown, _ in steps) / passed if passed > 0 else None


def _mean(values: Iterator[float | None]) -> float | None:
    known = [each for each in values if each is not None]
    return statistics.fmean(known) if known else None


# ---- plots -----------------------------------------------------------------------------------------------------------

def _strips(pieces: Sequence[_Piece], crosses: Sequence[tuple[float, str]]) -> Iterator[Strip | None]:
    if not pieces:
        return
    span = (pieces[0].at, max(pieces[-1].at, 0.0))
    yield strip("strip-tokens", "Tokens per second", "tok/s",
                [Trace("all", tuple((each.at, each.tok_s) for each in pieces))], span, crosses)
    yield strip("strip-requests", "Requests", "at once",
                [Trace("running", tuple((each.at, each.running) for each in pieces)),
                 Trace("waiting", tuple((each.at, each.waiting) for each in pieces))], span, crosses)
    for at, name, title, unit, most in ((0, "busy", "GPU utilisation", "%", 100.0),
                                        (1, "memory", "GPU memory utilisation", "%", 100.0),
                                        (2, "power", "GPU power", "W", None),
                                        (3, "links", "GPU links", "MB/s", None)):
        yield strip(f"strip-{name}", title, unit, _of_gpus(pieces, at), span, crosses, most)


def _gpu_names(pieces: Sequence[_Piece]) -> list[str]:
    return list(dict.fromkeys(name for each in pieces for name in each.gpus))


def _of_gpus(pieces: Sequence[_Piece], at: int) -> list[Trace]:
    names = _gpu_names(pieces)
    if len(names) <= _MOST_LINES:
        return [Trace(name.removeprefix("0000:"), tuple(
            (each.at, each.gpus[name][at] if name in each.gpus else None) for each in pieces)) for name in names]
    lines: dict[str, list[tuple[float, float | None]]] = {"lowest": [], "median": [], "highest": []}
    for each in pieces:
        known = sorted(value for values in each.gpus.values() if (value := values[at]) is not None)
        for name, value in zip(lines, (known[0], statistics.median(known), known[-1]) if known else (None,) * 3,
                               strict=True):
            lines[name].append((each.at, value))
    return [Trace(name, tuple(points)) for name, points in lines.items()]


def _states(looks: Sequence[_Look]) -> list[tuple[str, str, str, str]]:
    """What changed, in the order in which it came: from, seconds, state, reasons."""
    found: list[_Look] = []
    for look in looks:
        if not found or (found[-1].state, found[-1].reasons) != (look.state, look.reasons):
            found.append(look)
    ends = [*(each.at for each in found[1:]), *([looks[-1].at] if looks else [])]
    return [(_offset(each.at), f"{end - each.at:.0f}", each.state or "-", each.reasons or "-")
            for each, end in zip(found, ends, strict=True)][-_MOST_ROWS:]


def _table(pieces: Sequence[_Piece]) -> Iterator[tuple[str, ...]]:
    for each in pieces:
        cells = [_offset(each.at), each.state or "-", *map(_decimal, (each.tok_s, each.running, each.waiting))]
        for name in _gpu_names(pieces):
            values = each.gpus.get(name, (None,) * 4)
            cells.append(" / ".join(_decimal(value) for value in values))
        yield tuple(cells)


# ---- words -----------------------------------------------------------------------------------------------------------

def _step(record: Record, first: float) -> tuple[str, str, str, str]:
    """Time, seconds since the first, step, what it says."""
    return _utc(record.at), f"{record.at - first:+.1f}", record.step.value, _short(sentence(record))


def _why(last: Record) -> str:
    """As a sentence, which the verdict before it needs: what the step itself says is in that."""
    text = ": ".join(part for part in (because(last), last.text) if part)
    return _short(text[:1].upper() + text[1:])


def _reasons(watch: Mapping[str, Any], first: Record) -> list[tuple[str, str, str]]:
    """Code, what it is about, sentence; the codes of the journal where there is no evidence."""
    reasons = watch.get("reasons")
    found = [(_short(each.get("code")), _short(each.get("subject")) or "-", _short(each.get("message")))
             for each in reasons if isinstance(each, dict)] if isinstance(reasons, list) else []
    return found[:_MOST_ROWS] or [(code, "-", "-") for code in first.codes]


def _culprit(watch: Mapping[str, Any]) -> str:
    culprit = watch.get("culprit")
    return _short(culprit.get("message")) if isinstance(culprit, dict) else ""


def _threads(threads: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, ...]]:
    """Stopped and stuck ones first: process, thread, name, state, where it waits, top of its kernel stack."""
    order = sorted(threads, key=lambda each: "TDtZ".find(str(each.get("state"))[:1]) % 5)
    for each in order[:_MOST_ROWS]:
        stack = each.get("kernel_stack")
        top = str(stack[0]) if isinstance(stack, list) and stack else ""
        yield tuple(_short(text) or "-" for text in (each.get("pid"), each.get("thread"), each.get("name"),
                                                     each.get("state"), each.get("waits_in"), top))


def _out(found: Incident, frozen: float) -> str:
    """For how long nobody was served: from the last progress to the end."""
    end = found.step(Step.SERVING)
    if end is None:
        return ""
    return f"{max(0.0, end.at - found.records[0].at) + frozen:.0f}"


def _offset(second: float) -> str:
    return f"{second:+.0f}".replace("-", "\u2212")


def _utc(at: float) -> str:
    try:
        return datetime.datetime.fromtimestamp(at, datetime.UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, ValueError, OSError):
        return "-"


def _number(value: Any, signed: bool = False) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < 1e15:
        return None
    return float(value) if signed or value >= 0 else None


def _decimal(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def _short(text: Any) -> str:
    line = " ".join(("" if text is None else str(text)).split())
    line = "".join(char if char.isprintable() else "?" for char in line)
    return line if len(line) <= _MOST_TEXT else line[:_MOST_TEXT - 1] + "\u2026"
