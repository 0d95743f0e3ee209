"""init-on-alloc: the kernel zeroes memory that it hands out, or does not, as the declared command line asks."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding
from ..check import Check, Family, Heading
from ..codes import LOG_UNREAD, NOT_DECLARED
from ..context import Case
from ..remedies import boot_remedies

CHECK = Check(
    "init-on-alloc", "memory is zeroed, or not, as declared",
    Heading.SYSTEM, 70, Family.CPU, compares=("kernel.cmdline.init_on_alloc",),
)
CODES = {
    "not-in-log": "The kernel log does not hold the line that says whether memory is zeroed.",
    "differs": "The kernel does not do what the declared init_on_alloc asks for.",
}
_ID = CHECK.id
_STATES = {"1": True, "y": True, "on": True, "0": False, "n": False, "off": False}


def judge(case: Case) -> Iterator[Finding]:
    word = next((each for each in reversed(case.spec.kernel.cmdline) if each.startswith("init_on_alloc=")), "")
    wanted, log = _STATES.get(word.partition("=")[2].lower()), case.host.kernel.log
    zeroes = log.value.boot.heap_alloc if log.value else None
    state = "" if zeroes is None else f"the kernel {'zeroes' if zeroes else 'does not zero'} memory that it hands out"
    if wanted is None:
        yield Finding(_ID, NOT_DECLARED, "memory", "skip", "declared", "the spec asks for no init_on_alloc"
                      + (f"; {state}" if state else ""))
    elif zeroes is None:
        code, why = ((LOG_UNREAD, log.why()) if log.value is None else
                     ("not-in-log", "the kernel's line about it (mem auto-init) is not in its log"))
        yield Finding(_ID, code, "memory", "unknown", "effective", f"whether memory is zeroed is unknown: {why}", "?",
                      word)
    else:
        good = zeroes == wanted
        code, outcome = ("ok", "pass") if good else ("differs", "fail")
        yield Finding(_ID, code, "memory", outcome, "effective", state, "on" if zeroes else "off", word,
                      (f"{log.source}: mem auto-init",),
                      None if good else boot_remedies.without_effect(case, word, '"mem auto-init"') or
                      case.play("cmdline", True, by_hand=boot_remedies.add(case, [word])))
