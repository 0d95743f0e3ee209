"""PCIe errors on order: QEMU sets the error in a device's AER registers and sends the message to the root port.

QEMU before 8 drops corrected errors on the way (hw/pci/pcie_aer.c, pcie_aer_msg_alldev() lets only uncorrectable ones
pass), so there a corrected error is in the device's register and no interrupt tells of it."""

from __future__ import annotations

from pathlib import Path

from lab import qmp
from lab.errors import LabError

__all__ = ["CORRECTED", "UNCORRECTABLE", "inject"]

#: QEMU's names, hw/pci/pcie_aer.c.
CORRECTED = ("RCVR", "BAD_TLP", "BAD_DLLP", "REP_ROLL", "TIMER", "INTERNAL", "HL_OVERFLOW")
UNCORRECTABLE = ("DLP", "SDN", "POISON_TLP", "FCP", "COMP_TIME", "COMP_ABORT", "UNX_COMP", "RX_OVER", "MALF_TLP",
                 "ECRC", "UNSUP", "ACS")


def inject(folder: Path, device: str, error: str = "COMP_TIME") -> None:
    """Inject ``error`` at QEMU's device ``device`` (rp0, dn0, ... of the layout) of the machine in ``folder``."""
    if error not in (*CORRECTED, *UNCORRECTABLE):
        raise LabError(f"`{error}` is no PCIe error that QEMU knows; known: {', '.join((*CORRECTED, *UNCORRECTABLE))}")
    order = f"pcie_aer_inject_error {'-c ' if error in CORRECTED else ''}{device} {error}"
    try:
        answer = str(qmp.ask(folder, "human-monitor-command", **{"command-line": order})).strip()
    except OSError as problem:
        raise LabError(f"QEMU did not answer `{order}`: {problem}") from None
    if not answer.startswith("OK"):
        raise LabError(f"QEMU refused `{order}`: {answer or 'it said nothing'}")
