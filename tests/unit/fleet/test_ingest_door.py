"""Who may hold a connection, what the log says meanwhile, whose clock counts, and whose specification judges."""

from __future__ import annotations

import errno
import json
import logging
import os
import re
import resource
import shutil
import signal
import socket
import ssl
import time
from pathlib import Path
from typing import Any

import pytest
from tests.unit.fleet.receiver import make_pki, receiver, snapshot, token

from tunecheck.push.spool import Spool
from tunecheck_fleet.ingest.calm import Calm
from tunecheck_fleet.ingest.door import _address
from tunecheck_fleet.ingest.inbox import Inbox
from tunecheck_fleet.ingest.limits import Limits, Pace, Refusal, Why
from tunecheck_fleet.ingest.tokens import Tokens
from tunecheck_fleet.ingest.writer import Writer
from tunecheck_fleet.store import open_store

needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")


def ahead(hours: float, **more: Any) -> bytes:
    return snapshot(-3600 * hours, **more)


@needs_openssl
def test_strangers_wait_and_hosts_are_answered(tmp_path: Path) -> None:
    """Connections that never begin TLS, that send half a head, and no file left: honest pushes are answered, and the
    log stays small."""
    mine, _ = token(tmp_path, "gpu1"), token(tmp_path, "silent")
    (tmp_path / "pki").mkdir()
    pki = make_pki(tmp_path / "pki")
    with receiver(tmp_path, pki, strangers=24, strangers_of_an_address=16, handshake=3.0, head=2.0) as found:
        port = int(found.url.split(":")[2].split("/")[0])
        context = ssl.create_default_context(cafile=str(pki / "ca.pem"))

        def connection(number: int, tls: bool) -> socket.socket:
            raw = socket.create_connection(("127.0.0.1", port), 10, (f"127.0.0.{2 + number % 5}", 0))
            return context.wrap_socket(raw, server_hostname="127.0.0.1") if tls else raw

        held = [connection(number, False) for number in range(150)]
        assert found.post(snapshot(60), mine).status_code == 200
        halves = []
        for number in range(20):
            line = connection(number, True)
            line.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            said = b""
            while not said.endswith(b"}"):
                said += line.recv(4096)
            assert b" 200 " in said
            line.sendall(b"GET /healthz HT")
            halves.append(line)
        begun = time.monotonic()
        assert found.post(snapshot(50), mine).status_code == 200
        assert halves[-1].recv(10) == b"" and time.monotonic() - begun < 20      # also the second head has a deadline
        for line in (*held, *halves):
            line.close()
        # No file is left: the limit is below what is open.
        limit = resource.prlimit(found.process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(found.process.pid, resource.RLIMIT_NOFILE, (8, limit[1]))
        held = [connection(number, False) for number in range(60)]
        time.sleep(1.0)
        resource.prlimit(found.process.pid, resource.RLIMIT_NOFILE, limit)
        assert found.post(snapshot(40), mine).status_code == 200
        for line in held:
            line.close()
        begun = time.monotonic()
        assert found.end() == 0 and time.monotonic() - begun < 5
    assert f"({os.strerror(errno.EMFILE)})" in found.log and len(found.log) < 10_000 and "Traceback" not in found.log


def test_addresses() -> None:
    assert _address("10.0.0.1") == "10.0.0.1" == _address("::ffff:10.0.0.1")
    assert _address("2001:db8::1") == _address("2001:db8::2:3") != _address("2001:db8:0:1::1")
    pace = Pace(2, 10.0)
    for number in range(100):
        pace.wait(str(number))
    pace.forget(50)
    assert not pace.wait("1")
    pace.bar("x", 600.0)
    assert pace.wait("x") > 500


def test_the_log_is_calm() -> None:
    now = [0.0]
    calm, kept = Calm(lambda: now[0]), []

    def line(known: bool) -> None:
        record = logging.LogRecord("x", logging.INFO, "", 0, "%s 401", ("-",), None)
        record.known = known
        if calm.filter(record):
            kept.append(record.getMessage())

    for _ in range(1000):
        line(False)
    line(True)
    assert len(kept) == 51 and kept[-1] == "- 401"
    now[0] = 10.0
    line(False)
    assert re.fullmatch(r"- 401 \(950 .*\)", kept[-1])


def test_a_clock_that_runs_ahead_loses_nothing(tmp_path: Path) -> None:
    inbox = Inbox(tmp_path, Limits())
    try:
        assert inbox.take("gpu1", ahead(23))
        assert inbox.take("gpu1", snapshot(0))          # it was set right: taken, and so is the next
        assert inbox.take("gpu1", ahead(500)) and inbox.take("gpu1", ahead(23, tunecheck="2"))
        same = snapshot(0, tunecheck="3")
        assert inbox.take("gpu1", same) and not inbox.take("gpu1", same)
        with pytest.raises(Refusal, match="newer snapshot before"):
            inbox.take("gpu1", snapshot(600))
    finally:
        inbox.close()


def test_a_nonce_says_what_is_newer_whatever_the_clock_says(tmp_path: Path) -> None:
    inbox = Inbox(tmp_path, Limits())
    try:
        old = inbox.nonce("gpu1")
        time.sleep(0.01)
        now = inbox.nonce("gpu1")
        assert inbox.take("gpu1", snapshot(100_000, nonce=now))             # a clock a day behind
        with pytest.raises(Refusal, match="newer snapshot before"):         # what was made before it comes late
            inbox.take("gpu1", ahead(5, nonce=old))
        assert inbox.take("gpu1", snapshot(100_500, nonce=now))             # of the spool, with the same nonce
        for wrong in (inbox.nonce("gpu2"), now[:-1] + "x", "0.000-" + "0" * 32, 7, "é" * 20, None):
            with pytest.raises(Refusal, match="h ago"):
                inbox.take("gpu1", snapshot(100_000, nonce=wrong))
    finally:
        inbox.close()
    again = Inbox(tmp_path, Limits())       # the key is kept
    try:
        assert again.take("gpu1", snapshot(99_500, nonce=again.nonce("gpu1")))
        assert again._given("gpu1", now, time.time())
    finally:
        again.close()
    spool = Spool(tmp_path / "spool")
    assert spool.nonce() == ""
    spool.folder.mkdir()
    for text in (now, "../x", "a\nb" * 9):
        spool.keep_nonce(text)
    assert spool.nonce() == now


def test_a_machine_that_is_too_busy_to_check_a_snapshot_loses_none(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A check that gets no processor time: its process is stopped."""
    from tunecheck_fleet.ingest import inbox as inbox_of

    monkeypatch.setattr(inbox_of, "_checked", lambda _: os.kill(os.getpid(), signal.SIGSTOP))
    inbox = Inbox(tmp_path, Limits(check=1.0))
    try:
        with pytest.raises(Refusal) as refused:
            inbox.take("gpu1", snapshot(60))
        assert (refused.value.status, refused.value.why, refused.value.costly) == (503, Why.BUSY, False)
        assert refused.value.after
    finally:
        inbox.close()


def test_the_writer_ends_within_seconds_and_a_hanging_host_spoils_its_own_row(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tunecheck_fleet import read

    token(tmp_path, "gpu1")
    inbox = Inbox(tmp_path, Limits())
    try:
        inbox.take("gpu1", snapshot(60))
        monkeypatch.setattr(read, "seen", lambda *_: time.sleep(600))
        writer = Writer(inbox, Tokens(tmp_path / "hosts.json"), str(tmp_path / "fleet.db"), 0.0, 0.05)
        writer.start()
        time.sleep(1.5)
        begun = time.monotonic()
        writer.stop()
        assert time.monotonic() - begun < 5 and inbox.hosts() == {"gpu1"}
    finally:
        inbox.close()


def test_a_push_is_judged_by_what_the_receiver_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tunecheck.spec import inventory

    listing = {"_meta": {"hostvars": {"gpu1": {"box_spec": {"profile": "lab"}}}}}
    monkeypatch.setattr(inventory, "listing", lambda *_: listing)
    for host in ("gpu1", "gpu2"):
        token(tmp_path, host)
    inbox = Inbox(tmp_path, Limits())
    try:
        for host in ("gpu1", "gpu2"):
            inbox.take(host, snapshot(60))
        url = str(tmp_path / "fleet.db")
        assert Writer(inbox, Tokens(tmp_path / "hosts.json"), url, 0.0, inventory="there").write() == 1
        with open_store(url) as store:
            found = {each.host: each for each in store.hosts()}
        said = {host: [each.code for each in row.problems if each.check == "spec-present"] for host, row in
                found.items()}
        assert said == {"gpu1": ["other-spec"], "gpu2": ["sent-spec"]}, "nobody holds one for gpu2"
        assert json.dumps(found["gpu2"].outcomes["spec"]) == '"unknown"'
    finally:
        inbox.close()
