"""A fact: a value with where it came from, or nothing with the reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from ..formats.at_first_use import dataclass
from ..host import Host, Unreadable
from ..host.base import SILENT

__all__ = ["Fact", "absent", "known", "parsed", "text"]

T = TypeVar("T")
U = TypeVar("U")


@dataclass(frozen=True)
class Fact(Generic[T]):
    """``value`` is known where ``reason`` is None. ``source`` is a path or a command."""

    value: T | None
    source: str
    reason: str | None = None

    @property
    def known(self) -> bool:
        return self.reason is None

    @property
    def missing(self) -> bool:
        """The thing itself does not exist on this host, which is an answer; every other reason is none."""
        return self.reason in ("not present", SILENT)

    @property
    def silent(self) -> bool:
        """The same, told by nothing but that a text does not name it: a line that was lost looks like this, too."""
        return self.reason == SILENT

    def why(self) -> str:
        """``/proc/cmdline: no permission``: for a message about an absent fact."""
        return f"{self.source}: {self.reason}"


def known(value: T, source: str) -> Fact[T]:
    return Fact(value, source)


def absent(source: str, reason: str) -> Fact[T]:
    return Fact(None, source, reason)


def text(host: Host, path: str) -> Fact[str]:
    """A file as text without surrounding white space; undecodable bytes are replaced."""
    try:
        return Fact(host.read_bytes(path).decode("utf-8", "replace").strip(), path)
    except Unreadable as error:
        return Fact(None, path, error.reason)


def parsed(fact: Fact[U], parse: Callable[[U], T]) -> Fact[T]:
    """The same fact read further; what ``parse`` refuses with a ValueError becomes the reason."""
    if fact.value is None:
        return Fact(None, fact.source, fact.reason or "empty")
    try:
        return Fact(parse(fact.value), fact.source)
    except ValueError as error:
        return Fact(None, fact.source, f"not understood: {error}")
