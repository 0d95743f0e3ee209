"""Turns NVML's errors into reasons. In its document an error is NVML's own name (NOT_SUPPORTED, GPU_IS_LOST), or a name
of ours with a text behind it (CUT_OFF: killed by signal 11)."""

from __future__ import annotations

from functools import lru_cache

from ..model.absence import Absence, Reason
from .absence_of_text import reason_of_text

__all__ = ["NOT_READ", "OLDER", "nvml_reason"]

NOT_READ = "NOT_READ"
OLDER = "OLDER"
_OURS = {"CUT_OFF": Absence.CUT_OFF, "TIMED_OUT": Absence.TIMED_OUT, "NOT_UNDERSTOOD": Absence.NOT_UNDERSTOOD,
         "NOT_INSTALLED": Absence.NOT_INSTALLED, "NOT_READ": Absence.NOT_READ, "NOT_IN_IMPORT": Absence.NOT_IN_IMPORT,
         OLDER: Absence.OLDER}
_THEIRS = {
    "NOT_SUPPORTED": Absence.NOT_SUPPORTED, "DEPRECATED": Absence.NOT_SUPPORTED,
    # The library is older than the question.
    "FUNCTION_NOT_FOUND": Absence.NOT_SUPPORTED, "DRIVER_NOT_LOADED": Absence.NO_DRIVER,
    "LIBRARY_NOT_FOUND": Absence.NOT_PRESENT, "LIB_RM_VERSION_MISMATCH": Absence.MISMATCH,
    "NO_PERMISSION": Absence.NO_PERMISSION, "GPU_IS_LOST": Absence.LOST, "RESET_REQUIRED": Absence.LOST,
}


@lru_cache(512)        # every GPU says the same few
def nvml_reason(error: str) -> Reason:
    """Return the reason for an error as it is in the document. One of an old document is known by its words."""
    name, _, text = error.partition(": ")
    if name in _OURS:
        return Reason(_OURS[name], text)
    if error in _THEIRS:
        code = _THEIRS[error]
        return Reason(code, "" if code is Absence.NOT_PRESENT else error)
    return reason_of_text(error)
