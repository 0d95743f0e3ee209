"""What is to be done first about the hosts that could not be reached, or whose answer could not be read."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tunecheck.util.host_names import fold

from ..fleet_report import FleetReport, HostRow
from ..judge.identity import ask_no_more
from ..model import Status
from ..scope import UNGROUPED, files_of, inventory_of, of_carried

__all__ = ["reach_first", "silent"]

#: Hosts that one command names (what one of them says mostly holds of all), and characters of their names in the
#: sentence.
_MOST, _FIT = 1, 60
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def silent(report: FleetReport) -> set[str]:
    """The hosts that said nothing: nothing can be read on them before they answer."""
    return {row.host for row in report.hosts if row.status not in ("ok", "partial")}


def reach_first(report: FleetReport) -> tuple[str, list[str]]:
    """Of the hosts that are silent for the most frequent reason what to do, and the commands in it; "" where every host
    answered, or is still asked."""
    rows = [row for row in report.hosts if row.status not in ("ok", "partial") and not (row.waits or row.left)]
    if not rows or report.audit.finished is None:
        return "", []
    # A machine that answers under another name is not to be reached under this one.
    counts = Counter((bool(row.called_now), row.status) for row in rows)
    kind = max(counts, key=lambda each: (counts[each], each))
    those = [row for row in rows if (bool(row.called_now), row.status) == kind]
    status = those[0].status
    names = [row.host for row in those]
    if those[0].called_now:
        return _renamed(those, report)
    first = next((name for name in names if _PLAIN.fullmatch(name)), "")
    if report.audit.trigger == "push":
        command = "sudo systemctl status tunecheck-snapshot.timer"
        return _said(names, status, command, "on the host"), [command]
    if files_of(report.audit.scope):
        if not first:       # it is named wrongly, and its reason says how
            return f"first {fold(names, _FIT)} ({status}); {those[0].reason}", []
        command = f"sudo tunecheck snapshot --json {first}.json"
        where = f"make its file anew on {first} and put it into {_places(those, report.audit.scope)}" \
            if len(names) == 1 else \
            f"make each file anew on its host and put it into {_places(those, report.audit.scope)}; on {first}"
        return _said(names, status, command, where), [command]
    if status in ("unreachable", "timeout", "refused"):
        command = _ansible(those, inventory_of(report.audit.scope), status)
        return (_said(names, status, command, "try"), [command]) if command else ("", [])
    command = f"sudo tunecheck snapshot --json {first}.json"
    return (_said(names, status, command, f"on {first}"), [command]) if first else ("", [])


def _renamed(rows: Sequence[HostRow], report: FleetReport) -> tuple[str, list[str]]:
    names, now = [row.host for row in rows], [row.called_now for row in rows]
    how, command = ask_no_more(report.audit, names)
    ask = "ask for it no more" if len(names) == 1 else "ask for them no more"
    return (f"first {fold(names, _FIT)} ({rows[0].status}), most likely called {fold(now, _FIT)} now; if it is so, "
            f"{ask}: {command or how}"), [command] if command else []


def _said(names: Sequence[str], status: Status, command: str, where: str) -> str:
    return f"first {fold(names, _FIT)} ({status}); {where}: {command}"


def _places(rows: Sequence[HostRow], scope: str) -> str:
    """The folder of their files, or that of the group of each: the folder in which a carried file lies is its group."""
    groups: dict[str, list[str]] = {}
    for row in rows:
        groups.setdefault(row.group if of_carried(scope) and row.group != UNGROUPED else "", []).append(row.host)
    places = {str(Path(files_of(scope), group)): names for group, names in sorted(groups.items())} \
        if any(groups) else {files_of(scope): []}
    return ", ".join(f"{place} ({fold(names, _FIT)})" if len(places) > 1 else place
                     for place, names in places.items())


def _ansible(rows: Sequence[HostRow], inventory: str, status: Status) -> str:
    """It goes the way that the audit goes: by the inventory's address, user and key. "" where none of the names can be
    one of ansible's patterns."""
    names = [row.host for row in rows if _PLAIN.fullmatch(row.host)][:_MOST]
    if not names:
        return ""
    place = inventory or f"{','.join(names)},"
    become = " -b" * (status == "refused")
    return f"ansible {shlex.quote(','.join(names))} -i {shlex.quote(place)}{become} -m raw -a true"
