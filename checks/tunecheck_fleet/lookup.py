"""Names that an operator types: that host, that fact, that group; and what was probably meant."""

from __future__ import annotations

import getpass
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from tunecheck.errors import Misuse, UsageError
from tunecheck.util.suggestions import did_you_mean, nearest
from tunecheck.util.text import some

from .own_command import own_command

if TYPE_CHECKING:
    from .store import Store

__all__ = ["KEY", "PRESENCE", "check", "fact", "group", "host", "known_from", "me", "near", "never_answered",
           "no_values", "waivable"]

_LISTED = 10
#: Of two names that are one but for a slip, so much is alike; driver.flavour and driver.version have less in common.
_SLIP = 0.85
_FACTS = "docs/facts.md says what each is"
#: What reports call who a box is. No box tells it as a fact, so no history of values has it.
KEY = "host.key"
#: What the history tells of the host itself, which no box tells as a fact.
PRESENCE = ("host.answer", "host.name", "host.group", KEY, "host.incident", "host.shared", "host.")


def near(name: str, known: Iterable[str]) -> str:
    """"did you mean gpu1?", or the first names there are."""
    names = sorted(known)
    low = name.lower().replace("_", "-")
    same = [each for each in names if each.lower().replace("_", "-") == low]
    holding = [each for each in names if low in each.lower().replace("_", "-")] if len(low) > 2 else []
    found = same or holding[:3] or nearest(name, names, 3)
    if found:
        return did_you_mean(found)
    if not names:
        return "none is known"
    return f"known are {', '.join(names[:_LISTED])}{' ...' if len(names) > _LISTED else ''}"


def host(store: Store, name: str) -> str:
    """The name, where the history knows it."""
    known = store.known_hosts()
    if name not in known:
        raise UsageError(f"the history ({store.where}) has no host {name!r}; "
                         f"{_renamed(store, name) or near(name, known)}", Misuse.NO_SUCH)
    return name


def _renamed(store: Store, name: str) -> str:
    """"gpu05 is gpu15 since #3": of the machine that had the name last; "" where none that had it has another one."""
    events = store.identity_events(None, store.audits(1)[-1].id)
    event = max((each for each in events if each.kind == "renamed" and each.other == name),
                key=lambda each: each.audit, default=None)
    return "" if event is None else f"{name} is {event.host} since #{event.audit}: ask for {event.host}"


def fact(store: Store, name: str, on: str | None = None, also: Iterable[str] = ()) -> str:
    """The name of a fact that the history knows, of host ``on`` or of any, or KEY; a family ends in a dot."""
    known = {KEY, *also}
    for each in [on] if on is not None else store.known_hosts():
        known |= set(store.current(each))
        if name in known:       # a fleet has the same facts everywhere: mostly the first host knows
            return name
    if name.endswith(".") and any(each.startswith(name) for each in known):
        return name
    if check(name):
        how = own_command("history --host {host} --fact {fact}", host=on or "HOST", fact=name)
        raise UsageError(f"{name} is a check, and no fact of which values are kept; what it found, and from when until "
                         f"when: {how}", Misuse.NO_SUCH)
    where = f" of {on}" if on is not None else ""
    meant = _fact_meant(name, known) if len(known) > 1 or on is None else f"{on} {never_answered(store, on)}"
    raise UsageError(f"the history ({store.where}) has no fact {name!r}{where}; {meant}", Misuse.NO_SUCH)


def _fact_meant(name: str, known: Iterable[str]) -> str:
    """Where a name is no fact: the family that was named without its dot, the fact with a slip in it, or those of the
    same family; and which page tells of all."""
    facts = sorted(known)
    family = f"{name}."
    if any(each.startswith(family) for each in facts):
        return f"{family} means all of that family: {some(_members(family, facts), _LISTED, ', ')}; {_FACTS}"
    low = name.lower().replace("_", "-")
    if slip := [each for each in facts if each.lower().replace("_", "-") == low] or nearest(name, facts, 3, _SLIP):
        return f"{did_you_mean(slip)} ({_FACTS})"
    if "." in name:
        family, word = name.rsplit(".", 1)
        family += "."
        if members := _members(family, facts):
            members.sort(key=lambda each: (not _tells_of(each, word), each.endswith(".")))
            return f"of the same family: {some(members, _LISTED, ', ')} ({family} means all of them); {_FACTS}"
    holding = [each for each in facts if len(low) > 2 and low in each.lower().replace("_", "-")][:3]
    if found := holding or nearest(name, facts, 3):
        return f"{did_you_mean(found)} ({_FACTS})"
    return f"facts and families are: {', '.join(_members('', facts))}; {_FACTS}" if facts else "none is known"


