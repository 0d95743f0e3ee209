"""Why a recording, or another JSON document that is read with limits, cannot be used: a code for programs beside the
sentence for people."""

from __future__ import annotations

from enum import Enum

__all__ = ["Damage", "DamagedError"]


class Damage(Enum):
    """What is wrong with a recording."""

    NOT_A_FILE = "not-a-file"
    EMPTY = "empty"
    TOO_LARGE = "too-large"
    #: Packed by something else.
    NOT_PACKED = "not-packed"
    PACKING = "packing"
    CUT_SHORT = "cut-short"
    MORE_BEHIND = "more-behind"
    NOT_TAR = "not-tar"
    HEADER = "header"
    #: A member of the tar that no recording holds.
    HARD_LINK = "hard-link"
    LINK = "link"
    DEVICE = "device"
    FIFO = "fifo"
    OTHER_KIND = "other-kind"
    BAD_NAME = "bad-name"
    TOO_MANY = "too-many"
    TWICE = "twice"
    UNKNOWN_MEMBER = "unknown-member"
    NO_MEMBER = "no-member"
    NOT_JSON = "not-json"
    NO_TABLE = "no-table"
    UNKNOWN_PART = "unknown-part"
    WRONG_TYPE = "wrong-type"
    #: A field that every version writes is not there.
    LACKS = "lacks"
    #: A field that this version does not know.
    UNKNOWN_FIELD = "unknown-field"
    #: The specification beside the facts.
    SPEC = "spec"
    NOT_BASE64 = "not-base64"
    OTHER_SCHEMA = "other-schema"
    NEWER = "newer"
    OLDER = "older"
    #: It is known what it is, and it tells nothing that could be judged.
    TOO_LITTLE = "too-little"
    #: Two parts that no one host can have.
    CONTRADICTS = "contradicts"
    #: A command without its words, its output or its result.
    NO_COMMAND = "no-command"
    NO_OUTPUT = "no-output"
    NO_RESULT = "no-result"


class DamagedError(ValueError):
    """A recording that cannot be used. ``damage`` says why to a program."""

    def __init__(self, damage: Damage, text: str) -> None:
        super().__init__(text)
        self.damage = damage
