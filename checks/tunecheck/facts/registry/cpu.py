"""Processors, NUMA nodes, memory policy."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...model.fact import Absence, Fact, absent
from .definition import Entry
from .selectors import booted, counted, of_host, through

if TYPE_CHECKING:
    from ..kernel.cpu import Policy
    from ..snapshot import HostFacts

__all__ = ["ENTRIES"]


def _policies(select: Callable[[Policy], Fact[str]]) -> Callable[[Any], Fact[Any]]:
    """Make a selector of what the frequency policies say, each counted once. The fact is absent where the kernel drives
    no frequency."""

    def fact_of(host: HostFacts) -> Fact[Any]:
        policies = host.policies
        if policies.value is None:
            return policies
        if not policies.value:
            return absent(policies.source, Absence.NOT_PRESENT)
        return counted([select(policy) for policy in policies.value], policies.source)

    return of_host(fact_of)


def _per_node(host: HostFacts) -> Fact[Any]:
    nodes = host.platform.nodes
    if nodes.value is None:
        return nodes
    unread = next((node.cpus for node in nodes.value if node.cpus.value is None), None)
    return unread or Fact([len(node.cpus.value or ()) for node in nodes.value], nodes.source)


ENTRIES = (
    Entry("cpu.governor", "config", "high", "reload", "frequency governor, policies counted",
          _policies(lambda policy: policy.governor)),
    Entry("cpu.scaling_driver", "config", "medium", "reboot", "frequency driver, policies counted",
          _policies(lambda policy: policy.driver)),
    Entry("cpu.epp", "config", "medium", "reload", "energy preference, policies counted",
          _policies(lambda policy: policy.epp)),
    Entry("cpu.smt", "config", "medium", "reboot", "simultaneous multithreading", of_host(lambda h: h.platform.smt)),
    Entry("cpu.online", "config", "high", "reboot", "CPUs that run",
          of_host(lambda host: through(host.platform.online, len)), unit="CPUs", of_boot=True),
    Entry("cpu.present", "config", "high", "hands-on", "CPUs that are there",
          of_host(lambda host: through(host.platform.present, len)), unit="CPUs"),
    Entry("cpu.sockets", "config", "high", "hands-on", "processor packages", of_host(lambda h: h.platform.sockets)),
    Entry("cpu.lost", "config", "high", "reboot", "CPUs that did not come up in this boot",
          of_host(lambda host: booted(host, lambda log: list(log.boot.lost_cpus))), of_boot=True),
    Entry("cpu.x2apic_refused", "config", "low", "firmware", "the kernel fell back to 8-bit APIC ids",
          of_host(lambda host: booted(host, lambda log: log.boot.x2apic_refused))),
    Entry("numa.cpus", "config", "high", "firmware", "CPUs of each NUMA node, in its order", of_host(_per_node)),
    Entry("numa.without_memory", "config", "high", "hands-on", "NUMA nodes without memory",
          of_host(lambda host: through(host.platform.nodes, lambda nodes: [
              node.number for node in nodes if node.memory is False]))),
    Entry("numa.balancing", "config", "medium", "reload", "the kernel moves memory between nodes; 0: off",
          of_host(lambda host: host.platform.numa_balancing)),
    Entry("memory.swap", "config", "medium", "reload", "swap areas by size",
          of_host(lambda host: through(host.platform.swaps, lambda swaps: sorted(each.size for each in swaps))),
          unit="KiB"),
    Entry("memory.swap_used", "gauge", "low", "none", "swap in use",
          of_host(lambda host: through(host.platform.swaps, lambda swaps: sum(each.used for each in swaps))),
          unit="KiB"),
    Entry("memory.swappiness", "config", "low", "reload", "vm.swappiness", of_host(lambda h: h.platform.swappiness)),
    Entry("memlock.", "config", "medium", "reload", "bytes that services, or a running container runtime, may lock",
          of_host(lambda host: host.platform.memlock), unit="bytes"),
)
