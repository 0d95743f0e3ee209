"""A sentence of the kernel log that somebody asks `tunecheck explain` about: the check that reads it."""

from __future__ import annotations

__all__ = ["check_of_sentence"]

#: A list of the events of a log (KernelEvents) -> the check that judges it.
_JUDGES = {
    "fallen": "gpu-fallen-off", "xids": "xid", "sxids": "sxid", "hung": "hung-task", "lockups": "hung-task",
    "memory": "host-memory", "faults": "iommu-fault", "mismatches": "driver-coherence",
    "unsupported": "module-flavour", "unassigned": "bar-assignment", "failures": "gpu-start", "pcie": "aer-events",
}
#: What people leave out in front of a message: its driver, and the GPU that it is about.
_BEFORE = ("", "NVRM: ", "NVRM: GPU 0000:01:00.0: ", "pci 0000:01:00.0: ", "pcieport 0000:00:01.0: ")
_END = "!"


def check_of_sentence(text: str) -> str:
    """Return the id of the check that a message of the kernel is judged by; "" for what is no such message. One word is
    a name and no sentence."""
    from ..parsers.kernel.kernel_log import parse

    text = " ".join(text.split())
    if " " not in text:
        return ""
    for before in _BEFORE:
        for behind in ("", _END):       # RmInitAdapter failed!
            events = parse(before + text + behind)
            for name, check in _JUDGES.items():
                if found := getattr(events, name):
                    panic = name == "failures" and found[0].kind == "panic"
                    return "kernel-panic" if panic else check
    return ""
