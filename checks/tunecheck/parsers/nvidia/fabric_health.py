"""What is wrong with a GPU's place in the NVLink fabric: the section Fabric, Health of ``nvidia-smi -q``, and NVML's
healthMask and healthSummary (nvml.h: NVML_GPU_FABRIC_HEALTH_*), in the same words."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

from .smi_values import RefusedError, refusal

__all__ = ["of_mask", "of_report"]

_YES, _NO = ("true", "yes"), ("false", "no")
#: name in the report -> (words of a sound fabric, {word of a fault: what it is}). Any word of the configuration but
#: "none" is a fault.
_WORDS: Dict[str, Tuple[Tuple[str, ...], Dict[str, str]]] = {
    "summary": (("healthy",), {"unhealthy": "unhealthy", "limited capacity": "limited capacity"}),
    "bandwidth": (("full",), {"degraded": "bandwidth degraded"}),
    "route_recovery_in_progress": (_NO, dict.fromkeys(_YES, "route recovery in progress")),
    "route_unhealthy": (_NO, dict.fromkeys(_YES, "route unhealthy")),
    "access_timeout_recovery": (_NO, dict.fromkeys(_YES, "access timeout recovery in progress")),
    "incorrect_configuration": (("none",), {}),
    "partition_assigned": (_YES, dict.fromkeys(_NO, "no partition assigned")),
    "gfm_state": (("connected",), {"disconnected": "global fabric manager disconnected"}),
}
#: (version of the driver, names that its reports show by then): of 550, 575 and 580.119.02.
_SHOWN = (
    ((550,), ("bandwidth",)),
    ((575,), ("route_recovery_in_progress", "route_unhealthy", "access_timeout_recovery")),
    ((580, 119), ("summary", "incorrect_configuration")),
)
#: shift, width, {value: what is wrong}; 0 is "not supported".
_BITS: Tuple[Tuple[int, int, Dict[int, str]], ...] = (
    (0, 0x3, {1: "bandwidth degraded"}),
    (2, 0x3, {1: "route recovery in progress"}),
    (4, 0x3, {1: "route unhealthy"}),
    (6, 0x3, {1: "access timeout recovery in progress"}),
    (8, 0xF, {2: "system GUID", 3: "chassis serial number", 4: "no partition", 5: "insufficient NVLinks",
              6: "incompatible GPU firmware", 7: "invalid location", 8: "GPU state invalid"}),
    (12, 0x3, {2: "no partition assigned"}),
    (14, 0x3, {2: "global fabric manager disconnected"}),
)
_CONFIGURATION = 8
_SUMMARIES = {2: "unhealthy", 3: "limited capacity"}


def of_mask(mask: int, summary: int) -> Optional[List[str]]:
    """Return what is wrong by NVML's two numbers, in the report's words; None where they tell nothing."""
    found = [_SUMMARIES[summary]] if summary in _SUMMARIES else []
    for shift, width, faults in _BITS:
        value = mask >> shift & width
        if shift == _CONFIGURATION and value > 1:
            found.append(f"incorrect configuration: {faults.get(value, value)}")
        elif shift != _CONFIGURATION and value in faults:
            found.append(faults[value])
        elif value > 2:
            raise ValueError(f"health mask {mask:#x}")
    return found if mask or summary else None


def of_report(leaves: Dict[str, str], driver: str) -> Optional[List[str]]:
    """Return what is wrong by the report of one GPU, None where lines are gone that this driver shows. RefusedError
    where it tells nothing, ValueError for words that are not known."""
    told = {path.rpartition("/")[2]: value for path, value in leaves.items() if path.startswith("fabric/health/")}
    section = leaves.get("fabric/health") or leaves.get("fabric")
    if not told and section and refusal(section):
        raise RefusedError(refusal(section))
    version = tuple(int(part) for part in driver.split(".")) if driver else ()
    faults: List[str] = []
    unread: List[Exception] = []
    for name, value in told.items():
        refused = refusal(value)
        sound, faulty = _WORDS.get(name, ((), {}))
        word: Any = value.lower()
        if refused is not None:
            unread += [RefusedError(refused)] if refused != "NOT_SUPPORTED" else []
        elif word in faulty:
            faults.append(faulty[word])
        elif name == "incorrect_configuration" and word not in sound:
            faults.append(f"incorrect configuration: {value[:60]}")
        elif word not in sound:
            unread.append(ValueError(f"{name} {value}"))
    if faults:
        return faults
    if unread:
        raise unread[0]
    if any(name not in told for since, names in _SHOWN if version >= since or not version for name in names):
        return None
    if all(refusal(value) for value in told.values()):
        raise RefusedError("NOT_SUPPORTED")
    return faults
