"""Processors, NUMA nodes, memory policy and firmware tables: what a box is under its accelerators."""

from __future__ import annotations

import re

from ...host import Host, Unreadable
from ...host.prefetch import MANAGER
from ...model.fact import Absence, Fact, absent, absent_as, known, not_understood, parsed
from ...parsers.kernel.cpulist import parse
from ...util.at_first_use import dataclass
from ..file_text import text

__all__ = ["UNLIMITED", "Node", "Platform", "Swap", "platform"]

_CPU = "/sys/devices/system/cpu"
_NODES = "/sys/devices/system/node"
_TABLES = "/sys/firmware/acpi/tables"
_SECURE_BOOT = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
#: Containers get the limit of the service that starts them, other services the manager's default.
_RUNTIMES = ("systemctl", "show", "--property=Id,ActiveState,LimitMEMLOCK", "docker.service", "containerd.service")
UNLIMITED = 2**64 - 1


@dataclass(frozen=True)
class Node:
    """A NUMA node: its CPUs, and whether it has memory (None: not told)."""

    number: int
    cpus: Fact[tuple[int, ...]]
    memory: bool | None


@dataclass(frozen=True)
class Swap:
    """One swap area; sizes in KiB."""

    name: str
    size: int
    used: int


@dataclass(frozen=True)
class Platform:
    """Facts about the box under its accelerators. ``sockets`` counts the packages that hold the nodes' CPUs. ``smt`` is
    on, off, forceoff, notsupported or notimplemented. ``memlock`` maps "services" and each running container runtime to
    the bytes that it may lock."""

    present: Fact[tuple[int, ...]]
    online: Fact[tuple[int, ...]]
    smt: Fact[str]
    nodes: Fact[tuple[Node, ...]]
    sockets: Fact[int]
    numa_balancing: Fact[int]
    swaps: Fact[tuple[Swap, ...]]
    swappiness: Fact[int]
    memlock: Fact[dict[str, int]]
    acpi_tables: Fact[tuple[str, ...]]
    secure_boot: Fact[bool]


def platform(host: Host) -> Platform:
    """Read all facts about the platform. Nothing here touches the driver."""
    nodes = _nodes(host)
    return Platform(
        present=parsed(text(host, f"{_CPU}/present"), parse), online=parsed(text(host, f"{_CPU}/online"), parse),
        smt=parsed(text(host, f"{_CPU}/smt/control"), _word), nodes=nodes, sockets=_sockets(host, nodes),
        numa_balancing=parsed(text(host, "/proc/sys/kernel/numa_balancing"), int),
        swaps=parsed(text(host, "/proc/swaps"), _swaps),
        swappiness=parsed(text(host, "/proc/sys/vm/swappiness"), int), memlock=_memlock(host),
        acpi_tables=_tables(host), secure_boot=_secure_boot(host))


def _word(value: str) -> str:
    if not re.fullmatch(r"[a-z]{1,20}", value):
        raise ValueError(f"{value[:40]!r}")
    return value


def _nodes(host: Host) -> Fact[tuple[Node, ...]]:
    online = parsed(text(host, f"{_NODES}/online"), parse)
    if online.missing:
        return known((), online.source)         # a kernel without NUMA
    if online.value is None:
        return absent_as(online)
    memory = parsed(text(host, f"{_NODES}/has_memory"), parse).value
    return known(tuple(Node(number, parsed(text(host, f"{_NODES}/node{number}/cpulist"), parse),
                            None if memory is None else number in memory) for number in online.value[:256]),
                 online.source)


def _sockets(host: Host, nodes: Fact[tuple[Node, ...]]) -> Fact[int]:
    """Return the number of processor packages. A few CPUs of every node are asked: with memory interleaved over the
    sockets, one node spans several packages."""
    ids, source = set(), f"{_CPU}/cpu*/topology/physical_package_id"
    for node in nodes.value or ():
        cpus = node.cpus.value or ()
        for cpu in sorted({cpus[len(cpus) * part // 8] for part in range(8)} if cpus else ()):
            package = parsed(text(host, f"{_CPU}/cpu{cpu}/topology/physical_package_id"), int)
            if package.value is None:
                return absent_as(package)
            ids.add(package.value)
    none = nodes.reason or Absence.INCOMPLETE.because("no node with CPUs")
    return known(len(ids), source) if ids else absent(source, none)


def _swaps(content: str) -> tuple[Swap, ...]:
    """Parse /proc/swaps: a header, then name, type, size, used, priority; spaces in a name are written \\040.
    ValueError where there is no header."""
    rows = [row.split() for row in content.splitlines()]
    if not rows or rows[0][:1] != ["Filename"]:
        raise ValueError("no header")
    return tuple(Swap(row[0][:200], int(row[2]), int(row[3])) for row in rows[1:65] if len(row) >= 5)


def _memlock(host: Host) -> Fact[dict[str, int]]:
    found: dict[str, int] = {}
    for argv in (MANAGER, _RUNTIMES):
        source = " ".join(argv[:3])
        try:
            done = host.run(argv, 5.0)
        except Unreadable as error:
            if found:
                break
            return absent(source, error.reason)
        if done.returncode != 0 and not found:
            # No systemd at work here (a container): systemctl says so and fails.
            said = (done.stderr.strip().splitlines() or ["failed"])[0][:200]
            code = Absence.NO_SYSTEMD if "booted with systemd" in said else Absence.FAILED
            return absent(source, code.because(said))
        for block in done.stdout.split("\n\n"):
            values = dict(line.partition("=")[::2] for line in block.splitlines()[:20])
            limit = values.get("DefaultLimitMEMLOCK", values.get("LimitMEMLOCK", ""))
            name = "services" if argv is MANAGER else values.get("Id", "")
            if values.get("ActiveState", "active") == "active" and re.fullmatch(r"infinity|\d{1,20}", limit) and name:
                found[name[:100]] = UNLIMITED if limit == "infinity" else int(limit)
    if not found:
        return not_understood(" ".join(MANAGER), "no limit in its answer")
    return known(found, "systemctl show")


def _tables(host: Host) -> Fact[tuple[str, ...]]:
    try:
        return known(tuple(host.list(_TABLES)), _TABLES)
    except Unreadable as error:
        return absent(_TABLES, error.reason)


def _secure_boot(host: Host) -> Fact[bool]:
    try:
        content = host.read_bytes(_SECURE_BOOT)     # four bytes of attributes, then the value
    except Unreadable as error:
        return absent(_SECURE_BOOT, error.reason)
    if len(content) != 5:
        return not_understood(_SECURE_BOOT, "not five bytes")
    return known(content[4] == 1, _SECURE_BOOT)
