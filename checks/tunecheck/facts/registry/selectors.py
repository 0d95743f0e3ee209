"""How entries read a snapshot: the facts below the host, values of several devices counted, absence kept apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ...model.fact import Absence, Fact, absent

if TYPE_CHECKING:     # a page that only names facts reads none
    from ..snapshot import HostFacts
    from ..snapshot_file import Stored

    Pick = Callable[[Stored], Fact[Any]]

__all__ = ["NOTHING", "asked", "booted", "counted", "of_host", "of_tree", "tallied", "through", "word"]

#: The thing does not exist there.
NOTHING: Fact[Any] = absent("", Absence.NOT_PRESENT)
_LESS: Fact[Any] = absent("snapshot", Absence.OLDER.because(
    "not in it: `tunecheck topo` read it, which reads less"))


def of_host(select: Callable[[HostFacts], Fact[Any]]) -> Pick:
    """Make a selector that gives a snapshot's HostFacts to ``select``. A snapshot of `tunecheck topo` has none: the
    fact is absent then."""

    def picked(stored: Stored) -> Fact[Any]:
        host = stored.snapshot.host
        return _LESS if host is None else select(host)

    return picked


def of_tree(pick: Pick) -> Pick:
    """Make the selector of what is read of the accelerators, or of ports above them: unknown where nobody knows which
    these are."""

    def picked(stored: Stored) -> Fact[Any]:
        listed = stored.snapshot.topology.accelerators
        return listed if listed.value is None else pick(stored)

    return picked


def asked(stored: Stored, fact: Fact[Any]) -> Fact[Any]:
    """Return a fact that NVIDIA's driver gives. On a box that has neither NVIDIA's boards nor the driver it is "not
    present" instead of unknown. Where nobody knows which boards there are, that is why it was not asked for."""
    snapshot = stored.snapshot
    boards = snapshot.topology.accelerators.value
    if boards is None and fact.absence in (Absence.NOT_ASKED, Absence.NO_BOARDS):
        return snapshot.topology.accelerators
    if fact.value is not None or snapshot.host is None or not snapshot.host.driver.version.missing:
        return fact
    if boards is None or any(device.ids.startswith("10de:") for device in boards):
        return fact
    return absent(fact.source, Absence.NOT_PRESENT)


def through(fact: Fact[Any], make: Callable[[Any], Any]) -> Fact[Any]:
    """Return what ``make`` gives for the value, or the fact itself where it has none."""
    return fact if fact.value is None else Fact(make(fact.value), fact.source)


def booted(host: HostFacts, make: Callable[[Any], Any]) -> Fact[Any]:
    """Return what ``make`` gives for the kernel log, where it reaches back to the boot. A log that lost its start also
    lost what the kernel said once."""
    log = host.kernel.log
    if log.value is None:
        return log
    return Fact(make(log.value), log.source) if log.value.complete else absent(
        log.source, Absence.LOG_TOO_SHORT.because(
            "the log does not reach back to the boot" if not log.value.events.start else
            "the log begins at the boot, and it is not known that none of its lines is missing"))


def word(value: object) -> str:
    """Return a value as the name under which it is counted."""
    if type(value) is str:
        return value
    return "none" if value is None else str(value).lower() if type(value) is bool else str(value)


def tallied(values: Iterable[object]) -> dict[str, int]:
    """Count equal values of several devices, without saying which devices: {"595.58.03": 8}."""
    found: dict[str, int] = {}
    for value in values:
        name = value if type(value) is str else word(value)
        found[name] = found.get(name, 0) + 1
    return dict(sorted(found.items())) if len(found) > 1 else found


def counted(facts: Sequence[Fact[Any]], source: str = "") -> Fact[Any]:
    """Count equal values of several facts, as ``tallied`` does. The result is unknown where one of the facts is
    unknown, and "not present" where all are: then no device has it."""
    values: list[object] = []
    missing = 0
    for fact in facts:
        if fact.reason is None:
            values.append(fact.value)
        elif fact.reason.absence is Absence.NOT_PRESENT:
            missing += 1
        else:
            dark = sum(not (each.known or each.missing) for each in facts)
            return absent(fact.source, fact.reason.absence.because(f"{fact.reason} ({dark} of {len(facts)})"))
    if missing and missing == len(facts):
        return absent(source or facts[0].source, Absence.NOT_PRESENT)
    return Fact(tallied([*values, *[None] * missing]), source)
