"""Why a state is what it is: the codes of the watch, and a reason. docs/watch.md has every code."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["STALLS", "Code", "Reason"]


class Code(StrEnum):
    """Why a state is what it is."""

    TOKENS_FROZEN = "tokens-frozen"
    NO_PROGRESS_YET = "no-progress-yet"
    GPUS_SPINNING = "gpus-spinning"
    METRICS_SILENT = "metrics-silent"
    LONG_STEP = "long-step"
    TRACED = "traced"
    NO_METRICS = "no-metrics"
    METRICS_UNREADABLE = "metrics-unreadable"
    KEY_REFUSED = "key-refused"
    NOT_ANSWERING_YET = "not-answering-yet"
    LOADS_TOO_LONG = "loads-too-long"
    PROCESS_ENDED = "process-ended"
    CONTAINER_STARTING = "container-starting"
    CONTAINER_PAUSED = "container-paused"
    CONTAINER_STOPPED = "container-stopped"
    CONTAINER_FAILED = "container-failed"
    CONTAINER_REMOVED = "container-removed"
    CONTAINER_RESTARTED = "container-restarted"
    CONTAINER_UNREADABLE = "container-unreadable"
    UNIT_STARTING = "unit-starting"
    UNIT_STOPPED = "unit-stopped"
    UNIT_FAILED = "unit-failed"
    UNIT_UNKNOWN = "unit-unknown"
    UNIT_UNREADABLE = "unit-unreadable"
    UNIT_RESTARTED = "unit-restarted"
    GPU_GONE = "gpu-gone"
    GPU_RETURNED = "gpu-returned"
    GPU_TROUBLE = "gpu-trouble"
    XID = "xid"
    SXID = "sxid"
    HUNG_TASK = "hung-task"
    OOM_KILL = "oom-kill"
    AER_STORM = "aer-storm"
    ECC_UNCORRECTED = "ecc-uncorrected"
    ECC_STORM = "ecc-storm"
    LINK_NARROWER = "link-narrower"
    THROTTLED = "throttled"
    NVML_SILENT = "nvml-silent"
    NVML_REFUSES = "nvml-refuses"
    NVML_STARTS = "nvml-starts"
    KMSG_OVERRUN = "kmsg-overrun"
    KMSG_UNREADABLE = "kmsg-unreadable"
    DISK_LOW = "disk-low"
    WATCH_PAUSED = "watch-paused"
    WITNESSES_DISAGREE = "witnesses-disagree"
    TOKENS_SLOW = "tokens-slow"
    NOT_ACCEPTED = "not-accepted"
    CANARY_SILENT = "canary-silent"
    CANARY_WRONG = "canary-wrong"
    CANARY_ALONE = "canary-alone"
    CANARY_REFUSED = "canary-refused"
    METRICS_LIE = "metrics-lie"


#: Those by which an engine is stalled, whatever else is wrong with the box.
STALLS = (Code.TOKENS_FROZEN, Code.METRICS_SILENT, Code.LOADS_TOO_LONG, Code.CANARY_SILENT)


@dataclass(frozen=True)
class Reason:
    """``subject``: a PCI address, process, path or unit; ``numbers``: what was observed, in the unit of its name."""

    code: Code
    subject: str = ""
    numbers: tuple[tuple[str, float], ...] = ()
