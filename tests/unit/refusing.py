"""What is refused: by its code, and by the names that its message holds; never by its sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum

import pytest

from tunecheck.errors import ProbeError, SpecError, UsageError

__all__ = ["refused"]


@contextmanager
def refused(flaw: Enum | None, *names: str) -> Iterator[pytest.ExceptionInfo[UsageError | ProbeError | SpecError]]:
    """What is inside is refused for this reason, and what is said of it has the names in it, in this order."""
    with pytest.raises((UsageError, ProbeError, SpecError)) as told:
        yield told
    said = str(told.value)
    assert told.value.flaw is flaw, (told.value.flaw, said)
    at = 0
    for name in names:
        assert name in said[at:], (name, said)
        at = said.index(name, at) + len(name)
