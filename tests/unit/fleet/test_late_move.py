"""A host that changes late, as the others did while it was silent, has changed: that is news, and no end of a finding
that nobody had."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.fleet.letters import FACT, night
from tests.unit.fleet.same_answers import answers_alike
from tests.unit.fleet.store.stores import Clock

from tunecheck_fleet.judge import JudgeOptions, report
from tunecheck_fleet.store import open_store


@pytest.mark.parametrize("silent", [1, 2])
def test_it_is_new_where_it_answers(tmp_path: Path, silent: int) -> None:
    with open_store(str(tmp_path / "fleet.db"), clock=Clock(), catalogue=1) as store:
        night(store, "aaaaaaa")
        for _ in range(silent):
            night(store, " bbbbbb")
            answers_alike(store)
        found = night(store, "bbbbbbb")
        assert not [each for each in found.causes if each.state == "resolved"]
        told = [each for each in found.causes if each.fact == FACT and "n0" in each.new_hosts]
        assert [(each.before, each.value, each.counts) for each in told] == [("a", "b", True)]
        over = report(store, None, JudgeOptions(now=store.clock(), since=1))
        assert [each for each in over.causes if each.fact == FACT and "n0" in each.hosts and each.counts]
        answers_alike(store)
