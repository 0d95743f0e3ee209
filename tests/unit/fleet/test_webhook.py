"""The webhook against a real HTTP server: what is sent, when nothing is, and what is never given away."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.unit.fleet.hook_server import HookServer, serving
from tests.unit.fleet.reports import HOSTILE, cause, example, fleet, hostile, report
from tests.unit.fleet.store.stores import Clock, seen
from tests.unit.refusing import refused
from tests.unit.report.closed import closed

from tunecheck.errors import Misuse, ProbeError
from tunecheck_fleet.decisions.by_id import decide
from tunecheck_fleet.hooks import posted
from tunecheck_fleet.judge import JudgeOptions
from tunecheck_fleet.judge import report as judged
from tunecheck_fleet.outputs.schema import SCHEMAS
from tunecheck_fleet.outputs.webhook import SECRET, Hook, check_hook, event, post, secret_of, slack
from tunecheck_fleet.store.store import Store


@pytest.fixture
def server() -> Iterator[HookServer]:
    with serving() as started:
        yield started


def test_an_event_holds_what_is_new_and_resolved(server: HookServer) -> None:
    note = post(Hook(server.url, secret="s3cret", link="https://ci/fleet.html"), example())
    ((path, headers, body),) = server.got
    assert note == "webhook: 127.0.0.1" and path == "/hook/T0KEN"
    assert headers["Authorization"] == "Bearer s3cret" and headers["Content-Type"] == "application/json"
    jsonschema.validate(body, closed(SCHEMAS["fleet-event-1.json"]))
    assert [each["fact"] for each in body["new"]] == ["kernel.cmdline.iommu", "gpu.pcie_width", "kernel.release"]
    assert [each["fact"] for each in body["resolved"]] == ["cpu.governor"]
    lines = body["text"].splitlines()
    assert lines[0] == ("tunecheck audit #365, prod.yml: DRIFT: 4 causes on 4 hosts; 1 split without a verdict; 2 did "
                        "not answer and 1 answered in part")
    assert lines[1] == "NEW HIGH h100-a kernel.cmdline.iommu: pt -> (absent) on gpu001..gpu003 (3)"
    assert lines[-2].startswith("RESOLVED h100-a cpu.governor") and lines[-1] == "https://ci/fleet.html"


def test_slack_gets_text_alone(server: HookServer) -> None:
    post(Hook(server.url, "slack", secret="X-Token: abc"), report(causes=(cause(fact="<!channel> & co"),)))
    ((_, headers, body),) = server.got
    assert list(body) == ["text"] and headers["X-Token"] == "abc" and "Authorization" not in headers
    assert "&lt;!channel&gt; &amp; co" in body["text"] and "<" not in body["text"]


def test_nothing_new_is_not_sent(server: HookServer) -> None:
    known = report(causes=(cause(state="known"), cause(authority="previous", intended=True)))
    assert post(Hook(server.url), known) is None and server.got == []


@pytest.mark.parametrize("make", [event, slack])
def test_a_digest_has_ten_lines_at_most(make: Callable[..., dict[str, Any]]) -> None:
    many = make(fleet(), "https://ci/x")["text"].splitlines()
    assert len(many) == 10 and many[-2] == "and 3 more" and max(map(len, many)) <= 220
    said = make(hostile())["text"]
    assert "\x1b" not in said and "\u202e" not in said
    assert HOSTILE not in slack(hostile())["text"] if make is slack else True


def test_a_lost_gpu_is_one_line() -> None:
    lost = tuple(cause(authority="majority", hosts=("gpu001",), fact=fact, before=before, value=value)
                 for fact, before, value in (("gpu.bar1", {"65536": 8}, {"65536": 7}), ("gpu.count", 8, 7)))
    [_, line] = event(report(causes=lost), "")["text"].splitlines()
    assert line == "NEW HIGH h100-a 1 GPU fewer (7 of 8): gpu.count 8 -> 7 on gpu001, and 1 more of it"


def test_an_overloaded_server_is_asked_again(server: HookServer) -> None:
    server.answers = [503, 429, 204]
    assert post(Hook(server.url, waits=(0.01, 0.01)), example()) and len(server.got) == 3
    server.answers = [500]
    with pytest.raises(ProbeError, match=r"^webhook 127\.0\.0\.1: .*HTTP 500, 3 "):
        post(Hook(server.url, waits=(0.01, 0.01)), example())
    server.answers = [404]
    before = len(server.got)
    with pytest.raises(ProbeError, match=r"HTTP 404$"):
        post(Hook(server.url, waits=(0.01, 0.01)), example())
    assert len(server.got) == before + 1, "that will not change"


def test_a_redirect_is_not_followed(server: HookServer) -> None:
    server.answers, server.location = [307], server.url + "/elsewhere"
    with pytest.raises(ProbeError, match=r"HTTP 307"):
        post(Hook(server.url, secret="s3cret"), example())
    assert len(server.got) == 1


def test_a_silent_server_costs_no_more_than_the_deadline(server: HookServer) -> None:
    server.answers = [0]
    with pytest.raises(ProbeError, match=r" 0\.2 s, 2 ") as told:
        post(Hook(server.url, deadline=0.2, waits=(0.01,), secret="s3cret"), example())
    assert "T0KEN" not in str(told.value) and "s3cret" not in str(told.value)


def test_nobody_there_is_one_sentence() -> None:
    """A port that is taken and not listened at: a closed server's port can listen for a moment more, or be
    somebody else's by then."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with pytest.raises(ProbeError, match="ConnectError") as told:
            post(Hook(f"http://127.0.0.1:{port}/T0KEN", waits=(), secret="s3cret"), example())
    assert "T0KEN" not in str(told.value)


