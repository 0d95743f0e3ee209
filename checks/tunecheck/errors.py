"""The error tree. Only the CLI turns these into exit codes.

TunecheckError
    SpecError       the desired state is unusable; exit 2
    UsageError      the command line is unusable; exit 2
    ProbeError      a fact could not be read where one was needed; exit 3
"""

from __future__ import annotations

from enum import Enum

__all__ = ["CONTROL_NODE", "Flaw", "GpusInUseError", "ImageUnfitError", "Misuse", "ProbeError", "SpecError",
           "TrialError", "TunecheckError", "UsageError"]

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
    #: Well-formed, and of something else.
    OTHER_KIND = "other-kind"
    OTHER_SCHEMA = "other-schema"
    #: It has a field that this release does not know.
    UNKNOWN_FIELD = "unknown-field"
    WRONG_TYPE = "wrong-type"
    TOO_DEEP = "too-deep"
    TOO_LARGE = "too-large"
    NOT_YAML = "not-yaml"
    #: A lock of another recipe.
    OF_ANOTHER = "of-another"
    #: Its content does not fit its digest or seal.
    ALTERED = "altered"
    #: The key of its seal is missing, damaged or cannot be read.
    NO_KEY = "no-key"


class Misuse(Enum):
    """Why a command line cannot be carried out."""

    #: Something that this call needs is not given.
    LEFT_OUT = "left-out"
    #: Two options that exclude each other, or one that this call does not take.
    DOES_NOT_BELONG = "does-not-belong"
    #: The form of a value: a time, an address, a name.
    MALFORMED = "malformed"
    #: A well-formed name or number that nothing here has.
    NO_SUCH = "no-such"
    #: It was open, and is waived, resolved or ended by now.
    OVER = "over"
    #: What is to be made is there already.
    ALREADY = "already"
    #: A time that should lie ahead.
    PASSED = "passed"
    #: A time that should lie behind.
    FUTURE = "future"
    #: One text for two things: 1m, of minutes or months.
    AMBIGUOUS = "ambiguous"
    #: A file, folder, inventory or history that does not exist.
    NOT_THERE = "not-there"
    #: It exists, and nothing usable is in it.
    EMPTY = "empty"
    UNREADABLE = "unreadable"
    #: A secret that others than its owner may read.
    READ_BY_OTHERS = "read-by-others"
    #: A place where this user cannot write, or nobody can.
    UNWRITABLE = "unwritable"
    #: A secret would cross the network in the clear.
    NOT_ENCRYPTED = "not-encrypted"
    #: A verb of the control node, on a machine that is none.
    NOT_HERE = "not-here"
    #: Standard output is closed.
    CLOSED = "closed"
    #: Another machine, or a box without what the call is about.
    OTHER_MACHINE = "other-machine"
    #: Another process is at it, and has not ended.
    IN_USE = "in-use"
    #: Only root may do it.
    NOT_ROOT = "not-root"
    #: A program, or a host, gave no answer in time.
    TIMED_OUT = "timed-out"
    #: A host or a server that cannot be reached or asked.
    UNREACHABLE = "unreachable"
    #: A server wants another key.
    REFUSED = "refused"
    TOO_LARGE = "too-large"
    #: A Python package that this call needs is not installed.
    NO_PACKAGE = "no-package"


class SpecError(TunecheckError):
    """The desired state is unusable. ``problems`` holds one sentence per offending variable; ``codes``, of a recipe,
    one code for each of them; ``flaw`` says what is wrong with the file as a whole."""

    def __init__(self, problems: list[str], flaw: Flaw | None = None, codes: tuple[str, ...] = ()) -> None:
        self.problems, self.flaw, self.codes = problems, flaw, codes
        super().__init__("\n".join(problems))


class UsageError(TunecheckError):
    """The command line asks for something impossible. ``flaw`` says to a program what is wrong: of a file of ours a
    Flaw, of other things an enum of the module that refuses."""

    def __init__(self, text: str, flaw: Enum | None = None) -> None:
        self.flaw = flaw
        super().__init__(text)


class ProbeError(TunecheckError):
    """A fact that a command cannot do without could not be read. ``flaw``: as of UsageError."""

    exit_code = 3

    def __init__(self, text: str, flaw: Enum | None = None) -> None:
        self.flaw = flaw
        super().__init__(text)


class TrialError(TunecheckError):
    """A measurement could not be made. ``why`` says the reason to a program, where one asks for it."""

    exit_code = 3

    def __init__(self, text: str, why: Enum | None = None) -> None:
        self.why = why
        super().__init__(text)


class ImageUnfitError(TrialError):
    """An image in which no trial can run, whatever the GPUs do: it lacks a Python that runs one."""


class GpusInUseError(TrialError):
    """Somebody else's process uses the GPUs: a trial would disturb it and be disturbed."""
