"""What tests beside real processes need."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tunecheck.host.live import LiveHost


@pytest.fixture
def host() -> Iterator[LiveHost]:
    found = LiveHost()
    try:
        yield found
    finally:
        found.close()
