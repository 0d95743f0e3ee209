"""Every test of the store runs on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .postgres import Server, why_not
from .stores import Makes, PostgresMakes, SqliteMakes


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    if reason := why_not():
        pytest.skip(reason)
    running = Server()
    yield running
    running.stop()


@pytest.fixture(params=["sqlite", "postgresql"])
def makes(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Makes]:
    """Opens stores: each call to ``fresh`` a new, empty one."""
    made: Makes = (SqliteMakes(tmp_path) if request.param == "sqlite"
                   else PostgresMakes(request.getfixturevalue("server")))
    yield made
    made.close()
