"""What all outputs say alike: values, times, and since when."""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from tunecheck.util.host_names import fold, natural

from ..fleet_report import Before, Cause, FleetReport, HostRow, Since, Waived
from ..value_words import measured, value_text

__all__ = ["FOR_GOOD", "KINDS", "NOT_DRIFT", "OPEN", "SEVERITIES", "STATUSES", "UNJUDGED", "ago", "between", "change",
           "clock", "compared", "counted_as", "coverage", "days", "gaps", "groups", "heard", "in_words", "interval",
           "kind", "lasts", "shown", "shown_apart", "since_of", "titled"]

SEVERITIES = ("high", "medium", "low")
#: What a cause can be, in a word; those of NOT_DRIFT do not count.
NOT_DRIFT = ("standing", "intended", "approved", "waived", "resolved")
#: Of drift: new in this audit, new on some of its hosts, open since an earlier one, and that with somebody at it.
OPEN = ("new", "grown", "known", "acknowledged")
#: What could never be judged: it is open, and no drift.
UNJUDGED = "unjudged"
KINDS = (*OPEN, UNJUDGED, *NOT_DRIFT)
#: As in model.Status, what answered first.
STATUSES = ("ok", "partial", "unreachable", "refused", "timeout", "missing", "garbled")
#: What a status is called where its code says more than is known: a host that answered may have lost a GPU.
_HEARD = {"ok": "answered"}
#: How long an accepted state lasts; in a report that is the end of the year 9999, for JSON has no infinity.
FOR_GOOD = "for good"
_NEVER = 253402300799.0
_LONGEST_VALUE = 160
#: Of a change that is not the same for all hosts, how many are told, and characters of the names of hosts of each.
_WAYS, _HOSTS = 3, 30
#: What may be of a value at all, and of what is alike how much stands beside what differs.
_WHOLE, _ALIKE = 1 << 20, 20
#: Seconds in a unit, the largest first.
_UNITS = ((86400, "d"), (3600, "h"), (60, "min"))
_NOW = 60
_GPUS = re.compile(r"GPU\d{1,3}(, GPU\d{1,3}){1,63}")


def shown(value: Any, longest: int = _LONGEST_VALUE) -> str:
    """A value for people: 7 x 16, 1 x 8 of eight links, (absent) where there is none; cut at ``longest`` characters."""
    text = value_text(value) if value is not None else "(absent)"
    return text if len(text) <= longest else f"{text[:longest - 3]}..."


