"""One inventory in parts, each audited with a --limit: a host or a group is found in whichever audit has it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.cli.carried import Fleet, one_line, statuses


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    """#1 and #3 of rack1 (gpu1, gpu2; gpu1 is changed by hand in #3), #2 and #4 of rack2 (gpu3)."""
    fleet = Fleet(tmp_path_factory.mktemp("parts"))
    (fleet.folder / "hosts.json").write_text(json.dumps({
        "rack1": {"hosts": {"gpu1": {}, "gpu2": {}}}, "rack2": {"hosts": {"gpu3": {}}}}))
    for night in range(2):
        for number in (1, 2, 3):
            fleet.put(number, hmm="0" if night and number == 1 else "1")
        for rack in ("rack1", "rack2"):
            assert fleet.audit("-i", "hosts.json", "--limit", rack)[0] == 0
    return fleet


def _document(fleet: Fleet, *arguments: str) -> tuple[int, dict[str, Any]]:
    code, out, err = fleet.run(*arguments, "--json", "-")
    assert out, err
    return code, json.loads(out)


@pytest.mark.parametrize(("host", "audit"), [("gpu1", 3), ("gpu2", 3), ("gpu3", 4)])
def test_a_host_is_told_of_as_the_newest_audit_that_has_it(parts: Fleet, host: str, audit: int) -> None:
    code, document = _document(parts, "drift", "--host", host)
    assert (code, document["audit"]["id"], statuses(document)) == (0, audit, {host: "ok"})
    assert document["summary"]["outcome"] == ("drift" if host == "gpu1" else "clean")


def test_drift_of_all_is_about_the_hosts_of_all_limits(parts: Fleet) -> None:
    _, document = _document(parts, "drift")
    assert set(statuses(document)) == set(statuses(_document(parts, "fleet")[1])) == {"gpu1", "gpu2", "gpu3"}
    assert any(note.startswith("2 hosts as #3 heard them") for note in document["notes"])


def test_an_audit_of_a_part_says_that_others_are_not_in_it(parts: Fleet, tmp_path: Path) -> None:
    fleet = Fleet(tmp_path)
    (fleet.folder / "hosts.json").write_text((parts.folder / "hosts.json").read_text())
    for number in (1, 2, 3):
        fleet.put(number)
    said = [fleet.audit("-i", "hosts.json", *limit)[1] for limit in ((), ("--limit", "rack2"))]
    assert ["2 other hosts of this inventory are not in audit #2" in one_line(each) for each in said] == [False, True]


@pytest.mark.parametrize("where", [("--host", "gpu1"), ("--group", "rack1"), ("--group", "rack2")])
def test_a_waiver_finds_its_group_and_what_it_covers(parts: Fleet, where: tuple[str, str]) -> None:
    code, out, err = parts.run("waive", "module.parameter.nvidia-uvm.uvm_disable_hmm", *where, "--until", "3d",
                               "--reason", "x")
    number = out.partition(":")[0]
    assert code == 0, err
    assert ("covers nothing" in one_line(out)) == (where[1] == "rack2"), out
    assert ("; covers module" in one_line(out)) == (where[1] != "rack2"), out
    assert parts.run("waive", "--end", number)[0] == 0


def test_a_group_that_no_inventory_has_is_refused_with_those_of_all_parts(parts: Fleet) -> None:
    _, said = parts.refused("waive", "gpu.vbios", "--group", "rack9", "--until", "3d", "--reason", "x")
    assert "rack1" in said and "rack2" in said


def test_a_host_that_left_the_inventory_is_told_of_as_it_was(parts: Fleet, tmp_path: Path) -> None:
    fleet = Fleet(tmp_path)
    for number in (1, 2):
        fleet.put(number)
    fleet.audit()
    (fleet.files / "gpu2.json").unlink()
    fleet.audit("--gone", "gpu2")
    _, document = _document(fleet, "drift", "--host", "gpu2")
    assert (document["audit"]["id"], statuses(document)) == (1, {"gpu2": "ok"})
