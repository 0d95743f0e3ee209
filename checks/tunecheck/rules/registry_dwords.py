"""registry-dwords: every word of NVreg_RegistryDwords does what it seems to."""

from __future__ import annotations

from collections.abc import Iterator

from ..formats.registry_dwords import problems, words
from . import from_driver
from .finding import Case, Finding, Remedy

_ID = "registry-dwords"


def judge(case: Case) -> Iterator[Finding]:
    if early := list(from_driver.nothing(case, _ID)):
        yield from early
        return
    wrong: dict[tuple[str, str, str], list[str]] = {}
    seen = 0
    for place, fact in case.host.registry_dwords.items():
        if fact.value is None and not fact.missing:
            yield from_driver.unread(_ID, place, place, fact)
        seen += len(words(fact.value or ""))
        for problem in problems(fact.value or ""):
            wrong.setdefault(problem, []).append(place)
    for (word, text, remedy), places in wrong.items():
        yield Finding(_ID, word, "warn", "configured", f"{word} ({', '.join(places)}) {text}", word, "",
                      tuple(places), Remedy(remedy))
    if not wrong and all(fact.known or fact.missing for fact in case.host.registry_dwords.values()):
        yield Finding(_ID, "nvidia", "pass" if seen else "skip", "configured", f"all {seen} words of RegistryDwords "
                      "are keys of the driver" if seen else "NVreg_RegistryDwords is not set")
