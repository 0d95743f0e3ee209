"""From the inbox into the store: which pushes make one audit, and what a kill or a busy store costs."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.unit.fleet.hook_server import serving
from tests.unit.fleet.receiver import receiver, snapshot, token

from tunecheck.errors import UsageError
from tunecheck_fleet.ingest.inbox import Inbox
from tunecheck_fleet.ingest.limits import Limits
from tunecheck_fleet.ingest.tokens import Tokens, remove
from tunecheck_fleet.ingest.writer import SCOPE, Writer
from tunecheck_fleet.store import open_store


@pytest.fixture
def inbox(tmp_path: Path) -> Iterator[Inbox]:
    made = Inbox(tmp_path, Limits())
    yield made
    made.close()


@pytest.fixture
def writer(tmp_path: Path, inbox: Inbox) -> Callable[..., Writer]:
    for host in ("gpu1", "gpu2", "gpu3"):
        token(tmp_path, host, "h200")
    return lambda window=3600.0: Writer(inbox, Tokens(tmp_path / "hosts.json"), str(tmp_path / "fleet.db"), window)


def states(path: Path, audit: int | None = None) -> dict[str, str]:
    with open_store(str(path / "fleet.db")) as store:
        return {each.host: each.status for each in store.hosts(audit)}


def test_a_window_closes_when_all_are_in_or_its_time_is_over(
        tmp_path: Path, inbox: Inbox, writer: Callable[..., Writer]) -> None:
    assert not writer().due()
    content = snapshot(60)
    inbox.take("gpu1", content)
    inbox.take("gpu2", snapshot(61))
    assert not writer().due()
    time.sleep(0.02)
    assert writer(0.01).due()
    inbox.take("gpu3", snapshot(62))
    assert writer().due()
    inbox.take("gpu2", snapshot(5))         # the newest of the window counts
    assert writer().write() == 1
    with open_store(str(tmp_path / "fleet.db")) as store:
        head = store.audit()
        assert (head.trigger, head.scope, head.asked) == ("push", SCOPE, 3) and head.finished
        assert store.newest_document("gpu1") == content
        assert {(each.host, each.group) for each in store.hosts()} == {(f"gpu{n}", "h200") for n in (1, 2, 3)}
    assert not writer(0.0).due() and inbox.hosts() == set()
    # The next one: who is silent is unreachable, with the time when it was heard, and keeps what was known.
    inbox.take("gpu1", snapshot(1))
    assert writer().write() == 2
    assert states(tmp_path)["gpu1"] in ("ok", "partial") and states(tmp_path)["gpu3"] == "unreachable"
    with open_store(str(tmp_path / "fleet.db")) as store:
        (silent,) = [each for each in store.hosts() if each.host == "gpu3"]
        assert silent.status == "unreachable" and re.search(r"\b20\d\d-\d\d-\d\d", silent.reason), "last heard"
        assert silent.last_ok == 1
        assert store.current("gpu3")


def test_a_kill_in_the_middle_loses_nothing(tmp_path: Path, inbox: Inbox, writer: Callable[..., Writer],
                                            monkeypatch: pytest.MonkeyPatch) -> None:
    for host in ("gpu1", "gpu2", "gpu3"):
        inbox.take(host, snapshot(60))
    from tunecheck_fleet.store import Store

    real = Store.put

    def second_fails(self: Store, audit_id: int, seen: object) -> object:
        if seen.host == "gpu2":     # type: ignore[attr-defined]
            raise KeyboardInterrupt
        return real(self, audit_id, seen)       # type: ignore[arg-type]

    monkeypatch.setattr(Store, "put", second_fails)
    with pytest.raises(KeyboardInterrupt):
        writer().write()
    monkeypatch.undo()
    assert inbox.hosts() == {"gpu1", "gpu2", "gpu3"}
    newer = snapshot(3)
    inbox.take("gpu1", newer)
    assert writer().write() == 2
    assert set(states(tmp_path, 2)) == {"gpu1", "gpu2", "gpu3"} and inbox.hosts() == set()
    with open_store(str(tmp_path / "fleet.db")) as store:
        assert store.newest_document("gpu1") == newer


def test_what_comes_while_an_audit_is_written_waits_for_the_next(
        tmp_path: Path, inbox: Inbox, writer: Callable[..., Writer]) -> None:
    inbox.take("gpu1", snapshot(60))
    waiting = inbox.waiting("gpu1")
    assert waiting
    inbox.put("gpu1", waiting.digest, 7)
    newer = snapshot(5)
    inbox.take("gpu1", newer)
    assert inbox.over(7) == 1
    again = inbox.waiting("gpu1")
    assert again and again.content == newer and inbox.since()


def test_a_store_that_is_busy_and_a_host_that_is_gone(
        tmp_path: Path, inbox: Inbox, writer: Callable[..., Writer]) -> None:
    inbox.take("gpu1", snapshot(60))
    inbox.take("gpu2", snapshot(60))
    with open_store(str(tmp_path / "fleet.db")) as store:
        store.begin("another", [("x", "y")], "push")
        with pytest.raises(UsageError):
            writer().write()
    assert inbox.hosts() == {"gpu1", "gpu2"}
    remove(tmp_path / "hosts.json", "gpu2")
    assert writer().write() is not None
    assert set(states(tmp_path)) == {"gpu1", "gpu3"} and inbox.hosts() == set()


def test_the_process_writes_audits_by_itself(tmp_path: Path) -> None:
    tokens = {host: token(tmp_path, host) for host in ("gpu1", "gpu2")}
    hostile = json.loads(snapshot())
    hostile["snapshot"]["boot_id"] = {**hostile["snapshot"]["boot_id"], "value": "\x1b[2J<script>../../x" * 5}
    with receiver(tmp_path, None, store=tmp_path / "fleet.db") as found:
        assert found.post(snapshot(5), tokens["gpu1"]).status_code == 200
        assert found.post(json.dumps(hostile).encode(), tokens["gpu2"]).status_code == 200
        until = time.monotonic() + 180
        while "audit #1 written: 2 of 2 hosts had pushed" not in found.log and time.monotonic() < until:
            time.sleep(0.1)
        assert found.end() == 0, found.log
        assert "script" not in found.log
    assert set(states(tmp_path)) == {"gpu1", "gpu2"}


def test_a_pull_of_the_same_host_meanwhile_wins(tmp_path: Path, inbox: Inbox, writer: Callable[..., Writer],
                                                monkeypatch: pytest.MonkeyPatch) -> None:
    from tunecheck_fleet.model import Answer
    from tunecheck_fleet.read import seen
    from tunecheck_fleet.store import Store

    for host in ("gpu1", "gpu2", "gpu3"):
        inbox.take(host, snapshot(60))
    real = Store.begin
    pulled = snapshot(1)

    def overtaken(self: Store, scope: str, asked: list[tuple[str, str]], trigger: str = "pull") -> object:
        head = real(self, scope, asked, trigger)  # type: ignore[arg-type]
        with open_store(str(tmp_path / "fleet.db")) as other:
            pull = real(other, "pull", [("gpu1", "h200")])
            other.put(pull.id, seen(Answer("gpu1", "h200", "ok", pulled)))
            other.finish(pull.id)
        return head

    monkeypatch.setattr(Store, "begin", overtaken)
    assert writer().write() == 1
    assert inbox.hosts() == set() and inbox.since() is None
    with open_store(str(tmp_path / "fleet.db")) as store:
        assert store.newest_document("gpu1") == pulled and store.current("gpu2")


def test_a_pushed_audit_is_told_and_written_as_one_that_asked(
        tmp_path: Path, inbox: Inbox, writer: Callable[..., Writer]) -> None:
    """Metrics, page and webhook, after each audit; once. What cannot be written is logged, and the audit stays."""
    from tunecheck_fleet.hooks import outputs
    from tunecheck_fleet.outputs.webhook import Hook

    writer()
    with serving() as server:
        metrics, page = tmp_path / "fleet.prom", tmp_path / "fleet.html"
        then = outputs({"prometheus": str(metrics), "html": str(page)}, Hook(server.url, waits=()))
        made = Writer(inbox, Tokens(tmp_path / "hosts.json"), str(tmp_path / "fleet.db"), 1, then=then)
        inbox.take("gpu1", snapshot(60))
        assert made.write() == 1
        assert "tunecheck_audit_hosts_asked 3" in metrics.read_text() and "gpu1" in page.read_text()
        (_, _, told), = server.got
        assert told["audit"]["id"] == 1 and told["audit"]["trigger"] == "push" and told["new"]
        with open_store(str(tmp_path / "fleet.db")) as store:
            then(store, 1)
        assert len(server.got) == 1, "an audit is told once"
        metrics.unlink()
        metrics.mkdir()
        inbox.take("gpu1", snapshot(5))
        assert made.write() == 2 and set(states(tmp_path, 2)) == {"gpu1", "gpu2", "gpu3"}
