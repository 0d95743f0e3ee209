"""Why NVML gave no answer, and what that is: nobody asked it, there is no driver, or it was asked in vain."""

from __future__ import annotations

from ...model.fact import Absence
from ...model.finding import AS_ROOT, Finding, Remedy
from ..context import Case
from . import wanted_driver

__all__ = ["LOST", "MISMATCH", "STUCK", "unanswered"]

LOST = Remedy.typed("look for its Xid in the kernel log (`sudo journalctl -k -b -g xid`), then reset it (nvidia-smi's "
                    "--gpu-reset with -i and its address, nothing running on it) or switch the machine off and on")
STUCK = Remedy.typed("see `sudo journalctl -k -b -g 'nvrm|xid'` and `tunecheck explain driver-stuck`; a driver that "
                     "hangs recovers by a reboot, a dead GSP by a power cycle", (), True)
MISMATCH = Remedy("reboot, so that the installed module is the loaded one; hold module and library packages together",
                   (), True)
_LIBRARY = Remedy("install libnvidia-ml.so.1 in the loaded module's version (Debian: libnvidia-ml1, "
                  "Ubuntu: libnvidia-compute-BRANCH, Fedora and Rocky: nvidia-driver-cuda-libs)")
#: NVML was asked, and there is no answer: its process crashed or hung, there is no library, or NVML says an error.
_IN_VAIN = (Absence.CUT_OFF, Absence.TIMED_OUT, Absence.NOT_PRESENT, Absence.LOST, Absence.NOT_SUPPORTED,
            Absence.FAILED)


def unanswered(case: Case, check: str, boards: set[str]) -> Finding:
    """The finding where NVML gave no document. ``boards``: the GPUs that the driver nvidia has.

    That it was asked and gave no answer in time is evidence, and a failure; that nobody asked it is none."""
    said, needed = case.snapshot.nvml, wanted_driver.needs_nvidia(case)
    reason = said.reason or ""
    text, outcome, remedy = f"no answer: {reason}", "unknown", None
    if said.absence is Absence.MISMATCH:
        text = f"the library is of another version than the loaded kernel module: {reason}"
        outcome, remedy = "fail", MISMATCH
    elif said.absence is Absence.NO_PERMISSION:
        remedy = AS_ROOT
    elif said.absence is Absence.NOT_ASKED:
        text, outcome = "NVML was not asked: there is no NVIDIA GPU", "skip"
    elif said.absence is Absence.NO_DRIVER:
        outcome, remedy = ("fail", wanted_driver.install(case)) if needed else ("skip", None)
    elif said.absence in (Absence.NOT_RECORDED, Absence.NOT_IN_IMPORT, Absence.ONLY_ON_HOST):
        unsure = any(gpu.driver.value is None and (not gpu.driver.missing or gpu.driver.silent)
                     for gpu in wanted_driver.gpus(case))
        tree = case.snapshot.topology
        if not needed and not boards and not unsure and tree.accelerators.known and not tree.doubt:
            outcome = "skip"
    elif (needed or boards) and said.absence in _IN_VAIN:
        outcome, remedy = "fail", _LIBRARY if said.absence is Absence.NOT_PRESENT else STUCK
    return Finding(check, "NVML", outcome, "effective", text, reason, "an answer within the deadline", (said.source,),
                   remedy, absence=said.absence if outcome == "unknown" else None)
