"""Reads about tasks in uninterruptible sleep: lines of ps, and what /proc says of each. Pure, for any text."""

from __future__ import annotations

import re
from typing import List, Tuple

from ...util.at_first_use import dataclass, regex

__all__ = ["Task", "in_driver", "kill_pending", "looks_like_driver", "parse_ps", "state"]

#: Every thread, without the columns that make ps read a process's memory (and hang with it).

_LINE = regex(r"^\s*(\d{1,10})\s+(\d{1,10})\s+(\d{1,10})\s+(\S)\s+(.{1,64})$")
#: Symbols of the open modules 595 seen in stacks of hung tasks (evidence 10, 6.1), and the [module] mark of a frame.
_FRAME = regex(r"\[nvidia|\b(?:nvidia_|nvkms_|nv_|nvidia-|uvm_|rm_|_nv\d{6}rm|os_acquire_)")
_NAME = regex(r"nvidia|nv_|nvidia-|UVM |irq/\d+-(?:s-)?nvidia")


@dataclass(frozen=True)
class Task:
    """One task. ``thread`` is the task's own id, ``pid`` that of its process. ``kernel``: it is a kernel thread."""

    pid: int
    thread: int
    name: str
    kernel: bool


def parse_ps(text: str) -> Tuple[List[Task], List[Task], bool]:
    """Return the tasks in state D, the processes in state Z, and whether pid 1 is in the list. With hidepid the list
    holds only the user's own processes."""
    stuck: List[Task] = []
    dead: List[Task] = []
    init = False
    for line in text.splitlines():
        found = _LINE.match(line)
        if found is None:
            continue
        pid, parent, thread = int(found[1]), int(found[2]), int(found[3])
        init = init or pid == 1
        if found[4] in "DZ":
            name = "".join(char if char.isprintable() else "?" for char in found[5].strip())
            (stuck if found[4] == "D" else dead).append(Task(pid, thread, name, 2 in (pid, parent)))
    return stuck, dead, init


def looks_like_driver(name: str) -> bool:
    """Return whether a task's name is one of the driver's own threads or tools."""
    return bool(_NAME.match(name))


def in_driver(frames: str) -> bool:
    """Return whether a stack (/proc/<pid>/stack) or a wait channel is in the NVIDIA driver."""
    return bool(_FRAME.search(frames[:65536]))


def state(status: str) -> str:
    """Return the letter of ``State:`` in /proc/<pid>/status. ValueError where there is none."""
    found = re.search(r"^State:\s*(\S)", status, re.MULTILINE)
    if found is None:
        raise ValueError("no State line")
    return found[1]


def kill_pending(status: str) -> bool:
    """Return whether SIGKILL (9: bit 8) waits, for the thread (SigPnd) or its process (ShdPnd)."""
    masks = re.findall(r"^(?:SigPnd|ShdPnd):\s*([0-9a-f]{1,32})$", status[:65536], re.MULTILINE)
    return any(int(mask, 16) & 0x100 for mask in masks)
