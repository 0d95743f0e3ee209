"""What the reasons of tunecheck watch mean, as docs/watch.md tells them. A test compares the two."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["REASONS"]

REASONS: Mapping[str, str] = {
    "tokens-frozen": "requests run and no counter has moved",
    "gpus-spinning": "this GPU only waits for others",
    "metrics-silent": "the metrics have given no answer",
    "no-progress-yet": "--once saw no step: too short to tell",
    "long-step": "no counter moves, but a GPU works",
    "traced": "a debugger holds a process of the engine",
    "no-metrics": "the engine has no page /metrics: switch its metrics on",
    "metrics-unreadable":
        "the page does not hold the counters of vLLM, SGLang or llama.cpp, or holds what is no number (also "
        "above 1e15), or is larger than 4 MiB",
    "key-refused": "the engine refuses the key",
    "not-answering-yet": "the engine has not answered since the watch began, or since it was started again",
    "loads-too-long": "it has not answered for an hour since it was started",
    "process-ended": "the process of --pid has ended; its number may be another's by now",
    "container-starting": "its engine starts the container again after its end",
    "container-paused": "somebody has paused the container (podman pause): it makes no token",
    "container-stopped": "the container does not run: it ended with 0, is being removed, or was never started",
    "container-failed": "the container has ended with another exit code (137: it was killed)",
    "container-removed": "the container was removed, and there is no other one of this name",
    "container-restarted":
        "it was started again, by its engine or by somebody, or another one of its name took its place",
    "container-unreadable":
        "podman or docker did not answer; after a question that took too long it is left alone for 30 s",
    "unit-starting": "systemd starts the unit",
    "unit-stopped": "the unit is not active",
    "unit-failed": "the unit has failed: systemctl status says why",
    "unit-unknown": "systemd knows no unit of this name",
    "unit-restarted": "systemd has started it again",
    "unit-unreadable": "systemd did not answer",
    "gpu-gone": "the GPU does not answer any more, or is not listed any more",
    "gpu-returned": "a GPU that was gone answers again, and the engine has given no token since",
    "gpu-trouble": "NVML gives another error for it",
    "xid": "the driver reports an Xid that is a fault of the GPU; an application's own (13, 31, 43 and such) is none",
    "sxid": "an NVSwitch reports a fatal error",
    "hung-task": "a task hangs in the kernel",
    "oom-kill": "the kernel killed a process for lack of memory",
    "aer-storm":
        "an uncorrectable PCIe error, 50 corrected ones in the log between two looks, or 100 by the GPU's "
        "counter in 30 s",
    "link-narrower": "the GPU's link lost lanes since the watch began",
    "ecc-uncorrected":
        "a GPU's memory has errors that could not be corrected, more than when the watch began; until the GPU "
        "is reset",
    "ecc-storm": "100 corrected errors of a GPU's memory within an hour, by the driver's counter (a chosen limit)",
    "throttled":
        "hardware or driver has slowed a GPU down for its heat or power supply for 10 s; a power limit is "
        "none",
    "nvml-silent": "the driver does not answer",
    "nvml-refuses": "the driver answers with an error",
    "nvml-starts": "there is no sample yet",
    "kmsg-overrun": "kernel messages were lost before they were read",
    "kmsg-unreadable": "only root may read them",
    "disk-low": "less than 5 % and 5 GiB are free",
    "watch-paused": "the watch itself did not run for a while",
    "witnesses-disagree": "NCCL, the processes and the GPUs point to different culprits",
    "tokens-slow": "four requests and more get less than the floor of what one was accepted with",
    "canary-silent": "two short questions in a row got no answer",
    "canary-wrong": "two in a row got a wrong answer",
    "canary-alone": "it was answered; nothing else is known of the engine",
    "canary-refused": "the engine refuses it (a status such as 404 or 503), which says nothing",
    "metrics-lie": "an answer came and no counter moved",
    "not-accepted": "no acceptance of this run of the engine on these GPUs is known",
}
