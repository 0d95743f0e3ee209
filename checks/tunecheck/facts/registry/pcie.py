"""PCI Express: accelerators, the links above them, ACS and the IOMMU. Values are counted without addresses: two equal
boxes may number their buses differently."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ...model.fact import Absence, Fact, absent
from ...parsers.pci.pcie_cap import Express, generation
from .definition import Entry
from .selectors import asked, booted, counted, of_host, of_tree, tallied

if TYPE_CHECKING:
    from ..pci.devices import Device
    from ..snapshot import HostFacts, Snapshot
    from ..snapshot_file import Stored

__all__ = ["ENTRIES"]

_NONE: Fact[Any] = absent("config", Absence.NOT_PRESENT)


def _accelerators(select: Callable[[Device], Fact[Any]]) -> Callable[[Stored], Fact[Any]]:
    def fact_of(stored: Stored) -> Fact[Any]:
        listed = stored.snapshot.topology.accelerators
        return listed if listed.value is None else counted([select(device) for device in listed.value], listed.source)

    return fact_of


def _links(select: Callable[[Device], Fact[Any]]) -> Callable[[Stored], Fact[Any]]:
    """The same of what the accelerators' links have. What is read of one that does not answer is no value."""
    return _accelerators(lambda device: device.express if device.express.absence is Absence.LOST else select(device))


def _bridges(select: Callable[[Device], Fact[Any]]) -> Callable[[Stored], Fact[Any]]:
    """Make a selector that counts a value over every port above an accelerator."""

    def fact_of(stored: Stored) -> Fact[Any]:
        topology = stored.snapshot.topology
        if topology.accelerators.value is None:
            return topology.accelerators
        return counted([select(device) for device in topology.bridges.values()], topology.accelerators.source)

    return fact_of


def _express(select: Callable[[Express], object]) -> Callable[[Device], Fact[Any]]:
    """Make a selector of a value in the PCI Express capability. Conventional PCI has none."""

    def fact_of(device: Device) -> Fact[Any]:
        express = device.express
        if express.reason is not None:
            return express
        return _NONE if express.value is None else Fact(select(express.value), express.source)

    return fact_of


def _link(select: Callable[[Any], object]) -> Callable[[Device], Fact[Any]]:
    return _express(lambda express: select(express.link) if express.link else None)


def _gen(fact: Fact[str]) -> Fact[Any]:
    """Return the generation of a speed: 5 for ``32.0 GT/s PCIe``."""
    return fact if fact.value is None else Fact(generation(fact.value) or fact.value, fact.source)


def _ids(device: Device) -> Fact[Any]:
    return Fact(device.ids, "")


def _bound(device: Device) -> Fact[Any]:
    return Fact("none", "") if device.driver.missing else device.driver


def _relations(stored: Stored) -> Fact[Any]:
    """Count the pairs by how they relate. The fact is unknown where one relation cannot be told; on a machine that
    hides its tree such a pair counts as "hidden"."""
    topology = stored.snapshot.topology
    if topology.accelerators.value is None:
        return topology.accelerators
    facts = [pair.relation for pair in topology.pairs]
    return counted([Fact("hidden", fact.source) if fact.absence is Absence.NOT_DERIVABLE else fact
                    for fact in facts], topology.accelerators.source)


def _driver_relations(stored: Stored) -> Fact[Any]:
    table = asked(stored, stored.snapshot.topo_text)
    return table if table.value is None else Fact(tallied(table.value.relations.values()), table.source)


def _peer(way: str) -> Callable[[Stored], Fact[Any]]:
    def fact_of(stored: Stored) -> Fact[Any]:
        p2p = asked(stored, stored.snapshot.p2p)
        if p2p.value is None:
            # One board, or none: there is no peer.
            away = p2p.absence in (Absence.NOT_ASKED, Absence.NO_BOARDS)
            return absent(p2p.source, Absence.NOT_PRESENT) if away else p2p
        return counted([fact for key, fact in p2p.value.items() if key[2] == way], p2p.source)

    return fact_of


