"""All facts that one verb needs, gathered once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..host import Host
from ..spec.frozen import Spec
from .boot import Boot, boot
from .cpu import Policy, policies
from .driver import Driver, driver
from .fact import Fact
from .iommu import modes
from .kernel import Kernel, identity, kernel
from .modules import Module, modules
from .neighbours import Neighbour, neighbours
from .nvml import Nvml, nvml
from .pcie import Counters, counters
from .receipt import Receipt, receipt
from .topo_text import TopoText, topo_text
from .topology import Topology, topology
from .units import ACS_UNIT, enabled

if TYPE_CHECKING:
    from .platform import Platform

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
    platform: Platform
    errors: dict[str, Counters]
    neighbours: Fact[tuple[Neighbour, ...]]


@dataclass(frozen=True)
class Snapshot:
    """What a host says at one time. ``host`` is None where only the topology was asked for."""

    hostname: Fact[str]
    boot_id: Fact[str]
    topology: Topology
    topo_text: Fact[TopoText]
    nvml: Fact[Nvml]
    receipt: Fact[Receipt]
    host: HostFacts | None


def gather(host: Host, spec: Spec | None, with_host: bool, with_text: bool = True) -> Snapshot:
    """Read the topology and NVML, with ``with_text`` also nvidia-smi's table, with ``with_host`` everything else.
    Without a spec the accelerators are NVIDIA's."""
    wanted = spec.accelerators.pci_ids if spec else ()
    found = topology(host, wanted)
    name, _, boot_id = identity(host)
    return Snapshot(
        hostname=name,
        boot_id=boot_id,
        topology=found,
        topo_text=topo_text(host, found.accelerators, with_text),
        nvml=nvml(host, bool(found.devices)),
        receipt=receipt(host),
        host=_host_facts(host, spec or Spec(), found) if with_host else None,
    )


def _host_facts(host: Host, spec: Spec, found: Topology) -> HostFacts:
    from .platform import platform  # `tunecheck topo` does not pay for it

    running = kernel(host)
    release = running.release.value or ""
    box = platform(host)
    wanted = {name: tuple(values) for name, values in spec.modules.items()}
    return HostFacts(
        kernel=running,
        boot=boot(host, release),
        iommu=modes(host, found.devices),
        modules=modules(host, wanted, release),
        policies=policies(host, box.online),
        driver=driver(host),
        acs_unit=enabled(host, ACS_UNIT),
        platform=box,
        errors=counters(host, (*found.bridges, *(device.bdf for device in found.devices))),
        neighbours=neighbours(host, found),
    )
