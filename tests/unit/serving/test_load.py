"""Load: closed and open loop against a server whose pace is known, and what is made of it."""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.fakes.build import build
from tests.unit.report.closed import closed
from tests.unit.serving.oracle import Ask, Case, Oracle, _Handler, serving, sse

from tunecheck.errors import UsageError
from tunecheck.serving.client import Client
from tunecheck.serving.devices import board
from tunecheck.serving.figures_load import load
from tunecheck.serving.load import Answer, LoadPlan, Step, drive
from tunecheck.serving.measured import Measured
from tunecheck.serving.plan import load_for
from tunecheck.serving.rates import figures, percentiles

_FIRST, _REST = 0.08, 0.12


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    pytest.importorskip("httpx")
    with serving() as server:
        yield server


def _paced(only: str = "") -> Case:
    """The first half of an answer after 80 ms, the rest 120 ms later. ``only``: of the load alone, and of what looks
    like it."""
    def send(handler: _Handler, ask: Ask) -> bool:
        if only and (ask.logprobs or "Explain at length" not in ask.question or not ask.body.get("ignore_eos")):
            return False
        events = list(handler.events(case, ask))
        handler.head()
        time.sleep(_FIRST)
        handler.wfile.write(sse(events[:3]))
        time.sleep(_REST)
        handler.wfile.write(sse(events[3:]))
        return True

    case = Case(send=send)
    return case


@pytest.mark.parametrize(("plan", "least"), [
    (LoadPlan(1.0, streams=(3,), tokens=13), 6), (LoadPlan(1.0, rates=(8.0,), tokens=13), 8)])
def test_a_known_pace(oracle: Oracle, plan: LoadPlan, least: int) -> None:
    client = Client(oracle.base(_paced()), "m")
    [step] = drive(client, plan)
    client.close()
    found = figures(step, {"ttft": 5.0, "e2e": 10.0})
    assert found["requests"] >= least and found["failed"] == 0 and not found["behind"]
    # A busy machine adds to it and never takes away.
    assert found["ttft_s"]["p50"] >= _FIRST and found["e2e_s"]["p50"] >= _FIRST + _REST
    # Of each request by itself: where a read is late, medians of different requests do not add up.
    itl = [(each.last - each.first) / 12 for each in step.answers if each.first and each.last]
    assert found["itl_s"]["p50"] == pytest.approx(statistics.median(itl)) and max(itl) >= 0.5 * _REST / 12
    assert found["goodput"]["share"] == 1.0
    if plan.rates:
        assert found["requests"] == 8
        assert [round(each.due, 3) for each in sorted(step.answers, key=lambda each: each.due)] == [
            number / 8 for number in range(8)]


def test_a_server_that_fails_is_not_asked_without_end(oracle: Oracle) -> None:
    client = Client(oracle.base(Case(send=lambda handler, ask: handler.whole(500, "oh"))), "m")
    [step] = drive(client, LoadPlan(0.7, streams=(2,)))
    client.close()
    assert 2 <= len(step.answers) <= 12
    found = figures(step, {})
    assert found["failed"] == found["requests"] and found["ttft_s"] is None and "HTTP 500: oh" in found["errors"]


def test_percentiles_are_those_of_numpy() -> None:
    assert percentiles([]) is None
    found = percentiles([float(each) for each in range(1, 11)])
    assert found is not None and (found["p50"], round(found["p90"], 6), round(found["p99"], 6)) == (5.5, 9.1, 9.91)


def test_what_fell_behind_the_end_does_not_count() -> None:
    step = Step("closed", 1, 10.0, (Answer(0, 0, 1.0, 9.0, 80), Answer(9, 9, 9.5, 10.5, 100)))
    found = figures(step, {"ttft": 0.6})
    assert found["tok_s"] == pytest.approx((80 + 50) / 10)
    assert found["requests_s"] == pytest.approx(0.1) and found["goodput"]["share"] == 0.5


@pytest.mark.parametrize(("step", "outcome"), [
    ({}, "skip"), ({"goodput": {"slo": {"ttft": 1.0}, "share": 1.0, "requests_s": 1.0}}, "pass"),
    ({"goodput": {"slo": {"ttft": 1.0}, "share": 0.9, "requests_s": 1.0}}, "fail"),
    ({"failed": 1, "errors": ["HTTP 500"]}, "fail"), ({"behind": True}, "fail"), ({"requests": 0}, "fail"),
])
def test_findings(step: dict[str, object], outcome: str) -> None:
    whole = figures(Step("open", 2.0, 10.0, (Answer(0, 0, 1.0, 9.0, 80),)), {}) | step
    assert [each.outcome for each in load(Measured((), load=(whole,)))] == [outcome]


def test_a_gpu_that_is_slowed_down_is_told() -> None:
    look = board({"bdf": "0000:41:00.0", "values": {"clock_sm_mhz": 900, "power_draw_mw": 300000, "temperature_c": 90,
                                                    "clocks_event_reasons": 0x40 | 0x1}})
    assert look["reasons"] == ["gpu_idle", "hw_thermal_slowdown"] and look["power_w"] == 300.0
    found = figures(Step("closed", 1, 4.0, (Answer(0, 0, 1.0, 3.0, 80),), ({"at": 0.0, "gpus": [look]},)), {})
    assert found["devices"][0]["throttled"] == {"hw_thermal_slowdown": 1.0}
    assert [each.outcome for each in load(Measured((), load=(found,)))] == ["skip", "warn"]


