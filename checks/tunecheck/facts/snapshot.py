"""All facts that one verb needs, gathered once."""

from __future__ import annotations

from dataclasses import dataclass

from ..host import Host
from ..spec.frozen import Spec
from .boot import Boot, boot
from .cpu import Policy, policies
from .driver import Driver, driver
from .fact import Fact
from .iommu import modes
from .kernel import Kernel, identity, kernel
from .modules import Module, modules
from .receipt import Receipt, receipt
from .topo_text import TopoText, topo_text
from .topology import Topology, topology
from .units import ACS_UNIT, enabled

__all__ = ["HostFacts", "Snapshot", "gather"]


@dataclass(frozen=True)
class HostFacts:
    """The part that `tunecheck topo` does without."""

    kernel: Kernel
    boot: Boot
    iommu: dict[str, Fact[str]]
    modules: dict[str, Module]
    policies: Fact[tuple[Policy, ...]]
    driver: Driver
    acs_unit: Fact[bool]


@dataclass(frozen=True)
class Snapshot:
    """What a host says at one time. ``host`` is None where only the topology was asked for."""

    hostname: Fact[str]
    boot_id: Fact[str]
    topology: Topology
    topo_text: Fact[TopoText]
    receipt: Fact[Receipt]
    host: HostFacts | None


def gather(host: Host, spec: Spec | None, with_host: bool, with_text: bool = True) -> Snapshot:
    """Read the topology, with ``with_text`` also the driver's own view of it, with ``with_host`` everything else.
    Without a spec the accelerators are NVIDIA's."""
    wanted = spec.accelerators.pci_ids if spec else ()
    found = topology(host, wanted)
    name, _, boot_id = identity(host)
    facts = _host_facts(host, spec or Spec(), found) if with_host else None
    text = topo_text(host, found.accelerators, with_text)
    return Snapshot(name, boot_id, found, text, receipt(host), facts)


def _host_facts(host: Host, spec: Spec, found: Topology) -> HostFacts:
    running = kernel(host)
    release = running.release.value or ""
    wanted = {name: tuple(values) for name, values in spec.modules.items()}
    return HostFacts(running, boot(host, release), modes(host, found.devices), modules(host, wanted, release),
                     policies(host), driver(host), enabled(host, ACS_UNIT))
