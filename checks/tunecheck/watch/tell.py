"""What is seen, for people and for programs: a line, a document, metrics."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from .. import __version__
from ..report.prometheus import exposition
from . import culprits
from .culprits import plain
from .model import BAD, Claim, Code, Reason, Seen, State

__all__ = ["MEANING", "METRICS", "SCHEMA", "Watched", "document", "exit_code", "line", "metrics"]

SCHEMA = "tunecheck/watch/1"
#: What each code says of what it is about; {NAME} stands for a number that was observed.
MEANING: dict[Code, str] = {
    Code.TOKENS_FROZEN: "requests run and the engine's counters have not moved for {seconds:g} s",
    Code.GPUS_SPINNING: "this GPU only waits for others: 100 % busy, its memory unused, at idle power",
    Code.METRICS_SILENT: "the engine's metrics have given no answer for {seconds:g} s",
    Code.LONG_STEP: "no counter has moved for {seconds:g} s, but a GPU works: a long step",
    Code.TRACED: "a debugger holds a process of the engine",
    Code.NO_METRICS: "the engine has no page /metrics: start it with its metrics switched on",
    Code.NO_PROGRESS_YET: "requests run, and no counter has moved in the {seconds:g} s of these looks",
    Code.KEY_REFUSED: "the engine refuses the key: give the right one with --api-key-file",
    Code.LOADS_TOO_LONG: "the engine has not answered for {seconds:g} s since it was started",
    Code.UNIT_UNKNOWN: "systemd knows no unit of this name",
    Code.GPU_TROUBLE: "NVML gives an error for this GPU",
    Code.NVML_REFUSES: "the NVIDIA driver refuses to answer",
    Code.NVML_STARTS: "no sample of the GPUs yet",
    Code.METRICS_UNREADABLE: "the page /metrics does not hold the counters of vLLM, SGLang or llama.cpp",
    Code.NOT_ANSWERING_YET: "the engine has not answered since the watch began",
    Code.PROCESS_ENDED: "the process has ended",
    Code.CONTAINER_STARTING: "the container is started again after its end",
    Code.CONTAINER_PAUSED: "the container is paused",
    Code.CONTAINER_STOPPED: "the container does not run",
    Code.CONTAINER_FAILED: "the container has ended with exit code {exit:g}",
    Code.CONTAINER_REMOVED: "the container was removed",
    Code.CONTAINER_RESTARTED: "the container was started again, {restarts:g} times since the watch began",
    Code.CONTAINER_UNREADABLE: "did not say what the container does",
    Code.UNIT_STARTING: "the unit is starting",
    Code.UNIT_STOPPED: "the unit is not active",
    Code.UNIT_FAILED: "the unit has failed",
    Code.UNIT_UNREADABLE: "systemd did not say what the unit does",
    Code.UNIT_RESTARTED: "systemd has started the unit again, {restarts:g} times by now",
    Code.GPU_GONE: "the GPU does not answer any more",
    Code.GPU_RETURNED: "a GPU that was gone answers again, and the engine has given no token since",
    Code.XID: "the driver reports Xid {xid:g}",
    Code.SXID: "an NVSwitch reports a fatal error, SXid {sxid:g}",
    Code.HUNG_TASK: "this task hangs in the kernel",
    Code.OOM_KILL: "the kernel killed this process for lack of memory",
    Code.AER_STORM: "{errors:g} PCIe errors",
    Code.ECC_UNCORRECTED: "{errors:g} errors of its memory that could not be corrected, since the watch began",
    Code.ECC_STORM: "{errors:g} corrected errors of its memory within an hour",
    Code.LINK_NARROWER: "its link has {lanes:g} lanes, and had {before:g}",
    Code.THROTTLED: "the hardware slows this GPU down (clock event bits {bits:g})",
    Code.NVML_SILENT: "the NVIDIA driver did not answer in time",
    Code.KMSG_OVERRUN: "kernel messages were lost before they were read",
    Code.KMSG_UNREADABLE: "the kernel's messages cannot be read: run as root",
    Code.DISK_LOW: "{free_bytes:.3g} bytes are free there",
    Code.WATCH_PAUSED: "the watch itself did not run for a while",
    Code.WITNESSES_DISAGREE: "NCCL, processes and GPUs point to different culprits",
    Code.CANARY_SILENT: "no request runs, and two short questions in a row got no answer",
    Code.CANARY_WRONG: "two short questions in a row got an answer that is wrong",
    Code.CANARY_ALONE: "a short question was answered {seconds:g} s ago; nothing else is known of the engine",
    Code.CANARY_REFUSED: "the engine refused a short question, which says nothing of it",
    Code.METRICS_LIE: "a question was answered and no counter of the engine's moved: its metrics are not used",
    Code.TOKENS_SLOW: "{tok_s:.3g} tokens/s of {streams:.3g} requests at once: with its prompts this is {share:.0%} of "
                      "what it was accepted with for one ({accepted:.3g} tokens/s); expected at least {floor:.0%}",
    Code.NOT_ACCEPTED: "no acceptance of this run of the engine on these GPUs is known, so its speed is not judged",
}
METRICS = {
    "tunecheck_watch_state": "The state of what is served: 1 for the one that holds, 0 for the others.",
    "tunecheck_watch_reason": "A reason that holds now; always 1.",
    "tunecheck_watch_frozen_seconds": "How long requests have run without progress.",
    "tunecheck_watch_requests_running": "Requests that run, by the engine's count; no sample where it says nothing.",
    "tunecheck_watch_timestamp_seconds": "When the watch looked last, in seconds since 1970.",
}


@dataclass(frozen=True)
class Watched:
    """The engine as the operator named it: by its address, and by at most one of unit, process and container."""

    url: str
    unit: str = ""
    pid: int = 0
    container: str = ""

    def __str__(self) -> str:
        return self.unit or (f"process {self.pid}" if self.pid else f"container {self.container}" if self.container
                             else "")


def _message(reason: Reason) -> str:
    text = MEANING[reason.code].format(**dict(reason.numbers))
    return f"{plain(reason.subject)}: {text}" if reason.subject else text


def _claim(claim: Claim) -> dict[str, Any]:
    return {"witness": claim.witness.value, "kind": claim.kind.value, "pid": claim.pid or None,
            "name": plain(claim.name), "engine_pid": claim.engine_pid or None, "rank": claim.rank,
            "gpu": claim.gpu or None, "uuid": claim.uuid or None, "communicator": claim.communicator or None,
            "collective": claim.collective or None, "launched": claim.launched, "others_launched": claim.others,
            "error": plain(claim.error) or None}


def line(seen: Seen, at: float) -> str:
    """One line for a journal; ``at`` is the time in seconds since 1970."""
    messages = [_message(each) for each in seen.reasons]
    messages += [f"the others wait: {culprits.named(seen.culprit)}"] if seen.culprit else []
    running = f"{seen.engine.running} running" if seen.engine.running is not None else ""
    when = datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    state = f"{seen.state.value} ({running})" if running else seen.state.value
    return f"{when} {state}: {'; '.join(messages)}" if messages else f"{when} {state}"


def document(seen: Seen, at: float, started: float, watched: Watched) -> dict[str, Any]:
    """tunecheck/watch/1. ``at`` in seconds since 1970; ``started``: so many seconds ago the state began."""
    return {
        "schema": SCHEMA, "tunecheck": __version__, "at": round(at, 3), "unit": watched.unit or None,
        "pid": watched.pid or None, "container": watched.container or None, "url": watched.url,
        "state": seen.state.value, "for_seconds": round(started, 1), "frozen_seconds": round(seen.frozen, 1),
        "exit_code": exit_code(seen.state),
        "reasons": [{"code": each.code.value, "subject": each.subject, "numbers": dict(each.numbers),
                     "message": _message(each)} for each in seen.reasons],
        "culprit": None if seen.culprit is None else culprits.document(seen.culprit),
        "claims": [_claim(each) for each in seen.claims],
        "nccl_ras": None if seen.ras is None and seen.ras_absence is None else {
            "version": seen.ras.version if seen.ras else None, "unequal": seen.ras.unequal if seen.ras else None,
            "absence": seen.ras_absence.value if seen.ras_absence else None},
        "busy_sms_percent": dict(seen.sms),
        "engine": {"running": seen.engine.running, "waiting": seen.engine.waiting,
                   "generated_tokens": seen.engine.generated,
                   "absence": seen.engine.absence.value if seen.engine.absence else None},
    }


def exit_code(state: State) -> int:
    """0 serving or idle; 1 degraded, stalled, lost or stopped; 3 not known, or not yet."""
    return 3 if state in (State.UNKNOWN, State.LOADING) else 1 if state in BAD else 0


def metrics(seen: Seen, at: float) -> str:
    """For node_exporter's textfile collector."""
    found: dict[str, list[tuple[dict[str, str], float]]] = {
        "tunecheck_watch_state": [({"state": each.value}, float(each is seen.state)) for each in State],
        "tunecheck_watch_reason": [({"code": each.code.value, "subject": each.subject}, 1.0) for each in seen.reasons],
        "tunecheck_watch_frozen_seconds": [({}, round(seen.frozen, 1))],
        "tunecheck_watch_timestamp_seconds": [({}, round(at, 3))],
    }
    if seen.engine.running is not None:
        found["tunecheck_watch_requests_running"] = [({}, float(seen.engine.running))]
    return exposition(found, METRICS)
