"""Why a module refuses or fails: a code that programs and tests read, and a text for people. The text may be worded
anew at any time; nothing but the code steers."""

from __future__ import annotations

from enum import Enum

__all__ = ["CodedError", "Refusal", "code_of"]


class Refusal(str):
    """Why something cannot be done, without a full stop. Cut, joined or changed it is a plain text without a code."""

    why: Enum

    def __new__(cls, why: Enum, text: str) -> Refusal:
        made = super().__new__(cls, text)
        made.why = why
        return made

    def __getnewargs__(self) -> tuple[Enum, str]:  # type: ignore[override]
        return self.why, str(self)


class CodedError(Exception):
    """Something cannot be done. ``why``: the reason, for a program; the message says it to people."""

    def __init__(self, why: Enum, text: str) -> None:
        super().__init__(text)
        self.why = why


def code_of(error: object) -> str:
    """Return the code of a Refusal or of an error, for a module's result; "other" where it has none: the system's own
    error, or a text that cannot be understood."""
    why = getattr(error, "why", None)
    return str(why.value) if isinstance(why, Enum) else "other"
