"""incidents: what is served did not stall in the last week, and none of its incidents waits for a person.

What the journal tells is about the past. It never closes the gate: a start is the way out of a box that stays down."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...facts.runtime.incidents import PATHS, RECOVER, Incidents
from ...model.command import run
from ...model.fact import Absence
from ...model.finding import Finding, Remedy
from ...parsers.text.incidents import WAITS, Incident
from ..check import Check, Family, Heading
from ..codes import UNREAD
from ..context import Case
from .incident_words import alike, clock, how, many

CHECK = Check(
    "incidents", "what is served did not stall in the last week, and nothing waits for a person",
    Heading.RUNTIME, 110, Family.ERRORS,
)
CODES = {
    "drained": "What is served stalled and was drained; it waits for a person.",
    "stays-down": "What is served stalled and stays down; it waits for a person.",
    "not-ended": "A recovery was begun and not ended, and nothing goes on with it.",
    "under-way": "A recovery is under way now.",
    "served-again": "What is served stalled in the last week, and serves again after each incident.",
    "not-undone": "What is served stalled in the last week, and at least once the box did not bring it back by itself.",
    "damaged": "Lines of the journal of incidents cannot be read: they may hold an incident.",
    "no-watch": "No watch is installed here, and no incident is on record.",
    "before-start": "Not judged before a start of what is served: the start is the way out of an incident.",
}
_ID = CHECK.id
#: Whoever looks once a week sees what came since, and a fault that comes back within days is seen as the same. After
#: a week without another one there is nothing left to do.
_DAYS = 7
_WEEK = _DAYS * 86400.0
#: Nobody could read it there. It is history, as in earlier-boots: no verdict needs it.
_ELSEWHERE = (Absence.NOT_RECORDED, Absence.NOT_IN_IMPORT, Absence.ONLY_ON_HOST, Absence.OLDER, Absence.LEFT_OUT)
_RUNS = ("active", "activating", "reloading", "refreshing")
_WELL = ("serving", "moved-again")
_LIST = "`sudo tunecheck recover --list` says why, `sudo tunecheck recover --html incident.html` shows the newest one"
_WAITING = (f"find the cause first: {_LIST}, and `sudo tunecheck preflight` proves the box; then "
            "`sudo systemctl restart {unit}`, which no incident keeps from starting")
_FIX = {
    "not-ended": Remedy.typed(f"`sudo systemctl start tunecheck-recover` takes it up where it was left; {_LIST}"),
    "under-way": Remedy.typed("wait for the end of the recovery: `systemctl status tunecheck-recover`"),
    "again": Remedy.typed(f"find the cause: {_LIST}"),
}


def judge(case: Case) -> Iterator[Finding]:
    fact = case.host.incidents
    if case.start:
        yield Finding(_ID, "before-start", "incidents", "skip", "behaviour", "not judged before a start")
        return
    if fact.value is None:
        yield Finding(_ID, UNREAD, "incidents", "skip" if fact.absence in _ELSEWHERE else "unknown", "behaviour",
                      f"the journal of incidents cannot be read: {fact.why()}", evidence=(fact.source,),
                      absence=fact.absence)
        return
    told, source = fact.value, (fact.source,)
    now = {each.unit: each for each in told.found}
    open_ = [found for each in now.values() if (found := _open(told, each, source))]
    yield from (finding for _, finding in open_)
    past = [each for each in told.found if _recent(told, each.ended) and not any(each is one for one, _ in open_)]
    if past:
        yield _past(told, past, source)
    if told.damaged and _recent(told, told.damaged_at):
        lines = "1 line" if told.damaged == 1 else f"{told.damaged} lines"
        # Snapshots of earlier releases do not say which. A command names our own paths, and no word of a snapshot.
        files = tuple(path for path in PATHS if path in told.damaged_in) or PATHS
        fix = Remedy.of("look at what is left of them (", run("sudo tail -n 20", *files),
                        "), and delete them, or the file where it is empty")
        yield Finding(_ID, "damaged", "journal", "unknown", "behaviour",
                      f"{lines} of the journal of incidents cannot be read, and may hold an incident",
                      str(told.damaged), evidence=files, remedy=fix)
    elif not past and not open_:
        yield _none(told, source)


def _none(told: Incidents, source: tuple[str, ...]) -> Finding:
    if told.watched.value is False and not told.found:
        return Finding(_ID, "no-watch", "incidents", "skip", "behaviour", "no watch is installed here",
                       evidence=(told.watched.source,))
    return Finding(_ID, "ok", "incidents", "pass", "behaviour", f"no incident in the last {_DAYS} days",
                   evidence=source)


def _open(told: Incidents, each: Incident, source: tuple[str, ...]) -> tuple[Incident, Finding] | None:
    """Return the newest incident of a unit with its finding, where it is not over; else None."""
    unit, recovery = told.units.get(each.unit), told.units.get(RECOVER)
    if each.done:
        if each.step not in WAITS:
            return None
        code, outcome = each.step, "fail"
    elif not each.this_boot:
        return None         # the boot has ended it
    elif recovery is not None and recovery.active in _RUNS:
        code, outcome = "under-way", "warn"
    else:
        code, outcome = "not-ended", "fail"
    if code != "under-way" and unit is not None:
        # Started since: what was done by hand stands in no journal.
        anew = each.step == "stays-down" or (unit.invocation and each.invocation and unit.invocation != each.invocation)
        if unit.load == "not-found" or (unit.active in _RUNS and anew):
            return None
    unsure = "; systemd did not tell whether it was started since" if unit is None else ""
    text = (f"a recovery is under way, at {how(each)}" if code == "under-way" else
            f"a recovery was begun and not ended, and nothing goes on with it: it is left at {how(each)}"
            if code == "not-ended" else f"it waits for a person: {how(each)}")
    fix = _FIX.get(code) or Remedy.typed(_WAITING, unit=each.unit if unit else "tunecheck-inference.service")
    stalled = f"what is served stalled{clock(' at ', each.begun)}{alike([each])}"
    return each, Finding(
        _ID, code, each.unit or "incidents", outcome, "behaviour", f"{stalled}: {text}{unsure} (incident {each.id})",
        each.id, "an incident that ended, and an engine that serves" if outcome == "fail" else "", source, fix)


def _past(told: Incidents, past: Sequence[Incident], source: tuple[str, ...]) -> Finding:
    """What ended: how often, since when, and what was the same each time."""
    left = [each for each in past if each.step not in _WELL]
    code = "not-undone" if left else "served-again"
    ended = many(past, told.cut and len(past) == len(told.found))
    begun = [each.begun for each in past if each.begun is not None]
    since = clock(" since ", min(begun)) if len(past) > 1 and begun else clock(" at ", begun[0]) if begun else ""
    return Finding(_ID, code, "incidents", "warn", "behaviour", f"what is served stalled {ended}{since}{alike(past)}: "
                   + ", ".join(_ends(past)), str(len(past)), f"no incident in {_DAYS} days", source, _FIX["again"])


def _ends(past: Sequence[Incident]) -> list[str]:
    counts: dict[str, int] = {}
    for each in past:
        word = f"{how(each)}, and was started since" if each.step in WAITS else how(each)
        counts[word] = counts.get(word, 0) + 1
    return [f"{word} ({count} times)" if count > 1 else word for word, count in counts.items()]


def _recent(told: Incidents, at: float | None) -> bool:
    """What has no time that can be, or no clock beside it, is not known to be long ago."""
    return at is None or told.now is None or told.now - at <= _WEEK


