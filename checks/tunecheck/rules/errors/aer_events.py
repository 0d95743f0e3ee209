"""aer-events: no PCIe error since boot. An uncorrectable one on an accelerator's path fails, any other is a warning."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Place, Remedy
from ...spec.boards import board
from ..check import Check, Family, Heading
from ..context import Case
from . import from_log

CHECK = Check(
    "aer-events", "no PCIe error since boot", Heading.KERNEL, 50, Family.ERRORS,
)
CODES = {
    "fatal-error": "A device reported a fatal PCIe error.",
    "nonfatal-error": "A device reported a PCIe error that is neither fatal nor corrected.",
    "corrected-error": "A device reported a corrected PCIe error.",
    "contained-error": "A port contained an uncorrectable PCIe error (DPC).",
    "link-down": "The link of a slot went down: its device is gone.",
    "not-recovered": "The kernel could not recover a PCIe error.",
    "not-handled-by-kernel": "The kernel log holds no PCIe error, and the kernel does not handle them.",
}
_ID = CHECK.id
_CODES = {"fatal": "fatal-error", "correctable": "corrected-error", "contained": "contained-error",
          "link-down": "link-down"}
_LOOK = Remedy.typed("check seating, riser and slot of that link, and its width and speed (`tunecheck topo`)",
               place=Place.MACHINE)
_PAYLOAD = Remedy.typed("a malformed packet is mostly one that is larger than its receiver takes: compare Max "
                        "Payload Size at every hop (link-payload; `sudo lspci -nnvvv`, DevCtl); where all hops agree: "
                        "firmware and driver of the device")


def judge(case: Case) -> Iterator[Finding]:
    log = from_log.events(case)
    if log is None:
        yield from_log.unread(case, _ID)
        return
    paths = {bdf for device in case.snapshot.topology.devices for bdf in device.path}
    for error in log.pcie:
        on_path = error.bdf in paths
        code = "not-recovered" if error.unrecovered else _CODES.get(error.severity, "nonfatal-error")
        hard = error.severity in ("fatal", "contained", "link-down") or error.unrecovered
        # A line of the device itself says what it is, too: also where no text lists the devices.
        named = hard and not on_path and (error.driver == "nvidia" or board(error.ids) is not None)
        where = from_log.name(case, error.bdf) + (
            ", on an accelerator's path" if on_path else ", an accelerator" if named else "")
        names = f" ({', '.join(error.names)})" if error.names else ""
        plural, last = ("s", ", last") if error.count > 1 else ("", "")
        what = (f"the link below it went down{f' {error.count} times' if error.count > 1 else ''}"
                if error.severity == "link-down" else f"{error.count} {error.severity} PCIe error{plural}{names}")
        text = (f"{where}: {what}{last}{from_log.at(error.last)}"
                + ("; the kernel could not recover it" if error.unrecovered else "")
                + (_why_milder(case) if hard and not (on_path or named) else ""))
        yield Finding(_ID, code, error.bdf, "fail" if (on_path or named) and hard else "warn", "behaviour", text,
                      str(error.count), "no PCIe error since boot", (case.host.kernel.log.source,),
                      _PAYLOAD if error.names == ("MalfTLP",) else _LOOK)
    if not log.pcie and from_log.is_complete(case) and from_log.aer_owners(case) != {"kernel"}:
        yield Finding(_ID, "not-handled-by-kernel", "kernel log", "skip", "behaviour", "the kernel log holds no PCIe "
                      "error, which says little here: the kernel does not handle them (aer-ownership)",
                      evidence=(case.host.kernel.log.source,))
    elif not log.pcie:
        yield from_log.nothing_logged(case, _ID, "PCIe error (AER, DPC)")


def _why_milder(case: Case) -> str:
    """Return why an error that is hard only warns: what else is on the box, as a drive, is not judged here."""
    topology = case.snapshot.topology
    if topology.certain:
        return "; a warning only, as no accelerator is behind it"
    ask = "" if topology.accelerators.known else "; add: sudo lspci -nnvvv"
    return f"; it is a failure if an accelerator is behind it, which is not known{ask}"
