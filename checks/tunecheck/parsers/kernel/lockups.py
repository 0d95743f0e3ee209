"""CPUs that got stuck in the kernel: soft lockups, hard ones, and those that held up RCU. Pure, never fails.

Texts of kernel/watchdog.c, with "watchdog: " in front since 4.19 and "NMI watchdog: " before, and of
kernel/rcu/tree_stall.h and tree_exp.h, with "rcu: " in front since 4.20.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import Dict, List, Optional, Tuple

from ...util.at_first_use import dataclass, regex
from ..text.log_lines import Line

__all__ = ["Lockup", "Lockups"]

_FRONT = r"(?:NMI )?(?:watchdog: )?"
_SOFT = regex(_FRONT + r"BUG: soft lockup - CPU#(\d{1,5}) stuck for (\d{1,9})s! \[(.{0,64}):(\d{1,10})\]")
_HARD = regex(_FRONT + r"(?:CPU\d{1,5}: )?Watchdog detected hard LOCKUP on cpu (\d{1,5})")
#: "rcu_sched self-detected stall on CPU", "rcu_preempt detected stalls on CPUs/tasks:", "... expedited stalls ...
#: { 3-.... } 21002 jiffies"; up to 3.x the CPUs stand in the same line: "{ 13}  (t=15000 jiffies".
_STALL = regex(r"(?:rcu: )?INFO: rcu\w{0,30} (?:self-)?detected (?:expedited )?stalls? on (?:CPU|tasks)\S{0,8}"
               r"(?: (\d{1,5})\b)?(?: ?\{([^}]{0,400})\})?")
#: Below it each CPU has a line: "13-....: (14999 ticks this GP) idle=..."
_STALLED = regex(r"(?:rcu: )?(?:\s|#011){0,9}(\d{1,5})-[.!A-Za-z0-9]{3,4}: \(")
_IN_BRACES = regex(r"(?:^|\s)(\d{1,5})(?:-[.!A-Za-z0-9]{3,4})?(?=\s|$)")
_JIFFIES = regex(r"(?:\bt=|\} )(\d{1,9}) jiffies")
_DRIVER_TASK = regex(r"nvidia|nv_queue|nv_open|UVM |irq/\d+-(?:s-)?nvidia")
_MOST = 512
#: A CPU, and "soft", "hard" or "rcu".
_Key = Tuple[int, str]
#: Lines in which the stack follows.
_STACK = 64


@dataclass(frozen=True)
class Lockup:
    """All messages about one CPU. ``hard``: not even interrupts came through; ``seconds`` is the longest of a soft one,
    ``task`` who ran ("python3 (pid 12)", "" of a hard one); ``in_driver``: the NVIDIA driver is in its stack or its
    name. ``rcu``: RCU waited for this CPU, for ``jiffies`` at most (0: not told); ``cpu`` is -1 where no line names
    it."""

    cpu: int
    hard: bool
    seconds: int
    task: str
    count: int
    last: str
    in_driver: bool
    rcu: bool = False
    jiffies: int = 0


@dataclass
class Lockups:
    """Collects the lockups of a log line by line."""

    _found: Dict[_Key, Lockup] = field(default_factory=dict)
    _open: Optional[Tuple[_Key, int]] = None        # whose stack may follow, up to this line
    _waits: int = -1                                # RCU's list of CPUs may follow, up to this line
    _listed: List[_Key] = field(default_factory=list)

    def feed(self, line: Line) -> bool:
        """Take one message in. Return whether it was a lockup or the driver in the stack of one."""
        soft = _SOFT.match(line.text)
        hard = None if soft else _HARD.match(line.text)
        if soft:
            self._add((int(soft[1]), "soft"), line, int(soft[2]), f"{soft[3]} (pid {soft[4]})",
                      _DRIVER_TASK.match(soft[3]) is not None)
        elif hard:
            self._add((int(hard[1]), "hard"), line, 0, "", False)
        elif self._open and line.number <= self._open[1] and "[nvidia" in line.text:
            for key in {self._open[0], *(self._listed if self._open[0] in self._listed else ())}:
                self._found[key] = replace(self._found[key], in_driver=True)
        else:
            return self._stall(line)
        return True

    def result(self) -> Tuple[Lockup, ...]:
        """Return all lockups, in the order of first appearance."""
        return tuple(self._found.values())

    def _stall(self, line: Line) -> bool:
        head = _STALL.match(line.text)
        if head:
            named = [head[1]] if head[1] else _IN_BRACES.findall(head[2] or "")
            self._waits, self._listed = -1 if named else line.number + _STACK, []
            for cpu in named[:_MOST] or ["-1"]:
                self._add((int(cpu), "rcu"), line, 0, "", False)
            self._lasted(line)
            return True
        listed = _STALLED.match(line.text) if line.number <= self._waits else None
        if listed:
            self._forget()
            self._add((int(listed[1]), "rcu"), line, 0, "", False)
        return (listed is not None) or self._lasted(line)

    def _forget(self) -> None:
        """Take back the stall of a CPU that no line named: this line does."""
        key: _Key = (-1, "rcu")
        if key in self._listed:
            self._listed.remove(key)
            known = self._found.pop(key)
            if known.count > 1:
                self._found[key] = replace(known, count=known.count - 1)

    def _lasted(self, line: Line) -> bool:
        near = self._open is not None and line.number <= self._open[1]
        found = _JIFFIES.search(line.text) if near and self._listed else None
        for key in self._listed if found else ():
            known = self._found[key]
            self._found[key] = replace(known, jiffies=max(known.jiffies, int(found[1]) if found else 0))
        return found is not None

    def _add(self, key: _Key, line: Line, seconds: int, task: str, in_driver: bool) -> None:
        known = self._found.get(key)
        if known is None and len(self._found) >= _MOST:
            self._open = None
            return
        before, longest, stuck = (known.count, known.seconds, known.in_driver) if known else (0, 0, False)
        self._found[key] = Lockup(key[0], key[1] == "hard", max(seconds, longest), task, before + 1, line.when,
                                  in_driver or stuck, key[1] == "rcu", known.jiffies if known else 0)
        self._open = (key, line.number + _STACK)
        if key[1] == "rcu":
            self._listed.append(key)
        else:
            self._listed = []
