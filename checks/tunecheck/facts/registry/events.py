"""What the kernel log and the error registers count: only differences mean something."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...model.fact import Absence, Fact, absent
from .definition import Entry
from .selectors import of_host, of_tree, through

if TYPE_CHECKING:
    from ..snapshot import HostFacts

__all__ = ["ENTRIES"]


def _logged(count: Callable[[Any], int]) -> Callable[[Any], Fact[Any]]:
    return of_host(lambda host: through(host.kernel.log, lambda log: count(log.events)))


def _aer(severity: str) -> Callable[[Any], Fact[Any]]:
    """Make a selector of the sum of all counts of one severity over every hop. A port without the file is left out."""

    def summed(host: HostFacts) -> Fact[Any]:
        total, read = 0, False
        for hop in host.errors.values():
            fact = hop.by_severity.get(severity)
            if fact is None or fact.absence is Absence.NOT_PRESENT:
                continue
            if fact.value is None:
                return fact
            total, read = total + sum(fact.value.values()), True
        return Fact(total, f"aer_dev_{severity}") if read else absent(f"aer_dev_{severity}", Absence.NOT_PRESENT)

    return of_tree(of_host(summed))


def _incidents(select: Callable[[Any], Any]) -> Callable[[Any], Fact[Any]]:
    return of_host(lambda host: through(host.incidents, lambda told: select(told.found)))


def _latched(host: HostFacts) -> Fact[Any]:
    facts = [hop.latched for hop in host.errors.values() if hop.latched is not None]
    return Fact(sorted({name for fact in facts for name in fact.value or ()}), "config") if facts else absent(
        "config", Absence.NOT_PRESENT)


ENTRIES = (
    Entry("events.xids", "counter", "high", "none", "Xids in this boot's kernel log",
          _logged(lambda events: sum(each.count for each in events.xids))),
    Entry("events.sxids", "counter", "high", "none", "SXids (errors of NVSwitches) in this boot's kernel log",
          _logged(lambda events: sum(each.count for each in events.sxids))),
    Entry("events.fallen_off", "counter", "high", "none", "GPUs that fell off the bus in this boot",
          _logged(lambda events: len(events.fallen))),
    Entry("events.hung_tasks", "counter", "high", "none", "tasks that hung in this boot",
          _logged(lambda events: sum(each.seconds > 0 for each in events.hung))),
    Entry("events.pcie_errors", "counter", "medium", "none", "PCIe errors in this boot's kernel log",
          _logged(lambda events: sum(each.count for each in events.pcie))),
    Entry("events.iommu_faults", "counter", "medium", "none", "what an IOMMU refused in this boot",
          _logged(lambda events: sum(each.count for each in events.faults))),
    Entry("events.driver_loads", "counter", "low", "none", "how often the driver was loaded in this boot",
          _logged(lambda events: events.loads)),
    Entry("events.incidents", "gauge", "high", "none", "incidents of what is served, of those that its journal holds "
          "the newest 50", _incidents(len)),
    Entry("events.last_incident", "time", "medium", "none", "when the newest of them began, by the box's clock",
          _incidents(lambda found: found[-1].begun if found else None), unit="s"),
    Entry("pcie.aer_correctable", "counter", "medium", "none", "corrected PCIe errors over every hop",
          _aer("correctable")),
    Entry("pcie.aer_nonfatal", "counter", "high", "none", "uncorrectable PCIe errors, not fatal, over every hop",
          _aer("nonfatal")),
    Entry("pcie.aer_fatal", "counter", "high", "none", "fatal PCIe errors over every hop", _aer("fatal")),
    Entry("pcie.latched", "gauge", "medium", "none", "errors that a hop itself still holds, where nothing counts them",
          of_tree(of_host(_latched))),
    Entry("process.stuck", "gauge", "high", "none", "tasks stuck in the driver, or nobody knows where",
          of_host(lambda host: through(host.processes, lambda found: len(found.stuck)))),
    Entry("process.zombies", "gauge", "low", "none", "dead processes not yet collected",
          of_host(lambda host: through(host.processes, lambda found: len(found.zombies)))),
)
