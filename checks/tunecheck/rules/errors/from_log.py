"""What every check that looks into the kernel log has in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...model.fact import Absence
from ...model.finding import AS_ROOT, LOG_INCOMPLETE, Finding
from ..context import Case

if TYPE_CHECKING:
    from ...parsers.kernel.kernel_log import KernelEvents

__all__ = ["aer_owners", "at", "events", "name", "nothing", "only_cut", "partial", "partial_code", "unread", "whole"]

#: By what formats.osc says; in every other case the firmware has them.
_OWNER = {"kernel": "kernel", "disabled": "nobody", "unsupported": "nobody", "not asked": "nobody"}


def events(case: Case) -> KernelEvents | None:
    """The log's events; None where there is no log, which `unread` reports."""
    log = case.host.kernel.log.value
    return log.events if log else None


def unread(case: Case, check: str) -> Finding:
    """The log cannot be read: nothing is known about what it would say."""
    log = case.host.kernel.log
    root = AS_ROOT if log.absence is Absence.NO_PERMISSION else None
    return Finding(check, "kernel log", "unknown", "behaviour", f"the kernel log cannot be read: {log.why()}",
                   evidence=(log.source,), remedy=root, absence=log.absence)


def whole(case: Case) -> bool:
    """Whether the log covers this boot from its first line to the time of reading: only then does its silence mean
    that nothing happened."""
    found = events(case)
    return found is not None and found.complete


def partial(case: Case) -> str:
    """``in what is here of the kernel log (from 12.5 to 99.1); earlier ones would not be seen (kernel-log-complete)``:
    behind what a log that is not whole does not hold."""
    found = events(case)
    if found is None:
        return f"in the kernel log, which cannot be read: {case.host.kernel.log.why()}"
    span = f" (from {found.first} to {found.last})" if found.first and found.last else ""
    which = "others" if found.start or found.doubt else "earlier ones"
    return f"in what is here of the kernel log{span}; {which} would not be seen (kernel-log-complete)"


def partial_code(case: Case) -> str:
    """The code of a finding that says no more than ``partial``."""
    return LOG_INCOMPLETE if events(case) is not None else ""


def nothing(case: Case, check: str, what: str) -> Finding:
    """The log holds none of ``what``: a pass only where it covers the whole boot, else nobody knows."""
    source = (case.host.kernel.log.source,)
    if whole(case):
        return Finding(check, "kernel log", "pass", "behaviour", f"no {what} since boot", evidence=source)
    return Finding(check, "kernel log", "unknown", "behaviour", f"no {what} {partial(case)}", evidence=source,
                   code=partial_code(case))


def only_cut(finding: Finding) -> bool:
    """Whether it says no more than that the log is not whole, which kernel-log-complete says once for all."""
    return finding.outcome in ("warn", "unknown") and finding.code == LOG_INCOMPLETE


def name(case: Case, address: str) -> str:
    """``GPU0 0000:03:00.0`` for an accelerator's address with or without its function, else the address."""
    for index, device in enumerate(case.snapshot.topology.devices):
        if address in (device.bdf, device.bdf.rpartition(".")[0]):
            return f"GPU{index} {device.bdf}"
    return address


def at(when: str) -> str:
    """`` at [12.345678]``, or nothing where the log has no times."""
    return f" at [{when}]" if when else ""


def aer_owners(case: Case) -> set[str]:
    """Who handles PCIe errors, over all host bridges of the log: "kernel", "firmware" or "nobody"; empty where no host
    bridge settled it."""
    found = events(case)
    if found is None:
        return set()
    from ...parsers.kernel.param_conflicts import split  # start-up time

    words = {word for token in case.host.kernel.cmdline.value or () for word in split(token)}
    native = "pcie_ports=native" in words and "pci=noaer" not in words
    outcomes = {bridge.outcome for bridge in found.osc.values()} - {""}
    if native and "disabled" not in outcomes:
        return {"kernel"} if outcomes else set()
    return {_OWNER.get(outcome, "firmware") for outcome in outcomes}
