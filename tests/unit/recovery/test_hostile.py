"""A journal, a request and a folder that are damaged, of a newer release, or somebody else's."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.unit.recovery.test_act import Box1, _at_once, asked, box, way  # noqa: F401
from tests.unit.recovery.test_page import EVIL, MISSING, _recover, place, record  # noqa: F401

from tunecheck.cli import recover as verb
from tunecheck.recovery import evidence, journal
from tunecheck.recovery.act import recover
from tunecheck.recovery.journal import Journal
from tunecheck.recovery.model import Record, Step, Why, incidents
from tunecheck.spec.frozen import Watch
from tunecheck.watch import request


def _written(tmp_path: Path, *changed: dict[str, Any]) -> Journal:
    """A journal of one incident that is stopped, with these as its last lines."""
    found = Journal((str(tmp_path / "journal.jsonl"), str(tmp_path / "fallback.jsonl")))
    for step in (Step.NOTICED, Step.EVIDENCE, Step.STOPPING, Step.STOPPED):
        found.append(Record("a", time.time(), "boot", step, unit="x.service", invocation="run1"))
    path = tmp_path / "journal.jsonl"
    last = json.loads(path.read_bytes().splitlines()[-1])
    for each in changed:
        path.write_bytes(path.read_bytes() + json.dumps({**last, **each}).encode() + b"\n")
    return found


@pytest.mark.parametrize("changed", [
    {"step": "gpu-reset"}, {"step": "stays-down", "why": "gpu-broken"}, {"step": "serving", "why": "of-its-own"}])
def test_what_a_newer_release_did_is_not_begun_again(tmp_path: Path, changed: dict[str, str]) -> None:
    """Its end was left out, so the incident looked open, and an engine that should stay down was started."""
    host = Box1(active="inactive")
    found = box(host, tmp_path)
    found.journal = _written(tmp_path, changed)
    whole, = incidents(found.journal.read())
    assert whole.done and whole.last.why is Why.NEWER
    assert recover(found, None) is None and host.asked == []


def test_a_journal_of_a_hundred_thousand_lines_is_read(tmp_path: Path) -> None:
    """Larger than it is allowed to grow, by hand or by another release: all of it was forgotten, and every restart."""
    host = Box1()
    found = box(host, tmp_path, Watch("restart", 1))
    found.journal = _written(tmp_path, {"step": "serving"})
    path = tmp_path / "journal.jsonl"
    old = json.dumps({**json.loads(path.read_bytes().splitlines()[0]), "incident": "old", "at": 1.0,
                      "step": "reported"}).encode()
    path.write_bytes((old + b"\n") * 100_000 + path.read_bytes())
    begun = time.monotonic()
    ended = recover(found, asked("b"))
    assert ended is not None and ended.why is Why.TOO_MANY and host.asked.count("start") == 0
    assert time.monotonic() - begun < 60 and path.stat().st_size < 1 << 20


@pytest.mark.parametrize("at", [float("nan"), float("inf"), -1e18, 1e18, 253402300800.0, True])
def test_a_time_that_is_none_ends_no_verb(place: Path, at: float) -> None:  # noqa: F811
    path = place / "incidents/journal.jsonl"
    line = json.loads(path.read_bytes().splitlines()[0])
    path.write_bytes(path.read_bytes() + json.dumps({**line, "incident": "c-3", "at": at}).encode() + b"\n")
    code, said = _recover("--list")
    assert code == 0 and "a-1" in said and "b-2" in said
    assert _recover("--html", str(place / "page.html"))[0] == 0


def test_restarts_that_another_boot_dates_years_ahead_are_not_of_today(tmp_path: Path) -> None:
    """A clock that was wrong once: each stall stayed down for years. One that jumped within this boot counts."""
    host = Box1()
    found = box(host, tmp_path, Watch("restart", 1))
    for boot, at in (("former", time.time() + 3e8), ("boot", time.time() + 3e8)):
        for step in (Step.NOTICED, Step.STOPPED, Step.SERVING):
            found.journal.append(Record(f"of-{boot}", at, boot, step, unit="x.service"))
        ended = recover(found, asked(f"after-{boot}"))
        assert ended is not None
        assert (ended.why is Why.TOO_MANY) == (boot == "boot")
        (tmp_path / "journal.jsonl").unlink()


def test_signs_that_steer_a_terminal_are_not_told(place: Path) -> None:  # noqa: F811
    """The line of status is the engine's own, where it speaks to systemd."""
    journal.Journal().append(replace(record(Step.STAYS_DOWN, 5, Why.NOT_STARTED, EVIL, name="c-3", unit=EVIL),
                                     codes=(EVIL,)))
    done = CliRunner().invoke(verb.recover, ["--list"], color=True)
    assert done.exit_code == 0 and "c-3" in done.output
    assert all(char.isprintable() for char in done.output.replace("\n", ""))


@pytest.mark.parametrize("name", ["../../etc", "a/b", "..", ".", "", "a-1/../b-2", "\u0661", "a\x00b"])
def test_an_incident_with_a_path_for_a_name_is_no_folder(place: Path, name: str) -> None:  # noqa: F811
    journal.Journal().append(record(Step.NOTICED, 900, name=name))
    page = place / "page.html"
    assert _recover("--html", str(page))[0] == 0 and MISSING in page.read_text()


@pytest.mark.parametrize("moved", ["1" + "0" * 400, "NaN", "Infinity", "true"])
def test_a_request_with_numbers_that_are_none_is_refused(tmp_path: Path, moved: str) -> None:
    path = tmp_path / "stall.json"
    request.leave(asked(), str(path))
    said = json.loads(path.read_text())
    path.write_text(json.dumps({**said, "moved": {"": 7}}).replace('"": 7', f'"": {moved}'))
    with pytest.raises(ValueError, match=r"."):
        request.read(str(path))


def test_evidence_is_not_written_behind_a_link(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    folder = tmp_path / "incidents"
    folder.mkdir(mode=0o700)
    (folder / "a").symlink_to(other)
    host = Box1()
    found = box(host, tmp_path)
    found.folder = str(folder)
    ended = recover(found, asked("a"))
    assert ended is not None and ended.step is Step.SERVING
    assert list(other.iterdir()) == [] and evidence.FOLDER


def test_an_address_that_is_none_ends_no_recovery(tmp_path: Path) -> None:
    ended = recover(box(Box1(), tmp_path), replace(asked(), url="http://127.0.0.1:99999"))
    assert ended is not None and ended.step is Step.SERVING


def test_a_request_is_never_larger_than_what_is_read(tmp_path: Path) -> None:
    """NCCL's answer, and a flood of reasons in each of 600 looks: the recovery refused it, and nobody was served."""
    path, reasons = str(tmp_path / "stall.json"), [f"oom-kill {number} a process" for number in range(300)]
    rows = tuple({"at": float(number), "state": "serving", "reasons": reasons} for number in range(600))
    for ras in ("\x01" * (1 << 20), "\U0001f600" * (1 << 20), ""):
        request.leave(replace(asked(), ras=ras, timeline=rows), path)
        found = request.read(path)
        assert found is not None and found.incident == "a" and found.timeline[-1] == rows[-1]
        assert found.ras == ras[:len(found.ras)] and len(found.ras) >= 1000 * bool(ras)
    folder = tmp_path / "kept"
    given = box(Box1(), tmp_path)
    given.folder = str(folder)
    recover(given, found)
    told = json.loads((folder / "a/stall.json").read_text())
    assert told["timeline"][-1] == rows[-1]
