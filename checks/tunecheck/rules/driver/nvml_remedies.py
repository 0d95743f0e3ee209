"""Why NVML gave no answer: nobody asked it, there is no driver, or it was asked in vain. And what to do about it."""

from __future__ import annotations

from ...model.fact import Absence
from ...model.finding import AS_ROOT, Finding, Remedy
from ..codes import NO_DRIVER, NO_GPU, NVML_UNREAD
from ..context import Case
from ..nvidia import wanted_driver

__all__ = ["LOST", "MISMATCH", "SENSOR", "STUCK", "VERSIONS", "unanswered"]

LOST = Remedy.typed("look for the GPU's Xid in the kernel log (`sudo journalctl -k -b -g xid`); reboot the host, and "
                    "switch it off and on if the GPU stays away: a reset does not reach what has left the bus", (),
                    True)
STUCK = Remedy.typed("see `sudo journalctl -k -b -g 'nvrm|xid'` and `tunecheck explain driver-stuck`; a driver that "
                     "hangs recovers by a reboot, a dead GSP by a power cycle", (), True)
SENSOR = Remedy.typed("ask again (`nvidia-smi -q`) and see `sudo journalctl -k -b -g 'nvrm|xid'`; one that stays after "
                      "a reboot is a sensor of the board: tell its maker")
MISMATCH = Remedy("reboot, so that the installed module is the loaded one; hold module and library packages together",
                   (), True)
VERSIONS = "the library is of another version than the loaded kernel module"
_LIBRARY = Remedy("install libnvidia-ml.so.1 in the loaded module's version (Debian: libnvidia-ml1, "
                  "Ubuntu: libnvidia-compute-BRANCH, Fedora and Rocky: nvidia-driver-cuda-libs)")
#: NVML was asked, and there is no answer: its process crashed or hung, there is no library, or NVML says an error.
_IN_VAIN = (Absence.CUT_OFF, Absence.TIMED_OUT, Absence.NOT_PRESENT, Absence.LOST, Absence.NOT_SUPPORTED,
            Absence.FAILED)


def unanswered(case: Case, check: str, boards: set[str]) -> Finding:
    """Return the finding where NVML gave no document. ``boards``: the GPUs that the driver nvidia has.

    That it was asked and gave no answer in time is evidence, and a failure; that nobody asked it is none."""
    nvml, needed = case.snapshot.nvml, wanted_driver.needs_nvidia(case)
    reason = nvml.reason or ""
    code, outcome, text, remedy = NVML_UNREAD, "unknown", f"no answer: {reason}", None
    if nvml.absence is Absence.MISMATCH:
        text, code = f"no answer: {VERSIONS}: {reason}", "library-mismatch"
        if case.snapshot.host is None:      # else driver-coherence fails, with the versions
            outcome, remedy = "fail", MISMATCH
    elif nvml.absence is Absence.NO_PERMISSION:
        remedy = AS_ROOT
    elif nvml.absence is Absence.NOT_ASKED:
        code, outcome, text = NO_GPU, "skip", "NVML was not asked: there is no NVIDIA GPU"
    elif nvml.absence is Absence.NO_DRIVER:
        code = NO_DRIVER
        outcome, remedy = ("fail", wanted_driver.install(case)) if needed else ("skip", None)
    elif nvml.absence in (Absence.NOT_RECORDED, Absence.NOT_IN_IMPORT, Absence.ONLY_ON_HOST):
        unsure = any(gpu.driver.value is None and (not gpu.driver.missing or gpu.driver.silent)
                     for gpu in wanted_driver.gpus(case))
        tree = case.snapshot.topology
        if not needed and not boards and not unsure and tree.accelerators.known and not tree.doubt:
            outcome = "skip"
    elif (needed or boards) and nvml.absence in _IN_VAIN:
        no_library = nvml.absence is Absence.NOT_PRESENT
        code, outcome, remedy = ("no-library", "fail", _LIBRARY) if no_library else ("no-answer", "fail", STUCK)
    return Finding(check, code, "NVML", outcome, "effective", text, reason, "an answer within the deadline",
                   (nvml.source,), remedy, absence=nvml.absence if outcome == "unknown" else None)
