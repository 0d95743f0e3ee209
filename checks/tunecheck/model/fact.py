"""A fact: a value with where it came from, or nothing with the reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from ..util.at_first_use import dataclass
from .absence import Absence, Reason

__all__ = ["Absence", "Fact", "Reason", "absent", "absent_as", "in_the_way", "known", "not_understood", "parsed"]

T = TypeVar("T")
U = TypeVar("U")


_PCI = "/sys/bus/pci/devices/"
_MISSING = (Absence.NOT_PRESENT, Absence.NOT_SHOWN)


@dataclass(frozen=True)
class Fact(Generic[T]):
    """A value, or the reason why there is none. ``value`` is known where ``reason`` is None. ``source`` is a path or a
    command; the reason has a code, which is what rules read, and a text for people."""

    value: T | None
    source: str
    reason: Reason | None = None

    @property
    def known(self) -> bool:
        return self.reason is None

    @property
    def absence(self) -> Absence | None:
        """The code of the reason; None where the value is known."""
        return None if self.reason is None else self.reason.absence

    @property
    def missing(self) -> bool:
        """Whether the thing itself does not exist on this host. That is an answer; any other reason says that nothing
        is known."""
        reason = self.reason
        return reason is not None and reason.absence in _MISSING

    @property
    def silent(self) -> bool:
        """Whether a text does not name the thing, and nothing else says that it is missing. A line that was lost looks
        like this, too."""
        return self.absence is Absence.NOT_SHOWN

    def why(self) -> str:
        """Return ``/proc/cmdline: no permission``: the source and the reason, for a message about an absent fact. Who
        pasted a text has no file of a PCI device: there it is ``max_link_width of 0000:03:00.0: not in the import``."""
        device, mark, leaf = self.source.removeprefix(_PCI).partition("/")
        if mark and self.source.startswith(_PCI) and self.absence in (Absence.NOT_IN_IMPORT, Absence.NOT_SHOWN):
            return f"{leaf} of {device}: {self.reason}"
        return f"{self.source}: {self.reason}"


def known(value: T, source: str) -> Fact[T]:
    return Fact(value, source)


def absent(source: str, why: Reason | Absence) -> Fact[T]:
    return Fact(None, source, why if isinstance(why, Reason) else Reason(why))


def absent_as(fact: Fact[Any]) -> Fact[T]:
    """Return a fact that is absent for the same reason as ``fact``, which has no value."""
    return Fact(None, fact.source, fact.reason or Reason(Absence.NOT_READ))


def not_understood(source: str, what: object) -> Fact[T]:
    """Return an absent fact: there is something, and it is not what it should be. ``what`` is an error or a text."""
    return Fact(None, source, Reason(Absence.NOT_UNDERSTOOD, f"not understood: {what}"))


def in_the_way(*facts: Fact[Any]) -> Fact[Any] | None:
    """Return the fact without a value that keeps a question open, None where all are known: the first, but one that
    only the machine itself tells comes before the others. Where that is lacking, no other output helps."""
    unread = [fact for fact in facts if fact.reason is not None]
    return next((fact for fact in unread if fact.absence is Absence.ONLY_ON_HOST), unread[0] if unread else None)


def parsed(fact: Fact[U], parse: Callable[[U], T]) -> Fact[T]:
    """Return what ``parse`` makes of the fact's value. A ValueError of ``parse`` becomes the reason. A fact without a
    value keeps its own reason."""
    if fact.value is None:
        return Fact(None, fact.source, fact.reason or Reason(Absence.NOT_UNDERSTOOD, "empty"))
    try:
        return Fact(parse(fact.value), fact.source)
    except ValueError as error:
        return not_understood(fact.source, error)
