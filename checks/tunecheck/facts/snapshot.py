"""All facts that one verb needs, gathered once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from ..host import Host, prefetch
from ..host.base import posts
from ..model.fact import Absence, Fact, absent
from ..parsers.kernel.trial import Ended
from ..spec.frozen import Spec
from ..util.at_first_use import dataclass
from .file_text import ACS_UNIT, enabled
from .kernel.boot import Boot, boot
from .kernel.cpu import Policy, policies
from .kernel.kernel import Kernel, identity, kernel
from .kernel.modules import Module, modules, registry_dwords
from .kernel.trial_boot import NOT_LOOKED, trial_ended
from .kernel.virtual import guest_of
from .measured_pass import ABSENT, MeasuredPass, measured_pass
from .nvidia.driver import Driver, driver
from .nvidia.gpu_locks import Locks, gpu_locks
from .nvidia.hgx import Hgx, hgx
from .nvidia.nvml import Nvml, nvml
from .nvidia.p2p import P2p, p2p
from .past import NOT_ASKED, Past, past
from .pci.iommu import modes
from .pci.neighbours import Neighbour, neighbours
from .pci.pcie import Counters, counters
from .pci.topo_text import TopoText, topo_text
from .pci.topology import Topology, topology
from .posted import NOTHING, Posted
from .receipt import Receipt, receipt

if TYPE_CHECKING:
    from .identity import Identity
    from .kernel.platform import Platform
    from .kernel.processes import Processes
    from .nvidia.driver_parts import DriverParts
    from .nvidia.module_build import ModuleBuild, ModuleKeys
    from .nvidia.packages import Packages
    from .nvidia.services import Service
    from .runtime.incidents import Incidents
    from .runtime.runtime import Runtime
    from .runtime.service_env import ServiceEnv
    from .runtime.serving import Serving

__all__ = ["HostFacts", "Snapshot", "gather"]


#: Of a snapshot that was stored before it was looked at.
_NO_HGX = Hgx()
_NO_INCIDENTS: Fact[Incidents] = absent("/var/lib/tunecheck/incidents/journal.jsonl", Absence.NOT_RECORDED)


@dataclass(frozen=True)
class HostFacts:
    """All facts of a host that `tunecheck topo` does not read."""

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
    driver_parts: DriverParts
    packages: Packages
    services: dict[str, Service]
    processes: Fact[Processes]
    service_env: Fact[ServiceEnv]
    registry_dwords: dict[str, Fact[str]]
    module_build: Fact[ModuleBuild]
    module_keys: Fact[ModuleKeys]
    runtime: Fact[Runtime]
    gpu_locks: Fact[Locks]
    identity: Fact[Identity]
    serving: Fact[Serving]
    hgx: Hgx = _NO_HGX
    measured_pass: Fact[MeasuredPass] = ABSENT
    trial_ended: Fact[Ended] = NOT_LOOKED
    incidents: Fact[Incidents] = _NO_INCIDENTS


#: Of a snapshot that was stored before it was looked at.
_NO_DMI: Fact[str] = absent("/sys/class/dmi/id", Absence.NOT_RECORDED)


@dataclass(frozen=True)
class Snapshot:
    """What a host says at one time. ``host`` is None where only the topology was asked for;
    ``guest``: the hypervisor, "" on bare metal; ``past``: what happened before this boot, where that was asked for;
    ``posted``: what an import tells beside a machine's files."""

    hostname: Fact[str]
    boot_id: Fact[str]
    topology: Topology
    topo_text: Fact[TopoText]
    nvml: Fact[Nvml]
    p2p: Fact[P2p]
    receipt: Fact[Receipt]
    host: HostFacts | None
    guest: Fact[str] = _NO_DMI
    past: Fact[Past] = NOT_ASKED
    posted: Posted = NOTHING


