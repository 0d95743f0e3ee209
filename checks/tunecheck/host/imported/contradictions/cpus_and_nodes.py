"""Holds against each other what the texts of an import tell of CPUs, NUMA nodes, memory and the running kernel.

What no machine can be within one boot is refused: a CPU or node of a higher number than that boot can have, CPUs on
other nodes, another kernel. What may also come of CPUs or memory that were added or taken away since, or of a virtual
machine whose memory its host takes back, is no certain contradiction: then neither text counts, and what is missing
says which two they are. What only one text tells, or what one text has less of because it is cut, is none."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from ....model.absence import Absence
from ....parsers.kernel.boot_counts import AtBoot, at_boot
from ....parsers.kernel.cpulist import parse, show
from ....parsers.kernel.lscpu import Lscpu, Numactl, parse_lscpu, parse_numactl
from ....util.at_first_use import dataclass, regex
from ..cmdline import from_log

if TYPE_CHECKING:
    from ....parsers.pci.lspci import LspciDevice
    from ..texts import Texts

__all__ = ["other_cpus", "other_kernel", "set_apart"]

_DMESG = ("dmesg",)
_CPU = "/sys/devices/system/cpu"
_NODE = "/sys/devices/system/node"
_ONLINE, _PRESENT = f"{_CPU}/online", f"{_CPU}/present"
_NODES, _MEMORY = f"{_NODE}/online", f"{_NODE}/has_memory"
_SMT = f"{_CPU}/smt/control"
_CPULIST = regex(rf"{_NODE}/node(\d{{1,4}})/cpulist")
_RELEASE = "/proc/sys/kernel/osrelease"
_TOTAL = "/proc/meminfo"
_MODEL = regex(r"^Model name:[ \t]+(\S[^\n]{0,120}?)[ \t]*\n", re.MULTILINE)
_VERSION = regex(r"Linux version (\S+)")
_MEM_TOTAL = regex(r"MemTotal:\s+(\d{1,15}) kB")
#: The end of a line that was cut may be another CPU's number.
_FEW = 3
#: The log counts what the kernel keeps for itself; more than this share is not that.
_KEPT, _ROUNDED = 2, 1.1


@dataclass(frozen=True)
class _Told:
    """What one text tells of one path; ``value`` are numbers of CPUs or nodes."""

    source: str
    value: frozenset[int]


def other_cpus(texts: Texts) -> str | None:
    """Return a sentence where lscpu shows another model of CPU than the log of the last boot, where a text has a CPU or
    a node of a higher number than there can be in that boot, or where two texts have CPUs on other nodes; else None."""
    boot = at_boot(texts.runs.get(_DMESG, ""))
    for text in texts.answers.get("lscpu", ()):
        model = _MODEL.search(_whole(text))
        if model and boot.model and " ".join(model[1].split()) not in " ".join(boot.model.split()):
            return f"lscpu shows the CPU {model[1]}, and the kernel log {boot.model}"
    for path, told in _lists(texts).items():
        most, what = (boot.nodes_possible, "node") if path in (_NODES, _MEMORY) else (boot.cpus_possible, "CPU")
        for each in told:
            if most and each.value and max(each.value) >= most:
                return (f"{each.source} shows {what} {max(each.value)}, and the kernel log has none of a higher number "
                        f"than {most - 1}")
    return _on_other_nodes(texts)


def _on_other_nodes(texts: Texts) -> str | None:
    by_source: dict[str, dict[int, int]] = {}
    for node, each in _per_node(texts):
        places = by_source.setdefault(each.source, {})
        if places.keys() & each.value:
            return None     # numa=fake: a CPU is on several nodes
        places.update(dict.fromkeys(each.value, node))
    sources = list(by_source)
    for one, other in ((a, b) for at, a in enumerate(sources) for b in sources[at + 1:]):
        first, second = by_source[one], by_source[other]
        moved = [cpu for cpu in sorted(first.keys() & second.keys()) if first[cpu] != second[cpu]]
        if len(moved) >= _FEW:
            return (f"{one} has CPU {moved[0]} on node {first[moved[0]]}, and {other} on node {second[moved[0]]} "
                    f"({len(moved)} CPUs are on other nodes)")
    return None


def other_kernel(texts: Texts) -> str | None:
    """Return a sentence where a file tells another kernel than the log of the last boot, else None."""
    release = at_boot(texts.runs.get(_DMESG, "")).release
    version = _VERSION.match(texts.files.get("/proc/version", ""))
    for path, told in ((_RELEASE, texts.files.get(_RELEASE, "").strip()),
                       ("/proc/version", version[1] if version else "")):
        if release and told and told != release:
            return f"{path} tells the kernel {told[:60]}, and the kernel log Linux version {release[:60]}"
    return None


def set_apart(texts: Texts, devices: Mapping[str, LspciDevice], guest: bool) -> None:
    """Take back what two texts tell and contradict each other in without being surely of two machines. ``guest``: this
    is a virtual machine, which may have been given more memory since its boot, or less."""
    boot = at_boot(texts.runs.get(_DMESG, ""), _words(texts))
    found: dict[str, str] = {}
    for path, why in (*_apart(texts, boot, devices), *_memory_apart(texts, boot, guest)):
        found.setdefault(path, why)
    for path, why in found.items():
        texts.reads.pop(path, None)
        texts.errors[f"read {path}"] = Absence.NOT_UNDERSTOOD.because(
            f"two texts contradict each other: {why}; keep those of this machine, or take both anew")


def _words(texts: Texts) -> list[str]:
    return " ".join((*texts.cmdlines, from_log(texts.runs.get(_DMESG, "")) or "")).split()


def _apart(texts: Texts, boot: AtBoot, devices: Mapping[str, LspciDevice]) -> Iterator[tuple[str, str]]:
    """Yield each path of which two texts tell what does not fit together, and what they tell."""
    lists = _lists(texts)
    for path in (_ONLINE, _PRESENT, _NODES, _MEMORY):
        if why := _two(lists.get(path, ())):
            yield from ((each, why) for each in ({path, _NODES} if path == _MEMORY else {path}))
    online, present = lists.get(_ONLINE, ()), lists.get(_PRESENT, ())
    for one in present:
        for other in online:
            if not other.value <= one.value:
                why = f"{other.source} has CPU {show(other.value - one.value)} online, which {one.source} does not have"
                yield from ((path, why) for path in (_ONLINE, _PRESENT))
        if boot.cpus and len(one.value) < boot.cpus:
            why = f"the kernel log brought up {boot.cpus} CPUs, and {one.source} has {len(one.value)}"
            yield from ((path, why) for path in (_ONLINE, _PRESENT))
    for one in online if boot.cpus and not boot.more_later else ():
        if len(one.value) > boot.cpus + len(boot.lost):
            why = f"the kernel log brought up {boot.cpus} CPUs, and {one.source} has {len(one.value)} online"
            yield from ((path, why) for path in (_ONLINE, _PRESENT))
    for one in lists.get(_NODES, ()):
        if len(one.value) < boot.nodes:
            yield _NODES, f"the kernel log brought up {boot.nodes} nodes, and {one.source} has {len(one.value)}"
        named = {node for each in devices.values() if (node := each.numa_node) is not None} - one.value
        if named:
            yield _NODES, f"lspci has devices on node {show(named)}, which {one.source} does not have"
    busy: dict[str, set[int]] = {}
    for node, each in _per_node(texts):
        if each.value:
            busy.setdefault(each.source, set()).add(node)
    for source, nodes in busy.items():
        if boot.nodes and not boot.more_later and len(nodes) > boot.nodes:
            yield _NODES, (f"the kernel log brought up {boot.nodes} nodes, and {source} has CPUs on "
                           f"{len(nodes)}")
    for told in _by_node(texts).values():
        idle = next((each for each in told if not each.value), None)
        at_work = next((each for each in told if each.value), None)
        if idle and at_work:
            yield _NODES, f"{at_work.source} has CPUs on a node on which {idle.source} has none"
    control, threads = texts.files.get(_SMT, "").strip(), _threads(texts)
    if control in ("off", "forceoff", "notsupported") and threads > 1:
        yield _SMT, f"{_SMT} is {control}, and lscpu has {threads} threads per core"


def _memory_apart(texts: Texts, boot: AtBoot, guest: bool) -> Iterator[tuple[str, str]]:
    """Yield the paths that two texts of memory put in doubt. A node without CPUs may have got its memory since the
    boot: it is a GPU's or CXL's."""
    lists = _lists(texts)
    cpus = {node for node, each in _per_node(texts) if each.value}
    for each in lists.get(_MEMORY, ()):
        lacks, gained = (boot.with_memory & cpus) - each.value, boot.without_memory & cpus & each.value
        if lacks or gained:
            why = (f"the kernel log has {'memory' if lacks else 'no memory'} on node {show(lacks or gained)}, and "
                   f"{each.source} has {'none' if lacks else 'some'} there")
            yield from ((path, why) for path in (_MEMORY, _NODES))
    own, sizes = _sizes(texts, cpus)
    total = _MEM_TOTAL.search(texts.files.get(_TOTAL, ""))
    proc = int(total[1]) if total else 0
    if proc and sizes and not sizes / _ROUNDED <= proc <= sizes * _ROUNDED:
        why = f"numactl -H has {_gib(sizes)} of memory, and {_TOTAL} {_gib(proc)}"
        yield from ((path, why) for path in (_MEMORY, _NODES, _TOTAL))
    if not boot.memory or guest:
        return
    if own and not boot.memory / _KEPT <= own <= boot.memory * _ROUNDED:
        why = f"the kernel log has {_gib(boot.memory)} of memory, and numactl -H {_gib(own)} on nodes with CPUs"
        yield from ((path, why) for path in (_MEMORY, _NODES))
    # Without numactl it is not known how much of it is that of nodes without CPUs.
    if proc and proc < boot.memory / _KEPT:
        yield _TOTAL, f"the kernel log has {_gib(boot.memory)} of memory, and {_TOTAL} {_gib(proc)}"


def _gib(kib: int) -> str:
    return f"{kib / (1 << 20):.1f} GiB"


def _sizes(texts: Texts, cpus: Collection[int]) -> tuple[int, int]:
    """Return how much memory in KiB `numactl -H` shows on these nodes, and on all. 0 where it does not show it of
    all."""
    for found in _numactl(texts):
        if found.online and set(found.online) <= set(found.memory):
            return (1024 * sum(size for node, size in found.memory.items() if node in cpus),
                    1024 * sum(found.memory.values()))
    return 0, 0


def _threads(texts: Texts) -> int:
    return max((each.threads_per_core or 1 for each in _lscpu(texts)), default=1)


def _two(told: Collection[_Told]) -> str:
    """Return what two texts tell of one list, where they tell it differently; else ""."""
    first = next(iter(told), None)
    other = next((each for each in told if first and each.value != first.value), None)
    return f"{first.source} says {_short(first.value)}, and {other.source} {_short(other.value)}" \
        if first and other else ""


def _short(numbers: Iterable[int]) -> str:
    text = show(numbers)
    return text if len(text) <= 60 else f"{text[:60]}..."


def _lists(texts: Texts) -> dict[str, list[_Told]]:
    """Return what each text tells of each list of CPUs or nodes. Of CPUs in the output of numactl only where it has
    them of every node."""
    found: dict[str, list[_Told]] = {}

    def keep(path: str, source: str, value: Iterable[int] | None) -> None:
        if value is not None:
            found.setdefault(path, []).append(_Told(source, frozenset(value)))

    for path in (_ONLINE, _PRESENT, _NODES, _MEMORY):
        keep(path, path, _numbers(texts.files.get(path)))
    for lscpu in _lscpu(texts):
        keep(_ONLINE, "lscpu", lscpu.online)
        keep(_PRESENT, "lscpu", lscpu.present)
        keep(_NODES, "lscpu", lscpu.nodes if lscpu.count == len(lscpu.nodes) else None)
    for numactl in _numactl(texts):
        nodes = set(numactl.online)
        keep(_NODES, "numactl -H", nodes or None)
        if nodes and nodes <= set(numactl.memory):
            keep(_MEMORY, "numactl -H", (node for node in nodes if numactl.memory[node]))
        if nodes and nodes <= set(numactl.nodes):
            keep(_ONLINE, "numactl -H", (cpu for cpus in numactl.nodes.values() for cpu in cpus))
    return found


def _per_node(texts: Texts) -> list[tuple[int, _Told]]:
    files = [(int(found[1]), _Told(f"{_NODE}/node*/cpulist", frozenset(cpus))) for path, text in texts.files.items()
             if (found := _CPULIST.fullmatch(path)) and (cpus := _numbers(text))]
    return [*files, *((node, _Told(kind, frozenset(cpus)))
            for kind, read in (("lscpu", _lscpu(texts)), ("numactl -H", _numactl(texts)))
            for each in read for node, cpus in each.nodes.items())]


def _by_node(texts: Texts) -> dict[int, list[_Told]]:
    found: dict[int, list[_Told]] = {}
    for node, each in _per_node(texts):
        found.setdefault(node, []).append(each)
    return found


def _lscpu(texts: Texts) -> list[Lscpu]:
    return [parse_lscpu(_whole(text)) for text in texts.answers.get("lscpu", ())]


def _numactl(texts: Texts) -> list[Numactl]:
    return [parse_numactl(_whole(text)) for text in texts.answers.get("numactl -H", ())]


def _numbers(text: str | None) -> tuple[int, ...] | None:
    try:
        return parse(text) if text and text.strip() else None
    except ValueError:
        return None


def _whole(text: str) -> str:
    """Return the lines that are not cut: the last one may be."""
    return text if text.endswith("\n") else text[:text.rfind("\n") + 1]
