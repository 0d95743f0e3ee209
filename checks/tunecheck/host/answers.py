"""Everything that a host answered (Answers), and the host that gives these answers again (RecordedHost)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, TypeVar

from ..model.absence import Absence, Reason
from ..util.at_first_use import dataclass
from .base import Completed, Unreadable

__all__ = ["Answers", "RecordedHost"]

_T = TypeVar("_T")
#: By the verb that recorded; a whole recording lacks only what a newer tunecheck asks for.
_NOT_RECORDED = {verb: f"not recorded by `tunecheck {verb}`, which reads less; make one with: sudo tunecheck record"
                 for verb in ("topo", "host", "p2p", "allreduce")} | {
    "": "not recorded; an older tunecheck made the recording, or `tunecheck topo`, which reads less: make one with: "
        "sudo tunecheck record",
    "record": "not recorded: by an older tunecheck or for another spec; record it again", }


@dataclass
class Answers:
    """Everything that a host answered. ``errors`` maps "read /path", "list /path", "realpath /path" and "nvml" to the
    reason why there is nothing; ``runs`` maps a command to what it wrote, or to such a reason. ``verb``: what
    recorded it, None where that is not known."""

    reads: dict[str, bytes] = field(default_factory=dict)
    lists: dict[str, list[str]] = field(default_factory=dict)
    realpaths: dict[str, str] = field(default_factory=dict)
    errors: dict[str, Reason] = field(default_factory=dict)
    runs: dict[tuple[str, ...], Completed | Reason] = field(default_factory=dict)
    nvml: dict[str, Any] | None = None
    verb: str | None = field(default=None, compare=False)

    def host(self) -> RecordedHost:
        """Return the machine that gives these answers."""
        return RecordedHost(self.reads, self.lists, self.realpaths, self.errors, self.runs, self.nvml, self.verb)


class RecordedHost:
    """Answers from a recording. What was not asked when it was made is "not recorded"."""

    def __init__(self, reads: dict[str, bytes], lists: dict[str, list[str]] | None = None,
                 realpaths: dict[str, str] | None = None, errors: Mapping[str, Reason] | None = None,
                 runs: Mapping[tuple[str, ...], Completed | Reason] | None = None,
                 nvml: dict[str, Any] | None = None, verb: str | None = None) -> None:
        self._nvml = nvml
        self._without = Reason(Absence.NOT_RECORDED, "" if verb is None else _NOT_RECORDED.get(verb, ""))
        self._reads = reads
        self._lists = lists or {}
        self._realpaths = realpaths or {}
        self._errors = errors or {}
        self._runs = runs or {}

    def read_bytes(self, path: str) -> bytes:
        return self._answer(self._reads, "read", path)

    def list(self, path: str) -> list[str]:
        return self._answer(self._lists, "list", path).copy()

    def realpath(self, path: str) -> str:
        return self._answer(self._realpaths, "realpath", path)

    def run(self, argv: tuple[str, ...], deadline: float = 20.0) -> Completed:
        found = self._runs.get(tuple(argv), self._without)
        if isinstance(found, Reason):
            raise Unreadable(argv[0], found)
        return found

    def nvml(self, deadline: float = 10.0) -> dict[str, Any]:
        if self._nvml is None:
            raise Unreadable("NVML", self._errors.get("nvml", self._without))
        return self._nvml

    def ahead(self, *argvs: tuple[str, ...], nvml: bool = False) -> None:
        """Do nothing: a recording has no commands to start."""

    def close(self) -> None:
        """Do nothing: a recording has no children to end."""

    def _answer(self, answers: Mapping[str, _T], kind: str, path: str) -> _T:
        try:
            return answers[path]
        except KeyError:
            raise Unreadable(path, self._errors.get(f"{kind} {path}", self._without)) from None
