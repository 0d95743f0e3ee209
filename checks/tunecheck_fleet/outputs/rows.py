"""Lists out of the history, as text and as JSON (tunecheck/fleet-list/1): what `fleet`, `drift`, `history`, `blame` and
`waive` show. A row is what the store knows; nothing is judged here."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from tunecheck import __version__
from tunecheck.report.style import Style
from tunecheck.util.at_first_use import dataclass

from ..fleet_report import Began, Decision, Since
from ..model import Change
from ..store.rows import Volatile, Waiver
from ..value_words import measured
from .lines import entry
from .text import SEVERITIES, ago, clock, heard, interval, shown, shown_apart, since_of

__all__ = ["BlameRow", "DifferRow", "DriftRow", "FleetRow", "FoundRow", "HistoryRow", "Row", "list_document",
           "list_text", "with_coverage"]


@dataclass(frozen=True)
class FleetRow:
    """A box as the newest audit left it. ``drifted``: entries of its report that are drift; ``problems``: findings that
    it told as failed or unknown; ``failing``, ``warnings`` and ``unknown``: those of each outcome, with
    ``last_known`` that failed or warned and cannot be told now; ``last_ok``: the newest audit that it answered in.
    ``high``, ``medium`` and ``low``: the entries by severity, without ``unjudged``, those that could not be judged."""

    host: str
    group: str
    status: str
    reason: str = ""
    hardware: str = ""
    drifted: int = 0
    problems: int = 0
    last_ok: int | None = None
    last_ok_at: float | None = None
    tunecheck: str = ""
    spec: str | None = None
    failing: int = 0
    warnings: int = 0
    unknown: int = 0
    high: int = 0
    medium: int = 0
    low: int = 0
    unjudged: int = 0
    last_known: int = 0


@dataclass(frozen=True)
class DriftRow:
    """One value that changed on one box. ``intended``: our own roles ran there between the two audits."""

    host: str
    group: str
    fact: str
    before: Any
    value: Any
    since: Since
    intended: bool = False


@dataclass(frozen=True)
class HistoryRow:
    """A value that a fact of a box had: since when, and, of an earlier one, the audit that no longer saw it. The fact
    host.incident is an event: its value has a time of its own (model.Incident), and since is when it was told. Of a
    value that cannot be told now: the newest audit that told it (``known``), and since which it cannot be told
    (``dark``)."""

    fact: str
    value: Any
    since: Since
    before: Any = None
    gone: int | None = None
    gone_at: float | None = None
    known: int | None = None
    dark: int | None = None


@dataclass(frozen=True)
class FoundRow:
    """What a check found on a box (``outcome``: fail, warn or unknown) since when, and, where it finds it no more, the
    first audit of that. ``now``: of what is open how the newest audit tells it, unknown where it cannot be told any
    more; ``known`` and ``dark`` as in HistoryRow. ``fact`` is the check, and ``code`` says what it found, as in causes;
    empty: nothing, as it is unknown, or that is not kept."""

    fact: str
    subject: str
    outcome: str
    since: Since
    gone: int | None = None
    gone_at: float | None = None
    now: str = ""
    known: int | None = None
    dark: int | None = None
    code: str = ""


@dataclass(frozen=True)
class DifferRow:
    """That a box had another value than most of its group: since when, by what that ``began`` (as of a cause), and,
    where it is over, the first audit of that; ``known`` and ``dark`` as in HistoryRow."""

    fact: str
    value: Any
    since: Since
    began: Began
    gone: int | None = None
    gone_at: float | None = None
    known: int | None = None
    dark: int | None = None


@dataclass(frozen=True)
class BlameRow:
    """A value of one fact on one box with what changed it: ``change`` is our own run at that time, None: none that
    the box told of. A value that was there when the box was first seen is blamed on nobody."""

    fact: str
    value: Any
    since: Since
    before: Any = None
    change: Change | None = None


Row = FleetRow | DriftRow | HistoryRow | FoundRow | DifferRow | BlameRow
#: By what a box began to differ, where it is not its own change, which stands beside it.
_BEGAN: Mapping[Began, str] = {
    "": "", "changed": "", "first": "", "others": ": the others changed, this did not",
    "regrouped": ": it was moved to another group",
    "share": ": its own value did not change, and so many others have one value only since then"}
#: What only JSON shows as rows.
Listed = Row | Waiver | Volatile | Decision


def list_text(title: str, rows: Sequence[Row], style: Style, now: float | None = None, empty: str = "nothing") -> str:
    """``title`` and an entry per row, ending in a newline; ``empty``: what stands there where there is no row."""
    now = time.time() if now is None else now
    lines = entry("", [title], style)
    for row in rows:
        if isinstance(row, FleetRow):
            lines += _fleet(row, style, now)
        elif isinstance(row, DriftRow):
            lines += entry("", [f"since {interval(row.since, now)}{', by our own roles' * row.intended}"], style,
                           f"{row.host} ({row.group})  {row.fact}: {_from_to(row.fact, row.before, row.value)}")
        elif isinstance(row, HistoryRow) and row.fact == "host.incident":
            lines += entry("", [f"told in {interval(replace(row.since, after=None, after_at=None), now)}"], style,
                           f"{row.fact}: {_incident(row.value)}")
        elif isinstance(row, HistoryRow | FoundRow | DifferRow):
            until = f", until #{row.gone}" + (f" ({ago(row.gone_at, now)})" if row.gone_at is not None else "")
            first = f"{row.fact}: differs from most of its group: {shown(measured(row.fact, row.value))}" \
                f"{_BEGAN[row.began]}" if isinstance(row, DifferRow) else \
                f"{row.fact}: {_moved(row)}" if isinstance(row, HistoryRow) else \
                f"check {row.fact} {row.subject}{f' ({row.code})' if row.code else ''}: {row.now or row.outcome}"
            lines += entry("", [f"since {_since(row, now)}{until if row.gone is not None else _still(row)}"],
                           style, first)
        else:
            lines += entry("", [f"since {interval(row.since, now)}", _by(row)], style,
                           f"{row.fact}: {_moved(row)}")
    return "\n".join(lines if rows else [*lines, empty]) + "\n"


def list_document(verb: str, rows: Sequence[Listed], **about: str | int | None) -> dict[str, Any]:
    """``about``: what was asked for, such as host and fact."""
    return {"schema": "tunecheck/fleet-list/1", "tunecheck": __version__, "verb": verb, "about": about,
            "rows": [{each.name: _plain(getattr(row, each.name)) for each in fields(row)} for row in rows]}


def with_coverage(document: dict[str, Any], coverage: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The document of waivers or decisions, each row with what it covers."""
    return {**document, "rows": [{**row, **each} for row, each in zip(document["rows"], coverage, strict=True)]}


