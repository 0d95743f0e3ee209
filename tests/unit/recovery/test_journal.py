"""The journal of incidents: what a power cut tears, what a full disk refuses, what somebody else wrote."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tunecheck.recovery.journal import Journal
from tunecheck.recovery.model import DONE, Record, Step, Why, incidents
from tunecheck.recovery.words import sentence
from tunecheck.watch.model import Culprit, Kind, Witness


def record(step: Step, at: float = 1.0, incident: str = "a", why: Why = Why.NONE, text: str = "") -> Record:
    return Record(incident, at, "boot", step, why, "x.service", "run", ("tokens-frozen",), text)


def places(folder: Path) -> tuple[str, str]:
    return str(folder / "var/journal.jsonl"), str(folder / "run/journal.jsonl")


def test_what_was_written_is_read(tmp_path: Path) -> None:
    journal, written = Journal(places(tmp_path)), [record(Step.NOTICED, 1.5), record(Step.SERVING, 2.5, text="ü 12 s")]
    for each in written:
        journal.append(each)
    assert journal.read() == written
    assert Path(places(tmp_path)[0]).stat().st_mode & 0o777 == 0o600


def test_the_first_record_says_who_held_the_others_up(tmp_path: Path) -> None:
    journal = Journal(places(tmp_path))
    blamed = Culprit(77, "VLLM::Worker_TP1", "T", 1, "0000:04:00.0", "GPU-1", "AllReduce",
                     (Witness.PROCESS, Witness.RAS), (Kind.STOPPED, Kind.SILENT))
    journal.append(replace(record(Step.NOTICED), culprit=blamed))
    assert journal.read()[0].culprit == blamed
    path = Path(places(tmp_path)[0])
    for told in ('"rank": 1', '"kinds": ["stopped", "silent"]'):
        path.write_text(path.read_text().replace(told, told.split(":")[0] + ': "of a later release"'))
    assert [each.culprit for each in journal.read()] == [None], "the record itself counts all the same"


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_torn_line_takes_no_other_with_it(tmp_path: Path, cut: int) -> None:
    path, journal = Path(places(tmp_path)[0]), Journal(places(tmp_path))
    journal.append(record(Step.NOTICED, 1.0))
    journal.append(record(Step.EVIDENCE, 2.0))
    path.write_bytes(path.read_bytes()[:-cut])
    journal.append(record(Step.STOPPING, 3.0))
    found = [each.step for each in journal.read()]
    # A line without its newline alone is whole.
    assert found == ([Step.NOTICED, Step.EVIDENCE, Step.STOPPING] if cut == 1 else [Step.NOTICED, Step.STOPPING])


def test_where_the_disk_takes_nothing_run_does(tmp_path: Path) -> None:
    (tmp_path / "var").write_text("a file where the folder should be")
    journal = Journal(places(tmp_path))
    journal.append(record(Step.STARTING))
    assert [each.step for each in journal.read()] == [Step.STARTING]
    (tmp_path / "run/journal.jsonl").unlink()
    (tmp_path / "run").rmdir()
    (tmp_path / "run").write_text("")
    with pytest.raises(FileExistsError):
        journal.append(record(Step.STARTING))


@pytest.mark.parametrize("line", [
    "", "null", "[]", "{}", '{"schema": "tunecheck/incident/2"}', "[" * 5000, '{"schema": "tunecheck/incident/1"}',
    json.dumps({"schema": "tunecheck/incident/1", "incident": 1, "at": 1, "boot_id": "", "step": "noticed", "why": "",
                "unit": "", "invocation": "", "codes": [], "text": ""})])
def test_lines_of_somebody_else_are_left_out(tmp_path: Path, line: str) -> None:
    journal = Journal(places(tmp_path))
    journal.append(record(Step.NOTICED))
    with Path(places(tmp_path)[0]).open("a") as stream:
        stream.write(line + "\n")
    journal.append(record(Step.SERVING, 2.0))
    assert [each.step for each in journal.read()] == [Step.NOTICED, Step.SERVING]


def test_it_does_not_grow_for_ever_and_keeps_the_newest(tmp_path: Path) -> None:
    path, journal = Path(places(tmp_path)[0]), Journal(places(tmp_path))
    journal.append(record(Step.NOTICED, 1.0))
    path.write_bytes(path.read_bytes() * 8000)
    journal.append(record(Step.SERVING, 2.0))
    assert path.stat().st_size < 1_000_000 and journal.read()[-1].step is Step.SERVING


def test_a_file_that_others_may_write_is_not_believed(tmp_path: Path) -> None:
    journal = Journal(places(tmp_path))
    journal.append(record(Step.NOTICED))
    Path(places(tmp_path)[0]).chmod(0o666)
    assert journal.read() == []


def test_incidents_keep_their_order_and_every_word_has_a_sentence() -> None:
    found = incidents([record(Step.NOTICED, 1, "a"), record(Step.NOTICED, 2, "b"), record(Step.SERVING, 3, "a")])
    assert [(each.id, each.done) for each in found] == [("a", True), ("b", False)]
    assert all(sentence(record(step, why=why)) for step in Step for why in Why)


def test_every_step_and_reason_is_documented() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs/watch.md").read_text()
    for word in [*Step, *(each for each in Why if each)]:
        assert f"| `{word.value}` |" in page, word
    for step in DONE:
        assert f"| `{step.value}` | end:" in page
