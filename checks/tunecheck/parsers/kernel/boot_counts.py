"""What a kernel log says at boot of how many CPUs, NUMA nodes and how much memory there are. Pure, never fails.

The lines are those of kernel/smp.c (smp_init), arch/x86/kernel/smpboot.c and cpu/topology.c, mm/percpu.c, mm/mm_init.c,
arch/x86/mm/numa.c and mm/numa_memblks.c. Only what a line says counts: one that is not there may be gone."""

from __future__ import annotations

from dataclasses import field
from typing import FrozenSet, Iterable

from ...util.at_first_use import dataclass, regex
from .boot_log import messages, parse

__all__ = ["AtBoot", "at_boot"]

_BOOT = "Linux version "
_RELEASE = regex(r"(\S{1,120})")
#: arch/x86/kernel/cpu/common.c print_cpu_info(): the maker's name, where the model does not have it, and the model.
_FIRST = regex(r"smpboot: CPU0: (\S[^\n]{0,120}?) \(family: 0x")
#: mm/percpu.c setup_per_cpu_areas(): no CPU, and no node, has a higher number in this boot.
_POSSIBLE = regex(r"setup_percpu: [^\n]{0,80}\bnr_cpu_ids:(\d{1,5})\b(?:[^\n]{0,40}\bnr_node_ids:(\d{1,4})\b)?")
_UP = regex(r"smp: Brought up (\d{1,4}) nodes?, (\d{1,5}) CPUs?\b")
_LATER = regex(r"(?:smpboot|CPU topo): Allowing \d{1,5}(?: present)? CPUs,?(?: plus)? ([1-9]\d{0,4}) hotplug CPUs")
_RANGE = regex(r"(?:NUMA: Node|Initmem setup node|[ \t]{0,8}node)[ \t]{1,8}(\d{1,4}):? "
               r"\[mem 0x[0-9a-f]{1,16}-0x0*([0-9a-f]*)\]")
_NONE = regex(r"Initmem setup node (\d{1,4}) as memoryless")
_MEMORY = regex(r"Memory: \d{1,15}K/(\d{1,15})K available")
#: Words by which CPUs stay off at boot, and may be switched on later.
_CAPPED = ("maxcpus=", "nosmp", "nosmt")


@dataclass(frozen=True)
class AtBoot:
    """What the log of the last boot says; 0, "" or an empty set where it does not. ``cpus_possible`` and
    ``nodes_possible``: each number is lower. ``lost`` are CPUs that did not come up; ``more_later``: there may be more
    CPUs later than came up. ``memory`` is in KiB."""

    release: str = ""
    model: str = ""
    cpus_possible: int = 0
    nodes_possible: int = 0
    cpus: int = 0
    nodes: int = 0
    lost: FrozenSet[int] = field(default_factory=frozenset)
    more_later: bool = False
    with_memory: FrozenSet[int] = field(default_factory=frozenset)
    without_memory: FrozenSet[int] = field(default_factory=frozenset)
    memory: int = 0


def at_boot(log: str, words: Iterable[str] = ()) -> AtBoot:
    """Read the log's last boot. ``words`` are those of the command line."""
    _, begins, boot = log.rpartition(_BOOT)
    release = _RELEASE.match(boot) if begins else None
    first = _FIRST.search(boot)
    # The message that counts CPUs is printed once, and each of the others before the first process runs.
    possible, up, memory = (next(messages(pattern, boot), None) for pattern in (_POSSIBLE, _UP, _MEMORY))
    ranges = list(messages(_RANGE, boot))
    has = {int(found[1]) for found in ranges if found[2]}
    none = {int(found[1]) for found in (*ranges, *messages(_NONE, boot))} - has
    capped = any(word.startswith(_CAPPED) or (word.startswith("mitigations=") and "nosmt" in word) for word in words)
    return AtBoot(release[1] if release else "", first[1] if first else "",
                  int(possible[1]) if possible else 0, int(possible[2] or 0) if possible else 0,
                  int(up[2]) if up else 0, int(up[1]) if up else 0, frozenset(parse(boot).lost_cpus),
                  capped or next(messages(_LATER, boot), None) is not None, frozenset(has), frozenset(none),
                  int(memory[1]) if memory else 0)
