"""Why nothing could be pinned: a code for programs beside the sentence for people."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Unpinned"]


class Unpinned(StrEnum):
    """What hub, registry, engine or folder did not have, or did not say."""

    #: The recipe leaves open what would be pinned, or states another thing than is there.
    NOT_STATED = "not-stated"
    OTHER_REVISION = "other-revision"
    OTHER_IMAGE = "other-image"
    NO_ENTRY = "no-entry"
    NOT_A_URL = "not-a-url"
    NO_TLS = "no-tls"
    #: No answer, or none in time.
    NO_ANSWER = "no-answer"
    TOO_SLOW = "too-slow"
    REFUSED = "refused"
    FAILED = "failed"
    TOO_LARGE = "too-large"
    NOT_JSON = "not-json"
    NO_MODEL = "no-model"
    NO_COMMIT = "no-commit"
    NO_LIST = "no-list"
    TOO_MANY_FILES = "too-many-files"
    BAD_NAME = "bad-name"
    NO_FILES = "no-files"
    NO_SUM = "no-sum"
    TOO_LARGE_TO_SUM = "too-large-to-sum"
    #: What arrived is not what the hub lists.
    ALTERED = "altered"
    UNREAD = "unread"
    NO_TOOL = "no-tool"
    NO_IMAGE = "no-image"
    NO_DIGEST = "no-digest"
    NO_IMAGE_ID = "no-image-id"
    NO_MANIFEST = "no-manifest"
    OTHER_PLATFORM = "other-platform"
