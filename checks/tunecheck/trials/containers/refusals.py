"""Why a trial could not run in a container: a code for programs beside the sentence for people."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["NoContainer"]


class NoContainer(StrEnum):
    """What runtime, image or container lacks."""

    NO_RUNTIME = "no-runtime"
    #: Podman has no description of the GPUs; docker has neither that nor NVIDIA's toolkit.
    NO_CDI = "no-cdi"
    NO_TOOLKIT = "no-toolkit"
    NO_ANSWER = "no-answer"
    NOT_AN_IMAGE = "not-an-image"
    NOT_PINNED = "not-pinned"
    NO_IMAGE = "no-image"
    NO_PYTHON = "no-python"
    OLD_PYTHON = "old-python"
    #: The container, once it was started.
    NOT_STARTED = "not-started"
    ENDED = "ended"
    KILLED = "killed"
    SILENT = "silent"
    TOO_MUCH = "too-much"
    NONSENSE = "nonsense"
