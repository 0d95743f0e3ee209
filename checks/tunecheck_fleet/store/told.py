"""What the newest answers of many hosts told. Most tell the same, so each text, command, problem and grid is there
once."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from tunecheck.model.command import Command

from ..model import Problem

__all__ = ["HOST", "NOTHING", "Answered", "Newest", "Told"]

_PARTS = Problem.__annotations__.keys()
#: Stands for the name of the host in the plays that are kept with its problems (" -l gpu0412"): hosts share them so.
HOST = "\x01"


class Newest(NamedTuple):
    """A row of the table ``newest``; the last three are JSON."""

    host_id: int
    audit_id: int | None
    boot_id: str | None
    volatile: str | None
    problems: str | None
    outcomes: str | None


class Answered(NamedTuple):
    """A newest answer: of which audit, and what it told. Do not change it, it is shared."""

    audit: int | None
    boot_id: str | None
    problems: tuple[Problem, ...]
    outcomes: Mapping[str, str]
    volatile: Mapping[str, Any]


NOTHING = Answered(None, None, (), {}, {})


class Told:
    """Reads them. ``gauges``: of the volatile facts no more than these; None: all. No two hosts have the same ones, and
    a report asks for hardly any."""

    def __init__(self, gauges: Collection[str] | None = None) -> None:
        self._gauges = gauges
        self._texts: dict[str, str] = {}
        self._words: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._commands: dict[tuple[str, ...], Command] = {}
        self._each_command: dict[tuple[int, ...], tuple[Command, ...]] = {}
        self._problems: dict[tuple[Any, ...], Problem] = {}
        self._grids: dict[str, dict[str, str]] = {}
        self._again: dict[tuple[str, str], Problem] = {}

    def read(self, name: str, row: Newest) -> Answered:
        """The newest answer of the host of that name."""
        volatile = json.loads(row.volatile) if row.volatile and self._gauges != () else {}
        if self._gauges is not None:
            volatile = {name: value for name, value in volatile.items() if name in self._gauges}
        problems = tuple([self.problem(name, stored) for stored in json.loads(row.problems)]) if row.problems else ()
        return Answered(row.audit_id, row.boot_id, problems, self._grid(row.outcomes or "{}"), volatile)

    def again(self, name: str, problem: str, words: str) -> Problem:
        """A problem out of the table ``problem_span``, of the host of that name."""
        if (found := self._again.get((problem, words))) is None:
            (observed, text), head = json.loads(words), json.loads(problem)
            shared = head["remedy"]
            head["remedy"] = shared.replace(f" -l {HOST}", f" -l {name}")
            for command in head["commands"]:
                command["argv"] = [name if part == HOST else part for part in command["argv"]]
            found = self.problem(name, {"text": text, **head, "observed": observed})
            if head["remedy"] == shared:
                self._again[problem, words] = found
        return found

    def _grid(self, text: str) -> dict[str, str]:
        if (found := self._grids.get(text)) is None:
            found = self._grids[text] = json.loads(text)
        return found

    def problem(self, host: str, stored: dict[str, Any]) -> Problem:
        """Out of its JSON, which is used up."""
        once = self._texts.setdefault
        # What a later version tells of a problem besides is left out: after a step back the history is still read.
        for name in stored.keys() - _PARTS:
            del stored[name]
        # A store from before remedies had commands holds none.
        every = [self._command(tuple(each["argv"]), each["where"]) for each in stored.pop("commands", ())]
        commands = self._each_command.setdefault(tuple(map(id, every)), tuple(every))
        for name in ("tags", "puts", "takes"):
            if name in stored:
                words = tuple(stored[name])
                stored[name] = self._words.setdefault(words, words)
        values: list[Any] = [once(value, value) if type(value) is str else value for value in stored.values()]
        if host in stored.get("remedy", ""):        # a play limited to this host: no other has the same
            return Problem(**dict(zip(stored, values, strict=True)), commands=commands)
        # Commands are told apart by which object they are: of equal ones there is one.
        key = (*stored, *values, *map(id, commands))
        if (found := self._problems.get(key)) is None:
            found = self._problems[key] = Problem(**dict(zip(stored, values, strict=True)), commands=commands)
        return found

    def _command(self, argv: tuple[str, ...], where: Any) -> Command:
        key = (where, *argv)
        if (found := self._commands.get(key)) is None:
            found = self._commands[key] = Command(argv, where)
        return found
