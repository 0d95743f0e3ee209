"""init-on-alloc: the kernel zeroes memory that it hands out, or does not, as the declared command line asks."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding
from ..boot import boot_remedies
from ..check import Check, Family, Heading
from ..context import Case

CHECK = Check(
    "init-on-alloc", "memory is zeroed, or not, as declared",
    Heading.SYSTEM, 70, Family.CPU,
)
_ID = CHECK.id
_STATES = {"1": True, "y": True, "on": True, "0": False, "n": False, "off": False}


def judge(case: Case) -> Iterator[Finding]:
    word = next((each for each in reversed(case.spec.kernel.cmdline) if each.startswith("init_on_alloc=")), "")
    wanted, log = _STATES.get(word.partition("=")[2].lower()), case.host.kernel.log
    found = log.value.boot.heap_alloc if log.value else None
    seen = "" if found is None else f"the kernel {'zeroes' if found else 'does not zero'} memory that it hands out"
    if wanted is None:
        yield Finding(_ID, "memory", "skip", "declared", "the spec asks for no init_on_alloc"
                      + (f"; {seen}" if seen else ""))
    elif found is None:
        why = log.why() if log.value is None else "the kernel's line about it (mem auto-init) is not in its log"
        yield Finding(_ID, "memory", "unknown", "effective", f"whether memory is zeroed is unknown: {why}", "?", word)
    else:
        good = found == wanted
        yield Finding(_ID, "memory", "pass" if good else "fail", "effective", seen, "on" if found else "off", word,
                      (f"{log.source}: mem auto-init",),
                      None if good else case.play("cmdline", True, by_hand=boot_remedies.add(word)))
