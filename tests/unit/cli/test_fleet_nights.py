"""What fails a nightly audit, on which night, and what stands: one night after the other, on files of a few boxes."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path

import pytest
from tests.unit.cli.carried import NIGHTLY, Fleet, box, naming, one_line


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    return Fleet(tmp_path)


def _drift(fleet: Fleet) -> dict[str, list[str]]:
    """The causes that count, each with its hosts."""
    causes = json.loads(fleet.run("fleet", "--json")[1])["causes"]
    return {cause["fact"]: cause["hosts"] for cause in causes if cause["counts"]}


def test_a_power_limit_fails_the_night_also_beside_another_baseline(fleet: Fleet) -> None:
    for number in range(1, 7):
        fleet.put(number)
    assert fleet.audit(*NIGHTLY)[0] == 0
    fleet.put(2, watts=300)
    code, out, _ = fleet.audit(*NIGHTLY)
    assert code == 1 and "gpu-power-limit" in out and _drift(fleet) == {"gpu-power-limit": ["gpu2"]}
    for baseline in ("majority", "host:gpu4", "desired"):
        code, out, _ = fleet.run("fleet", "--baseline", baseline, "--json", *NIGHTLY)
        document = json.loads(out)
        assert code == 1 and "gpu-power-limit" in {cause["fact"] for cause in document["causes"] if cause["counts"]}
        assert document["baseline"] == baseline
    code, out, _ = fleet.run("drift", "--fact", "kernel.cmdline.iommu", *NIGHTLY)
    assert code == 0 and naming([out], "CLEAN", "kernel.cmdline.iommu", "6") and "INCOMPLETE" not in out


def test_a_warning_that_always_was_is_no_drift_until_its_value_moves(fleet: Fleet) -> None:
    for number in range(1, 7):
        fleet.put(number, watts=300)
    for _ in range(2):
        code, out, _ = fleet.audit(*NIGHTLY)
        assert code == 0 and "STANDING medium  gpu-power-limit" in out and "CLEAN" in out
        assert "CAUSES  none; 1 standing" in out
    fleet.put(2, watts=350)
    code, out, _ = fleet.audit(*NIGHTLY)
    assert code == 1 and "gpu.power_limit" in out and _drift(fleet) == {"gpu.power_limit": ["gpu2"]}
    for number in (1, 3, 4, 5, 6):
        fleet.put(number)
    code, out, _ = fleet.audit(*NIGHTLY)
    assert "RESOLVED gpu-power-limit" in out
    for number in (1, 3):
        fleet.put(number, watts=300)
    code, out, _ = fleet.audit(*NIGHTLY)
    assert code == 1 and "gpu1" in next(line for line in out.splitlines() if line.startswith(("HIGH", "MEDIUM"))), out


def test_a_warning_that_came_with_our_own_roles_is_no_drift(fleet: Fleet) -> None:
    for number in (1, 2):
        fleet.put(number)
    fleet.audit()
    fleet.put(1, watts=300, run=time.time())
    fleet.put(2, watts=300)
    code, out, _ = fleet.audit(*NIGHTLY)
    marks = {line.split()[0]: line for line in out.splitlines() if "gpu-power-limit" in line}
    assert code == 1 and "gpu1" in marks.pop("STANDING") and len(marks) == 1 and "gpu2" in str(marks), out


def test_errors_that_a_box_came_with_never_stand(fleet: Fleet) -> None:
    for errors in (1, 9000):
        for number in (1, 2):
            fleet.put(number, errors=errors)
        code, out, _ = fleet.audit(*NIGHTLY)
        assert code == 1 and "STANDING" not in out and f"{errors} uncorrectable memory error" in out


def test_each_gpu_of_a_finding_has_a_since_of_its_own(fleet: Fleet) -> None:
    fleet.put(1)
    fleet.audit()
    for limited in (1, 2):
        fleet.put(1, watts=300, limited=limited)
        code, out, _ = fleet.audit(*NIGHTLY)
        assert code == 1 and "RESOLVED" not in out and "gpu-power-limit" in out
    fleet.put(1, watts=300)
    code, out, _ = fleet.audit(*NIGHTLY)
    resolved = [line for line in out.splitlines() if line.startswith("RESOLVED gpu-power-limit")]
    assert code == 1 and len(resolved) == 1 and "GPU1" in resolved[0] and "GPU0" not in resolved[0], out
    assert "known  gpu-power-limit GPU0" in out and "#1..#2" in out


def test_gpus_that_go_silent_are_news_and_resolved_when_they_answer(fleet: Fleet) -> None:
    counts = []
    for silent in ("", "the driver did not answer within 10 s", "the driver did not answer within 10 s", ""):
        fleet.put(1, silent=silent)
        fleet.put(2)
        code, out, _ = fleet.audit("--json", "--fail-on", "unknown")
        states = Counter(cause["state"] for cause in json.loads(out)["causes"] if cause["outcome"] == "unknown")
        counts.append([code, *(states[state] for state in ("new", "known", "resolved"))])
    assert counts[0] == [0, 0, 0, 0] and counts[1][0] == 1 == counts[2][0] and counts[3][0] == 0, counts
    assert counts[1][1] > 5 and counts[1][2:] == [0, 0] and counts[2][2] == counts[1][1] and counts[3][3] > 5, counts


def test_the_one_box_that_came_with_another_limit_is_drift_by_the_others(fleet: Fleet) -> None:
    for number in range(1, 7):
        fleet.put(number, watts=300 if number == 2 else 700)
    code, out, _ = fleet.audit(*NIGHTLY)
    assert code == 1 and "STANDING medium  gpu-power-limit" in out and naming([out], "5 of 6")


@pytest.mark.parametrize("name", ["gpu.power_limit", "gpu-power-limit", "gpu.", "gpu-power-limit/GPU0*"])
def test_a_waiver_names_the_check_or_the_fact_that_it_judges(fleet: Fleet, name: str) -> None:
    for number in (1, 2):
        fleet.put(number)
    fleet.audit()
    fleet.put(2, watts=500)
    assert fleet.audit(*NIGHTLY)[0] == 1
    fleet.run("waive", name, "--host", "gpu2", "--until", "30d", "--reason", "agreed")
    code, out, _ = fleet.run("fleet", *NIGHTLY)
    assert code == 0 and "WAIVED" in out, out
    row, = json.loads(fleet.run("waive", "--list", "--json")[1])["rows"]
    assert row["last_matched"] == 2


def test_a_lost_gpu_is_reported_until_it_is_back(fleet: Fleet) -> None:
    for number in range(1, 10):
        fleet.put(number, gpus=1 + (number != 9))
    for _ in range(3):
        code, out, _ = fleet.audit(*NIGHTLY)
        assert code == 1 and "gpu.count 1 (most others: 2)" in out and "8 of 9" in out, out
        assert "1 GPU fewer (1 of 2)" in out and out.count("HIGH ") == 1
    assert "8 of 9" in fleet.run("fleet", "-v")[1]
    fleet.put(9)
    code, out, _ = fleet.audit(*NIGHTLY)
    assert code == 0 and "CLEAN" in out and "RESOLVED 1 GPU fewer" in out


def test_the_history_of_a_host_says_what_checks_found_and_when_that_was_over(fleet: Fleet) -> None:
    for errors in (0, 1, 0):
        fleet.put(1, errors=errors, watts=300)
        fleet.audit()
    rows = fleet.run("history", "--host", "gpu1")[1].splitlines()
    assert naming(rows, "check", "gpu-ecc", "#1..#2", "until", "#3"), rows
    assert not naming(rows, "gpu-power-limit"), rows
    assert naming(fleet.run("history", "--host", "gpu1", "--all")[1].splitlines(), "check", "gpu-power-limit", "warn")
    code, out, _ = fleet.run("history", "--host", "gpu1", "--fact", "gpu-ecc", "--json")
    found = json.loads(out)["rows"]
    assert code == 0 and {(row["fact"], row["gone"]) for row in found} == {("gpu-ecc", 3)}


def test_an_audit_shown_again_tells_what_it_told(tmp_path: Path) -> None:
    """Hosts, counts, causes and the exit code, also of a host that was renamed since; what was said since is named."""
    fleet = Fleet(tmp_path)
    for number in range(1, 7):
        fleet.put(number)
    fleet.audit()
    (fleet.files / "gpu2.json").unlink()
    (fleet.files / "new2.json").write_bytes(box(2, hmm="0"))
    fleet.put(3, hmm="0")
    told = fleet.seen("--max-missing", "1", "--fail-on", "drift")
    fleet.audit("--gone", "gpu2")
    fleet.put(3)
    fleet.audit()
    again = fleet.run("fleet", "--audit", "2", "--max-missing", "1", "--fail-on", "drift", "--json")
    shown = json.loads(again[1])
    assert again[0] == told[0] == 1
    for part in ("summary", "causes", "entries", "splits"):
        left_out = ("text", "remedy", "commands", "expected", "observed")
        one, other = ([{name: value for name, value in each.items() if name not in left_out} for each in document[part]]
                      if isinstance(document[part], list) else document[part] for document in (told[1], shown))
        assert one == other, part
    assert [(each["host"], each["status"]) for each in shown["hosts"]] == [
        (each["host"], each["status"]) for each in told[1]["hosts"]]
    first = next(cause["id"] for cause in shown["causes"] if cause["counts"] and cause["hosts"] == ["gpu3"])
    assert fleet.run("approve", first, "--audit", "2", "--author", "kim")[0] == 0
    notes = json.loads(fleet.run("fleet", "--audit", "2", "--json")[1])["notes"]
    assert naming(notes, "#2", "approve", first, "kim", "#4")


def test_hosts_are_listed_with_the_entries_of_the_report(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path)
    for number in range(1, 4):
        fleet.put(number)
    fleet.audit()
    fleet.put(2, gpus=1)
    fleet.put(3, iommu=None, hmm="0")
    _, document = fleet.seen()
    counted = {each["id"]: each for each in document["causes"] if each["counts"]}
    rows = json.loads(fleet.run("fleet", "hosts", "--json")[1])["rows"]
    for row in rows:
        assert row["drifted"] == sum(row["host"] in each["hosts"] for each in document["entries"]
                                     if each["id"] in counted), row["host"]


@pytest.mark.parametrize("given", [("fleet", "-v"), ("drift", "--host", "gpu1"), ("drift", "--host", "gpu1", "-v")])
def test_the_next_step_is_never_the_command_that_was_run(tmp_path: Path, given: tuple[str, ...],
                                                         monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    fleet = Fleet(tmp_path)
    fleet.put(1)
    fleet.audit()
    for facts in ({"iommu": None}, {"hmm": "0"}, {"watts": 600}, {}):
        fleet.put(1, **facts)
        fleet.audit()
        step = one_line(fleet.run(*given)[1].partition("\nNEXT")[2].partition("\n\n")[0])
        assert step != f"tunecheck {' '.join(given)}"


def test_what_is_over_has_an_id_of_its_own_and_a_value_the_one_that_it_was_open_under(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path)
    for number in range(1, 7):
        fleet.put(number)
    fleet.audit()
    fleet.put(2, hmm="0", iommu=None, held=False, word="quiet", watts=300)
    _, document = fleet.seen()
    opened = {cause["fact"]: cause["id"] for cause in document["causes"] if cause["authority"] != "desired"}
    fleet.put(2)
    _, document = fleet.seen()
    over = [cause for cause in document["causes"] if cause["state"] == "resolved"]
    values = [cause for cause in over if cause["authority"] != "desired"]
    assert values and all(opened[cause["fact"]] == cause["id"] for cause in values if cause["fact"] in opened)
    assert len({cause["id"] for cause in over}) == len(over)


@pytest.mark.parametrize("since", ["2d", "7d", "audit:1"])
def test_drift_is_compared_with_one_thing(tmp_path: Path, since: str) -> None:
    fleet = Fleet(tmp_path)
    fleet.put(1)
    fleet.audit()
    fleet.audit()
    code, _, err = fleet.run("drift", "--baseline", "audit:1", "--since", since)
    assert code == 2 and f"--baseline audit:1 and --since {since} both say what to compare with" in one_line(err)
    for alone in (("--baseline", "audit:1"), ("--since", since), ("--baseline", "desired", "--since", since)):
        assert fleet.run("drift", *alone)[0] != 2, alone
