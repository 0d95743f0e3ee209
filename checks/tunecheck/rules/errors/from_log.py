"""What all checks of the kernel log have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...model.fact import Absence
from ...model.finding import AS_ROOT, Finding, Remedy
from ...parsers.nvidia.driver_refusals import OPEN_REFUSED, OPEN_REQUIRED
from ..codes import LOG_INCOMPLETE, LOG_UNREAD, OK
from ..context import Case

if TYPE_CHECKING:
    from ...parsers.kernel.kernel_log import KernelEvents
    from ...parsers.nvidia.driver_refusals import Unsupported

__all__ = ["OPEN_REQUIRED", "aer_owners", "at", "events", "incomplete_code", "is_complete", "limits_of_log", "name",
           "no_address", "not_driven", "not_listed", "nothing_logged", "only_log_incomplete", "quoted", "unread"]

#: So many Xids are named.
_QUOTED = 5
#: Who handles PCIe errors, by the outcome of parsers/pci/osc.py; by every other outcome it is the firmware.
_OWNER = {"kernel": "kernel", "disabled": "nobody", "unsupported": "nobody", "not asked": "nobody"}


def events(case: Case) -> KernelEvents | None:
    """The log's events; None where there is no log, which `unread` reports."""
    log = case.host.kernel.log.value
    return log.events if log else None


def unread(case: Case, check: str) -> Finding:
    """Return the finding where the log cannot be read."""
    log = case.host.kernel.log
    root = AS_ROOT if log.absence is Absence.NO_PERMISSION else None
    return Finding(check, LOG_UNREAD, "kernel log", "unknown", "behaviour", "the kernel log cannot be read: "
                   f"{log.why()}", evidence=(log.source,), remedy=root, absence=log.absence)


def is_complete(case: Case) -> bool:
    """Whether the log covers this boot from its first line to the time of reading. Only then does a log without an
    event mean that nothing happened."""
    log = events(case)
    return log is not None and log.complete


def limits_of_log(case: Case) -> str:
    """Return the end of a sentence about what an incomplete log does not contain: ``in what is here of the kernel log
    (from 12.5 to 99.1); earlier ones would not be seen (kernel-log-complete)``."""
    log = events(case)
    if log is None:
        return f"in the kernel log, which cannot be read: {case.host.kernel.log.why()}"
    begin = "the boot" if log.start else log.first
    span = f" (from {begin} to {log.last})" if log.first and log.last else ""
    which = "lines that are left out or came later" if log.doubt else "others" if log.start else "earlier ones"
    return f"in what is here of the kernel log{span}; {which} would not be seen (kernel-log-complete)"


def incomplete_code(case: Case) -> str:
    """The code of a finding whose text ends with ``limits_of_log``."""
    return LOG_INCOMPLETE if events(case) is not None else LOG_UNREAD


def nothing_logged(case: Case, check: str, what: str) -> Finding:
    """The finding where the log holds none of ``what``: a pass where it covers the whole boot, else unknown."""
    source = (case.host.kernel.log.source,)
    if is_complete(case):
        return Finding(check, OK, "kernel log", "pass", "behaviour", f"no {what} since boot", evidence=source)
    return Finding(check, incomplete_code(case), "kernel log", "unknown", "behaviour",
                   f"not known for the whole boot: no {what} {limits_of_log(case)}", evidence=source)


def quoted(case: Case, check: str, code: int | None = None) -> Finding | None:
    """The finding of Xids (of one ``code``) that a sentence or another program names, where a log is not complete: the
    kernel's own lines may be missing. None where there is none."""
    log = events(case)
    told = [each for each in log.quoted if code in (None, each.code)] if log and not log.complete else []
    if not told:
        return None
    shown = [f"Xid {each.code} of {each.gpu}" for each in told[:_QUOTED]]
    more = f" and {len(told) - _QUOTED} more" if len(told) > _QUOTED else ""
    return Finding(check, "quoted", "quoted", "unknown", "behaviour",
                   f"whether it happened on this box is not told: {', '.join(shown)}{more} is named by a sentence or "
                   "another program, and by no line of the kernel that is here", ", ".join(shown), "no Xid since boot",
                   (case.host.kernel.log.source,),
                   Remedy.typed("what the Xid means: `tunecheck explain xid:{code}`; what the kernel of the box said: "
                                "`sudo journalctl -k -b -g Xid`",
                                code=str(told[0].code)))


def only_log_incomplete(finding: Finding) -> bool:
    """Whether the finding warns, or is unknown, only because the log is incomplete: kernel-log-complete reports that
    for all checks."""
    return finding.outcome in ("warn", "unknown") and finding.code == LOG_INCOMPLETE


def name(case: Case, address: str) -> str:
    """Return ``GPU0 0000:03:00.0`` for the address of an accelerator, with or without its function; else the address
    alone."""
    for index, device in enumerate(case.snapshot.topology.devices):
        if address in (device.bdf, device.bdf.rpartition(".")[0]):
            return f"GPU{index} {device.bdf}"
    return address


def not_listed(case: Case, address: str) -> str:
    """Return the end of a sentence about a GPU that the log names and the list of the PCI devices has not: ``; this
    address is not in lspci: ...``. "" where the list has it, or may be a part."""
    topology = case.snapshot.topology
    if not address or topology.listed is None or topology.doubt:
        return ""
    there = {*topology.listed, *(device.bdf for device in topology.devices),
             *(each.bdf for each in topology.unidentified), *topology.bridges}
    if any(address in (bdf, bdf.rpartition(".")[0]) for bdf in there):
        return ""
    return "; this address is not in lspci: the log is of another machine or boot, or the board is gone from PCI"


def at(when: str) -> str:
    """Return the time of an event for a sentence: `` at [12.345678]``, or "" where the log has no times."""
    return f" at [{when}]" if when else ""


def aer_owners(case: Case) -> set[str]:
    """Return who handles PCIe errors of the host bridges in the log: "kernel", "firmware" or "nobody". Empty where no
    host bridge negotiated it."""
    log = events(case)
    if log is None:
        return set()
    from ...parsers.kernel.param_conflicts import split  # imported here: start-up time

    words = {word for token in case.host.kernel.cmdline.value or () for word in split(token)}
    native = "pcie_ports=native" in words and "pci=noaer" not in words
    outcomes = {bridge.outcome for bridge in log.osc.values()} - {""}
    if native and "disabled" not in outcomes:
        return {"kernel"} if outcomes else set()
    return {_OWNER.get(outcome, "firmware") for outcome in outcomes}


def no_address(case: Case) -> set[str]:
    """Return the boards ("0000:41:00", "" for one that is not named) that the driver refuses because their memory has
    no valid address."""
    log = events(case)
    if log is None:
        return set()
    named = {bar.bdf.rpartition(".")[0] for bar in log.unassigned if bar.refused}
    return named or {each.gpu for each in log.failures if each.kind == "region"}


def not_driven(case: Case, by_flavour: bool) -> list[Unsupported]:
    """Return the boards that the modules which are loaded now do not drive, as the log says: because they are the open
    ones, or are not (``by_flavour``), or because of the driver's release."""
    log = events(case)
    return [each for each in log.unsupported if each.load == log.loads
            and (each.kind in (OPEN_REQUIRED, OPEN_REFUSED)) is by_flavour] if log else []
