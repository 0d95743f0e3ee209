"""Finds the code of a reason that was stored as text alone. Recordings and snapshots until 0.9 had no codes.

Nothing that this version says itself passes here."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from ..model.absence import Absence, Reason

__all__ = ["reason_of_text", "stored_reason", "stored_reasons"]

_WHOLE = {
    "not present": Absence.NOT_PRESENT, "not asked for": Absence.NOT_ASKED, "no permission": Absence.NO_PERMISSION,
    "not read": Absence.NOT_READ, "not installed": Absence.NOT_INSTALLED, "failed": Absence.FAILED,
    "no boot loader found": Absence.NO_BOOT_LOADER, "no kernel module is kept here": Absence.ELSEWHERE,
    "its file's name holds no version": Absence.NO_VERSION, "is a directory": Absence.UNREADABLE,
    "Not a directory": Absence.NOT_PRESENT, "DRIVER_NOT_LOADED": Absence.NO_DRIVER, "NO_PERMISSION":
    Absence.NO_PERMISSION, "NOT_SUPPORTED": Absence.NOT_SUPPORTED, "DEPRECATED": Absence.NOT_SUPPORTED,
    "FUNCTION_NOT_FOUND": Absence.NOT_SUPPORTED, "LIB_RM_VERSION_MISMATCH": Absence.MISMATCH,
    "GPU_IS_LOST": Absence.LOST, "RESET_REQUIRED": Absence.LOST,
}
#: Beginnings; the first that fits.
_BEGINS = (
    ("not present in the import", Absence.NOT_SHOWN), ("not present: the NVIDIA driver", Absence.NO_DRIVER),
    ("not asked: NVIDIA's driver", Absence.NO_BOARDS), ("not asked for", Absence.NOT_ASKED),
    ("not asked", Absence.NOT_READ), ("not in the import, and no text shows it", Absence.ONLY_ON_HOST),
    ("not in the import", Absence.NOT_IN_IMPORT),
    ("not in nvidia-smi -q", Absence.NOT_IN_IMPORT), ("not recorded", Absence.NOT_RECORDED),
    ("not in this snapshot", Absence.OLDER), ("not in it:", Absence.OLDER), ("left out of a", Absence.LEFT_OUT),
    ("not understood", Absence.NOT_UNDERSTOOD), ("not derivable", Absence.NOT_DERIVABLE),
    ("the log does not reach back", Absence.LOG_TOO_SHORT), ("timed out after", Absence.TIMED_OUT),
    ("killed by signal", Absence.CUT_OFF), ("ended in the middle", Absence.CUT_OFF),
    ("its answers are damaged", Absence.CUT_OFF), ("more than ", Absence.CUT_OFF),
    ("no permission", Absence.NO_PERMISSION),
    ("failed: ", Absence.FAILED), ("the process that was reading it got killed", Absence.CUT_OFF),
    ("not read:", Absence.TIMED_OUT), ("lspci is cut short", Absence.INCOMPLETE),
)


def reason_of_text(text: str) -> Reason:
    """Return the text as a reason with its code. The code is OTHER for words that no version said."""
    code = _WHOLE.get(text) or next((each for start, each in _BEGINS if text.startswith(start)), None)
    if code is None and text.isupper() and text.replace("_", "").isalnum():     # another of NVML's errors
        code = Absence.FAILED
    return Reason(code or Absence.OTHER, text)


def stored_reason(text: str, code: object) -> Reason:
    """Return a reason of a document. ``code`` is None in an old one. ValueError for a code that there is not."""
    if code is not None and type(code) is not str:
        raise ValueError("the code of an absent fact is a text")
    return _stored(text, code)


@lru_cache(4096)       # of a snapshot's thousands most are the same few
def _stored(text: str, code: str | None) -> Reason:
    if code is None:
        return reason_of_text(text)
    try:
        return Reason(Absence(code), text)
    except ValueError:
        raise ValueError(f"{code[:60]!r} is no code of an absent fact that this version knows") from None


def stored_reasons(texts: Mapping[str, str], codes: Any) -> dict[str, Reason]:
    """Return a table of reasons from the table of their texts and, where the document has one, the table of their
    codes. ValueError as of stored_reason."""
    known: Mapping[str, Any] = codes if isinstance(codes, dict) else {}
    return {name: stored_reason(text, known.get(name)) for name, text in texts.items()}
