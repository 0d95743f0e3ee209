"""Errors of the host's memory and processors, and processes killed for want of memory, as the kernel log tells them.

Texts of drivers/edac/edac_mc.c ("EDAC MC0: 1 UE on ..."), arch/x86/kernel/cpu/mce/core.c ("CPU 3: Machine Check: 0 Bank
5: bea0000000000108", "Machine Check Exception"), and mm/oom_kill.c. Pure, never fails.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import Dict, Optional, Tuple

from ...util.at_first_use import dataclass, regex
from ..text.log_lines import Line

__all__ = ["HostError", "MemoryErrors"]

_EDAC = regex(r"EDAC (?P<where>[A-Za-z_-]{1,20} ?\d{0,4}): (?:(?P<count>\d{1,9}) )?(?P<kind>UE|CE)\b")
_MCE = regex(r"(?:mce: )?\[Hardware Error\]: (?P<where>CPU \d{1,5}): Machine Check(?: Exception)?: [0-9a-f]{1,4} "
             r"Bank (?P<bank>\d{1,4}): (?P<status>[0-9a-f]{16})")
_OOM = regex(r"(?P<limit>Memory cgroup out|Out) of memory(?: \([a-z_ ]{1,40}\))?: Kill(?:ed)? process "
             r"(?P<pid>\d{1,10}),? \((?P<name>[^)\n]{1,64})\)")
#: MCi_STATUS: bit 61 says that the error was not corrected (Intel's and AMD's manuals).
_UNCORRECTED = 1 << 61
_MOST = 512
_TEXT = 200


@dataclass(frozen=True)
class HostError:
    """All messages of one ``kind`` ("uncorrected", "corrected", "out of memory", "memory limit") about one place: a
    memory controller, a processor's bank, or the name of the process that was killed: by the host's need, or by the
    limit of its own cgroup, as a container's is. ``text``: the last one."""

    kind: str
    where: str
    count: int
    last: str
    text: str


@dataclass
class MemoryErrors:
    """Collects them line by line."""

    _found: Dict[Tuple[str, str], HostError] = field(default_factory=dict)

    def feed(self, line: Line) -> bool:
        """Take one message in. Return whether it was such an error."""
        told = _read(line.text)
        if told is None:
            return False
        kind, where, count = told
        known = self._found.get((kind, where))
        text = line.text[:_TEXT].strip()
        if known is not None:
            self._found[kind, where] = replace(known, count=known.count + count * line.count, last=line.when, text=text)
        elif len(self._found) < _MOST:
            self._found[kind, where] = HostError(kind, where, count * line.count, line.when, text)
        return True

    def result(self) -> Tuple[HostError, ...]:
        """Return all of them, in the order of first appearance."""
        return tuple(self._found.values())


def _read(text: str) -> Optional[Tuple[str, str, int]]:
    if text.startswith("EDAC "):
        found = _EDAC.match(text)
        return ("uncorrected" if found["kind"] == "UE" else "corrected", found["where"],
                max(1, int(found["count"] or 1))) if found else None
    found = _MCE.match(text)
    if found:
        lost = bool(int(found["status"], 16) & _UNCORRECTED)
        return ("uncorrected" if lost else "corrected"), f"{found['where']} bank {found['bank']}", 1
    found = _OOM.match(text)
    if not found:
        return None
    return "out of memory" if found["limit"] == "Out" else "memory limit", found["name"], 1