def _control(device: Device) -> Fact[Any]:
    acs = device.acs
    return acs if acs.reason is not None else Fact(
        "none" if acs.value is None else f"{acs.value.ctl & 0xffff:#06x}", acs.source)


def _acs(of_paths: bool) -> Callable[[Stored], Fact[Any]]:
    """Make a selector that counts ACSCtl by the port's role: {"Downstream Port 0x001d": 8}. With ``of_paths`` only the
    ports that peers' traffic crosses count, without it only the others."""

    def fact_of(stored: Stored) -> Fact[Any]:
        return counted([_with_role(device) for device in _ports(stored.snapshot, of_paths)], "config")

    return fact_of


def _ports(snapshot: Snapshot, of_paths: bool) -> Iterable[Device]:
    topology = snapshot.topology
    crossed = set(topology.path_ports())
    return [device for bdf, device in topology.bridges.items() if (bdf in crossed) is of_paths]


def _with_role(device: Device) -> Fact[Any]:
    control = _control(device)
    if control.value is None:
        return control
    role = device.express.value.port if device.express.value else "port"
    return Fact(f"{role} {control.value}", control.source)


def _redirecting(stored: Stored) -> Fact[Any]:
    """Return how many of the ports that peers' traffic crosses send it up."""
    number = 0
    for device in _ports(stored.snapshot, True):
        if device.acs.reason is not None:
            return device.acs
        number += device.acs.value is not None and device.acs.value.redirects
    return Fact(number, "config")


def _modes(host: HostFacts) -> Fact[Any]:
    return counted(list(host.iommu.values()), "iommu_group")


def _near(host: HostFacts) -> Fact[Any]:
    near = host.neighbours
    return near if near.value is None else Fact(tallied(each.kind for each in near.value), near.source)


def _addresses(stored: Stored) -> Fact[Any]:
    found = stored.snapshot.topology.accelerators
    return found if found.value is None else Fact([device.bdf for device in found.value], found.source)


