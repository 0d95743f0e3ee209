"""A check that did not judge a host has found nothing there, which is no pass: it is told as what could not be judged
wherever a report is about that check alone."""

from __future__ import annotations

from collections.abc import Iterable

from tunecheck.rules.codes import NOT_DECLARED
from tunecheck.rules.index import BY_ID

from ..fleet_report import Cause, HostRow
from ..own_command import own_command

__all__ = ["is_good", "meaning", "not_judged"]

#: The verb whose checks an audit judges.
_VERB = "preflight"
_UNTOLD = "its last snapshot holds nothing of it"
_NO_SPEC = "the host is judged without a specification, and nothing else asks for this"
_GIVE_SPEC = "name a specification for the host (box_spec in the inventory) and audit with it: "


def is_good(check: str, code: str) -> bool:
    """Whether a skip with this code is what good looks like."""
    return check in BY_ID and code in BY_ID[check].good_skips


def meaning(check: str, code: str) -> str:
    """What a code of the check says, as part of a sentence."""
    known = BY_ID.get(check)
    said = known.codes.get(code, "") if known is not None else ""
    return said[:1].lower() + said[1:].rstrip(".") if said else code


def not_judged(check: str, hosts: Iterable[HostRow], causes: Iterable[Cause]) -> tuple[Cause, ...]:
    """A cause for each reason why hosts that answered were not judged by the check. Of those that something is said of
    already nothing is added."""
    told = {host for cause in causes if cause.state != "resolved" for host in cause.hosts}
    alike: dict[tuple[str, str, str], list[str]] = {}
    for row in hosts:
        if row.host not in told and row.last_ok is not None and (found := _why(check, row)) is not None:
            alike.setdefault((row.group, *found), []).append(row.host)
    return tuple(Cause("desired", "low", check, group, tuple(sorted(names)), None, None, "desired state", "none", None,
                       "known", text=f"not judged: {why}", remedy=remedy, outcome="unknown")
                 for (group, why, remedy), names in sorted(alike.items()))


def _why(check: str, row: HostRow) -> tuple[str, str] | None:
    """Why the host was not judged by the check, and what to do; None: it was."""
    known = BY_ID.get(check)
    if known is not None and _VERB not in known.verbs:
        return f"no audit runs it; on the host: tunecheck {known.verbs[0]}", ""
    if check in row.skipped:
        if row.skipped[check] == NOT_DECLARED and not row.specified:
            return _NO_SPEC, _GIVE_SPEC + own_command("audit -i INVENTORY")
        return meaning(check, row.skipped[check]), ""
    if check in row.dark:
        why, remedy = row.dark[check]
        return why or _UNTOLD, remedy
    return None
