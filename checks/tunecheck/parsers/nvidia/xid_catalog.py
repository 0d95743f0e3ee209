"""What NVIDIA says about each Xid: meaning and recommended action.

Source: NVIDIA's Xid catalogue as of 2025-10-29 (https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html,
read through gpud's generated table), numbers and names of nverror.h of the open kernel modules 595. ``severity`` is
ours: "fail" where the GPU or its link needs a reset or more before it can serve, "warn" where an application or a later
look is meant. A code that is not here has no entry: nothing is invented.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["CATALOG", "RECOVERY", "SOURCE", "Advice", "XidEntry", "advice"]

SOURCE = "NVIDIA Xid catalogue of 2025-10-29"


class XidEntry(NamedTuple):
    """One entry. ``action`` is the recommended action, worded for an operator; its commands are in back-ticks,
    ``{gpu}`` is the address. ``reboot``: the host has to boot again for it. ``physical``: it takes the real machine,
    which a virtual one has not got."""

    meaning: str
    severity: str
    action: str
    reboot: bool = False
    physical: bool = False


class Recovery(NamedTuple):
    """What the driver asks for, worded and flagged as in an XidEntry."""

    action: str
    reboot: bool = False
    physical: bool = False


_APP = "restart the application"
_RESET = "reset the GPU: stop what uses it, then `sudo nvidia-smi --gpu-reset -i {gpu}`"
_WATCH = "none by the catalogue; watch whether it comes back"
_LOOK = "none by the catalogue; investigate, and ask NVIDIA support if it comes back"
_NVLINK = "follow NVIDIA's NVLink5 workflow for the sub-code in the text"
_NONE = "the catalogue gives none"

CATALOG: dict[int, XidEntry] = {
    8: XidEntry("channel idle timeout", "warn", _APP),
    13: XidEntry("graphics engine exception (bad access in a kernel)", "warn",
                 f"{_APP}; repeated over several applications: run NVIDIA's field diagnostics"),
    31: XidEntry("GPU memory page fault", "warn", _APP),
    32: XidEntry("PBDMA error", "warn", _APP),
    43: XidEntry("channel reset: an application was stopped by its own fault", "warn", "none: look at the application"),
    45: XidEntry("channels removed, after another Xid or a killed application", "warn",
                 "look at the Xid before it; alone: the application was killed"),
    46: XidEntry("GPU stopped processing", "fail", _RESET),
    48: XidEntry("double-bit ECC error", "fail", f"{_RESET}; look at Xid 63, 64, 94, 95 beside it"),
    61: XidEntry("PMU breakpoint", "warn", _NONE),
    62: XidEntry("PMU halted", "fail", _RESET),
    63: XidEntry("row remapping recorded", "warn", "none now; reset the GPU when convenient, so that it takes effect"),
    64: XidEntry("row remapping failed", "fail", _RESET),
    68: XidEntry("NVDEC error", "warn", _APP),
    69: XidEntry("graphics engine class error", "warn", _APP),
    74: XidEntry("NVLink error", "fail", "follow NVIDIA's NVLink workflow (Xid 144 to 150 on NVLink5)"),
    79: XidEntry("GPU has fallen off the bus", "fail",
                 "reboot the host; if it comes back, look at hardware: power, seating, riser", True, True),
    92: XidEntry("high rate of single-bit ECC errors", "warn", _WATCH),
    94: XidEntry("contained memory error", "warn", _APP),
    95: XidEntry("uncontained memory error", "fail", _RESET),
    109: XidEntry("context switch timeout", "fail", _RESET),
    110: XidEntry("security fault", "fail", _RESET),
    119: XidEntry("GSP RPC timeout", "fail", f"{_RESET}; if it does not come back: power-cycle the host"),
    120: XidEntry("GSP error", "fail", f"{_RESET}; if it does not come back: power-cycle the host"),
    121: XidEntry("C2C link error", "warn", _LOOK),
    136: XidEntry("NVLink training failed", "fail", _RESET),
    137: XidEntry("NVLink privilege error", "warn", _LOOK),
    140: XidEntry("unrecovered ECC error", "fail", _RESET),
    143: XidEntry("GPU initialisation error", "fail", _RESET),
    **{code: XidEntry(f"NVLink5 {unit} error", "warn", _NVLINK) for code, unit in enumerate(
        ("SAW", "RLW", "TLW", "TREX", "NVLPW_CTRL", "NETIR", "MSE"), 144)},
    151: XidEntry("key rotation (confidential computing)", "warn", "restart the virtual machine"),
    154: XidEntry("GPU recovery action changed", "fail", "do what the text says"),
    155: XidEntry("NVLink software-defined error", "fail", _RESET),
    156: XidEntry("resource retirement event", "fail", _RESET),
    157: XidEntry("resource retirement failure", "warn", "ask NVIDIA support"),
    158: XidEntry("GPU fatal timeout", "fail", _RESET),
    159: XidEntry("CHI non-data error", "warn", "CHECK_UVM, in the catalogue's words"),
    160: XidEntry("channel retirement event", "warn", _LOOK),
    161: XidEntry("channel retirement failure", "warn", _LOOK),
    167: XidEntry("PCIe fatal timeout", "fail", f"{_NONE}; by its name: {_RESET}"),
    168: XidEntry("reduced memory capacity (WPR)", "warn", _NONE),
    169: XidEntry("SEC2 halted", "fail", f"{_NONE}; by its name: {_RESET}"),
    171: XidEntry("uncorrectable DRAM error (detail of Xid 48)", "fail", _RESET),
    172: XidEntry("uncorrectable SRAM error (detail of Xid 48)", "fail", _RESET),
    173: XidEntry("C2C fatal link error", "warn", _NONE),
    174: XidEntry("silent kill of a process", "warn", _NONE),
    175: XidEntry("memory subsystem error", "warn", _NONE),
    176: XidEntry("PCIe correctable error fault", "warn", _NONE),
}

#: Xid 154's action numbers, which NVML's field 230 has too: NV2080_CTRL_GPU_RECOVERY_ACTION in ctrl2080gpu.h of
#: open-gpu-kernel-modules 595.45.04 ends with 5; NVML's change log adds the bus reset and the system reboot with 615.
RECOVERY = {
    0: Recovery("none: the driver asks for nothing any more"),
    1: Recovery(_RESET),
    2: Recovery("reboot the host", True),
    3: Recovery("drain the peer-to-peer work from this GPU"),
    4: Recovery(f"drain the GPU, then {_RESET}"),
    5: Recovery("restart nvidia-imex on every node of the IMEX domain"),
    6: Recovery("stop what uses the GPU, then power-cycle the host: the PCIe bus of the GPU needs a reset", True, True),
    7: Recovery("reboot the host", True),
}


class Advice(NamedTuple):
    """What to do about one Xid, and the source that says so."""

    meaning: str
    severity: str
    action: str
    source: str
    reboot: bool = False
    physical: bool = False


def advice(code: int, text: str, recovery: tuple[int, str] | None = None) -> Advice:
    """Return what to do about an Xid with this text. ``recovery`` is what a later Xid 154 asked for, as number and
    name: it wins, and "none" means that the driver got over it. For NVLink5 the word Fatal in the text decides."""
    entry = CATALOG.get(code, XidEntry("unknown code", "warn", "look it up at docs.nvidia.com/deploy/xid-errors"))
    said = SOURCE if code in CATALOG else f"not in the {SOURCE}"
    severity = "fail" if 144 <= code <= 150 and re.search(r"(?<![-\w])Fatal\b", text) else entry.severity
    if recovery is None:
        return Advice(entry.meaning, severity, entry.action, said, entry.reboot, entry.physical)
    number, words = recovery
    asked = RECOVERY.get(number, Recovery(f"what the driver calls {words}"))
    return Advice(entry.meaning, "warn" if number == 0 else severity, asked.action, f"Xid 154: {words}", asked.reboot,
                  asked.physical)