def shown_apart(values: Sequence[Any], longest: int = _LONGEST_VALUE) -> list[str]:
    """As shown, but where values are too long to be shown whole, the part in which they differ."""
    whole = [shown(value, _WHOLE) for value in values]
    if all(len(text) <= longest for text in whole) or len(set(whole)) < 2:
        return [shown(value, longest) for value in values]
    start = _alike(whole)
    # A few characters of what is alike, to be found again; from the beginning of a word where one is near.
    near = min(_ALIKE, longest // 3)
    start = max(0, start - near)
    blank = whole[0].find(" ", start, start + near)
    start = start if not start or blank < 0 else blank + 1
    end = _alike([text[start:][::-1] for text in whole])
    found = []
    for text in whole:
        if len(text) <= longest and not start:
            found.append(text)
            continue
        last = max(start, len(text) - max(0, end - near))
        most = longest - 3 * (start > 0)
        part = text[start:last] if last - start <= most - 3 else text[start:start + most - 3]
        found.append(f"{'...' * (start > 0)}{part}{'...' * (start + len(part) < len(text))}")
    return found


def _alike(texts: Sequence[str]) -> int:
    """How many characters all begin with."""
    first, last = min(texts), max(texts)
    return next((place for place, (one, other) in enumerate(zip(first, last, strict=False)) if one != other),
                min(len(first), len(last)))


def change(cause: Cause, longest: int = _LONGEST_VALUE) -> str:
    """"pt -> (absent)" where the hosts had the one and then the other, else "pt (most others: off)"; where that is not
    the same for all hosts, each with its own. Of a check that knows no values, what it says, and of one that is over,
    why. Each value has at most ``longest`` characters."""
    if in_words(cause):
        return cause.text or "(absent)"
    ways = [(_beside(cause, each, longest), each.hosts) for each in cause.all_befores]
    if len(ways) == 1:
        return ways[0][0]
    left = len(ways) - _WAYS
    return "; ".join(f"{way} on {fold(hosts, _HOSTS)}" for way, hosts in ways[:_WAYS]) + (
        f"; and from {left} more value{'s' * (left != 1)}" if left > 0 else "")


def _beside(cause: Cause, before: Before, longest: int) -> str:
    if before.value == cause.value:
        return shown(measured(cause.fact, cause.value), longest)
    earlier, value = shown_apart((measured(cause.fact, before.value), measured(cause.fact, cause.value)), longest)
    if before.whose == "own":
        return f"{earlier} -> {value}"
    return f"{value} ({'most others' if before.whose == 'others' else cause.expected}: {earlier})"


def in_words(cause: Cause) -> bool:
    """Whether it is told by a sentence, not by values."""
    over = cause.state == "resolved" and cause.authority in ("desired", "identity") and bool(cause.text)
    return over or (cause.before is None and cause.value is None)


def titled(cause: Cause) -> str:
    """The fact, with what of it the check judged; many GPUs from the first to the last."""
    subject = fold(cause.subject.split(", ")) if _GPUS.fullmatch(cause.subject) else cause.subject
    return f"{cause.fact} {subject}" if subject and cause.subject not in cause.fact else cause.fact


def kind(cause: Cause) -> str:
    """In a word, what a cause is: new, grown, known, acknowledged (somebody is at work on it, on every host that has
    it), resolved, waived, approved, standing (a warning that was there from the start, or came with our own roles), or
    intended (our own roles changed it)."""
    if cause.waived:
        return "waived"
    if cause.state == "resolved":
        return cause.state
    if cause.counts:
        return "acknowledged" if cause.acknowledged and len(cause.covered) == len(cause.hosts) else cause.state
    return "approved" if cause.approved else "standing" if cause.standing else "intended"


def counted_as(cause: Cause) -> str:
    """In a word, as what it is counted: ``kind``, but for what could not be judged, whenever that came."""
    return UNJUDGED if cause.counts and cause.unjudged else kind(cause)


def clock(seconds: float | None) -> str:
    """"2026-11-21 05:00 UTC"; a time that no calendar has is "?"."""
    if seconds is None:
        return "?"
    try:
        return datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (OverflowError, OSError, ValueError):
        return "?"


def lasts(waived: Waived) -> str:
    """"until 2027-01-31 23:59 UTC", or "for good"."""
    return FOR_GOOD if waived.until >= _NEVER else f"until {clock(waived.until)}"


def days(seconds: float) -> str:
    """The date alone."""
    return clock(seconds).partition(" ")[0]


def ago(seconds: float, now: float) -> str:
    """"18 h ago": two units would claim more than daily audits know."""
    passed = now - seconds
    if passed < _NOW:
        return "now" if passed > -_NOW else f"in {_long(-passed)}"
    return f"{_long(passed)} ago"


def _long(passed: float) -> str:
    size, unit = next((pair for pair in _UNITS if passed >= 2 * pair[0]), _UNITS[-1])
    return f"{max(1, int(passed // size))} {unit}"


def since_of(since: Since | None) -> dict[str, Any] | None:
    """After which audit, and seen in which."""
    return None if since is None else {"after": since.after, "after_at": since.after_at, "seen": since.seen,
                                       "seen_at": since.seen_at}


def interval(since: Since | None, now: float | None = None) -> str:
    """"#364..#365 (18 h ago .. 2 h ago)", with dates where ``now`` is None; "before #12" where it was so when the host
    was first heard, or when it could first be told."""
    if since is None:
        return "not known"
    when = clock if now is None else lambda at: ago(at, now)
    if since.after is None:
        at = "just now" if now is not None and abs(now - since.seen_at) < _NOW else when(since.seen_at)
        return f"before #{since.seen} ({'could not be told until' if since.untold else 'first heard'} {at})"
    if since.after_at is None:
        return f"#{since.after}..#{since.seen} (until {when(since.seen_at)})"
    return f"#{since.after}..#{since.seen} ({when(since.after_at)} .. {when(since.seen_at)})"


def between(since: Since | None) -> str:
    """The same without times: "#364..#365", "before #12"."""
    if since is None:
        return "not known"
    return f"before #{since.seen}" if since.after is None else f"#{since.after}..#{since.seen}"


def heard(status: str) -> str:
    """The status of a host for people: "answered", "partial", "timeout". It says nothing of how the host is."""
    return _HEARD.get(status, status)


def coverage(report: FleetReport) -> str:
    """"1000 hosts: 997 answered (4 in part), 3 unreachable; 2 that answered do not know some facts"."""
    # Who answered in part has answered, as everywhere else.
    partial = report.count("partial")
    parts = [f"{report.answered} {heard('ok')}{f' ({partial} in part)' * bool(partial)}"] * bool(report.answered)
    parts += [f"{count} {heard(status)}" for status in STATUSES
              if status not in ("ok", "partial") and (count := report.count(status))]     # type: ignore[arg-type]
    some = sum(row.status == "ok" and bool(row.unknown) for row in report.hosts)
    unheard = report.audit.asked - len(report.hosts)
    parts += [f"{unheard} without a result"] if unheard > 0 else []
    asked = max(report.audit.asked, len(report.hosts))
    return f"{asked} host{'s' if asked != 1 else ''}: {', '.join(parts) or 'none answered'}" + (
        f"; {some} that answered do{'es' * (some == 1)} not know some facts" if some else "")


def compared(report: FleetReport) -> str:
    """"compared with #364", or with whatever was asked for instead. The first audit of an inventory and limit is
    compared with one of another, which is named."""
    what, _, name = report.baseline.partition(":")
    beside = {"host": f"compared with host {name} in this audit, and with the desired state",
              "majority": "compared with the majority of each group, and with the desired state",
              "desired": "compared with the desired state alone"}
    before = report.previous
    other = f" ({before.scope})" if before and before.scope != report.audit.scope else ""
    return beside.get(what) or (f"compared with #{before.id}{other}" if before else "the first audit of these hosts")


def gaps(hosts: Iterable[HostRow]) -> list[tuple[str, str, list[HostRow]]]:
    """(status, reason, hosts) of those that did not answer or not wholly, together where they say the same but for
    their own name; the least heard first. Of facts that are unknown it is the reason of most of them."""
    alike: dict[tuple[str, str], list[HostRow]] = {}
    for row in hosts:
        if row.status != "ok" or row.unknown:
            reason = row.reason or next((why for why, _ in Counter(row.unknown.values()).most_common(1)), "")
            own = rf"(?<![\w.-]){re.escape(row.host)}(?![\w-])"
            alike.setdefault((row.status, re.sub(own, "HOST", reason)), []).append(row)
    ordered = sorted(alike.items(), key=lambda item: (-STATUSES.index(item[0][0]), -len(item[1])))
    return [(status, reason if len(rows) > 1 else rows[0].reason or reason, rows)
            for (status, reason), rows in ordered]


def groups(report: FleetReport) -> list[str]:
    """Of hosts, causes, splits and of what was judged, in natural order."""
    found = {*(row.group for row in report.hosts), *(split.group for split in report.splits),
             *(group for cause in report.causes for group in cause.groups)}
    return sorted(found | {group for group, _ in report.judged}, key=natural)