def _plain(value: Any) -> Any:
    if isinstance(value, Since):
        return since_of(value)
    return {"run": value.run, "at": value.at, "state": value.state} if isinstance(value, Change) else value


def _fleet(row: FleetRow, style: Style, now: float) -> list[str]:
    first = f"{row.host} ({row.group})  {heard(row.status)}"
    found = ", ".join(f"{count} {word}" for word in SEVERITIES if (count := getattr(row, word)))
    blind = f"{row.unjudged} could not be judged" if row.unjudged else ""
    entries = "; ".join(part for part in (found, blind) if part)
    checks = [f"{count} {word}{'s' * (count == 1 and word != 'unknown')}" for count, word in (
        (row.failing, "fail"), (row.warnings, "warn"), (row.unknown, "unknown")) if count]
    # Two counts: what the report has of the host, and what each check said of it.
    parts = [f"entries of the report: {entries}"] if entries else []
    last = f" ({row.last_known} as last known: cannot be told now)" if row.last_known else ""
    parts += [f"checks on the host: {', '.join(checks)}{last}"] if checks else []
    parts += [row.reason] if row.reason else []
    if row.status not in ("ok", "partial"):
        ever = row.last_ok is not None
        when = f" ({ago(row.last_ok_at, now)})" if row.last_ok_at is not None else ""
        parts.append(f"last answered in #{row.last_ok}{when}" if ever else "never answered yet")
    return entry("", parts, style, first)


def _still(row: HistoryRow | FoundRow | DifferRow) -> str:
    """What is to be said of what is open: that it is still so, or until when that was known."""
    unknown = isinstance(row, FoundRow) and row.now not in ("", row.outcome)
    if not unknown and row.dark is None:
        return ", still so"
    was = f"{row.outcome} when " if isinstance(row, FoundRow) else ""
    last = f"last known in #{row.known}" if row.known is not None else "last known"
    return f", {was}{last}; cannot be told {f'since #{row.dark}' if row.dark is not None else 'now'}"


def _since(row: HistoryRow | FoundRow | DifferRow, now: float) -> str:
    """How a host answers is known from the audit on that asked it first, also where it never answered."""
    if row.fact == "host.answer" and row.since.after is None:
        return f"#{row.since.seen} (first asked {ago(row.since.seen_at, now)})"
    return interval(row.since, now)


def _incident(told: dict[str, Any]) -> str:
    from tunecheck.parsers.text.incidents import Incident
    from tunecheck.rules.errors.incident_words import alike, how
    from tunecheck.rules.errors.incident_words import clock as by_its_clock

    found = Incident(told["id"], told["begun"], told["ended"], told["step"], told["why"], this_boot=True,
                     xids=tuple(told["xids"]), rank=told["rank"], gpu=told["gpu"])
    codes = f" ({', '.join(told['codes'])})" if told["codes"] else ""
    when = by_its_clock("", found.begun) or "at an unknown time"
    return f"{when} by the box's clock{codes}{alike([found])}: {how(found)}; incident {found.id}"


def _moved(row: HistoryRow | BlameRow) -> str:
    """The value, with what it was before; without it where the box was not seen before."""
    if row.since.after is None and row.before is None:
        return shown(measured(row.fact, row.value))
    return _from_to(row.fact, row.before, row.value)


def _from_to(fact: str, before: Any, value: Any) -> str:
    return " -> ".join(shown_apart((measured(fact, before), measured(fact, value))))


def _by(row: BlameRow) -> str:
    if row.since.after is None:
        return "it could not be read before: nobody knows what brought it" if row.since.untold else \
            "it was so when the box was first heard"
    if row.change is None:
        # A box that did not tell of a run may have had one: a snapshot that was made of texts has no receipt.
        return "no run of our own roles is known from that time: out of band, or the box's receipt was not read"
    state = f", {row.change.state}" if row.change.state else ""
    return f"our own roles: run {row.change.run} at {clock(row.change.at)} by the box's clock{state}"
