"""CPUs that got stuck in the kernel: soft lockups and hard ones. Pure, never fails.

Texts of kernel/watchdog.c, with "watchdog: " in front since 4.19 and "NMI watchdog: " before.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import Dict, Optional, Tuple

from ...util.at_first_use import dataclass, regex
from ..text.log_lines import Line

__all__ = ["Lockup", "Lockups"]

_FRONT = r"(?:NMI )?(?:watchdog: )?"
_SOFT = regex(_FRONT + r"BUG: soft lockup - CPU#(\d{1,5}) stuck for (\d{1,9})s! \[(.{0,64}):(\d{1,10})\]")
_HARD = regex(_FRONT + r"(?:CPU\d{1,5}: )?Watchdog detected hard LOCKUP on cpu (\d{1,5})")
_DRIVER_TASK = regex(r"nvidia|nv_queue|nv_open|UVM |irq/\d+-(?:s-)?nvidia")
_MOST = 512
#: Lines in which the stack follows.
_STACK = 64


@dataclass(frozen=True)
class Lockup:
    """All messages about one CPU. ``hard``: not even interrupts came through; ``seconds`` is the longest of a soft one,
    ``task`` who ran ("python3 (pid 12)", "" of a hard one); ``in_driver``: the NVIDIA driver is in its stack or its
    name."""

    cpu: int
    hard: bool
    seconds: int
    task: str
    count: int
    last: str
    in_driver: bool


@dataclass
class Lockups:
    """Collects the lockups of a log line by line."""

    _found: Dict[Tuple[int, bool], Lockup] = field(default_factory=dict)
    _open: Optional[Tuple[Tuple[int, bool], int]] = None    # whose stack may follow, up to this line

    def feed(self, line: Line) -> bool:
        """Take one message in. Return whether it was a lockup or the driver in the stack of one."""
        soft = _SOFT.match(line.text)
        hard = None if soft else _HARD.match(line.text)
        if soft:
            self._add((int(soft[1]), False), line, int(soft[2]), f"{soft[3]} (pid {soft[4]})",
                      _DRIVER_TASK.match(soft[3]) is not None)
        elif hard:
            self._add((int(hard[1]), True), line, 0, "", False)
        elif self._open and line.number <= self._open[1] and "[nvidia" in line.text:
            self._found[self._open[0]] = replace(self._found[self._open[0]], in_driver=True)
        else:
            return False
        return True

    def result(self) -> Tuple[Lockup, ...]:
        """Return all lockups, in the order of first appearance."""
        return tuple(self._found.values())

    def _add(self, key: Tuple[int, bool], line: Line, seconds: int, task: str, in_driver: bool) -> None:
        known = self._found.get(key)
        if known is None and len(self._found) >= _MOST:
            self._open = None
            return
        before, longest, stuck = (known.count, known.seconds, known.in_driver) if known else (0, 0, False)
        self._found[key] = Lockup(*key, max(seconds, longest), task, before + 1, line.when, in_driver or stuck)
        self._open = (key, line.number + _STACK)