def _members(family: str, facts: Iterable[str]) -> list[str]:
    """The facts of a family; of a family below it that has several, its beginning alone."""
    below: dict[str, list[str]] = {}
    for each in facts:
        if each.startswith(family):
            word, dot, _ = each[len(family):].partition(".")
            below.setdefault(f"{family}{word}{dot}", []).append(each)
    return [each if len(names) > 1 else names[0] for each, names in below.items()]


def _tells_of(name: str, word: str) -> bool:
    """Whether the registry says this word of the fact: "version of the loaded kernel module"."""
    from tunecheck.facts.registry import entry_of

    entry = entry_of(name)
    return entry is not None and word.lower() in entry.summary.lower().split()


def no_values(name: str, on: str, otherwise: str = "nothing") -> str:
    """What a list of the fact's values says where there is none."""
    if name != KEY:
        return otherwise
    return (f"{KEY} says who the box is; no other machine ever had this name, so it has no history.\nWhat is said of "
            f"it, and since when: {own_command('drift --host {host} --fact {fact}', host=on, fact=KEY)}; what it "
            f"means: tunecheck explain {KEY}")


def known_from(store: Store, name: str) -> int:
    """The audit that heard the host first; 0: none did."""
    return min((span.since.seen for span in store.presence(name)
                if span.fact == "host.answer" and span.value in ("ok", "partial")), default=0)


def never_answered(store: Store, on: str) -> str:
    """"never answered yet (#3: No route to host)" of a host that no audit ever heard."""
    from .which_audit import newest_with

    number = store.audit(newest_with(store, on)).id
    state = next((each for each in store.hosts(number, only=[on], bare=True)), None)
    why = "" if state is None else f" (#{number}: {state.reason or state.status})"
    return f"never answered yet{why}"


def group(store: Store, name: str) -> str:
    """The name of a group in the newest audit of an inventory."""
    from .which_audit import groups_now

    known = groups_now(store)
    if name not in known:
        raise UsageError(f"no newest audit of an inventory has a group {name!r}; {near(name, known)}", Misuse.NO_SUCH)
    return name


def check(name: str) -> bool:
    """Whether a check is called so."""
    from tunecheck.rules.index import BY_ID

    return name in BY_ID


#: Codes are words with dashes; what a finding is about (an address, GPU0, a parameter) mostly is not.
_CODE = re.compile(r"[a-z][a-z0-9-]*")


def waivable(store: Store, name: str) -> str:
    """The name of what a waiver is about: CHECK, CHECK/CODE, CHECK/SUBJECT or a fact. UsageError for any other, with
    the checks and codes that may be meant, before the facts."""
    from tunecheck.rules.codes import COMMON
    from tunecheck.rules.index import BY_ID

    about, slash, which = name.partition("/")
    if about in BY_ID:
        codes = BY_ID[about].codes
        own = [code for code in codes if code not in COMMON]
        if slash and _CODE.fullmatch(which) and _numberless(which) not in codes \
                and which not in {each.subject for each in store.problems_since(checks={about})}:
            meant = near(which, nearest(which, codes, 3) or own)
            raise UsageError(f"{about} has no code {which!r}, and no open finding about that; {meant}; what "
                             f"each means: tunecheck explain {about}", Misuse.NO_SUCH)
        return name
    if slash:
        raise UsageError(f"no check is called {about!r}; {near(about, BY_ID)}", Misuse.NO_SUCH)
    if "." in name:
        return fact(store, name)
    known = {each for host_ in store.known_hosts() for each in store.current(host_)}
    if name in known:
        return name
    meant = _fact_meant(name, known) if any(each.startswith(f"{name}.") for each in known) else _meant(name, known)
    raise UsageError(f"no check, code or fact is called {name!r}; {meant}", Misuse.NO_SUCH)


def _meant(name: str, facts: Iterable[str]) -> str:
    """What may be meant by a word that is neither a check nor a fact: a code, to be named with its check, else what
    looks like it."""
    from tunecheck.rules.codes import COMMON
    from tunecheck.rules.index import BY_ID

    word = name.lower().replace("_", "-")
    by_code: dict[str, list[str]] = {}
    for each in BY_ID.values():
        for code in each.codes:
            if code not in COMMON or code == word:
                by_code.setdefault(code, []).append(f"{each.id}/{code}")
    if _numberless(word) in by_code:
        found = [f"{each.partition('/')[0]}/{word}" for each in by_code[_numberless(word)]]
    else:
        found = nearest(word, BY_ID, 3, 0.7)
        found += [each for code in nearest(word, by_code, 3, 0.7) for each in by_code[code]]
        found += nearest(name, facts, 2, 0.7)
    return did_you_mean(found[:4]) if found else \
        "`tunecheck checks` lists the checks, `tunecheck explain CHECK` a check's codes, docs/facts.md the facts"


def _numberless(code: str) -> str:
    """``xid-N`` for ``xid-79``: how a check declares it."""
    return re.sub(r"^(s?xid)-\d+$", r"\1-N", code)


def me() -> str:
    """Who runs this, for what is signed."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"
