"""The page of an incident: every value is data, and whatever is missing is said."""

from __future__ import annotations

import datetime
import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tunecheck.cli import recover
from tunecheck.recovery import journal, kept
from tunecheck.recovery.journal import Journal
from tunecheck.recovery.model import Incident, Record, Step, Why
from tunecheck.recovery.page.incident import Evidence, incident
from tunecheck.recovery.page.strips import Trace, strip
from tunecheck.report.html.shell import policy

WHEN = datetime.datetime(2026, 11, 21, 12, 0, tzinfo=datetime.UTC)
EVIL = "</script><script>window.hit=1</script><img src=x onerror='window.hit=1'>\"'&\x1b[31m\u202e{{7*7}}"
AT = 1_795_000_000.0
#: What the page holds where evidence is missing.
MISSING = '<p class="failed">'


def record(step: Step, after: float = 0.0, why: Why = Why.NONE, text: str = "", name: str = "a-1",
           unit: str = "x.service") -> Record:
    return Record(name, AT + after, "boot", step, why, unit, "run", ("tokens-frozen",), text)


def rows(gpus: int = 2, seconds: int = 600, **more: Any) -> list[dict[str, Any]]:
    """Ten minutes of serving, and a stall in the last half minute."""
    found = []
    for second in range(-seconds, 1):
        stuck = second > -30
        found.append({"at": AT + second, "state": "stalled" if second == 0 else "serving", "running": 4, "waiting": 0,
                      "generated": 100_000.0 + 50 * (second if not stuck else -30), "gpus": {
                          f"0000:{number:02x}:00.0": [100, 0 if stuck else 40, 125000 if stuck else 345000,
                                                      10_000_000 + 5000 * (second if not stuck else -30)]
                          for number in range(3, 3 + gpus)}, **more})
    return found


def page(last: Step = Step.SERVING, evidence: Evidence | None = None, **more: Any) -> str:
    found = Incident((record(Step.NOTICED), record(Step.EVIDENCE, 2), record(last, 200, **more)))
    return incident(found, evidence or Evidence({"frozen_seconds": 30.0}, tuple(rows())), "box1", WHEN)


@pytest.mark.parametrize("last", list(Step))
def test_every_end_has_a_page(last: Step) -> None:
    text = page(last)
    assert text.startswith("<!DOCTYPE html>") and 'id="done"' in text and text.count("<svg") == 6
    assert MISSING not in text


def test_it_says_who_and_for_how_long_nobody_was_served() -> None:
    told = {"frozen_seconds": 31.0, "culprit": {"message": "process 7 (VLLM) was stopped by a signal"},
            "reasons": [{"code": "gpus-spinning", "subject": "0000:03:00.0", "message": "it only waits"}]}
    text = page(evidence=Evidence(told, tuple(rows())))
    for words in ("process 7 (VLLM) was stopped by a signal", "231 s", "it only waits", "gpus-spinning"):
        assert words in text, words


def test_events_before_it_are_told() -> None:
    looks = rows()
    for row in looks[100:200]:
        row["reasons"] = ["xid 0000:03:00.0"]
    text = page(evidence=Evidence({}, tuple(looks)))
    assert re.findall(r"<tr><td>([^<]*)</td><td>(\d+)</td><td>(\w+)</td><td>([^<]*)</td></tr>", text) == [
        ("\u2212600", "100", "serving", "-"), ("\u2212500", "100", "serving", "xid 0000:03:00.0"),
        ("\u2212400", "400", "serving", "-"), ("+0", "0", "stalled", "-")]


def test_what_is_foreign_is_data() -> None:
    thread = {"pid": EVIL, "thread": EVIL, "name": EVIL, "state": "T", "waits_in": EVIL, "kernel_stack": [EVIL]}
    told = {"frozen_seconds": 30.0, "url": EVIL, "culprit": {"message": EVIL},
            "reasons": [{"code": EVIL, "subject": EVIL, "message": EVIL}]}
    looks = rows()
    for row in looks:
        row |= {"state": EVIL, "gpus": {EVIL: [1, 2, 3, 4]}}
    found = Incident((record(Step.NOTICED, unit=EVIL), record(Step.STAYS_DOWN, 5, Why.NOT_STARTED, EVIL)))
    text = incident(found, Evidence(told, tuple(looks), (thread,), ((EVIL, 1),), EVIL), EVIL, WHEN)
    assert "<img" not in text and text.count("<script>") == 1 and "{{7*7}}" in text and "\x1b" not in text
    style, script = (re.search(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL) for tag in ("style", "script"))
    assert style is not None and script is not None
    assert policy(style[1], script[1]).replace("'", "&#39;") in text


@pytest.mark.parametrize("row", [
    {}, {"at": None}, {"at": "x"}, {"at": float("nan")}, {"at": AT, "gpus": []}, {"at": AT, "gpus": {"x": "y"}},
    {"at": AT, "gpus": {"x": [None, "1", float("inf"), True, 5, 6]}}, {"at": AT, "running": -3, "generated": 1e300},
    {"at": AT - 10, "state": None, "generated": 10 ** 400}])
def test_a_damaged_timeline_costs_its_values_alone(row: dict[str, Any]) -> None:
    for looks in ([row], [row] * 5, [row, *rows(), row]):
        text = page(evidence=Evidence({}, tuple(looks)))
        drawn = " ".join(re.findall(r'd="[^"]*"|<td>[^<]*</td>', text))
        assert "nan" not in drawn and "inf" not in drawn


