"""The bench of recoveries judges its trials; the trials themselves need a box."""

from __future__ import annotations

from typing import Any

import pytest
from lab.bench.recover import Place, _parsed, missed, table

GOOD = {"fault": "stop", "noticed": 31.0, "served": 90.0, "health": None, "answer": 200, "evidence": ["stall.json"]}
PLACE = Place(lambda fault: {**GOOD, "fault": fault}, 30.0)


@pytest.mark.parametrize(("change", "good"), [
    ({}, True), ({"noticed": 32.0}, True), ({"noticed": 32.1}, False), ({"noticed": None}, False),
    ({"served": None}, False), ({"answer": 503}, False), ({"evidence": []}, False),
    ({"fault": "mute"}, False), ({"fault": "mute", "health": 200}, True)])
def test_what_a_trial_has_to_do(change: dict[str, Any], good: bool) -> None:
    assert (missed({**GOOD, **change}, PLACE) == "") is good


def test_a_script_that_ended_early_says_why_and_counts() -> None:
    trial = _parsed("cut", "", "the engine's process is not there\n")
    trial["missed"] = missed(trial, PLACE)
    assert "the engine's process is not there" in trial["missed"]
    rows = table([{**GOOD, "missed": ""}, {**GOOD, "noticed": 30.0, "missed": ""}, trial]).splitlines()[2:]
    assert rows == ["| stop | 2 | 30.5 s (31.0 s) | 90.0 s (90.0 s) | 2 of 2 | 0 |",
                    "| cut | 1 | never | never | 0 of 1 | 1 |"]
