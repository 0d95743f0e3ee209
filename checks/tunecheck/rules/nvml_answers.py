"""nvml-answers: the driver's library answers, for every GPU that the driver has."""

from __future__ import annotations

from collections.abc import Iterator

from .finding import Case, Finding, Remedy

_ID = "nvml-answers"
_LOST = Remedy("look for its Xid in the kernel log, then reset it (sudo nvidia-smi --gpu-reset -i ADDRESS, nothing "
               "running on it) or switch the machine off and on")
_MISMATCH = Remedy("reboot, so that the installed module is the loaded one; hold module and library packages together")


def judge(case: Case) -> Iterator[Finding]:
    said = case.snapshot.nvml
    boards = {device.bdf for device in case.snapshot.topology.devices if device.driver.value == "nvidia"}
    if said.value is None:
        reason = said.reason or ""
        unasked = reason.startswith(("not asked for", "not present: the NVIDIA driver"))
        away = (reason.startswith(("not recorded", "not in the import")) and not boards
                and case.snapshot.topology.accelerators.known)
        apart = reason == "LIB_RM_VERSION_MISMATCH"
        text = "the library is of another version than the loaded kernel module" if apart else "no answer"
        yield Finding(_ID, "NVML", "fail" if apart else "skip" if unasked or away else "unknown", "effective",
                      f"{text}: {reason}", reason, "an answer", (said.source,), _MISMATCH if apart else None)
        return
    for who, error, lost in said.value.troubles():
        yield Finding(_ID, who, "fail" if lost else "unknown", "effective", f"{who}: {error}" + (
            ", though sysfs still lists it" if lost and who in boards else ""), error, "an answer", (said.source,),
            _LOST if lost else None)
    silent = sorted(boards - {gpu.bdf for gpu in said.value.gpus})
    cut, more = said.value.errors.get("gpus"), len(said.value.gpus)
    if cut is not None:
        yield Finding(_ID, "NVML", "unknown", "effective", f"the list of GPUs is {cut}", str(more), "an answer",
                      (said.source,))
    elif silent and not any(who.startswith("gpu ") for who in said.value.errors):
        yield Finding(_ID, ", ".join(silent), "fail", "effective", f"NVML does not list {', '.join(silent)}, which the "
                      "driver has", "not listed", "an answer", (said.source,), _LOST)
    elif said.value.gpus and not said.value.troubles():
        yield Finding(_ID, "NVML", "pass", "effective", f"NVML answers for {more} GPUs")
