"""registry-dwords: every word of NVreg_RegistryDwords does what it seems to."""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.kernel.modules import LOADED
from ...model.finding import Finding, Remedy
from ...parsers.nvidia.registry_dwords import Problem, problems, words
from ..check import DRIVER, Check, Family, Heading
from ..context import Case
from . import from_driver

CHECK = Check(
    "registry-dwords", "every word of RegistryDwords does what it seems to",
    Heading.DRIVER, 130, Family.DRIVER, DRIVER, judges=("driver.registry_dwords", "driver.registry_dwords_next"),
)
_ID = CHECK.id


def judge(case: Case) -> Iterator[Finding]:
    if early := list(from_driver.nothing(case, _ID)):
        yield from early
        return
    found = case.host.registry_dwords
    wrong: dict[Problem, list[str]] = {}
    for place, fact in found.items():
        for problem in problems(fact.value or ""):
            wrong.setdefault(problem, []).append(place)
    for (word, text, remedy, _), places in wrong.items():
        yield Finding(_ID, word, "warn", "configured", f"{word} ({', '.join(places)}) {text}", word, "",
                      tuple(places), Remedy(remedy))
    # What the driver runs with outranks modprobe.d, which a posted report mostly lacks.
    if not found[LOADED].known:
        yield from_driver.unread(_ID, LOADED, "what the driver runs with", found[LOADED])
    elif not wrong:
        count = len(words(found[LOADED].value or ""))
        yield Finding(_ID, "nvidia", "pass" if count else "skip", "effective", f"all {count} words of RegistryDwords "
                      "are keys or parameters of the driver" if count else "NVreg_RegistryDwords is not set")
