"""An engine that nobody asks, or whose metrics tell nothing: a short question tells a dead one from an idle one."""

from __future__ import annotations

import json
import queue
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.engine import models
from tests.unit.serving.engines import engine
from tests.unit.watch.served import Watching, tells
from tests.unit.watch.test_judge import ACTIVE, BOTH_SPIN, DECODES, RESTS, unit_is

from tunecheck.host.nvml_samples import GpuSample
from tunecheck.model.absence import Absence
from tunecheck.serving import accepted
from tunecheck.serving.accepted import Accepted, Question
from tunecheck.watch.canary import Canary
from tunecheck.watch.judge import Judge
from tunecheck.watch.model import Answer, Code, Engine, Limits, Look, Run, Seen, State

EVERY = 900.0
NO_METRICS = Engine(absence=Absence.NOT_SUPPORTED, code=Code.NO_METRICS)
HTML = Engine(absence=Absence.NOT_UNDERSTOOD, code=Code.METRICS_UNREADABLE)


class Night:
    """Looks, one a second, and whoever answers questions: each takes three seconds."""

    def __init__(self, answers: Answer = Answer.RIGHT, unit: Run | None = ACTIVE) -> None:
        self.judge, self.at, self.unit, self.answers = Judge(Limits(canary=EVERY)), 1000.0, unit, answers
        self.asked: list[float] = []
        self.busy: list[int] = []
        self.all: list[Seen] = []
        self.moved = 0.0
        self._left: int | None = None

    def go(self, seconds: float, found: Engine | None = None, running: int = 0, step: float = 0.0,
           counts: bool = True, gpus: tuple[GpuSample, ...] | None = RESTS) -> Seen:
        """``found``: what the page says, else counters; ``counts``: whether an answer moves them."""
        for _ in range(round(seconds)):
            self.at, self.moved, answer = self.at + 1, self.moved + step, None
            if self._left is not None:
                self._left -= 1
                if self._left == 0:
                    self._left, answer = None, self.answers
                    self.moved += 5 if counts and answer in (Answer.RIGHT, Answer.WRONG) else 0
            if self.judge.curious and answer is None:
                self.asked.append(self.at)
                self.busy.append(running)
                self._left = 3
            page = found or Engine(running + (self._left is not None and counts), 0, self.moved, self.moved)
            self.all.append(self.judge.judge(Look(self.at, page, gpus, self.unit, canary=answer,
                                                  canary_asked=self._left is not None)))
        return self.all[-1]

    @property
    def states(self) -> list[State]:
        return [seen.state for before, seen in zip([None, *self.all], self.all, strict=False)
                if before is None or before.state is not seen.state]


def _codes(seen: Seen) -> set[Code]:
    return {each.code for each in seen.reasons}


def test_an_idle_night_is_asked_now_and_then_and_is_no_news() -> None:
    night = Night()
    night.go(8 * 3600)
    assert 8 * 3600 / EVERY - 2 <= len(night.asked) <= 8 * 3600 / EVERY
    assert night.asked[0] - 1000 >= EVERY, "a watch that is started again and again asks nobody"
    assert night.states == [State.IDLE]


def test_a_request_is_as_good_as_a_question() -> None:
    night = Night()
    for _ in range(40):
        night.go(600)
        night.go(20, running=1, step=10)
    assert night.asked == [] and set(night.states) == {State.IDLE, State.SERVING}


def test_nobody_is_asked_while_requests_run() -> None:
    night = Night()
    night.go(3 * 3600, running=2, step=10)
    assert night.asked == []
    night.go(3600)
    night.go(3600, running=1, step=10)
    assert night.busy and not any(night.busy)