@pytest.mark.parametrize(("streams", "rates", "slo", "says"), [
    ((), None, (), "^--sustain: .*--concurrency .*--rate "), ((1,), "0", (), "^--rate 0: "),
    ((1,), "x", (), "^--rate x: "), ((1,), None, ("ttft",), r"^--slo ttft: .*\bttft=2s\b"),
    ((1,), None, ("tpot=1s",), r"^--slo tpot=1s: .*\bttft=2s\b")])
def test_bad_loads(streams: tuple[int, ...], rates: str | None, slo: tuple[str, ...], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        load_for(60, streams, rates, slo, 0)


def test_a_look_that_fails_is_told_and_the_next_one_made() -> None:
    look = {"bdf": "0000:41:00.0", "sm_mhz": 900, "power_w": 300.0, "temperature_c": 60, "reasons": []}
    seen = ({"at": 0.0, "gpus": [look]}, {"at": 2.0, "gpus": [], "missed": "NVML: timed out"},
            {"at": 4.0, "gpus": [look]})
    found = figures(Step("closed", 1, 4.0, (Answer(0, 0, 1.0, 3.0, 80),), seen), {})
    assert found["missed"] == 1 and found["devices"][0]["line"] == [[0.0, 900, 300.0, 60], [4.0, 900, 300.0, 60]]
    [_, told] = load(Measured((), load=(found,)))
    assert (told.outcome, told.code) == ("warn", "nvml-silent") and re.findall(r"\d+", told.observed) == ["1", "3"]


def test_windows_show_a_server_that_gets_slower() -> None:
    answers = tuple(Answer(at, at, at + 0.1 + at / 50, at + 0.5 + at / 50, 40) for at in range(24))
    windows = figures(Step("closed", 1, 24.0, answers), {})["windows"]
    assert [each["requests"] for each in windows] == [1] * 24
    assert windows[0]["ttft_s"]["p50"] == pytest.approx(0.1) and windows[-1]["ttft_s"]["p50"] == pytest.approx(0.56)
    assert sum(each["tok_s"] for each in windows) == pytest.approx(24 * 40, rel=0.01)


#: The driver of this machine is one that is not there; all else is the program as it runs.
_RUN = """
import sys
from tunecheck.host import live
live._DRIVER = ("/proc/self/status",)
live.LiveHost._boards = lambda self: []
from tunecheck.serving import devices, load, session
load._SAMPLE, devices._SECONDS = 0.2, 30.0
session._COUNTER_LAG = 0.1
sys.argv = ["tunecheck", "accept", *sys.argv[1:]]
from tunecheck.cli.main import main
main()
"""


def test_a_load_on_a_box_whose_gpus_are_too_hot(oracle: Oracle, tmp_path: Path) -> None:
    """The whole program: NVML by its own child, the document by its schema, plots in the page, and again by --judge."""
    jsonschema = pytest.importorskip("jsonschema")
    from tunecheck.serving.schema import SCHEMAS

    build("nvml.c", "libnvidia-ml.so.1", tmp_path)
    root = Path(__file__).resolve().parents[3]
    asked = ["--base", oracle.base(_paced("load")), "--profile", "boot", "--sustain", "0.8s", "--concurrency", "1,3",
             "--rate", "4", "--slo", "ttft=9s", "--scale", "0.05"]
    wanted = ["--json", str(tmp_path / "a.json"), "--html", str(tmp_path / "a.html")]
    done = subprocess.run(
        [sys.executable, "-c", _RUN, *asked, *wanted], capture_output=True, text=True, check=False, timeout=60,
        env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path), "PYTHONPATH": f"{root / 'checks'}{os.pathsep}{root}",
             "FAKE_NVML": "gpus=2 mhz=1200 mw=575000 degrees=91 reasons=64"})
    slowed = re.compile(r"WARN +load: GPU 0000:03:00\.0 .* hw_thermal_slowdown .* 100% ")
    assert slowed.search(done.stdout), done.stdout + done.stderr
    assert re.search(r"GPU 0000:03:00\.0: 1200 MHz, 575 W, 91 .* hw_thermal_slowdown 100%", done.stdout)
    data = json.loads((tmp_path / "a.json").read_text())
    jsonschema.validate(data, closed(SCHEMAS["acceptance-1.json"]))
    steps = data["measured"]["load"]
    assert [(each["mode"], each["level"]) for each in steps] == [("closed", 1), ("closed", 3), ("open", 4.0)]
    assert all(each["devices"][1]["sm_mhz"] == [1200, 1200, 1200] and not each["missed"]
               for each in steps)
    page = (tmp_path / "a.html").read_text()
    for plot in ("closed-ttft", "closed-itl", "closed-rate", "time-rate", "time-ttft", "gpu-1", "gpu-2", "gpu-3"):
        assert f'id="plot-load-{plot}"' in page, plot
    assert "hw_thermal_slowdown 100%" in page and "3 streams" in page
    again = subprocess.run(
        [sys.executable, "-m", "tunecheck", "accept", "--judge", str(tmp_path / "a.json"), "--html",
         str(tmp_path / "b.html")], capture_output=True, text=True, check=False, timeout=60,
        env={**os.environ, "PYTHONPATH": str(root / "checks")})
    assert slowed.search(again.stdout) and 'id="plot-load-gpu-1"' in (tmp_path / "b.html").read_text()