_DEVICES = "/sys/bus/pci/devices"
ENTRIES = (
    Entry("pcie.accelerators", "config", "high", "hands-on", "accelerators by PCI id", _accelerators(_ids)),
    Entry("pcie.unlisted", "config", "high", "reboot", "GPUs that the driver has and the PCI tree has not",
          of_tree(lambda stored: Fact(len(stored.snapshot.topology.unlisted), _DEVICES)), of_boot=True),
    Entry("pcie.addresses", "gauge", "low", "none", "where the accelerators are", _addresses),
    Entry("pcie.answers", "config", "high", "hands-on", "accelerators whose configuration space answers",
          _accelerators(lambda device: device.answers)),
    Entry("pcie.driver", "config", "high", "reload", "kernel driver bound to the accelerators", _accelerators(_bound)),
    Entry("pcie.numa", "config", "high", "firmware", "accelerators by NUMA node; -1: none",
          _accelerators(lambda device: device.numa_node)),
    Entry("pcie.width", "config", "high", "hands-on", "lanes of the accelerators' links now",
          _links(lambda device: device.link.width), unit="lanes"),
    Entry("pcie.width_max", "config", "high", "hands-on", "most lanes that both ends of those links have",
          _links(lambda device: device.link.max_width), unit="lanes"),
    Entry("pcie.gen_max", "config", "high", "hands-on", "highest generation of those links",
          _links(lambda device: _gen(device.link.max_speed))),
    Entry("pcie.gen", "gauge", "low", "none", "generation of those links now: an idle one sleeps",
          _links(lambda device: _gen(device.link.speed))),
    Entry("pcie.payload", "config", "medium", "reboot", "largest packet set (MPS) at the accelerators",
          _accelerators(_express(lambda express: express.payload)), unit="bytes"),
    Entry("pcie.read_request", "config", "medium", "reboot", "largest read request set (MRRS) at the accelerators",
          _accelerators(_express(lambda express: express.read_request)), unit="bytes", of_boot=True),
    Entry("pcie.relaxed_ordering", "config", "medium", "firmware", "relaxed ordering at the accelerators",
          _accelerators(_express(lambda express: express.relaxed_ordering))),
    Entry("pcie.extended_tag", "config", "medium", "firmware", "extended tags at the accelerators",
          _accelerators(_express(lambda express: express.extended_tag))),
    Entry("pcie.aspm", "config", "medium", "reboot", "power saving switched on at the accelerators' links",
          _accelerators(_link(lambda link: link.aspm or "off"))),
    Entry("pcie.gen_target", "config", "medium", "firmware", "speed limit set at the accelerators (Link Control 2)",
          _accelerators(_link(lambda link: link.target_gen))),
    Entry("pcie.bridge.ids", "config", "high", "hands-on", "ports above the accelerators by PCI id", _bridges(_ids)),
    Entry("pcie.bridge.width", "config", "high", "hands-on", "lanes of those ports now",
          _bridges(lambda device: device.link.width), unit="lanes"),
    Entry("pcie.bridge.gen_max", "config", "medium", "firmware", "highest generation of those ports",
          _bridges(lambda device: _gen(device.link.max_speed))),
    Entry("pcie.bridge.gen", "gauge", "low", "none", "generation of those ports now",
          _bridges(lambda device: _gen(device.link.speed))),
    Entry("pcie.bridge.payload", "config", "medium", "reboot", "largest packet set (MPS) at those ports",
          _bridges(_express(lambda express: express.payload)), unit="bytes"),
    Entry("pcie.bridge.aspm", "config", "medium", "reboot", "power saving switched on at those ports",
          _bridges(_link(lambda link: link.aspm or "off"))),
    Entry("pcie.relation", "config", "high", "hands-on", "pairs of accelerators by how they relate (PIX ... SYS)",
          _relations),
    Entry("pcie.relation_told", "config", "medium", "hands-on", "the same as the driver's table tells it",
          _driver_relations),
    Entry("pcie.neighbours", "config", "low", "hands-on", "drives and network cards below the accelerators' ports",
          of_tree(of_host(_near))),
    Entry("p2p.read", "config", "high", "reload", "pairs by whether the driver lets one GPU read the other",
          _peer("read")),
    Entry("p2p.write", "config", "high", "reload", "pairs by whether it lets one write to the other",
          _peer("write")),
    Entry("acs.redirecting", "config", "high", "reload", "ports between accelerators that send their traffic up",
          of_tree(_redirecting)),
    Entry("acs.path_ports", "config", "high", "reload", "ACS control of the ports between accelerators, by role",
          of_tree(_acs(True))),
    Entry("acs.other_ports", "config", "low", "reboot", "ACS control of the other ports above them, by role",
          of_tree(_acs(False)), of_boot=True),
    Entry("acs.accelerators", "config", "low", "reboot", "ACS control of the accelerators themselves",
          _accelerators(_control), of_boot=True),
    Entry("acs.unit", "config", "high", "reload", "the unit that clears the redirect bits starts at boot",
          of_host(lambda host: host.acs_unit)),
    Entry("iommu.mode", "config", "high", "reboot", "IOMMU groups of the accelerators by type",
          of_tree(of_host(_modes))),
    Entry("iommu.table", "config", "medium", "firmware", "the firmware's IOMMU table: IVRS (AMD), DMAR (Intel)",
          of_host(lambda host: booted(host, lambda log: log.boot.iommu_table or None))),
    Entry("pcie.aer_owner", "config", "medium", "reboot", "who handles PCIe errors, by host bridge of the ACPI tables",
          of_host(lambda host: booted(host, lambda log: {
              name: bridge.outcome for name, bridge in log.events.osc.items() if bridge.outcome}))),
    Entry("pcie.unassigned", "config", "high", "reboot", "BARs of PCI devices that found no address",
          of_host(lambda host: booted(host, lambda log: sorted(
              f"{bar.bdf} BAR {bar.bar}" for bar in log.events.unassigned)))),
)