@pytest.mark.parametrize("answers", [Answer.LATE, Answer.FAILED])
def test_an_idle_engine_that_is_dead_is_seen_after_two_questions(answers: Answer) -> None:
    night = Night()
    night.go(4 * 3600)
    night.answers, began = answers, night.at
    while night.go(1, counts=False).state is State.IDLE and night.at < began + 5000:
        pass
    assert night.all[-1].state is State.STALLED and Code.CANARY_SILENT in _codes(night.all[-1])
    assert night.at - began <= EVERY + 15
    asked = len(night.asked)
    night.go(3600, counts=False)
    assert len(night.asked) - asked <= 61 and night.all[-1].state is State.STALLED
    night.answers = Answer.RIGHT
    assert night.go(120).state is State.IDLE


def test_one_bad_answer_alone_is_none() -> None:
    for bad in (Answer.LATE, Answer.FAILED, Answer.WRONG):
        night = Night(bad)
        while not night.asked:
            night.go(1)
        night.go(3)
        night.answers = Answer.RIGHT
        night.go(3000)
        assert night.states == [State.IDLE], bad


def test_an_answer_that_is_wrong_twice_degrades_until_it_is_right() -> None:
    night = Night(Answer.WRONG)
    night.go(EVERY + 30)
    assert night.all[-1].state is State.DEGRADED and Code.CANARY_WRONG in _codes(night.all[-1])
    night.answers = Answer.RIGHT
    assert night.go(120).state is State.IDLE


@pytest.mark.parametrize(("answers", "code"), [(Answer.REFUSED, Code.CANARY_REFUSED), (Answer.KEY, Code.KEY_REFUSED)])
def test_an_answer_that_says_nothing_is_told_and_no_alarm(answers: Answer, code: Code) -> None:
    night = Night(answers)
    seen = night.go(3 * 3600)
    assert night.states == [State.IDLE] and _codes(seen) == {code}
    assert len(night.asked) <= 12


def test_a_late_answer_of_gpus_that_work_is_none() -> None:
    """Another's job, or requests that no metrics tell of: it waits for its turn."""
    night = Night(Answer.LATE)
    night.go(3 * 3600, gpus=DECODES)
    assert State.STALLED not in night.states


def test_it_is_not_asked_while_the_unit_starts_or_is_down() -> None:
    for active in ("activating", "failed", "inactive", ""):
        night = Night(unit=unit_is(active))
        night.go(2 * 3600, NO_METRICS)
        assert night.asked == [], active


# ---- metrics that tell nothing ---------------------------------------------------------------------------------------

@pytest.mark.parametrize("page", [NO_METRICS, HTML], ids=["none", "HTML"])
def test_an_engine_without_metrics_serves_while_it_answers(page: Engine) -> None:
    night = Night()
    night.go(EVERY + 10, page)
    assert night.states == [State.UNKNOWN, State.SERVING] and Code.CANARY_ALONE in _codes(night.all[-1])
    night.go(8 * 3600, page)
    assert night.states == [State.UNKNOWN, State.SERVING]
    night.answers = Answer.LATE
    assert night.go(EVERY + 20, page).state is State.STALLED
    night.answers = Answer.RIGHT
    assert night.go(120, page).state is State.SERVING


def test_without_metrics_nobody_is_asked_while_gpus_work() -> None:
    night = Night()
    night.go(2 * 3600, NO_METRICS, gpus=DECODES)
    assert night.asked == [] and night.states == [State.UNKNOWN]
    night.go(10, NO_METRICS, gpus=BOTH_SPIN)
    assert night.asked, "who only waits does not work"


def test_an_engine_without_metrics_does_not_load_for_ever() -> None:
    """It answers, although not what is asked: after an hour it was taken for one that never came up."""
    night = Night()
    night.judge = Judge(Limits())
    night.go(3 * 3600, NO_METRICS)
    assert night.states == [State.UNKNOWN] and night.asked == []


def test_counters_that_never_move_are_found_out_by_an_answer() -> None:
    night = Night()
    night.go(EVERY + 60, counts=False)
    seen = night.all[-1]
    assert Code.METRICS_LIE in _codes(seen) and seen.state is State.SERVING
    night.answers = Answer.LATE
    assert night.go(EVERY + 20, counts=False).state is State.STALLED
    night.answers = Answer.RIGHT
    night.go(120, counts=False)
    assert night.go(20, running=1, step=5).state is State.SERVING
    assert Code.METRICS_LIE not in _codes(night.all[-1]), "they move after all"


