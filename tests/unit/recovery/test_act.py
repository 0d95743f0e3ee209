"""The way of an incident. systemd is the seam: what systemctl says and does is played here, with a real page.
On a machine with real systemd, podman and engine: tests/roles/test_inference_recover.py."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tunecheck.host import Unreadable
from tunecheck.host.base import Completed
from tunecheck.model.absence import Absence
from tunecheck.recovery import act, unit
from tunecheck.recovery.act import Box, recover
from tunecheck.recovery.journal import Journal
from tunecheck.recovery.model import Record, Step, Why
from tunecheck.spec.frozen import Watch
from tunecheck.watch import culprits
from tunecheck.watch.model import Culprit, Kind, Witness
from tunecheck.watch.request import Request, drained

UNIT = "tunecheck-inference.service"


@dataclass
class Box1:
    """A host of which systemd alone answers. ``starts``: what a start ends with; ``stuck``: a stop never ends;
    ``mute``: systemd does not answer."""

    active: str = "active"
    run_number: int = 1
    starts: str = "active"
    stuck: bool = False
    mute: bool = False
    forgotten: bool = False
    asked: list[str] = field(default_factory=list)
    then: Callable[[str], None] = lambda _: None

    def run(self, argv: tuple[str, ...], deadline: float = 20.0) -> Completed:
        if self.mute:
            raise Unreadable(argv[0], Absence.TIMED_OUT)
        if argv[0] != "systemctl":
            return Completed(argv, 0, f"{argv[0]} said this, key tc-0123456789abcdef\n", "")
        word = argv[1]
        if word != "show":
            self.asked.append(word)
            self.then(word)
        if word == "stop" and not self.stuck:
            self.active = "inactive"
        if word == "reset-failed" and self.active != "active":
            self.forgotten = True       # systemd 252 forgets the id of a unit that is down (seen)
        if word == "start":
            self.run_number += 1
            self.active, self.forgotten = self.starts, False
        run = "" if self.forgotten else f"run{self.run_number}"
        return Completed(argv, 0, f"ActiveState={self.active}\nInvocationID={run}\nJob=0\n"
                                  "SubState=x\nStatusText=gate closed: acs\nTimeoutStartUSec=15min\n"
                                  "ControlGroup=/system.slice/x.service\n", "")

    def read_bytes(self, path: str) -> bytes:
        raise Unreadable(path, Absence.NOT_PRESENT)

    def list(self, path: str) -> list[str]:
        raise Unreadable(path, Absence.NOT_PRESENT)

    realpath = read_bytes


class _Page(BaseHTTPRequestHandler):
    tokens = 100

    def do_GET(self) -> None:
        body = (f"llamacpp:requests_processing 1\nllamacpp:requests_deferred 0\nllamacpp:prompt_tokens_total 5\n"
                f"llamacpp:tokens_predicted_total {self.tokens}\nllamacpp:n_decode_total {self.tokens}\n").encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unit, "_EVERY", 0.01)
    monkeypatch.setattr(act, "_GRACE", 0.05)
    monkeypatch.setattr(act, "_STOP_MOST", 0.3)
    monkeypatch.setattr(act, "_PAUSES", (0.0,))


@pytest.fixture
def url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def moved(url: str) -> dict[str, float]:
    from tunecheck.host.http_page import fetch
    from tunecheck.watch.progress import engine_of_page

    page = fetch(f"{url}/metrics", 5)
    return {part.name: part.moved for part in engine_of_page(page.status, page.text).parts}


def asked(name: str = "a", url: str = "http://127.0.0.1:1", seen: dict[str, float] | None = None) -> Request:
    return Request(name, "boot", UNIT, url, {"": 1.0} if seen is None else seen,
                   {"reasons": [{"code": "tokens-frozen"}]})


def box(host: Box1, folder: Path, policy: Watch | None = Watch("restart"), plays: bool = False) -> Box:  # noqa: B008
    journal = Journal((str(folder / "journal.jsonl"), str(folder / "fallback.jsonl")))
    return Box(host, journal, policy, "boot", "tc-0123456789abcdef", lambda: host.asked.append("void"),  # type: ignore[arg-type]
               lambda: plays, lambda _: None, lambda: None, str(folder), str(folder / "drained.json"))


def way(found: Box) -> list[Step]:
    return [each.step for each in found.journal.read()]


def test_a_stall_is_stopped_proven_anew_and_started(tmp_path: Path) -> None:
    host = Box1()
    found = box(host, tmp_path)
    ended = recover(found, asked())
    assert ended is not None and ended.step is Step.SERVING and ended.codes == ()
    assert way(found) == [Step.NOTICED, Step.EVIDENCE, Step.STOPPING, Step.STOPPED, Step.STARTING, Step.SERVING]
    assert host.asked == ["stop", "void", "reset-failed", "start"]
    kept = (tmp_path / "a/log.txt").read_text()
    assert "journalctl said this" in kept and "0123456789" not in kept
    assert (tmp_path / "a/nccl-ras.txt").read_text().startswith("NCCL RAS: "), "nobody to ask, and why"
    assert recover(found, asked()) is None, "the same request once more"


def test_who_held_the_others_up_is_in_the_journal_and_what_nccl_said_is_evidence(tmp_path: Path) -> None:
    blamed = Culprit(77, "VLLM::Worker_TP1", "T", 1, "0000:04:00.0", kinds=(Kind.STOPPED,),
                     witnesses=(Witness.PROCESS,))
    found = box(Box1(), tmp_path)
    told = replace(asked(), ras="what NCCL said", document={"reasons": [], "culprit": culprits.document(blamed)})
    recover(found, told)
    assert found.journal.read()[0].culprit == blamed
    assert (tmp_path / "a/nccl-ras.txt").read_text() == "what NCCL said"


def test_an_engine_that_moves_again_is_left_alone(tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = moved(url)
    host = Box1()
    still = recover(box(host, tmp_path / "still"), asked(url=url, seen=before))
    assert still is not None and still.step is Step.SERVING
    monkeypatch.setattr(_Page, "tokens", 101)
    host = Box1()
    ended = recover(box(host, tmp_path / "moves"), asked(url=url, seen=before))
    assert ended is not None and ended.step is Step.MOVED_AGAIN and host.asked == []


@pytest.mark.parametrize(("policy", "step", "why"), [
    (None, Step.REPORTED, Why.NO_POLICY), (Watch("report"), Step.REPORTED, Why.POLICY),
    (Watch("drain"), Step.DRAINED, Why.POLICY)])
def test_nothing_is_stopped_that_the_specification_does_not_allow(tmp_path: Path, policy: Watch | None, step: Step,
                                                                  why: Why) -> None:
    host = Box1()
    ended = recover(box(host, tmp_path, policy), asked())
    assert ended is not None and (ended.step, ended.why) == (step, why) and host.asked == []
    out = drained(str(tmp_path / "drained.json"))
    assert (out is not None and out.invocation == "run1") == (step is Step.DRAINED)


def test_a_play_on_the_box_goes_first(tmp_path: Path) -> None:
    host = Box1()
    ended = recover(box(host, tmp_path, plays=True), asked())
    assert ended is not None and ended.why is Why.PLAY_RUNS and host.asked == []


def test_so_many_restarts_a_day_and_then_it_stays_down(tmp_path: Path) -> None:
    host = Box1()
    found = box(host, tmp_path, Watch("restart", 2))
    ends = [recover(found, asked(name)) for name in ("a", "b", "c")]
    assert [each and each.step for each in ends] == [Step.SERVING, Step.SERVING, Step.STAYS_DOWN]
    assert ends[2] is not None and ends[2].why is Why.TOO_MANY and host.active == "inactive"
    assert host.asked.count("start") == 2


def test_yesterdays_restarts_count_no_more(tmp_path: Path) -> None:
    host = Box1()
    found = box(host, tmp_path, Watch("restart", 1))
    for step in (Step.NOTICED, Step.STOPPED, Step.SERVING):
        found.journal.append(Record("old", time.time() - 90000, "boot", step, unit=UNIT))
    ended = recover(found, asked())
    assert ended is not None and ended.step is Step.SERVING


def test_what_does_not_end_is_killed_and_then_left_to_a_person(tmp_path: Path) -> None:
    host = Box1(stuck=True)
    ended = recover(box(host, tmp_path), asked())
    assert ended is not None and (ended.step, ended.why) == (Step.STAYS_DOWN, Why.CANNOT_STOP)
    assert host.asked == ["stop", "kill"]


def test_a_start_that_is_refused_says_why(tmp_path: Path) -> None:
    host = Box1(starts="failed")
    ended = recover(box(host, tmp_path), asked())
    assert ended is not None and ended.why is Why.NOT_STARTED and ended.text == "gate closed: acs"
    assert host.asked.count("start") == 1


def test_a_full_disk_keeps_no_evidence_and_stops_nothing_from_going_on(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("where the folder of the incident should be")
    found = box(Box1(), tmp_path)
    ended = recover(found, asked())
    assert ended is not None and ended.step is Step.SERVING
    assert [each.why for each in found.journal.read() if each.step is Step.EVIDENCE] == [Why.NO_ROOM]


def test_without_any_journal_nothing_is_begun(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("")
    host = Box1()
    found = box(host, tmp_path)
    found.journal = Journal((str(tmp_path / "x/journal.jsonl"),))
    with pytest.raises(OSError, match=r"."):
        recover(found, asked())
    assert host.asked == []


class Killed(BaseException):
    """SIGKILL: no code of ours runs after it."""


@pytest.mark.parametrize("at", range(1, 60))
def test_killed_at_any_point_it_ends_the_same_way_and_starts_once(tmp_path: Path, at: int,
                                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    """Before and after every line of the journal and every word to systemd."""
    points = itertools.count(1)

    def point(_: object = None) -> None:
        if next(points) == at:
            raise Killed

    host = Box1()
    found = box(host, tmp_path)
    append, run = Journal.append, Box1.run

    def appended(self: Journal, record: Record) -> None:
        point()
        append(self, record)
        point()

    def ran(self: Box1, argv: tuple[str, ...], deadline: float = 20.0) -> Completed:
        point()
        done = run(self, argv, deadline)
        point()
        return done

    monkeypatch.setattr(Journal, "append", appended)
    monkeypatch.setattr(Box1, "run", ran)
    try:
        recover(found, asked())
    except Killed:
        recover(found, asked())
    assert found.journal.read()[-1].step is Step.SERVING and host.active == "active"
    assert host.asked.count("start") == 1, host.asked
    assert way(found).count(Step.SERVING) == 1


def test_a_box_that_was_booted_meanwhile_begins_anew(tmp_path: Path) -> None:
    found = box(Box1(), tmp_path)
    found.journal.append(Record("old", time.time() - 60, "another boot", Step.STOPPED, unit=UNIT))
    assert recover(found, None) is None
    assert [(each.step, each.why) for each in found.journal.read()][-1] == (Step.INTERRUPTED, Why.BOOTED)


def test_a_stop_that_was_left_behind_does_not_stop_what_a_person_started(tmp_path: Path) -> None:
    host = Box1(run_number=2)
    found = box(host, tmp_path)
    for step in (Step.NOTICED, Step.EVIDENCE, Step.STOPPING):
        found.journal.append(Record("old", time.time() - 60, "boot", step, unit=UNIT, invocation="run1"))
    ended = recover(found, None)
    assert ended is not None and (ended.step, ended.why) == (Step.MOVED_AGAIN, Why.STOPPED_BY_HAND)
    assert host.asked == []


def test_a_play_that_came_during_the_pause_starts_it_itself(tmp_path: Path) -> None:
    host, plays = Box1(), [False]
    found = box(host, tmp_path)
    found.play_runs = lambda: plays[0]
    host.then = lambda word: plays.__setitem__(0, word == "stop" or plays[0])
    ended = recover(found, asked())
    assert ended is not None and (ended.step, ended.why) == (Step.STAYS_DOWN, Why.PLAY_RUNS)
    assert "start" not in host.asked


def test_a_clock_that_jumps_back_makes_no_pause_longer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(act, "_PAUSES", (0.2,))
    host = Box1()
    found = box(host, tmp_path)
    found.journal.append(Record("a", time.time() + 1e6, "boot", Step.STOPPED, unit=UNIT, invocation="run1"))
    host.active, begun = "inactive", time.monotonic()
    ended = recover(found, None)
    assert ended is not None and ended.step is Step.SERVING and time.monotonic() - begun < 30
