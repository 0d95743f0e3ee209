"""The journal of incidents as facts: what the watch noticed, what the recovery did, and how it ended.

The journal is root's. Its end is read, by a command with a deadline: it may be of any size, and no file at all."""

from __future__ import annotations

import posixpath
from dataclasses import field
from typing import TYPE_CHECKING

from ...host import Host, Unreadable
from ...model.fact import Absence, Fact, absent, known
from ...util.at_first_use import dataclass, regex
from ..file_text import text

if TYPE_CHECKING:
    from ...parsers.text.incidents import Incident

__all__ = ["PATHS", "RECOVER", "Incidents", "UnitState", "incidents"]

#: As in recovery/journal.py: where it is kept, and where it goes while that disk takes nothing.
PATHS = ("/var/lib/tunecheck/incidents/journal.jsonl", "/run/tunecheck/incidents.jsonl")
RECOVER = "tunecheck-recover.service"
_WATCH = "/etc/systemd/system/tunecheck-watch.service"
#: An incident with a restart takes 2 KB.
_MOST = 1 << 17
_SECONDS = 5.0
_UNIT = regex(r"[A-Za-z0-9:_.@][A-Za-z0-9:_.@-]{0,190}\.service")
_UNITS = 4
_SHOW = ("systemctl", "show", "--property=Id,LoadState,ActiveState,InvocationID", "--")
_LESS = (Absence.NOT_RECORDED, Absence.NOT_IN_IMPORT, Absence.ONLY_ON_HOST)


@dataclass(frozen=True)
class UnitState:
    """A unit of systemd now: its LoadState, ActiveState and InvocationID."""

    load: str
    active: str
    invocation: str


@dataclass(frozen=True)
class Incidents:
    """``found``: the newest incidents, oldest first; ``cut``: there are earlier ones. ``damaged``, ``damaged_at``:
    lines that cannot be read (parsers/text/incidents.py); ``damaged_in``: the files that hold them. ``now``: the box's
    clock, in seconds since 1970. ``watched``: the watch is installed. ``units``: of incidents that may not be over, and
    the recovery's; one that systemd did not tell is not in it."""

    found: tuple[Incident, ...]
    cut: bool
    damaged: int
    damaged_at: float | None
    now: float | None
    watched: Fact[bool]
    units: dict[str, UnitState] = field(default_factory=dict)
    damaged_in: tuple[str, ...] = ()


def incidents(host: Host) -> Fact[Incidents]:
    """Read the journal of incidents. Without an incident there is no file, and nothing is known to be wrong."""
    watched = _installed(host)
    ends = [_end(host, path) for path in PATHS]
    unread = next((end for end in ends if end.value is None and not end.missing), None)
    if unread is not None:
        if unread.absence in _LESS and {watched.absence, *(end.absence for end in ends)} - {*_LESS}:
            # Not a recording of before it was asked for: a part of the answers is lost.
            return absent(unread.source, Absence.INCOMPLETE.because(f"incomplete: {unread.reason}"))
        return absent(unread.source, unread.reason or Absence.NOT_READ)
    texts = {path: end.value[0] for path, end in zip(PATHS, ends, strict=True) if end.value is not None}
    if not texts:
        return known(Incidents((), False, 0, None, None, watched), PATHS[0])
    from ...parsers.text.incidents import read  # most boxes never had one

    now, booted = _clock(host)
    found = read(tuple(texts.values()), now, booted, text(host, "/proc/sys/kernel/random/boot_id").value or "")
    cut = found.cut or any(end.value is not None and end.value[1] for end in ends)
    paths = tuple(texts)
    return known(Incidents(found.found, cut, found.damaged, found.damaged_at, now, watched, _units(host, found.found),
                           tuple(paths[number] for number in found.damaged_in)), PATHS[0])


def _installed(host: Host) -> Fact[bool]:
    try:
        host.realpath(_WATCH)
    except Unreadable as error:
        return known(False, _WATCH) if error.absence is Absence.NOT_PRESENT else absent(_WATCH, error.reason)
    return known(True, _WATCH)


def _end(host: Host, path: str) -> Fact[tuple[str, bool]]:
    """Return the end of one file, whole lines alone, and whether there is more before it."""
    try:
        folder, name = posixpath.split(path)
        place = host.realpath(path)
        if place != posixpath.join(host.realpath(folder), name):
            why = Absence.UNREADABLE.because(f"is a link to {place[:200]}, and no journal of ours is one")
            return absent(path, why)
        done = host.run(("tail", "-c", str(_MOST), "--", path), _SECONDS)
    except Unreadable as error:
        # A missing `tail` is no missing journal.
        lost = error.path == "tail" and error.absence is Absence.NOT_PRESENT
        why = Absence.NOT_INSTALLED.because("the program tail is not installed") if lost else error.reason
        return absent(path, why)
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        return absent(path, Absence.NO_PERMISSION if "Permission denied" in done.stderr else Absence.UNREADABLE.because(
            (said[0][:200] if said else "") or f"tail ended with exit code {done.returncode}"))
    cut = len(done.stdout.encode("utf-8", "replace")) >= _MOST
    return known((done.stdout.partition("\n")[2] if cut else done.stdout, cut), path)


def _clock(host: Host) -> tuple[float | None, float | None]:
    """Return the time and when this boot began, in seconds since 1970 by the box's clock. None where it does not
    tell."""
    for line in (text(host, "/proc/stat").value or "").splitlines():
        word, _, number = line.partition(" ")
        if word == "btime" and number.strip().isdigit() and len(number) < 15:
            up = (text(host, "/proc/uptime").value or "").partition(" ")[0]
            try:
                seconds = float(up)
            except ValueError:
                break
            return (int(number) + seconds, float(number)) if 0 <= seconds < 1e11 else (None, None)
    return None, None


def _units(host: Host, found: tuple[Incident, ...]) -> dict[str, UnitState]:
    """Ask systemd where an incident may not be over: only the newest of a unit may."""
    from ...parsers.text.incidents import WAITS

    newest = {each.unit: each for each in found}
    asked = [unit for unit, each in newest.items() if _UNIT.fullmatch(unit) and (
        each.step in WAITS or not each.done)][-_UNITS:]
    if not asked:
        return {}
    if any(not each.done for each in newest.values()):
        asked.append(RECOVER)
    try:
        done = host.run((*_SHOW, *asked), _SECONDS)
    except Unreadable:
        return {}
    units: dict[str, UnitState] = {}
    for part in done.stdout.split("\n\n"):
        told = dict(line.partition("=")[::2] for line in part.strip().splitlines())
        if told.get("Id") in asked and "ActiveState" in told:
            units[told["Id"]] = UnitState(told.get("LoadState", "")[:40], told["ActiveState"][:40],
                                          told.get("InvocationID", "")[:64])
    return units
