"""The error tree. Only the CLI turns these into exit codes.

TunecheckError
    SpecError       the desired state is unusable; exit 2
    UsageError      the command line is unusable; exit 2
    ProbeError      a fact could not be read where one was needed; exit 3
"""

from __future__ import annotations

from enum import Enum

__all__ = ["CONTROL_NODE", "Flaw", "GpusInUseError", "ImageUnfitError", "ProbeError", "SpecError", "TrialError",
           "TunecheckError", "UsageError"]

#: What to do where only the box's packages are installed, and a verb of the control node was asked for.
CONTROL_NODE = "on the control node run: make setup, in the checkout of tunecheck, and use .venv/bin/tunecheck"


class TunecheckError(Exception):
    """Base of every error this package raises on purpose. The message is a sentence for an operator."""

    exit_code = 2


class Flaw(Enum):
    """Why a file of ours (a specification, a pass, a recipe) cannot be used."""

    MISSING = "missing"
    UNREAD = "unread"
    #: Somebody else than its owner could have written it.
    UNTRUSTED = "untrusted"
    NOT_JSON = "not-json"
    #: JSON, and of something else.
    OTHER_KIND = "other-kind"
    OTHER_SCHEMA = "other-schema"
    #: It has a field that this release does not know.
    UNKNOWN_FIELD = "unknown-field"
    WRONG_TYPE = "wrong-type"
    TOO_DEEP = "too-deep"
    #: Its content does not fit its digest or seal.
    ALTERED = "altered"
    #: The key of its seal is missing, damaged or cannot be read.
    NO_KEY = "no-key"


class SpecError(TunecheckError):
    """The desired state is unusable. ``problems`` holds one sentence per offending variable; ``flaw`` says what is
    wrong with a frozen file."""

    def __init__(self, problems: list[str], flaw: Flaw | None = None) -> None:
        self.problems, self.flaw = problems, flaw
        super().__init__("\n".join(problems))


class UsageError(TunecheckError):
    """The command line asks for something impossible. ``flaw``: of a file of ours, what is wrong with it."""

    def __init__(self, text: str, flaw: Flaw | None = None) -> None:
        self.flaw = flaw
        super().__init__(text)


class ProbeError(TunecheckError):
    """A fact that a command cannot do without could not be read."""

    exit_code = 3


class TrialError(TunecheckError):
    """A measurement could not be made."""

    exit_code = 3


class ImageUnfitError(TrialError):
    """An image in which no trial can run, whatever the GPUs do: it lacks a Python that runs one."""


class GpusInUseError(TrialError):
    """Somebody else's process uses the GPUs: a trial would disturb it and be disturbed."""
