"""What every check that looks into the kernel log has in common."""

from __future__ import annotations

from ..formats.kernel_log import KernelEvents
from ..formats.param_conflicts import split
from .finding import Case, Finding, Remedy

__all__ = ["CUT", "aer_owners", "at", "events", "name", "nothing", "only_cut", "unread"]

#: By what formats.osc says; in every other case the firmware has them.
_OWNER = {"kernel": "kernel", "disabled": "nobody", "unsupported": "nobody", "not asked": "nobody"}
CUT = "earlier ones would not be seen (kernel-log-complete)"


def events(case: Case) -> KernelEvents | None:
    """The log's events; None where there is no log, which `unread` reports."""
    log = case.host.kernel.log.value
    return log.events if log else None


def unread(case: Case, check: str) -> Finding:
    """The log cannot be read: nothing is known about what it would say."""
    log = case.host.kernel.log
    root = Remedy("run as root") if log.reason == "no permission" else None
    return Finding(check, "kernel log", "unknown", "behaviour", f"the kernel log cannot be read: {log.why()}",
                   evidence=(log.source,), remedy=root)


def nothing(case: Case, check: str, what: str) -> Finding:
    """The log holds none of ``what``; worth a pass only where the log is complete."""
    log, found = case.host.kernel.log, events(case)
    if found and found.complete:
        return Finding(check, "kernel log", "pass", "behaviour", f"no {what} since boot", evidence=(log.source,))
    return Finding(check, "kernel log", "warn", "behaviour", f"no {what} in what is left of the kernel log; {CUT}",
                   evidence=(log.source,))


def only_cut(finding: Finding) -> bool:
    """Whether it says no more than that the log is not whole, which kernel-log-complete says once for all."""
    return finding.outcome in ("warn", "unknown") and finding.text.endswith(CUT)


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
    native = any("pcie_ports=native" in split(token) for token in case.host.kernel.cmdline.value or ())
    outcomes = {bridge.outcome for bridge in found.osc.values()} - {""}
    if native and "disabled" not in outcomes:
        return {"kernel"} if outcomes else set()
    return {_OWNER.get(outcome, "firmware") for outcome in outcomes}
