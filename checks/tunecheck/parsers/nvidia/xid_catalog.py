"""What NVIDIA says about each Xid: meaning and recommended action.

Source: NVIDIA's Xid catalogue as of 2025-10-29 (https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html,
read through gpud's generated table; a copy of the page itself was read in November 2026, for Xid 1 to 172), numbers and
names of nverror.h of the open kernel modules 595. ``severity`` is ours: "fail" where the GPU or its link needs a reset
or more before it can serve, "warn" where an application or a later look is meant. A code that is not here has no entry:
nothing is invented.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["CATALOG", "DATE", "RECOVERY", "SOURCE", "Advice", "XidEntry", "advice"]

DATE = "2025-10-29"
SOURCE = f"NVIDIA Xid catalogue of {DATE}"
_TABLE = f"tunecheck's table, made from NVIDIA's catalogue of {DATE}, has no Xid"


class XidEntry(NamedTuple):
    """One entry. ``action`` is the recommended action, worded for an operator; its commands are in back-ticks,
    ``{gpu}`` is the address. ``reboot``: the host has to boot again for it. ``physical``: it takes the real machine,
    which a virtual one has not got. ``read_on``: the check whose page says more than xid's."""

    meaning: str
    severity: str
    action: str
    reboot: bool = False
    physical: bool = False
    read_on: str = "xid"


class Recovery(NamedTuple):
    """What the driver asks for, worded and flagged as in an XidEntry."""

    action: str
    reboot: bool = False
    physical: bool = False


_APP = "restart the application"
_RESET = "reset the GPU: stop what uses it, then `sudo nvidia-smi --gpu-reset -i {gpu}`"
_WATCH = "none by the catalogue; watch whether the error comes back"
_LOOK = ("none by the catalogue; if the error comes back: ask NVIDIA support, with the file that "
         "`nvidia-bug-report.sh` writes")
_LINKS = ("see which link it is: `nvidia-smi nvlink -s` shows those that are down, `nvidia-smi nvlink -e` counts "
          "errors; the cause may be the GPU or NVSwitch at its other end")
_GUIDELINES = ("the hexadecimal numbers in the text: NVIDIA's GPU Debug Guidelines "
               "(docs.nvidia.com/deploy/gpu-debug-guidelines)")
_SUB_CODE = "the sub-code in the text: NVIDIA's Xid catalogue (docs.nvidia.com/deploy/xid-errors), Xid 144 to 150"
_NONE = "the catalogue gives none"
_SUPPORT = "none by the catalogue but to ask NVIDIA support"
_SMOOTHING = "none for the GPU; where power smoothing is wanted"
#: What the catalogue calls unused: no GPU since A100 reports it. Older ones may, with another meaning of their own.
_UNUSED = (*range(1, 8), 9, 10, 12, *range(15, 25), *range(26, 31), *range(33, 37), 42, 47, *range(49, 54), 55, 56, 57,
           58, 59, 65, 73, 81, 87, 90, 91, *range(111, 119), *range(122, 126), 138)
#: The first Xid of a row of engines of one kind -> its name, the number of the first engine, and how many.
_ENGINES = {70: ("copy engine CE", 3, 3), 75: ("copy engine CE", 6, 3), 85: ("copy engine CE", 9, 1),
            126: ("copy engine CE", 10, 10), 83: ("NVDEC", 1, 2), 88: ("NVDEC", 3, 2), 96: ("NVDEC", 5, 3),
            82: ("NVJPG", 0, 1), 99: ("NVJPG", 1, 7)}

