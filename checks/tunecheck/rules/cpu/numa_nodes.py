"""numa-nodes: the accelerators' NUMA nodes are known, and every node with CPUs has memory."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Place, Remedy
from ...parsers.kernel.cpulist import show
from ..check import Check, Family, Heading
from ..context import Case

CHECK = Check(
    "numa-nodes", "every node has memory, every accelerator a node",
    Heading.SYSTEM, 50, Family.CPU, judges=("numa.without_memory", "pcie.numa"),
)
_ID = CHECK.id
_SLOTS = Remedy("populate the memory channels of that socket, or choose NPS1 in the BIOS",
                place=Place.MACHINE)
_BIOS = Remedy("update the BIOS (ACPI _PXM of the root port is missing); in a virtual machine pass the node through",
               needs_reboot=True, place=Place.FIRMWARE)


def judge(case: Case) -> Iterator[Finding]:
    box, devices = case.host.platform, case.snapshot.topology.devices
    nodes, sockets = box.nodes.value, box.sockets.value
    if nodes is None:
        yield Finding(_ID, "nodes", "unknown", "effective", f"the NUMA nodes cannot be told: {box.nodes.why()}",
                      absence=box.nodes.absence)
        return
    busy = [node for node in nodes if node.cpus.value]
    empty = [node.number for node in nodes if node.cpus.value == ()]
    per = f", {len(busy) // sockets} per socket" if sockets and busy and len(busy) % sockets == 0 else ""
    count = len(busy) or len(nodes)
    shape = f"{count} NUMA node{'' if count == 1 else 's'} on {sockets or '?'} socket(s){per}"
    if busy and empty:
        shape += f"; {len(empty)} more without CPUs (node {show(empty)}: memory of GPUs or CXL)"
    # The only node has the memory, whatever tells it.
    untold = [node.number for node in nodes if node.cpus.value is None or (node.cpus.value and node.memory is None)
              ] if len(nodes) > 1 else []
    bare = [node.number for node in nodes if node.memory is False and node.cpus.value]
    lost = [device.bdf for device in devices if device.numa_node.value == -1] if len(nodes) > 1 else []
    if bare:
        yield Finding(_ID, "nodes", "warn", "effective", f"node {show(bare)} has CPUs but no memory: what runs there "
                      "works on another node's", shape, "memory on every node", (box.nodes.source,), _SLOTS)
    if lost:
        yield Finding(_ID, "accelerators", "warn", "effective", f"{', '.join(lost)}: the firmware names no NUMA node, "
                      "so nothing can be placed near (numa_node -1)", "-1", "a node", remedy=_BIOS)
    if untold and not bare and not lost:
        yield Finding(_ID, "nodes", "unknown", "effective", f"{shape}; which of them have CPUs and memory is not "
                      "all told; add: numactl -H", shape, "memory on every node", (box.nodes.source,))
    elif not bare and not lost:
        at = {node for device in devices if (node := device.numa_node.value) is not None and node >= 0}
        where = f"node {show(at)}" if len(at) == 1 else f"nodes {', '.join(map(str, sorted(at)))}"
        seen = f"; accelerators on {where}" if len(nodes) > 1 and at else ""
        yield Finding(_ID, "nodes", "pass" if nodes else "skip", "effective", shape + seen if nodes else
                      "this kernel knows no NUMA nodes", evidence=(box.nodes.source,))
