"""registry-dwords: every word of NVreg_RegistryDwords does what it seems to."""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.kernel.modules import LOADED
from ...model.finding import Finding, Remedy
from ...parsers.nvidia.registry_dwords import Problem, problems, words
from ..check import DRIVER, Check, Family, Heading
from ..codes import OK
from ..context import Case
from ..nvidia import from_driver

CHECK = Check(
    "registry-dwords", "every word of RegistryDwords does what it seems to",
    Heading.DRIVER, 130, Family.DRIVER, DRIVER, judges=("driver.registry_dwords", "driver.registry_dwords_next"),
)
_ID = CHECK.id
CODES = {
    "word-without-effect": "A word of RegistryDwords does not do what it seems to.",
    "word-doubtful": "A word of RegistryDwords works at a price, or is a key that the open modules do not name.",
    "no-word": "NVreg_RegistryDwords is not set.",
}


def judge(case: Case) -> Iterator[Finding]:
    if early := list(from_driver.nothing(case, _ID)):
        yield from early
        return
    dwords = case.host.registry_dwords
    wrong: dict[Problem, list[str]] = {}
    for place, fact in dwords.items():
        for problem in problems(fact.value or ""):
            wrong.setdefault(problem, []).append(place)
    for (word, text, remedy, sure), places in wrong.items():
        yield Finding(_ID, "word-without-effect" if sure else "word-doubtful", word, "warn", "configured",
                      f"{word} ({', '.join(places)}) {text}", word, "",
                      tuple(places), Remedy(remedy))
    # What the driver runs with outranks modprobe.d, which a posted report mostly lacks.
    if not dwords[LOADED].known:
        yield from_driver.unread(_ID, LOADED, "what the driver runs with", dwords[LOADED])
    elif not wrong:
        count = len(words(dwords[LOADED].value or ""))
        yield Finding(_ID, OK if count else "no-word", "nvidia", "pass" if count else "skip", "effective",
                      f"all {count} words of RegistryDwords "
                      "are keys or parameters of the driver" if count else "NVreg_RegistryDwords is not set")