def gather(host: Host, spec: Spec | None, with_host: bool, with_text: bool = True,
           with_past: bool = False) -> Snapshot:
    """Read the topology and NVML, with ``with_text`` also nvidia-smi's table, with ``with_host`` everything else, with
    ``with_past`` also the journal of earlier boots. Without a spec the accelerators are NVIDIA's."""
    prefetch.start(host, with_text, with_host)
    wanted = spec.accelerators.pci_ids if spec else ()
    found = topology(host, wanted)
    name, _, boot_id = identity(host)
    # Asked last: by then the answers that were started ahead have come.
    ask_nvml = cache(lambda: nvml(host, bool(found.devices) or not found.certain))
    later = _host_facts(host, spec or Spec(), found, ask_nvml) if with_host else None

    def flag() -> Fact[bool]:
        if later and later.identity.value:
            return later.identity.value.hypervisor
        from .identity import hypervisor_flag  # start-up time: most machines tell it otherwise

        return hypervisor_flag(host)

    return Snapshot(
        hostname=name,
        boot_id=boot_id,
        topology=found,
        topo_text=topo_text(host, found.accelerators, with_text),
        nvml=ask_nvml(),
        p2p=p2p(host, ask_nvml()),
        receipt=receipt(host),
        host=later,
        guest=guest_of(host, flag,
                       later.kernel.log.value.boot.hypervisor if later and later.kernel.log.value else ""),
        past=past(host, boot_id.value or "") if with_past else NOT_ASKED,
        posted=_posted(host),
    )


def _posted(host: Host) -> Posted:
    """Read every text of an import. NOTHING on any other host."""
    if posts(host, "") is None:
        return NOTHING
    from .posted_texts import read  # a machine itself does not pay for these parsers

    return read(host)


def _host_facts(host: Host, spec: Spec, found: Topology, ask_nvml: Callable[[], Fact[Nvml]]) -> HostFacts:
    # `tunecheck topo` does not pay for these.
    from .identity import identity_of
    from .kernel.platform import platform
    from .kernel.processes import processes
    from .nvidia.driver_parts import driver_parts
    from .nvidia.module_build import module_build, module_keys
    from .nvidia.packages import packages
    from .nvidia.services import services
    from .runtime.incidents import incidents
    from .runtime.runtime import runtime
    from .runtime.service_env import service_env
    from .runtime.serving import serving

    running = kernel(host)
    release = running.release.value or ""
    box = platform(host)
    wanted = {name: tuple(values) for name, values in spec.modules.items()}
    starts, loaded = boot(host, release), driver(host)
    # Without a driver and without a board of NVIDIA's there is nothing to ask of either.
    nvidia = not loaded.version.missing or any(device.ids.startswith("10de:") for device in found.devices)
    # A spec that asks for a driver or containers is judged also where neither came to be.
    asked = nvidia or spec.driver.source != "leave" or spec.runtime.engine != "leave"
    releases = (release, starts.release.value or "")
    return HostFacts(
        kernel=running,
        boot=starts,
        iommu=modes(host, found.devices),
        modules=modules(host, wanted, release),
        policies=policies(host, box.online),
        driver=loaded,
        acs_unit=enabled(host, ACS_UNIT),
        platform=box,
        errors=counters(host, (*found.bridges, *(device.bdf for device in found.devices))),
        neighbours=neighbours(host, found),
        driver_parts=driver_parts(host, asked, releases),
        packages=packages(host, asked),
        services=services(host, nvidia),
        processes=processes(host, nvidia),
        registry_dwords=registry_dwords(host, nvidia),
        gpu_locks=gpu_locks(host, nvidia),
        service_env=service_env(host, nvidia, ask_nvml()),
        module_build=module_build(host, asked, releases),
        module_keys=module_keys(host, asked and box.secure_boot.value is True),
        runtime=runtime(host, asked, spec.runtime),
        identity=identity_of(host),
        serving=serving(host),
        hgx=hgx(host, any(device.ids in ("10de:2901", "10de:3182") for device in found.devices)),
        measured_pass=measured_pass(host),
        trial_ended=trial_ended(host),
        incidents=incidents(host),
    )
