"""One line each of what an operator has to know to trust the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from tunecheck.rules.codes import NOT_DECLARED
from tunecheck.util.text import some

from ..fleet_report import Note
from .identity import ask_no_more
from .not_judged import meaning
from .view import View
from .volatile import VolatileFact

__all__ = ["notes", "passed"]

_NAMED = 5
#: Facts that came back on the same hosts.
_FACTS = 3


def notes(view: View, volatile: Iterable[VolatileFact], back: Iterable[tuple[str, str]],
          unjudged: Mapping[tuple[str, str], str], about: str | None = None) -> Iterator[str]:
    """``unjudged``: (host, check) that found something before and has no say any more, with the code that says
    why. ``about``: of what came back, only what did on this host."""
    yield from view.notes
    audit, previous = view.audit, view.previous
    if previous is not None and (audit.rebaselined or audit.catalogue != previous.catalogue):
        yield (f"re-baselined: #{audit.id} reads facts by catalogue {audit.catalogue}, #{previous.id} by "
               f"{previous.catalogue}; what only reads otherwise is no drift")
    versions = Counter(host.tunecheck for host in view.hosts if host.answered and host.tunecheck)
    if len(versions) > 1:
        yield ("versions of tunecheck differ: " + ", ".join(
            f"{version[:40]} on {_hosts(count)}" for version, count in sorted(versions.items(), key=_most)[:_NAMED])
            + "; facts that only some of them tell are not compared")
    if audit.finished is None:
        yield f"#{audit.id} is not finished: hosts may follow"
    silent: dict[tuple[int, float | None], list[str]] = {}
    for host in view.hosts:
        if not host.answered and host.last_ok is not None:
            silent.setdefault((host.last_ok, host.last_ok_at), []).append(host.host)
    for (number, at), names in sorted(silent.items(), key=lambda item: item[0][0]):
        yield (f"{_listed(names)} did not answer: told as #{number} heard {'them' if len(names) > 1 else 'it'}, "
               f"{passed(audit.started - (at or audit.started))} before #{audit.id}")
    for event in sorted(view.events, key=lambda event: event.host):
        if event.kind == "renamed":
            yield f"{event.host} is the machine that was {event.other}"
    moved: dict[tuple[str, str], list[str]] = {}
    for move in view.regrouped:
        moved.setdefault((move.before, move.now), []).append(move.host)
    for (before, now), names in sorted(moved.items()):
        yield Note(f"{_listed(names)} {'is' if len(names) == 1 else 'are'} in group {now} now, before in {before}: "
                   f"compared with the hosts of {now} from here on", hosts=tuple(names))
    answered = {host.host: host.answered for host in view.hosts}
    for other, name in view.called_now.items():
        yield Note(f"{name} tells the machine id and board serial of {other}, which did not answer: most likely "
                   f"{other} is called {name} now (then ask for {other} no more: {ask_no_more(audit, [other])[0]}). "
                   "They are a clone if both answer", first=True)
    left = Counter((check, code) for (host, check), code in unjudged.items() if answered.get(host))
    for (check, code), count in sorted(left.items(), key=lambda item: (-item[1], item[0])):
        yield Note(f"{check} is not asked any more on {_hosts(count)}: no specification asks for it"
                   if code == NOT_DECLARED else f"{check} does not judge {_hosts(count)} now: "
                   f"{meaning(check, code)}", check)
    if view.in_change:
        yield f"in change: our own roles are at work on {_listed(sorted(view.in_change))}"
    for each in volatile:
        yield each.note
    since = f"#{previous.id}" if previous is not None else "the previous audit"
    yield from _came_back([each for each in back if about in (None, each[0])], since)


def _came_back(back: Iterable[tuple[str, str]], since: str) -> Iterator[Note]:
    """What did so on the same hosts in one line: a lost GPU that is back moved fifty facts."""
    swung: dict[str, list[str]] = {}
    for name, fact in back:
        swung.setdefault(fact, []).append(name)
    alike: dict[tuple[str, ...], list[str]] = {}
    for fact, names in sorted(swung.items()):
        alike.setdefault(tuple(sorted(names)), []).append(fact)
    for hosts, facts in sorted(alike.items(), key=lambda item: (-len(item[0]), item[1])):
        end = f"changed and came back since {since} on {_listed(list(hosts))}"
        first = facts[0] if len(facts) == 1 else f"{len(facts)} facts ({some(facts, _FACTS)})"
        yield Note(f"{first} {end}", *facts, hosts=hosts, parts=tuple(
            Note(f"{fact} {end}", fact, hosts=hosts) for fact in facts) if len(facts) > 1 else ())


def passed(seconds: float) -> str:
    """Between two audits."""
    return f"{seconds / 3600:.1f} h" if seconds >= 3600 else f"{seconds / 60:.0f} min" if seconds >= 90 else "a minute"


def _most(item: tuple[str, int]) -> tuple[int, str]:
    return -item[1], item[0]


def _hosts(count: int) -> str:
    return f"{count} host" + ("s" if count != 1 else "")


def _listed(names: list[str]) -> str:
    return some(names, _NAMED)
