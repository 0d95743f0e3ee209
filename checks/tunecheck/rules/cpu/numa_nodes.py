"""numa-nodes: the accelerators' NUMA nodes are known, and every node with CPUs has memory."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Place, Remedy
from ...parsers.kernel.cpulist import show
from ..check import Check, Family, Heading
from ..codes import UNREAD
from ..context import Case

CHECK = Check(
    "numa-nodes", "every node has memory, every accelerator a node",
    Heading.SYSTEM, 50, Family.CPU, judges=("numa.without_memory", "pcie.numa"),
    judges_of=(("nodes", "numa.without_memory"), ("accelerators", "pcie.numa")),
)
CODES = {
    "node-without-memory": "A NUMA node has CPUs and no memory.",
    "accelerator-without-node": "The firmware names no NUMA node for an accelerator.",
    "no-nodes": "This kernel knows no NUMA nodes.",
}
_ID = CHECK.id
_SLOTS = Remedy("populate the memory channels of that socket, or choose NPS1 in the BIOS",
                place=Place.MACHINE)
_BIOS = Remedy("update the BIOS (ACPI _PXM of the root port is missing); in a virtual machine pass the node through",
               needs_reboot=True, place=Place.FIRMWARE)


def judge(case: Case) -> Iterator[Finding]:
    box, devices = case.host.platform, case.snapshot.topology.devices
    nodes, sockets = box.nodes.value, box.sockets.value
    if nodes is None:
        yield Finding(_ID, UNREAD, "nodes", "unknown", "effective", f"the NUMA nodes cannot be told: {box.nodes.why()}",
                      evidence=(box.nodes.source,), absence=box.nodes.absence)
        return
    with_cpus = [node for node in nodes if node.cpus.value]
    without_cpus = [node.number for node in nodes if node.cpus.value == ()]
    per = f", {len(with_cpus) // sockets} per socket" if sockets and with_cpus and len(with_cpus) % sockets == 0 else ""
    count = len(with_cpus) or len(nodes)
    shape = f"{count} NUMA node{'' if count == 1 else 's'} on {sockets or '?'} socket(s){per}"
    if with_cpus and without_cpus:
        shape += f"; {len(without_cpus)} more without CPUs (node {show(without_cpus)}: memory of GPUs or CXL)"
    # An only node has all the memory, also where no file says so.
    unread = [node.number for node in nodes if node.cpus.value is None or (node.cpus.value and node.memory is None)
              ] if len(nodes) > 1 else []
    no_memory = [node.number for node in nodes if node.memory is False and node.cpus.value]
    no_node = [device.bdf for device in devices if device.numa_node.value == -1] if len(nodes) > 1 else []
    if no_memory:
        yield Finding(_ID, "node-without-memory", "nodes", "warn", "effective", f"node {show(no_memory)} has CPUs but "
                      "no memory: what runs there works on another node's", shape, "memory on every node",
                      (box.nodes.source,), _SLOTS)
    if no_node:
        yield Finding(_ID, "accelerator-without-node", "accelerators", "warn", "effective", f"{', '.join(no_node)}: "
                      "the firmware names no NUMA node, so nothing can be placed near (numa_node -1)", "-1", "a node",
                      remedy=_BIOS)
    if unread and not no_memory and not no_node:
        yield Finding(_ID, UNREAD, "nodes", "unknown", "effective", f"{shape}; which of them have CPUs and memory is "
                      "not all told; add: numactl -H", shape, "memory on every node", (box.nodes.source,))
    elif not no_memory and not no_node:
        at = {node for device in devices if (node := device.numa_node.value) is not None and node >= 0}
        where = f"node {show(at)}" if len(at) == 1 else f"nodes {', '.join(map(str, sorted(at)))}"
        placed = f"; accelerators on {where}" if len(nodes) > 1 and at else ""
        code, outcome, text = (("ok", "pass", shape + placed) if nodes else
                               ("no-nodes", "skip", "this kernel knows no NUMA nodes"))
        yield Finding(_ID, code, "nodes", outcome, "effective", text, evidence=(box.nodes.source,))