CATALOG: dict[int, XidEntry] = {
    **{code: XidEntry("unused on A100 and younger GPUs", "warn", _SUPPORT) for code in _UNUSED},
    **{code + each: XidEntry(f"{name}{first + each} error", "warn", _APP)
       for code, (name, first, many) in _ENGINES.items() for each in range(many)},
    8: XidEntry("channel idle timeout", "warn", _APP),
    11: XidEntry("invalid or corrupted push buffer stream", "warn", _APP),
    13: XidEntry("graphics engine exception (bad access in a kernel)", "warn",
                 f"{_APP}; repeated over several applications: test the GPU with NVIDIA's DCGM, `dcgmi diag -r 3`"),
    14: XidEntry("fake error, made by a test", "warn", _WATCH),
    25: XidEntry("invalid or illegal push buffer stream", "warn", _APP),
    31: XidEntry("GPU memory page fault", "warn", _APP),
    32: XidEntry("PBDMA error", "warn", _APP),
    37: XidEntry("driver firmware error (method not implemented)", "warn", _WATCH),
    38: XidEntry("driver firmware error (watchdog)", "warn", _LOOK),
    **{code: XidEntry("copy engine exception", "warn", _APP) for code in (39, 40, 41)},
    43: XidEntry("channel reset: an application was stopped by its own fault", "warn", "none: look at the application"),
    44: XidEntry("graphics engine fault during a context switch", "warn", _LOOK),
    45: XidEntry("channels removed, after another Xid or a killed application", "warn",
                 "look at the Xid before it; alone: the application was killed"),
    46: XidEntry("GPU stopped processing", "fail", _RESET),
    48: XidEntry("double-bit ECC error", "fail", f"{_RESET}; look at Xid 63, 64, 94, 95 beside it"),
    54: XidEntry("auxiliary power is not connected to the GPU board", "fail",
                 "switch the machine off and connect the power cables of the GPU; ask NVIDIA support if the error "
                 "comes back",
                 True, True),
    60: XidEntry("video processor exception", "warn", _APP),
    61: XidEntry("PMU breakpoint", "warn", _NONE),
    62: XidEntry("PMU halted", "fail", _RESET),
    63: XidEntry("row remapping recorded", "warn", f"none now; when convenient {_RESET}, so that it takes effect"),
    64: XidEntry("row remapping failed", "fail", f"{_RESET}; if the error comes back: have the board replaced"),
    66: XidEntry("illegal access by the driver", "warn", _LOOK),
    67: XidEntry("illegal access by the driver (verification)", "warn", _LOOK),
    68: XidEntry("NVDEC error", "warn", _APP),
    69: XidEntry("graphics engine class error", "warn", _APP),
    74: XidEntry("NVLink error", "fail",
                 f"{_LINKS}; {_RESET}; if the error comes back on the same link: have the board checked; {_GUIDELINES}",
                 read_on="fabric-state"),
    78: XidEntry("vGPU start error", "warn", "update the driver and the firmware"),
    79: XidEntry("GPU has fallen off the bus", "fail",
                 "reboot the host; if the error comes back, look at hardware: power, seating, riser", True, True),
    80: XidEntry("corrupted data sent to the GPU", "warn", _APP),
    86: XidEntry("optical flow engine (OFA) exception", "warn", _APP),
    92: XidEntry("high rate of single-bit ECC errors", "warn", _WATCH),
    93: XidEntry("InfoROM wear limit exceeded, not fatal", "warn",
                 "none now; ask NVIDIA support for nvflash, the program that clears the limit"),
    94: XidEntry("contained memory error", "warn", _APP),
    95: XidEntry("uncontained memory error", "fail", _RESET),
    106: XidEntry("SMBPBI test message", "warn", "none: it is a test"),
    107: XidEntry("SMBPBI test message, silent", "warn", "none: it is a test"),
    108: XidEntry("NVLink remote translation error", "warn", _LOOK),
    109: XidEntry("context switch timeout", "fail", _RESET),
    110: XidEntry("security fault", "fail", _RESET),
    119: XidEntry("GSP RPC timeout", "fail", f"{_RESET}; if the GPU does not come back: power-cycle the host"),
    120: XidEntry("GSP error", "fail", f"{_RESET}; if the GPU does not come back: power-cycle the host"),
    121: XidEntry("C2C link error", "warn", _LOOK),
    136: XidEntry("NVLink training failed", "fail", _RESET),
    137: XidEntry("NVLink privilege error", "warn", _LOOK),
    139: XidEntry("optical flow engine OFA1 error", "warn", _APP),
    140: XidEntry("unrecovered ECC error", "fail", _RESET),
    141: XidEntry("CUDA fast path error", "warn", _LOOK),
    142: XidEntry("NVENC3 error", "warn", _SUPPORT),
    143: XidEntry("GPU initialisation error", "fail", _RESET),
    **{code: XidEntry(f"NVLink5 {unit} error", "warn", f"{_LINKS}; {_SUB_CODE}", read_on="fabric-state")
       for code, unit in enumerate(("SAW", "RLW", "TLW", "TREX", "NVLPW_CTRL", "NETIR", "MSE"), 144)},
    151: XidEntry("key rotation (confidential computing)", "warn", "restart the virtual machine"),
    152: XidEntry("DLA SMMU error", "warn", _LOOK),
    153: XidEntry("DLA timeout", "warn", _LOOK),
    154: XidEntry("GPU recovery action changed", "fail", "do what the text says"),
    155: XidEntry("NVLink software-defined error", "fail", _RESET),
    156: XidEntry("resource retirement event", "fail", _RESET),
    157: XidEntry("resource retirement failure", "warn", "ask NVIDIA support"),
    158: XidEntry("GPU fatal timeout", "fail", _RESET),
    159: XidEntry("CHI non-data error", "warn", "look at what nvidia-uvm says beside it: `journalctl -k -b -g uvm "
                                                "--no-pager` (CHECK_UVM in the catalogue)"),
    160: XidEntry("channel retirement event", "warn", _LOOK),
    161: XidEntry("channel retirement failure", "warn", _LOOK),
    162: XidEntry("power smoothing switched on again", "warn", _NONE),
    163: XidEntry("power smoothing switched off", "warn",
                  f"{_SMOOTHING}: see to the GPU's temperature; after a timeout load the driver again"),
    164: XidEntry("power smoothing near the end of its life", "warn", f"{_SMOOTHING}: expect to replace the GPU"),
    165: XidEntry("power smoothing at the end of its life", "warn", f"{_SMOOTHING}: replace the GPU"),
    166: XidEntry("traffic before the link was set up for encryption (confidential computing)", "warn", _NONE),
    167: XidEntry("PCIe fatal timeout", "fail", f"{_NONE}; by its name: {_RESET}"),
    168: XidEntry("reduced memory capacity (WPR)", "warn", "switch ECC on, so that rows are remapped, or boot again"),
    169: XidEntry("SEC2 halted", "fail", f"{_NONE}; by its name: {_RESET}"),
    170: XidEntry("NVLink interrupt in confidential computing", "warn", _NONE),
    171: XidEntry("uncorrectable DRAM error (detail of Xid 48)", "fail", _RESET),
    172: XidEntry("uncorrectable SRAM error (detail of Xid 48)", "fail", _RESET),
    173: XidEntry("C2C fatal link error", "warn", _NONE),
    174: XidEntry("silent kill of a process", "warn", _NONE),
    175: XidEntry("memory subsystem error", "warn", _NONE),
    176: XidEntry("PCIe correctable error fault", "warn", _NONE),
}

