"""numa-balancing: the kernel does not move an inference server's memory between NUMA nodes."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.command import run
from ...model.finding import Finding, Remedy
from ..check import Check, Family, Heading
from ..context import Case

CHECK = Check(
    "numa-balancing", "the kernel does not move memory between NUMA nodes",
    Heading.SYSTEM, 60, Family.CPU, judges=("numa.balancing",),
)
_ID = CHECK.id
_OFF = Remedy.of("run: ", run("sysctl -w kernel.numa_balancing=0"), ", and keep it in /etc/sysctl.d")


def judge(case: Case) -> Iterator[Finding]:
    fact, nodes = case.host.platform.numa_balancing, case.host.platform.nodes
    busy = [node for node in nodes.value or () if node.memory is not False]
    gpus = any(device.ids.startswith("10de:") for device in case.snapshot.topology.devices)
    log = case.host.kernel.log.value
    outcome, state = "skip", f"kernel.numa_balancing is {fact.value}"
    if fact.missing:
        text = "this kernel has no automatic NUMA balancing"
    elif fact.value is None and log and log.boot.numa_balancing and gpus:
        outcome, text = "warn", ("the kernel switched NUMA balancing on at boot (kernel log); what it is now, is not "
                                 f"known: {fact.why()}")
    elif fact.value is None or (fact.value & 1 and nodes.value is None):
        unread = fact if fact.value is None else nodes
        outcome, text = "unknown", f"whether the kernel moves memory between NUMA nodes is unknown: {unread.why()}"
    elif not fact.value & 1:
        outcome, text = "pass", f"{state}: memory stays where it is"
    elif len(busy) < 2:
        outcome, text = "pass", f"{state}, but only one NUMA node has memory: nothing to move"
    elif not gpus:
        text = f"{state} on {len(busy)} nodes; without NVIDIA GPUs that is no matter"
    else:
        outcome, text = "warn", (f"{state} on {len(busy)} NUMA nodes: the kernel unmaps the server's pages to see who "
                                 "uses them, and moves them, while requests wait")
    yield Finding(_ID, "memory", outcome, "effective", text, str(fact.value), "0" if outcome == "warn" else "",
                  (fact.source,), _OFF if outcome == "warn" else None,
                  absence=(nodes if fact.known else fact).absence if outcome == "unknown" else None)
