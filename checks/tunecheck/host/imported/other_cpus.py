"""Finds texts of two machines by their CPUs: the kernel log names the model of the first one and how many there can be,
and lscpu shows the same on the same machine."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ...util.at_first_use import regex

if TYPE_CHECKING:
    from .texts import Texts

__all__ = ["other_cpus"]

_DMESG = ("dmesg",)
_BOOT = "Linux version "
#: arch/x86/kernel/cpu/common.c print_cpu_info(): the maker's name, where the model does not have it, and the model.
_FIRST = regex(r"smpboot: CPU0: (\S[^\n]{0,120}?) \(family: 0x")
#: mm/percpu.c setup_per_cpu_areas(): no CPU has a higher number in this boot.
_POSSIBLE = regex(r"setup_percpu: [^\n]{0,80}\bnr_cpu_ids:(\d{1,5})\b")
_MODEL = regex(r"^Model name:[ \t]+(\S[^\n]{0,120}?)[ \t]*\n", re.MULTILINE)


def other_cpus(texts: Texts) -> str | None:
    """Return a sentence where lscpu shows another model of CPU than the log of the last boot, or a CPU of a higher
    number than there can be in it; else None."""
    _, _, boot = texts.runs.get(_DMESG, "").rpartition(_BOOT)
    first, possible = _FIRST.search(boot), _POSSIBLE.search(boot)
    for text in texts.answers.get("lscpu", ()) if first or possible else ():
        from ...parsers.kernel.lscpu import parse_lscpu  # start-up time

        model = _MODEL.search(text)
        if model and first and " ".join(model[1].split()) not in " ".join(first[1].split()):
            return f"lscpu shows the CPU {model[1]}, and the kernel log {first[1]}"
        whole = text if text.endswith("\n") else text[:text.rfind("\n") + 1]
        online = parse_lscpu(whole).online or ()
        if possible and online and max(online) >= int(possible[1]):
            return f"lscpu shows CPU {max(online)}, and the kernel log has {possible[1]} CPUs at most"
    return None