@pytest.mark.parametrize(("url", "flaw", "names"), [
    ("http://example.com/hook", Misuse.NOT_ENCRYPTED, "example.com"), ("ftp://127.0.0.1/", Misuse.MALFORMED, "https://"),
    ("nonsense", Misuse.MALFORMED, "https://"), ("https://user:pw@example.com/", Misuse.MALFORMED, SECRET),
    ("https://[::1", Misuse.MALFORMED, "https://"), ("http://127.0.0.1:99999/", Misuse.MALFORMED, "https://"),
    ("http://127.0.0.1.example.com/", Misuse.NOT_ENCRYPTED, "127.0.0.1.example.com")])
def test_what_could_not_be_sent_is_refused_before(url: str, flaw: Misuse, names: str) -> None:
    with refused(flaw, names) as told:
        check_hook(Hook(url))
    assert "pw" not in str(told.value)


def test_the_secret_comes_from_a_file_or_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SECRET, "from-env\n")
    assert secret_of(None) == "from-env"
    file = tmp_path / "secret"
    file.write_text("X-Token: abc\n")
    assert secret_of(str(file)) == "X-Token: abc"
    for url in ("http://127.0.0.1/", "http://localhost:8/", "http://[::1]/", "https://example.com/x"):
        check_hook(Hook(url, secret=secret_of(str(file))))
    with refused(Misuse.UNREADABLE, str(tmp_path / "none")):
        secret_of(str(tmp_path / "none"))
    file.write_bytes(b"\xff\xfe")
    with refused(Misuse.MALFORMED, str(file)):
        secret_of(str(file))
    with refused(Misuse.MALFORMED, SECRET) as told:
        check_hook(Hook("https://example.com/", secret="two\nlines"))
    assert "two" not in str(told.value)


class _Nights:
    """Audits of eight hosts, of all or of a limit; ``odd``: hosts with another driver."""

    def __init__(self, folder: Path, server: HookServer) -> None:
        self.clock, self.server = Clock(), server
        self.store = Store(str(folder / "fleet.db"), clock=self.clock, catalogue=1)
        self.hook = Hook(server.url, waits=())
        self.said: list[str] = []

    def audit(self, *odd: str, limit: str = "", hosts: str = "abcdefgh") -> None:
        self.clock.hours(24)
        head = self.store.begin(f"inventory{f', limit {limit}' if limit else ''}", [(name, "g") for name in hosts])
        for name in hosts:
            self.store.put(head.id, seen(name, {"driver.loaded": "600" if name in odd else "595"}, key=name))
        self.store.finish(head.id)

    def post(self, union: bool = False) -> list[tuple[str, list[str]]]:
        """(fact or RESOLVED, its news) of what came."""
        came = len(self.server.got)
        found = judged(self.store, None, JudgeOptions(union=union, now=self.clock.now))
        posted(self.hook, found, self.store, self.said.append, self.store.beside(found.audit.id) if union else ())
        return [told for _, _, body in self.server.got[came:]
                for told in [*((each["fact"], each["news"]) for each in body["new"]),
                             *((f"RESOLVED {each['fact']}", each["hosts"]) for each in body["resolved"])]]


@pytest.fixture
def nights(tmp_path: Path, server: HookServer) -> Iterator[_Nights]:
    made = _Nights(tmp_path, server)
    yield made
    made.store.close()


def test_an_event_is_told_once_and_one_that_could_not_be_told_the_next_night(nights: _Nights) -> None:
    nights.audit()
    assert nights.post() == []
    nights.audit("a")
    assert nights.post() == [("driver.loaded", ["a"])] and nights.post() == [] and nights.post(union=True) == []
    nights.audit("a")
    assert nights.post() == []
    nights.server.answers = [500]
    nights.audit("a", "b")
    assert nights.post()[:1] == [("driver.loaded", ["b"])] and "HTTP 500" in nights.said[-1]
    nights.server.answers = [200]
    nights.audit("a", "b")
    assert nights.post() == [("driver.loaded", ["b"])], "it is known since the night before, and was told to nobody"
    assert nights.post() == []
    # Nobody has to be told any more of what somebody is at work on.
    nights.server.answers = [500]
    nights.audit("a", "b", "c")
    nights.post()
    nights.server.answers = [200]
    found = judged(nights.store, None, JudgeOptions(now=nights.clock.now))
    decide(nights.store, found, "acknowledge", [next(each.id for each in found.causes if each.counts)], author="ann")
    nights.audit("a", "b", "c")
    assert nights.post() == []
    nights.audit("b", "c")
    assert nights.post() == [("RESOLVED driver.loaded", ["a"])] and nights.post() == []


def test_parts_of_an_inventory_are_told_once_whoever_tells_them(nights: _Nights) -> None:
    for odd in ((), ("a", "e")):
        nights.audit(*odd, limit="one", hosts="abcd")
        assert nights.post(union=True) == ([("driver.loaded", ["a"])] if odd else [])
        nights.audit(*odd, limit="two", hosts="efgh")
        assert nights.post(union=True) == ([("driver.loaded", ["e"])] if odd else []), "the other part was told"
        assert nights.post() == [] and nights.post(union=True) == []