def test_rates_are_those_of_the_samples() -> None:
    text = page()
    cells = re.findall(r'<tr><th scope="row">([^<]*)</th>(.*?)</tr>', text)
    before = cells[len(cells) // 2][1]
    assert "<td>50</td><td>4</td><td>0</td>" in before, before
    assert "100 / 40 / 345 / 5.12" in before, "5000 KiB/s are 5.12 MB/s"
    last = cells[-1][1]
    assert "<td>0</td>" in last and "100 / 0 / 125 / 0" in last


def test_of_eight_gpus_three_lines_are_drawn_and_all_values_told() -> None:
    text = page(evidence=Evidence({}, tuple(rows(8))))
    assert all(f">{name}</text>" in text for name in ("lowest", "median", "highest"))
    assert "0000:0a:00.0" in text and "8 GPUs" in text


def test_a_gap_is_a_gap_and_a_counter_that_fell_is_no_rate() -> None:
    looks = [row for row in rows() if not -400 < row["at"] - AT < -300]
    assert re.search(r'd="M[^"]*M', page(evidence=Evidence({}, tuple(looks)))), "two pieces of a line"
    for row in looks[len(looks) // 2:]:
        row["generated"] = row["generated"] % 100
    rates = [float(line.split("<td>")[2].split("<")[0]) for _, line in re.findall(
        r'<tr><th scope="row">([^<]*)</th>(.*?)</tr>', page(evidence=Evidence({}, tuple(looks))))
        if "<td>-</td>" not in line]
    assert max(rates) < 101


def test_every_line_has_a_name_and_a_dash_of_its_own() -> None:
    found = strip("x", "t", "u", [Trace(name, ((-10.0, 5.0), (0.0, 5.0))) for name in "abcd"], (-10, 0), [(0, "now")])
    assert found is not None and len({each.ink for each in found.lines}) == len(found.lines) == 3
    places = sorted(each.label.y for each in found.lines)
    assert all(two - one >= 13.9 for one, two in itertools.pairwise(places))
    assert strip("x", "t", "u", [Trace("a", ((-10.0, None),))], (-10, 0), []) is None


# ---- the verb --------------------------------------------------------------------------------------------------------

@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A journal of two incidents, of which the second has evidence."""
    folder = tmp_path / "incidents"
    folder.mkdir()
    book = Journal((str(folder / "journal.jsonl"),))
    for each in (record(Step.NOTICED, name="a-1"), record(Step.REPORTED, 3, Why.POLICY, name="a-1"),
                 record(Step.NOTICED, 50, name="b-2"), record(Step.STAYS_DOWN, 60, Why.TOO_MANY, name="b-2")):
        book.append(each)
    (folder / "b-2").mkdir()
    (folder / "b-2/stall.json").write_text(json.dumps({"watch": {"frozen_seconds": 3}, "timeline": rows(seconds=60)}))
    (folder / "b-2/processes.json").write_text("[{]")
    monkeypatch.setattr(journal, "PATH", str(folder / "journal.jsonl"))
    monkeypatch.setattr(kept, "FOLDER", str(folder))
    monkeypatch.setattr(Journal.__init__, "__defaults__", ((str(folder / "journal.jsonl"),),))
    monkeypatch.setattr(kept.read, "__defaults__", (str(folder),))
    return tmp_path


def _recover(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(recover.recover, arguments)
    return done.exit_code, done.output + str(done.exception or "")


def test_the_newest_incident_and_a_named_one(place: Path) -> None:
    target = place / "page.html"
    assert _recover("--html", str(target)) == (0, f"HTML: {target}\n")
    text = target.read_text()
    assert "b-2" in text and f"{MISSING}" in text and "</b> processes.json: " in text and "<svg" in text
    assert target.stat().st_mode & 0o777 == 0o600
    assert _recover("--html", str(target), "a-1")[0] == 0
    text = target.read_text()
    assert "a-1" in text and MISSING in text and f"{place}/incidents/a-1: " in text and "<svg" not in text


@pytest.mark.parametrize(("arguments", "says"), [
    (["--html", "{}/page.html", "c-3"], ("c-3: ", "tunecheck recover --list")),
    (["a-1"], ("a-1: ", "tunecheck recover --html page.html a-1")), (["--html", "{}/none/page.html"], ("/none",)),
    (["--html", "{}/page.html", "../../etc"], ("../../etc: ", "tunecheck recover --list"))])
def test_wrong_input_writes_nothing(place: Path, arguments: list[str], says: tuple[str, ...]) -> None:
    code, said = _recover(*(each.format(place) for each in arguments))
    assert code != 0 and all(each in said for each in says) and not (place / "page.html").exists()


def test_evidence_that_somebody_planted_is_not_read(place: Path) -> None:
    """Whole evidence behind a link would be told as this incident's."""
    planted = (place / "incidents/b-2/stall.json").rename(place / "planted.json")
    (place / "incidents/b-2/processes.json").write_text("[]")
    (place / "incidents/b-2/stall.json").symlink_to(planted)
    found = kept.read("b-2", str(place / "incidents"))
    assert found.why_not.startswith("stall.json: ") and (found.watch, found.timeline) == ({}, ())
    (place / "incidents/c-3").symlink_to("/etc")
    assert kept.read("c-3", str(place / "incidents")).files == ()
