"""Keep everything a run reads (RecordingHost) and play it back (RecordedHost). The file format is in bundle.py."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, TypeVar

from ..model.absence import Absence, Reason
from ..util.at_first_use import dataclass
from .base import Completed, Host, Unreadable

__all__ = ["Answers", "RecordedHost", "RecordingHost", "load_recording"]

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
        """The machine that gives these answers."""
        return RecordedHost(self.reads, self.lists, self.realpaths, self.errors, self.runs, self.nvml, self.verb)


class RecordingHost:
    """Pass everything on to ``inner`` and keep every answer, also the refused ones, without the secrets in it.

    ``asked`` is told of every path and command before it is asked for."""

    def __init__(self, inner: Host, asked: Callable[[str], None] = lambda what: None) -> None:
        self._inner = inner
        self._asked = asked
        self.answers = Answers()

    def read_bytes(self, path: str) -> bytes:
        return self._keep(self.answers.reads, "read", path, self._inner.read_bytes)

    def list(self, path: str) -> list[str]:
        return self._keep(self.answers.lists, "list", path, self._inner.list)

    def realpath(self, path: str) -> str:
        return self._keep(self.answers.realpaths, "realpath", path, self._inner.realpath)

    def run(self, argv: tuple[str, ...], deadline: float = 20.0) -> Completed:
        self._asked(" ".join(argv))
        try:
            done = self._inner.run(argv, deadline)
        except Unreadable as error:
            self.answers.runs[tuple(argv)] = error.reason
            raise
        self.answers.runs[tuple(argv)] = done
        return done

    def nvml(self, deadline: float = 10.0) -> dict[str, Any]:
        self._asked("NVML")
        try:
            self.answers.nvml = self._inner.nvml(deadline)
        except Unreadable as error:
            self.answers.errors["nvml"] = error.reason
            raise
        return self.answers.nvml

    def ahead(self, *argvs: tuple[str, ...], nvml: bool = False) -> None:
        self._inner.ahead(*argvs, nvml=nvml)

    def close(self) -> None:
        self._inner.close()

    def keep(self, path: str, content: bytes) -> None:
        """Put a file into the recording that was not read through here."""
        self.answers.reads[path] = content
        self.answers.errors.pop(f"read {path}", None)

    def _keep(self, answers: dict[str, _T], kind: str, path: str, ask: Callable[[str], _T]) -> _T:
        self._asked(path)
        try:
            answers[path] = ask(path)
        except Unreadable as error:
            self.answers.errors[f"{kind} {path}"] = error.reason
            raise
        return answers[path]

    def packed(self, redact: bool = False, **manifest: Any) -> bytes:
        """The recording as file content: without secrets in any case, with ``redact`` also without names, serial
        numbers and addresses. ``manifest``: as for bundle.pack."""
        from .bundle import pack
        from .redact import redacted, without_secrets

        kept = without_secrets(self.answers)
        return pack(redacted(kept) if redact else kept, redacted=redact, **manifest)


class RecordedHost:
    """Answer from a recording. What was never asked then is "not recorded" now."""

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
        """Nothing to start."""

    def close(self) -> None:
        """Nothing to let go of."""

    def _answer(self, answers: Mapping[str, _T], kind: str, path: str) -> _T:
        try:
            return answers[path]
        except KeyError:
            raise Unreadable(path, self._errors.get(f"{kind} {path}", self._without)) from None


def load_recording(path: str) -> RecordedHost:
    """Read a recording of any version that is understood. UsageError says what is wrong with it."""
    from .bundle import load

    return load(path).host()
