"""A sentence of the kernel log that somebody asks `tunecheck explain` about: the check that reads it."""

from __future__ import annotations

__all__ = ["MESSAGES", "check_of_sentence"]

#: A list of the events of a log (KernelEvents) -> the check that judges it.
_JUDGES = {
    "fallen": "gpu-fallen-off", "xids": "xid", "sxids": "sxid", "hung": "hung-task", "lockups": "hung-task",
    "memory": "host-memory", "faults": "iommu-fault", "mismatches": "driver-coherence",
    "unsupported": "module-flavour", "unassigned": "bar-assignment", "failures": "gpu-start", "pcie": "aer-events",
}
#: Failures of a GPU that have another check.
_OF_FAILURE = {"panic": "kernel-panic", "gone": "gpu-fallen-off", "locked": "gpu-fallen-off", "reset": "gpu-fallen-off"}
#: What people leave out in front of a message: its driver, and the GPU that it is about.
_BEFORE = ("", "NVRM: ", "NVRM: GPU 0000:01:00.0: ", "pci 0000:01:00.0: ", "pcieport 0000:00:01.0: ")
_END = "!"
#: What stands in front of such a message. Apart, so that this file is not taken for a log.
_GPU, _PORT = "NVRM: GPU 0000:01:00.0: ", "pcieport 0000:40:01.1: "
#: One whole message for each event that people know by some of its words alone ("fallen off the bus").
MESSAGES = (
    f"{_GPU}GPU has fallen off the bus.",
    f"{_GPU}GPU lost from the bus",
    f"{_GPU}Bus is dead",
    f"{_GPU}GPU is probably locked!",
    f"{_GPU}GPU requires reset",
    "nvidia 0000:01:00.0: Unable to change power state from D3cold to D0, device inaccessible",
    f"{_GPU}RmInitAdapter failed! (0x62:0x40:1901)",
    f"{_GPU}rm_init_adapter failed, device minor number 0",
    f"{_GPU}RmInitAdapter: Cannot initialize GSP firmware RM",
    "NVRM: GPU0 _kgspBootGspRm: unexpected WPR2 already up, cannot proceed with booting GSP",
    "NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:",
    "NVRM: The NVIDIA probe routine failed for 1 device(s).",
    "NVRM: None of the NVIDIA devices were initialized.",
    "nvidia 0000:01:00.0: probe with driver nvidia failed with error -1",
    "NVRM: API mismatch: the client 'nvidia-smi' (pid 1) has the version 1.0, but this kernel module has the version "
    "2.0.",
    "INFO: task python3:4711 blocked for more than 122 seconds.",
    "watchdog: BUG: soft lockup - CPU#3 stuck for 26s! [python3:4711]",
    "Watchdog detected hard LOCKUP on cpu 3",
    "rcu: INFO: rcu_sched self-detected stall on CPU 3",
    "Out of memory: Killed process 4711 (python3)",
    "EDAC MC0: 1 UE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0",
    "nvidia 0000:01:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x000a address=0x0 flags=0x0000]",
    f"{_PORT}AER: Correctable error message received from 0000:41:00.0",
    "Kernel panic - not syncing: Fatal exception",
)
#: Fewer characters are no part of one message alone.
_SHORTEST = 10


def check_of_sentence(text: str) -> str:
    """Return the id of the check that a message of the kernel, or some words in a row of one, is judged by; "" for what
    is no such message. One word is a name and no sentence."""
    text = " ".join(text.split())
    if " " not in text:
        return ""
    for before in _BEFORE:
        for behind in ("", _END):       # RmInitAdapter failed!
            if check := _judge(before + text + behind):
                return check
    return _of_a_part(text)


def _judge(line: str) -> str:
    from ..parsers.kernel.kernel_log import parse

    events = parse(line)
    for name, check in _JUDGES.items():
        if found := getattr(events, name):
            return _OF_FAILURE.get(found[0].kind, check) if name == "failures" else check
    return ""


def _of_a_part(text: str) -> str:
    """Return the check of the messages that hold these words, in any case of their letters; "" where several checks'
    messages do."""
    part = _words(text)
    checks = {_judge(line) for line in MESSAGES if f" {part} " in f" {_words(line)} "} if len(part) >= _SHORTEST else ()
    return next(iter(checks)) if len(checks) == 1 else ""


def _words(text: str) -> str:
    """Return the words with one space between them, without the marks at their ends."""
    return " ".join(bare for word in text.lower().split() if (bare := word.strip(".,:;!?()[]\"'`")))
