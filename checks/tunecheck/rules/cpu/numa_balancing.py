"""numa-balancing: the kernel does not move an inference server's memory between NUMA nodes."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.command import run
from ...model.fact import Absence, Fact
from ...model.finding import Finding, Remedy
from ..check import Check, Family, Heading
from ..codes import UNREAD
from ..context import Case

CHECK = Check(
    "numa-balancing", "the kernel does not move memory between NUMA nodes",
    Heading.SYSTEM, 60, Family.CPU, judges=("numa.balancing",),
)
CODES = {
    "not-built": "This kernel has no automatic NUMA balancing.",
    "balancing-on-at-boot": "The kernel switched NUMA balancing on at boot; whether it is still on is not known.",
    "one-node": "NUMA balancing is on, and only one NUMA node has memory.",
    "balancing-on-without-gpu": "NUMA balancing is on, and there is no NVIDIA GPU.",
    "balancing-on": "NUMA balancing is on, and several NUMA nodes have memory.",
}
_ID = CHECK.id
_OFF = ("run: ", run("sysctl -w kernel.numa_balancing=0"), ", and keep it in /etc/sysctl.d")
#: The kernel says at every boot that it switched it on, also where a sysctl switches it off later.
_DONE = ("; where that is done, add the output of: ", run("grep -H . /proc/sys/kernel/numa_balancing"))


def judge(case: Case) -> Iterator[Finding]:
    fact, nodes = case.host.platform.numa_balancing, case.host.platform.nodes
    with_memory = [node for node in nodes.value or () if node.memory is not False]
    gpus = any(device.ids.startswith("10de:") for device in case.snapshot.topology.devices)
    log = case.host.kernel.log.value
    outcome, state = "skip", f"kernel.numa_balancing is {fact.value}"
    if fact.missing:
        code, text = "not-built", "this kernel has no automatic NUMA balancing"
    elif fact.value is None and log and log.boot.numa_balancing and gpus:
        code, outcome = "balancing-on-at-boot", "warn"
        text = f"the kernel switched NUMA balancing on at boot (kernel log); what it is now, is not known: {fact.why()}"
    elif fact.value is None or (fact.value & 1 and nodes.value is None):
        unread = fact if fact.value is None else nodes
        code, outcome = UNREAD, "unknown"
        text = f"whether the kernel moves memory between NUMA nodes is unknown: {unread.why()}"
    elif not fact.value & 1:
        code, outcome, text = "ok", "pass", f"{state}: memory stays where it is"
    elif len(with_memory) < 2:
        code, outcome = "one-node", "pass"
        text = f"{state}, but only one NUMA node has memory: nothing to move"
    elif not gpus:
        code = "balancing-on-without-gpu"
        text = f"{state} on {len(with_memory)} nodes; without NVIDIA GPUs that is no matter"
    else:
        code, outcome = "balancing-on", "warn"
        text = (f"{state} on {len(with_memory)} NUMA nodes: the kernel unmaps the server's pages to see who "
                "uses them, and moves them, while requests wait")
    yield Finding(_ID, code, "memory", outcome, "effective", text, str(fact.value), "0" if outcome == "warn" else "",
                  (fact.source,), _fix(case, fact) if outcome == "warn" else None,
                  absence=(nodes if fact.known else fact).absence if outcome == "unknown" else None)


def _fix(case: Case, fact: Fact[int]) -> Remedy:
    return Remedy.of(*_OFF, *(_DONE if fact.absence is Absence.NOT_IN_IMPORT else ()))
