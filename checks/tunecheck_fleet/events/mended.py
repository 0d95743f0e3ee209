"""Which changes are what a specification asks for: a word left the kernel command line, and the check that failed or
warned because of it is over with that. The check names the declared word that was taken back; which word takes it back
is the kernel's rule (parsers/kernel/param_conflicts.py), so it is asked here, and no word that merely changed in the
same boot is taken for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tunecheck.parsers.kernel.param_conflicts import clash, split

from ..fleet_report import Cause

__all__ = ["mended"]

_CHECK, _WORDS = "cmdline-conflict", "kernel.cmdline."


def mended(causes: Iterable[Cause]) -> set[tuple[str, str]]:
    """(host, fact) of each such change."""
    ranked = list(causes)
    over: dict[str, list[str]] = {}
    for cause in ranked:
        if cause.fact == _CHECK and cause.state == "resolved" and cause.outcome in ("fail", "warn"):
            for host in cause.hosts:
                over.setdefault(host, []).append(cause.subject)
    return {(host, cause.fact) for cause in (ranked if over else ())
            if cause.authority == "previous" and cause.state in ("new", "grown") and (gone := list(_gone(cause)))
            for host in cause.new_hosts
            if all(any(clash(subject, word) for subject in over.get(host, ())) for word in gone)}


def _gone(cause: Cause) -> Iterator[str]:
    """The words that left the command line; none where another came with it: nobody asked for that one."""
    name = cause.fact.removeprefix(_WORDS)
    before, now = (list(_words(name, value)) for value in (cause.before, cause.value))
    if name != cause.fact and set(now) <= set(before):
        yield from (word for word in before if word not in now)


def _words(name: str, value: Any) -> Iterator[str]:
    """A parameter that may stand several times has a list of values."""
    for each in value if isinstance(value, list) else [value]:
        if isinstance(each, str):
            yield from split(f"{name}={each}" if each else name)
