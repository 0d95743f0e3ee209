"""Who names a part of an entry is told that the rest of it is not covered; who names the entry, nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner

from tunecheck_fleet.cli.acknowledge import acknowledge
from tunecheck_fleet.cli.approve import approve
from tunecheck_fleet.cli.waive import waive
from tunecheck_fleet.entries import entries
from tunecheck_fleet.judge import report
from tunecheck_fleet.model import Seen
from tunecheck_fleet.outputs.schema import SCHEMAS
from tunecheck_fleet.store import open_store


@pytest.mark.parametrize(("command", "words"), [
    (acknowledge, ()), (approve, ()), (waive, ("--until", "30d", "--reason", "known"))])
def test_a_decision_about_a_part_says_what_it_leaves_out(tmp_path: Path, command: Any, words: tuple[str, ...]) -> None:
    place = tmp_path / "fleet.db"
    with open_store(str(place), catalogue=1) as store:
        for version in ("595.1", "600.1"):
            head = store.begin("folder", [("h", "g")])
            store.put(head.id, Seen("h", "g", "ok", document=b"{}", tunecheck="0.1.0", known={
                "driver.loaded": version, "driver.file": version, "driver.library": version}))
            store.finish(head.id)
        [entry] = [each for each in entries(report(store).causes) if each.lead.counts]
    assert entry.lead.fact == "driver.loaded" and len(entry.more) == 2
    part = next(each for each in entry.more)
    said = CliRunner().invoke(command, [part.id, *words, "--store", str(place)]).stdout
    assert f"only this part of {entry.lead.id} (driver.loaded); its 2 other findings are not covered" in said
    with open_store(str(place), catalogue=1) as store:
        left = [each for each in report(store).causes if each.counts and not each.acknowledged]
        assert entry.lead.id in {each.id for each in left} and part.id not in {each.id for each in left}
    made = json.loads(CliRunner().invoke(command, [entry.lead.id, *words, "--json", "--store", str(place)]).stdout)
    jsonschema.validate(made, SCHEMAS["fleet-list-1.json"])
    listed = json.loads(CliRunner().invoke(command, ["--list", "--json", "--store", str(place)]).stdout)
    jsonschema.validate(listed, SCHEMAS["fleet-list-1.json"])
    # The text and the document name the same.
    told = CliRunner().invoke(command, ["--list", "--store", str(place)]).stdout.splitlines()
    for line, row in zip(told, listed["rows"], strict=True):
        assert all(name in line for name in (*row["covers_also"], *row.get("covers", ())))
    assert made["rows"][0]["left_out"] == "" and {"driver.file", "driver.library"} - {part.fact} <= {
        *made["rows"][0]["covers_also"]}