def test_requests_that_never_end_by_counters_that_never_moved_are_asked_about() -> None:
    """A gauge that stands at 1 for ever: without the question it is a stall, and the engine is restarted for it."""
    night = Night()
    night.go(600, running=1, counts=False)
    assert night.states == [State.SERVING, State.UNKNOWN, State.SERVING]      # the first look is not told by itself
    assert Code.METRICS_LIE in _codes(night.all[-1])
    assert {code for seen in night.all if seen.state is State.UNKNOWN for code in _codes(seen)} == {
        Code.NO_PROGRESS_YET}
    assert len(night.asked) == 1
    night = Night(Answer.LATE)
    night.go(600, running=1, counts=False)
    assert night.states == [State.SERVING, State.UNKNOWN, State.STALLED], "and one that is stalled is stalled"


def test_a_stall_of_an_engine_that_moved_asks_nobody() -> None:
    night = Night()
    night.go(60, running=1, step=5)
    assert night.go(2 * EVERY, running=1).state is State.STALLED and night.asked == []


# ---- the process that asks, and real servers -------------------------------------------------------------------------

class Server:
    """Answers /health and /metrics, and to a question what it is told: "" for never, else a status or a text."""

    def __init__(self) -> None:
        self.says: str | int = ""
        self.tokens, self.asked, self.bodies = 100, 0, list[dict[str, object]]()
        self.keys: list[str] = []
        self.hang = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._send(200, f"llamacpp:requests_processing 0\nllamacpp:tokens_predicted_total {outer.tokens}\n"
                           if self.path == "/metrics" else '{"status": "ok", "data": [{"id": "m"}]}')

            def do_POST(self) -> None:
                outer.asked += 1
                outer.keys.append(self.headers.get("Authorization", ""))
                outer.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                if isinstance(outer.says, int):
                    self._send(outer.says, "{}")
                elif outer.says:
                    chunk = {"choices": [{"delta": {"content": outer.says}, "finish_reason": "stop"}],
                             "usage": {"prompt_tokens": 5, "completion_tokens": 2}}
                    self._send(200, f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n", "text/event-stream")
                else:
                    outer.hang.wait(60)

            def _send(self, status: int, text: str, kind: str = "text/plain") -> None:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()


@contextmanager
def _server() -> Iterator[Server]:
    found = Server()
    try:
        yield found
    finally:
        found.hang.set()
        found.server.shutdown()
        found.server.server_close()


ACCEPTED = Accepted("b", "", "", "", (), 50.0, None, "m", "chat", Question("Capital of France?", "Paris", 12))


def _ask(url: str, found: Accepted | None = ACCEPTED, seconds: float = 20.0, key: str = "") -> Answer:
    canary = Canary(url, key, None, seconds)
    canary.ask(found)
    try:
        end = time.monotonic() + 60
        while (answer := canary.answer()) is None:
            assert time.monotonic() < end and canary.asking
            time.sleep(0.05)
        assert not canary.asking
        return answer
    finally:
        canary.close()


@pytest.mark.parametrize(("says", "answer"), [
    ("It is Paris.", Answer.RIGHT), ("Rome", Answer.WRONG), ("!!!!!!!!", Answer.WRONG), (500, Answer.FAILED),
    (503, Answer.REFUSED), (404, Answer.REFUSED), (401, Answer.KEY)])
def test_what_an_answer_is(says: str | int, answer: Answer) -> None:
    with _server() as server:
        server.says = says
        assert _ask(server.url, key="secret-word") is answer
        assert set(server.keys) == {"Bearer secret-word"}
        assert all(each["max_tokens"] == 12 and each["model"] == "m" for each in server.bodies)


def test_no_answer_in_time_is_late_and_nothing_is_waited_for() -> None:
    with _server() as server:
        canary = Canary(server.url, "", None, 1.0)
        canary.ask(ACCEPTED)
        before = time.monotonic()
        assert canary.answer() is None and time.monotonic() - before < 0.5
        canary.close()
        assert _ask(server.url, seconds=1.0) is Answer.LATE
        assert _ask(f"http://127.0.0.1:{_closed()}") is Answer.FAILED


def _closed() -> int:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as door:
        return int(door.getsockname()[1])


def test_without_an_acceptance_any_token_is_an_answer() -> None:
    with _server() as server:
        server.says = "whatever"
        assert _ask(server.url, None) is Answer.RIGHT and server.bodies[0]["max_tokens"] == 16


def test_a_key_goes_to_no_other_machine_in_clear() -> None:
    assert _ask("http://192.0.2.1:9", key="secret-word") is Answer.REFUSED


def test_the_key_is_in_no_command_line_and_in_no_environment() -> None:
    with _server() as server:
        canary = Canary(server.url, "secret-word", None, 20.0)
        canary.ask(ACCEPTED)
        try:
            assert canary._child is not None
            place = Path(f"/proc/{canary._child.pid}")
            for name in ("cmdline", "environ"):
                assert b"secret-word" not in (place / name).read_bytes()
        finally:
            canary.close()


def _keep(folder: Path) -> str:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    path = folder / "accepted.json"
    gpus = Path(accepted.GPUS)
    there = accepted.addresses([each.name for each in gpus.iterdir()]) if gpus.exists() else ()
    accepted.write(str(path), Accepted(boot, "", "", "", there, 50.0, None, "tiny", "chat",
                                       Question("What is 17 + 25? Answer with the number only.", "42", 40)))
    return str(path)


FAST = ("--interval", "0.3s", "--stall", "20s", "--spin", "10s", "--silent", "20s", "--canary", "5s")


def test_a_dead_scheduler_behind_a_healthy_health_is_seen(tmp_path: Path) -> None:
    """It answers /health and /metrics, lists no request, and gives no token."""
    with _server() as server:
        server.says = "42"
        watching = Watching("--url", server.url, *FAST, "--accepted", _keep(tmp_path))
        try:
            watching.until("idle")
            end = time.monotonic() + 60
            while not server.asked and time.monotonic() < end:
                time.sleep(0.1)
                server.tokens += server.asked
            server.says = ""
            assert tells(watching.until("stalled", 90), Code.CANARY_SILENT)
            server.says = "42"
            server.tokens += 1
            watching.until("idle", 90)
        finally:
            assert watching.end() == 128 + signal.SIGTERM


def test_a_real_engine_without_metrics_is_watched_by_its_answers(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    with engine(models.GOOD, metrics="0") as found:
        watching = Watching("--url", found.base, *FAST, "--accepted", _keep(tmp_path))
        try:
            assert tells(watching.until("serving", 90), Code.CANARY_ALONE)
            found.process.send_signal(signal.SIGSTOP)
            watching.until("stalled", 120)
            found.process.send_signal(signal.SIGCONT)
            watching.until("serving", 120)
        finally:
            watching.end()


def test_a_real_idle_engine_is_asked_and_stays_idle(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    with engine(models.GOOD, key="tc-key") as found:
        (tmp_path / "key").write_text("tc-key\n")
        watching = Watching("--url", found.base, *FAST, "--accepted", _keep(tmp_path), "--api-key-file",
                            str(tmp_path / "key"))
        try:
            watching.until("idle", 60)
            with pytest.raises(queue.Empty):
                watching.until("Z ", 25)        # no further line: neither a state nor a reason changed
        finally:
            watching.end()


@pytest.mark.parametrize("given", ["1s", "soon"])
def test_a_canary_too_often_is_refused(given: str) -> None:
    watching = Watching("--url", "http://127.0.0.1:1", "--canary", given)
    assert watching.process.wait(60) == 2
    assert watching.process.stderr is not None and "--canary" in watching.process.stderr.read()
    watching.end()
