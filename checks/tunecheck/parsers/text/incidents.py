"""The journal of incidents, which recovery/journal.py writes: lines of JSON into incidents. A line that is torn,
damaged or a stranger's is counted, and spoils no other."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ...util.at_first_use import dataclass, regex

__all__ = ["DONE", "MOST", "NEWER", "STEPS", "WAITS", "Incident", "Journal", "read"]

_SCHEMA = "tunecheck/incident/1"
#: Steps of an incident in their order, as recovery/model.py has them; a test compares.
STEPS = ("noticed", "evidence", "stopping", "stopped", "starting", "resetting", "starting-again", "serving",
         "moved-again", "reported", "drained", "stays-down", "interrupted")
#: Nothing comes after these.
DONE = STEPS[7:]
#: Ends after which nobody serves before a person comes.
WAITS = ("drained", "stays-down")
#: Why a step is as it is, where another release wrote a word that is not known.
NEWER = "newer-release"
_WHYS = ("", "no-room", "policy", "no-policy", "play-runs", "too-many", "cannot-stop", "not-started", "no-reset",
         "gpu-lost", "reset-failed", "stopped-by-hand", "booted", "interrupted", NEWER)
#: The newest so many are kept. At three restarts a day, the usual limit, that is more than two weeks.
MOST = 50
_LINE, _WORDS, _WORD, _NAME = 1 << 16, 20, 60, 200
#: A clock before the project, or a day ahead of now, tells no time.
_EARLIEST, _DAY, _NEVER = 1.5e9, 86400.0, float("inf")
#: The writer sorts its fields, so a line that was torn has its time all the same.
_TORN = regex(r'\{"at": ([0-9]{1,12}(?:\.[0-9]{1,6})?),')


@dataclass(frozen=True)
class Incident:
    """What the journal tells of one incident. ``begun`` and ``ended`` (its newest step) in seconds since 1970 by the
    box's clock, None where that told no time. ``step`` and ``why``: how far it got, or how it ended; ``unit``, and
    ``invocation``: systemd's id of its run before the newest step. ``this_boot``: it is of the boot that runs.
    ``codes``: why the watch called it stalled or lost; ``xids``: those that the kernel told then. ``rank``, ``gpu``,
    ``kinds``: who held the others up, and what was said of him."""

    id: str
    begun: float | None
    ended: float | None
    step: str
    why: str = ""
    unit: str = ""
    invocation: str = ""
    this_boot: bool = False
    codes: tuple[str, ...] = ()
    xids: tuple[int, ...] = ()
    rank: int | None = None
    gpu: str = ""
    kinds: tuple[str, ...] = ()

    @property
    def done(self) -> bool:
        return self.step in DONE


@dataclass(frozen=True)
class Journal:
    """The newest incidents, oldest first. ``cut``: there may be earlier ones. ``damaged``: lines that cannot be read;
    ``damaged_at``: when the newest of them was written at the latest, None where no line behind it tells;
    ``damaged_in``: which of the texts hold them, by their places in what was read."""

    found: tuple[Incident, ...] = ()
    cut: bool = False
    damaged: int = 0
    damaged_at: float | None = None
    damaged_in: tuple[int, ...] = ()


def read(texts: Sequence[str], now: float | None, booted: float | None, boot_id: str) -> Journal:
    """Return what the ``texts`` of the journal tell: each of a file that is there. ``now``, ``booted``: seconds since
    1970, None where that is not known; ``boot_id``: of this boot, "" where it is not known. Never raises."""
    lines: dict[str, list[dict[str, Any]]] = {}
    damaged, damaged_at, damaged_in = 0, 0.0, list[int]()
    for number, text in enumerate(texts):
        before = damaged
        if not text.strip():    # it was made for a line, which is lost
            damaged, damaged_at = damaged + 1, _NEVER
        later: float | None = None      # no line is older than one behind it
        records = []
        for line in reversed(text.split("\n")):
            if not line.strip(" \r"):
                continue
            record = _parsed(line)
            if record is None:
                torn = _TORN.match(line[:64])
                at = _time(float(torn[1]), now) if torn else None
                at = later if at is None else at
                damaged, damaged_at = damaged + 1, max(damaged_at, _NEVER if at is None else at)
                continue
            ours = not boot_id or record["boot_id"] == boot_id
            record["ours"], at = ours, _time(record["at"], now)
            if ours and boot_id and now is not None and booted is not None:
                at = min(max(record["at"], booted), now)
            record["at"] = later = later if at is None else at
            records.append(record)
        damaged_in += [number] if damaged > before else []
        for record in reversed(records):
            lines.setdefault(record["incident"], []).append(record)
    found = [_incident(name, records) for name, records in lines.items()]
    found.sort(key=lambda each: _NEVER if each.begun is None else each.begun)
    return Journal(tuple(found[-MOST:]), len(found) > MOST, damaged,
                   None if not damaged or damaged_at == _NEVER else damaged_at, tuple(damaged_in))


def _time(at: float, now: float | None) -> float | None:
    return at if _EARLIEST < at < (4e9 if now is None else now + _DAY) else None


def _incident(name: str, records: list[dict[str, Any]]) -> Incident:
    """``records``: as they stand in the journal. Their steps say their order: a clock may have jumped, and a full disk
    puts later ones into another file."""
    first, last = min(records, key=_place), max(records, key=_place)
    culprit: dict[str, Any] = next((each["culprit"] for each in records if isinstance(each.get("culprit"), dict)), {})
    begun, ended = first["at"], last["at"]
    step, why = _codes(last["step"], last["why"])
    rank = culprit.get("rank")
    return Incident(
        _word(name), begun, ended if ended is None or begun is None else max(begun, ended), step, why,
        _word(first["unit"], _NAME), _word(last["invocation"]), last["ours"], _words(first["codes"]),
        tuple(dict.fromkeys(each for each in _list(first.get("xids")) if type(each) is int and 0 <= each < 10000)),
        rank if type(rank) is int and 0 <= rank < 1 << 20 else None, _word(culprit.get("gpu")),
        _words(culprit.get("kinds")))


def _place(record: dict[str, Any]) -> float:
    """A step of a newer release stands before an end that is known."""
    return STEPS.index(record["step"]) if record["step"] in STEPS else STEPS.index("serving") - 0.5


def _codes(step: str, why: str) -> tuple[str, str]:
    """Of a newer release nobody knows what comes next: that is an end here."""
    if step in STEPS and why in _WHYS:
        return step, why
    return step if step in DONE else "interrupted", NEWER


def _parsed(line: str) -> dict[str, Any] | None:
    if len(line) > _LINE:
        return None
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict) or said.get("schema") != _SCHEMA:
        return None
    at: Any = said.get("at")
    names = ("incident", "boot_id", "unit", "invocation", "step", "why")
    good = all(isinstance(said.get(name), str) for name in names) and said["incident"] and isinstance(
        said.get("codes"), list) and type(at) in (int, float) and 0 <= at <= 1e15
    return {**said, "at": float(at)} if good else None


def _list(value: object) -> list[Any]:
    return value[:_WORDS] if isinstance(value, list) else []


def _words(value: object) -> tuple[str, ...]:
    return tuple(_word(each) for each in _list(value) if isinstance(each, str))


def _word(value: object, most: int = _WORD) -> str:
    text = value[:most] if isinstance(value, str) else ""
    return text if text.isprintable() else "".join(char if char.isprintable() else "?" for char in text)
