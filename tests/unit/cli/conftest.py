"""A fleet that drifted, for every test that only looks at it."""

from __future__ import annotations

import pytest
from tests.unit.cli.carried import Fleet


@pytest.fixture(scope="session")
def drifted(tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    """Audit #1: six boxes alike. Then gpu3 is changed by hand: #2. Nothing is recorded in it any more."""
    fleet = Fleet(tmp_path_factory.mktemp("drifted"))
    for number in range(1, 7):
        fleet.put(number)
    code, document = fleet.seen("--fail-on", "drift")
    assert code == 0 and document["summary"]["outcome"] == "clean", document["summary"]
    fleet.put(3, iommu=None, hmm="0", held=False)
    assert fleet.audit("--fail-on", "drift")[0] == 1
    return fleet
