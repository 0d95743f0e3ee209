"""Keeps everything a run reads (RecordingHost) and loads it again (load_recording). The file format is in bundle.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from .answers import Answers, RecordedHost
from .base import Completed, Host, Unreadable

__all__ = ["RecordingHost", "load_recording"]

_T = TypeVar("_T")


class RecordingHost:
    """Passes everything on to ``inner`` and keeps every answer, also the refused ones, without the secrets in it.

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
        """Return the recording as file content: without secrets in any case, with ``redact`` also without names, serial
        numbers and addresses. ``manifest``: as for bundle.pack."""
        from .bundle import pack
        from .redact import redacted, without_secrets

        kept = without_secrets(self.answers)
        return pack(redacted(kept) if redact else kept, redacted=redact, **manifest)


def load_recording(path: str) -> RecordedHost:
    """Read a recording of any version that is understood. UsageError says what is wrong with it."""
    from .bundle import load

    return load(path).host()
