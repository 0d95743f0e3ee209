"""All facts that one verb needs, gathered once."""

from __future__ import annotations

from dataclasses import dataclass

from ..host import Host, Unreadable
from ..spec.frozen import Spec
from .boot import Boot, boot
from .cpu import Policy, policies
from .driver import Driver, driver
from .fact import Fact
from .iommu import modes
from .kernel import Kernel, identity, kernel
from .modules import Module, modules
from .nvml import Nvml, nvml
from .p2p import P2p, p2p
from .receipt import Receipt, receipt
from .topo_text import TOPO_COMMAND, TopoText, topo_text
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
    nvml: Fact[Nvml]
    p2p: Fact[P2p]
    receipt: Fact[Receipt]
    host: HostFacts | None


def gather(host: Host, spec: Spec | None, with_host: bool, with_text: bool = True) -> Snapshot:
    """Read the topology and NVML, with ``with_text`` also nvidia-smi's table, with ``with_host`` everything else.
    Without a spec the accelerators are NVIDIA's."""
    _ahead(host, with_text)
    wanted = spec.accelerators.pci_ids if spec else ()
    found = topology(host, wanted)
    name, _, boot_id = identity(host)
    later = _host_facts(host, spec or Spec(), found) if with_host else None
    said = nvml(host, bool(found.devices))
    return Snapshot(
        hostname=name,
        boot_id=boot_id,
        topology=found,
        topo_text=topo_text(host, found.accelerators, with_text),
        nvml=said,
        p2p=p2p(host, said),
        receipt=receipt(host),
        host=later,
    )


def _ahead(host: Host, with_text: bool) -> None:
    """Let the driver's slow answers come while sysfs is read. Only a hint: what is wanted is decided by the facts."""
    try:
        boards = len(host.list("/proc/driver/nvidia/gpus"))
    except Unreadable:
        return
    host.ahead(*([TOPO_COMMAND] if with_text and boards > 1 else []), nvml=boards > 0)


def _host_facts(host: Host, spec: Spec, found: Topology) -> HostFacts:
    running = kernel(host)
    release = running.release.value or ""
    wanted = {name: tuple(values) for name, values in spec.modules.items()}
    return HostFacts(
        kernel=running,
        boot=boot(host, release),
        iommu=modes(host, found.devices),
        modules=modules(host, wanted, release),
        policies=policies(host),
        driver=driver(host),
        acs_unit=enabled(host, ACS_UNIT),
    )
