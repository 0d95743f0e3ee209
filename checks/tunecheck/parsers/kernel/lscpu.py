"""``lscpu`` and ``numactl -H`` as people paste them: threads, sockets, NUMA nodes. Only in English."""

from __future__ import annotations

import re
from dataclasses import field
from typing import Dict, Optional, Tuple

from ...util.at_first_use import dataclass, regex
from .cpulist import parse

__all__ = ["Lscpu", "Numactl", "parse_lscpu", "parse_numactl"]

_FIELD = regex(r"^[ \t]{0,8}([A-Za-z][^:\n]{0,60}):[ \t]+(\S[^\n]{0,4000})$", re.MULTILINE)
_NODE = regex(r"NUMA node(\d{1,4}) CPU\(s\)\Z")
#: A node without CPUs, as of GPU memory on Grace: nothing stands behind the colon.
_BARE = regex(r"^[ \t]{0,8}NUMA node(\d{1,4}) CPU\(s\):[ \t]*$", re.MULTILINE)
_NODES = regex(r"^available: (\d{1,4}) nodes?(?: \(([\d,-]{1,400})\))?", re.MULTILINE)
_NODE_LINE = regex(r"^node (\d{1,4}) (cpus|size):[ \t]*([^\n]{0,80000})$", re.MULTILINE)


@dataclass
class Lscpu:
    """What lscpu says; a field is None, or empty, where the text did not have it or it was not understood. ``count`` is
    the number of NUMA nodes by the line that says so; ``nodes`` are those that have a line of their own, also without
    CPUs."""

    online: Optional[Tuple[int, ...]] = None
    present: Optional[Tuple[int, ...]] = None
    threads_per_core: Optional[int] = None
    sockets: Optional[int] = None
    count: Optional[int] = None
    nodes: Dict[int, Tuple[int, ...]] = field(default_factory=dict)


@dataclass
class Numactl:
    """What numactl -H says. ``online`` lists the nodes; ``memory`` maps nodes to MB."""

    online: Tuple[int, ...] = ()
    nodes: Dict[int, Tuple[int, ...]] = field(default_factory=dict)
    memory: Dict[int, int] = field(default_factory=dict)


def parse_lscpu(text: str) -> Lscpu:
    """Read the output of lscpu. The answer is empty where the text holds none."""
    values: Dict[str, str] = {}
    for name, value in _FIELD.findall(text):
        values.setdefault(name, value.strip())
    found = Lscpu(_list(values.get("On-line CPU(s) list")), None, _number(values.get("Thread(s) per core")),
                  _number(values.get("Socket(s)")), _number(values.get("NUMA node(s)")))
    offline = _list(values.get("Off-line CPU(s) list"))
    if found.online and offline is not None:
        found.present = tuple(sorted({*found.online, *offline}))
    elif found.online and _number(values.get("CPU(s)")) == len(found.online):
        found.present = found.online        # the list of those that are off is only printed where there are any
    for name, value in values.items():
        node = _NODE.match(name)
        cpus = _list(value) if node else None
        if node and cpus is not None:
            found.nodes[int(node.group(1))] = cpus
    listed = {cpu for cpus in found.nodes.values() for cpu in cpus}
    if found.online is not None and listed >= set(found.online):
        # Else a CPU is on none of the others: the end of this one's line is gone.
        for number in _BARE.findall(text):
            found.nodes.setdefault(int(number), ())
    return found


def parse_numactl(text: str) -> Numactl:
    """Read the output of numactl -H. The answer is empty where the text holds none."""
    head = _NODES.search(text)
    if head is None:
        return Numactl()
    found = Numactl(_list(head.group(2)) or tuple(range(int(head.group(1)))))
    for number, kind, value in _NODE_LINE.findall(text):
        if kind == "cpus":
            cpus = _list(",".join(value.split()))
            if cpus is not None:
                found.nodes.setdefault(int(number), cpus)
        elif re.match(r"\d{1,12} MB\s*\Z", value):
            found.memory.setdefault(int(number), int(value.split()[0]))
    return found


def _list(text: Optional[str]) -> Optional[Tuple[int, ...]]:
    try:
        return None if text is None else parse(text)
    except ValueError:
        return None


def _number(text: Optional[str]) -> Optional[int]:
    return int(text) if text is not None and re.match(r"\d{1,6}\Z", text) else None