#: What to do about Xid 144 to 150 where the text says Fatal; the entries above are for every other severity.
_NVLINK5_FATAL = f"{_LINKS}; {_RESET}; {_SUB_CODE}"

#: Xid 154's action numbers, which NVML's field 230 has too: NV2080_CTRL_GPU_RECOVERY_ACTION in ctrl2080gpu.h of
#: open-gpu-kernel-modules 595.45.04 ends with 5; NVML's change log adds the bus reset and the system reboot with 615.
RECOVERY = {
    0: Recovery("none: the driver asks for nothing any more"),
    1: Recovery(f"{_RESET}; if the GPU does not come back: reboot the host"),
    2: Recovery("reboot the host", True),
    3: Recovery("drain the peer-to-peer work from this GPU"),
    4: Recovery(f"drain the GPU, then {_RESET}"),
    5: Recovery("on every node of the IMEX domain: `sudo systemctl restart nvidia-imex`"),
    6: Recovery("stop what uses the GPU, then power-cycle the host: the PCIe bus of the GPU needs a reset", True, True),
    7: Recovery("reboot the host", True),
}


class Advice(NamedTuple):
    """What to do about one Xid, and the source that says so. ``opens_driver``: it is a reset, or the application's
    restart. ``read_on``: the check whose page says more."""

    meaning: str
    severity: str
    action: str
    source: str
    reboot: bool = False
    physical: bool = False
    opens_driver: bool = False
    read_on: str = "xid"


def advice(code: int, text: str, recovery: tuple[int, str] | None = None) -> Advice:
    """Return what to do about an Xid with this text. ``recovery`` is what a later Xid 154 asked for, as number and
    name: it wins, and "none" means that the driver got over it. For NVLink5 the word Fatal in the text decides."""
    entry = CATALOG.get(code, XidEntry("unknown code", "warn",
                                       "look the number up at docs.nvidia.com/deploy/xid-errors"))
    said = SOURCE if code in CATALOG else f"{_TABLE} {code}"
    if 144 <= code <= 150 and re.search(r"(?<![-\w])Fatal\b", text):
        entry = entry._replace(severity="fail", action=_NVLINK5_FATAL)
    severity = entry.severity
    if recovery is None:
        return Advice(entry.meaning, severity, entry.action, said, entry.reboot, entry.physical, _opens(entry.action),
                      entry.read_on)
    number, words = recovery
    asked = RECOVERY.get(number, Recovery(f"what the driver calls {words}"))
    return Advice(entry.meaning, "warn" if number == 0 else severity, asked.action, f"Xid 154: {words}", asked.reboot,
                  asked.physical, _opens(asked.action))


def _opens(action: str) -> bool:
    return action is _APP or "`" in action      # the commands of the table are a reset, and restarts of a service
