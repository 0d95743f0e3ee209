"""Names that an operator types: that host, that fact, that group; and what was probably meant."""

from __future__ import annotations

import difflib
import getpass
from collections.abc import Iterable
from typing import TYPE_CHECKING

from tunecheck.errors import UsageError

if TYPE_CHECKING:
    from .store import Store

__all__ = ["KEY", "check", "fact", "group", "host", "me", "near", "no_values"]

_LISTED = 10
#: What reports call who a box is. No box tells it as a fact, so no history of values has it.
KEY = "host.key"


def near(name: str, known: Iterable[str]) -> str:
    """"did you mean gpu1?", or the first names there are."""
    names = sorted(known)
    low = name.lower().replace("_", "-")
    same = [each for each in names if each.lower().replace("_", "-") == low]
    holding = [each for each in names if low in each.lower().replace("_", "-")] if len(low) > 2 else []
    found = same or holding[:3] or difflib.get_close_matches(name, names, n=3, cutoff=0.6)
    if found:
        return f"did you mean {' or '.join(found)}?"
    if not names:
        return "none is known"
    return f"known are {', '.join(names[:_LISTED])}{' ...' if len(names) > _LISTED else ''}"


def host(store: Store, name: str) -> str:
    """The name, where the history knows it."""
    known = store.known_hosts()
    if name not in known:
        raise UsageError(f"the history ({store.where}) has no host {name!r}; {near(name, known)}")
    return name


def fact(store: Store, name: str, on: str | None = None, also: Iterable[str] = ()) -> str:
    """The name of a fact that the history knows, of host ``on`` or of any, or KEY; a family ends in a dot."""
    known = {KEY, *also}
    for each in [on] if on is not None else store.known_hosts():
        known |= set(store.current(each))
        if name in known:       # a fleet has the same facts everywhere: mostly the first host knows
            return name
    if name.endswith(".") and any(each.startswith(name) for each in known):
        return name
    where = f" of {on}" if on is not None else ""
    raise UsageError(f"the history ({store.where}) has no fact {name!r}{where}; {near(name, known)}")


def no_values(name: str, on: str, otherwise: str = "nothing") -> str:
    """What a list of the fact's values says where there is none."""
    if name != KEY:
        return otherwise
    return (f"{KEY} says who the box is; it is no fact that a box tells, so no values of it are kept.\nWhat is said of "
            f"it, and since when: tunecheck drift --host {on} --fact {KEY}; what it means: tunecheck explain {KEY}")


def group(store: Store, name: str) -> str:
    """The name of a group in the newest audit."""
    known = {state.group for state in store.hosts(store.audit().id)}
    if name not in known:
        raise UsageError(f"the newest audit has no group {name!r}; {near(name, known)}")
    return name


def check(name: str) -> bool:
    """Whether a check is called so."""
    from tunecheck.rules.index import BY_ID

    return name in BY_ID


def me() -> str:
    """Who runs this, for what is signed."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"
