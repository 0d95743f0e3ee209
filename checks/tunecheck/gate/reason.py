"""Why a container may not start: a code for programs, a sentence for people."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Closed", "Reason", "sentences"]


class Closed(StrEnum):
    """What keeps the gate closed."""

    NO_SPEC = "no-spec"
    OTHER_SPEC = "other-spec"
    OTHER_BOOT = "other-boot"
    #: Preflight, or the measurement, ended with another exit code than 0.
    NOT_PASSED = "not-passed"
    AGE_UNKNOWN = "age-unknown"
    TOO_OLD = "too-old"
    #: The measurement ended later in this boot than now is.
    LATER = "later"
    #: A part of the box is another one, cannot be read now, or could not be read then.
    CHANGED = "changed"
    UNREAD = "unread"
    UNREAD_THEN = "unread-then"
    NOT_PINNED = "not-pinned"
    TOO_FEW_GPUS = "too-few-gpus"
    NO_IMAGE = "no-image"
    IMAGE_UNREAD = "image-unread"
    OTHER_IMAGE = "other-image"
    MODEL = "model"
    #: A rule of recipes says that it was not made for these boards, or could not tell.
    RULE = "rule"


@dataclass(frozen=True)
class Reason:
    """``part``: which part of the box changed or cannot be read, as its field in State or Key is called; of a rule, its
    id."""

    code: Closed
    text: str
    part: str = ""


def sentences(reasons: list[Reason]) -> list[str]:
    """Return what people read of these reasons."""
    return [each.text for each in reasons]
