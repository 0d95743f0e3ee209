"""The client against a real receiver that is killed, full, wrong or hostile, and what the spool keeps meanwhile."""

from __future__ import annotations

import errno
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.unit.fleet.receiver import Receiver, make_pki, receiver, snapshot, token
from tests.unit.refusing import refused

from tunecheck.cli.push import push as verb
from tunecheck.errors import Misuse, UsageError
from tunecheck.push.push import Sent, push, target
from tunecheck.push.spool import Spool
from tunecheck_fleet.ingest import inbox

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_pki(tmp_path_factory.mktemp("pki"))


@pytest.fixture
def state(tmp_path: Path) -> Path:
    folder = tmp_path / "state"
    keep(tmp_path / "token", token(folder, "gpu1"))
    token(folder, "silent")     # so that no window closes
    return folder


def keep(path: Path, text: str) -> None:
    path.write_text(text + "\n")
    path.chmod(0o600)


def pushed(folder: Path, url: str, ca: Path | None, content: bytes, seconds: int = 60) -> Result:
    """``seconds``: few where nobody answers. Whoever answers is waited for, however busy this machine is."""
    (folder / "s.json").write_bytes(content)
    words = ["--to", url, "--token-file", str(folder / "token"), "--spool", str(folder / "spool"), "--from",
             str(folder / "s.json"), "--deadline", f"{seconds}s", *(["--ca", str(ca)] if ca else [])]
    return CliRunner().invoke(verb, words)


def spooled(folder: Path) -> list[Path]:
    return Spool(folder / "spool").waiting()


def port_of(found: Receiver) -> int:
    return int(found.url.split(":")[2].split("/")[0])


def test_a_receiver_that_is_killed_gets_it_when_it_is_back(tmp_path: Path, state: Path, pki: Path) -> None:
    ca = pki / "ca.pem"
    with receiver(state, pki) as found:
        url, port = found.url, port_of(found)
        done = pushed(tmp_path, url.removesuffix("/v1/snapshot"), ca, snapshot(300))
        assert (done.exit_code, spooled(tmp_path)) == (0, []) and re.search(rf"\b1 \D*{re.escape(url)}", done.output)
        found.end(kill=True)
        done = pushed(tmp_path, url, ca, snapshot(200), seconds=4)
        assert done.exit_code == 3 and os.strerror(errno.ECONNREFUSED) in done.output
        assert re.search(rf"\b1 [\w ]+ {re.escape(str(tmp_path))}", done.output)
        assert pushed(tmp_path, url, ca, snapshot(100), seconds=4).exit_code == 3 and len(spooled(tmp_path)) == 2
        assert all(path.stat().st_mode & 0o777 == 0o600 for path in spooled(tmp_path))
    newest = snapshot(1)
    with receiver(state, pki, port) as found:
        done = pushed(tmp_path, url, ca, newest)
        assert (done.exit_code, spooled(tmp_path)) == (0, []) and re.search(rf"\b3 \D*{re.escape(url)}", done.output)
        # What is older than what was taken is left out, and said; it is not tried again.
        done = pushed(tmp_path, url, ca, snapshot(5000))
        assert done.exit_code == 1 and "HTTP 409 (replayed)" in done.output and not spooled(tmp_path)
        # An authority that did not sign it is no receiver, whatever it answers.
        done = pushed(tmp_path, url, pki / "gpu1.pem", snapshot(), seconds=10)
        assert done.exit_code == 3 and "certificate" in done.output.lower() and len(spooled(tmp_path)) == 1
        found.end()
        assert found.kept() == {"gpu1": newest}


def test_a_token_that_is_not_known_is_said_and_loses_nothing(tmp_path: Path, state: Path) -> None:
    with receiver(state, None, burst=2, every=600.0) as found:
        good = (tmp_path / "token").read_text().strip()
        keep(tmp_path / "token", "tc_0123456789abcdef." + "A" * 43)
        begun = time.monotonic()
        done = pushed(tmp_path, found.url, None, snapshot(50))
        assert done.exit_code == 1 and "HTTP 401 (no-token)" in done.output and len(spooled(tmp_path)) == 1
        assert time.monotonic() - begun < 45, "it is asked once, and not until its 60 s are over"
        keep(tmp_path / "token", good)
        assert pushed(tmp_path, found.url, None, snapshot(9)).exit_code == 0 and not spooled(tmp_path)
        # 429 for longer than there is time: the next run of the timer has it.
        done = pushed(tmp_path, found.url, None, snapshot(0))
        assert done.exit_code == 3 and "HTTP 429 (too-often)" in done.output
        assert len(spooled(tmp_path)) == 1 and good not in done.output


def test_a_certificate_in_place_of_a_token(tmp_path: Path, state: Path, pki: Path) -> None:
    with receiver(state, pki, mtls=True) as found:
        (tmp_path / "s.json").write_bytes(snapshot())
        words = ["--to", found.url, "--ca", str(pki / "ca.pem"), "--cert", str(pki / "gpu1.pem"), "--key",
                 str(pki / "gpu1.key"), "--from", str(tmp_path / "s.json"), "--spool", str(tmp_path / "spool")]
        done = CliRunner().invoke(verb, words)
        assert done.exit_code == 0, done.output


Talk = Callable[[socket.socket], None]


@contextmanager
def answering(*talks: Talk) -> Iterator[tuple[str, list[int]]]:
    """A server of raw bytes: the first connection gets the first talk, later ones the last."""
    door = socket.create_server(("127.0.0.1", 0))
    count = [0]

    def run() -> None:
        while True:
            try:
                line, _ = door.accept()
            except OSError:
                return
            with line:
                line.settimeout(10)
                with suppress(OSError):
                    talks[min(count[0], len(talks) - 1)](line)
                count[0] += 1

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield f"http://127.0.0.1:{door.getsockname()[1]}", count
    finally:
        door.shutdown(socket.SHUT_RDWR)
        door.close()
        thread.join(20)


def says(status: str, head: str = "", body: bytes = b"") -> Talk:
    def talk(line: socket.socket) -> None:
        line.recv(1 << 20)
        line.sendall(f"HTTP/1.1 {status}\r\n{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode()
                     + body)
    return talk


def cut(line: socket.socket) -> None:
    line.recv(100)      # and gone, in the middle of the body


def endless(line: socket.socket) -> None:
    line.recv(1 << 20)
    line.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        line.sendall(b"400\r\n" + b"\x1b[2J " * 204 + b"1234\r\n")


@pytest.fixture
def one(tmp_path: Path) -> Callable[..., tuple[Sent, list[float]]]:
    keep(tmp_path / "token", "t" * 40)

    def sent(url: str, deadline: float = 30.0) -> tuple[Sent, list[float]]:
        waits: list[float] = []
        to = target(url, str(tmp_path / "token"), deadline=deadline)
        return push(b"{}", to, Spool(tmp_path / "spool"), lambda _: None, waits.append), waits
    return sent


def test_it_tries_again_slower_and_by_chance(one: Callable[..., tuple[Sent, list[float]]]) -> None:
    with answering(cut, says("503 x"), says("200 OK")) as (url, count):
        sent, waits = one(url)
    assert (sent.taken, sent.waiting, count) == (1, 0, [3])
    assert 0.5 <= waits[0] <= 1 <= waits[1] <= 2
    with answering(says("429 x", "Retry-After: 7\r\n"), says("200 OK")) as (url, count):
        sent, waits = one(url)
    assert sent.taken == 1 and waits == [7.0]
    with answering(says("503 x", "Retry-After: 99999\r\n")) as (url, count):
        sent, waits = one(url)
    assert (sent.taken, sent.waiting, waits, count) == (0, 1, [], [1])


@pytest.mark.parametrize("status", ["302 Found", "404 Not Found", "403 Forbidden"])
def test_what_will_not_change_is_asked_once(one: Callable[..., tuple[Sent, list[float]]], status: str) -> None:
    body = b'{"error": "\\u001b[31mred\\n' + b"x" * 900 + b'"}'
    with answering(says(status, "Location: http://127.0.0.1:9/\r\n", body)) as (url, count):
        sent, _ = one(url)
    assert (sent.taken, sent.waiting, count) == (0, 1, [1])
    assert "\x1b" not in sent.reason and "\n" not in sent.reason and len(sent.reason) < 400


def test_an_endless_answer_is_not_read(one: Callable[..., tuple[Sent, list[float]]]) -> None:
    with answering(endless) as (url, _):
        sent, _ = one(url)
    assert sent.taken == 1


def test_the_spool_is_bounded_and_outlives_damage(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool", count=3, size=100_000)
    with spool.held() as ours:
        assert ours
        assert [spool.put(bytes([each]) * 100) for each in range(5)] == [0, 0, 0, 1, 1]
        with Spool(tmp_path / "spool").held() as second:
            assert not second
    assert len(spool.waiting()) == 3
    assert Spool(tmp_path / "spool", size=10_000).put(os.urandom(9_990)) == 3
    spool.waiting()[0].write_bytes(b"x")
    (tmp_path / "spool/notes.txt").write_text("somebody's")
    keep(tmp_path / "token", "t" * 40)
    said: list[str] = []
    with answering(says("200 OK")) as (url, count):
        sent = push(b"{}", target(url, str(tmp_path / "token")), spool, said.append)
    assert sent.taken == 1 and count == [1] and "damaged, dropped" in said[0]
    assert [path.name for path in (tmp_path / "spool").iterdir()] == ["notes.txt"]


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small tmpfs: needs root")
def test_a_full_disk_is_said_and_the_snapshot_is_sent(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    keep(tmp_path / "token", "t" * 40)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(small)], check=True, timeout=30)
    try:
        said: list[str] = []
        with answering(says("200 OK")) as (url, count):
            sent = push(os.urandom(50_000), target(url, str(tmp_path / "token")), Spool(small / "spool"), said.append)
        assert sent.taken == 1 and count == [1] and "No space left on device" in said[0]
        assert list((small / "spool").iterdir()) == []
    finally:
        subprocess.run(["umount", str(small)], check=True, timeout=30)
    # And where there can be no folder at all.
    (tmp_path / "file").write_text("")
    said.clear()
    with answering(says("200 OK")) as (url, _):
        assert push(b"{}", target(url, str(tmp_path / "token")), Spool(tmp_path / "file/x"), said.append).taken == 1
    assert str(tmp_path / "file/x") in said[0]


def test_without_a_usable_spool_it_is_no_success(tmp_path: Path) -> None:
    keep(tmp_path / "token", "t" * 40)
    (tmp_path / "spool").write_text("a file")
    with answering(says("200 OK")) as (url, _):
        done = pushed(tmp_path, url, None, snapshot(1))
    assert done.exit_code == 1 and str(tmp_path / "spool") in done.output
    assert re.search(rf"\b1 \D*{re.escape(url)}", done.output), "it was taken, all the same"
    done = pushed(tmp_path, "http://127.0.0.1:9", None, snapshot(1), seconds=4)
    assert done.exit_code == 1 and str(tmp_path / "spool") in done.output


def test_a_token_that_is_not_known_is_a_1_and_nothing_is_lost(tmp_path: Path) -> None:
    keep(tmp_path / "token", "t" * 40)
    with answering(says("401 Unauthorized")) as (url, _):
        done = pushed(tmp_path, url, None, snapshot(1))
    assert done.exit_code == 1 and len(spooled(tmp_path)) == 1
    assert "HTTP 401" in done.output and re.search(rf"\b1 [\w ]+ {re.escape(str(tmp_path))}", done.output)


@pytest.mark.parametrize(("url", "flaw"), [
    ("http://fleet.example.org", Misuse.NOT_ENCRYPTED), ("ftp://x", Misuse.MALFORMED), ("https://", Misuse.MALFORMED),
    ("https://u:p@x", Misuse.MALFORMED), ("https://x:99999", Misuse.MALFORMED), ("https://x/?t=1", Misuse.MALFORMED),
])
def test_addresses_that_are_none(tmp_path: Path, url: str, flaw: Misuse) -> None:
    keep(tmp_path / "token", "t" * 40)
    with refused(flaw, "--to"):
        target(url, str(tmp_path / "token"))


def test_tokens_that_others_read_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "token"
    for text, mode, flaw in (("t" * 40, 0o640, Misuse.READ_BY_OTHERS), ("short", 0o600, Misuse.MALFORMED),
                             ("a b" * 20, 0o600, Misuse.MALFORMED), ("x" * 5000, 0o600, Misuse.MALFORMED)):
        path.write_text(text)
        path.chmod(mode)
        with refused(flaw, "--token-file", str(path)):
            target("https://x", str(path))
    with refused(Misuse.UNREADABLE, str(tmp_path / "none")):
        target("https://x", str(tmp_path / "none"))
    with refused(Misuse.LEFT_OUT, "--token-file"):
        target("https://x", None)
    keep(path, "t" * 40)
    assert "t" * 40 not in repr(target("https://x", str(path)))


def test_without_a_receiver_it_leaves_the_snapshot(tmp_path: Path) -> None:
    from tunecheck.facts.snapshot_file import load

    place = tmp_path / "snapshot.json"
    done = CliRunner().invoke(verb, ["--snapshot", str(place)])
    assert done.exit_code == 0 and load(str(place)) and place.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["snapshot.json"]
    for words in (["--ca", "x"], ["--snapshot", str(tmp_path / "no/such")], ["--from", "/nowhere"]):
        assert isinstance(CliRunner().invoke(verb, words).exception, UsageError)


def test_the_page_names_every_option_and_its_unit_is_one(tmp_path: Path) -> None:
    from tunecheck_fleet.cli.ingest import ingest
    from tunecheck_fleet.ingest.limits import Limits

    page = (Path(__file__).resolve().parents[3] / "docs/fleet-push.md").read_text()
    options = {name for command in (verb, ingest) for each in command.params for name in each.opts}
    assert [name for name in options - {"--state", "--store"} if name not in page] == []
    limits = Limits()
    assert f"{limits.packed >> 20} MiB / {limits.unpacked >> 20} MiB" in page
    assert f"{limits.handshake:g} s / {limits.head:g} s / {limits.seconds:g} s / {limits.life:g} s" in page
    assert f"| {limits.connections} / {limits.connections_of_a_host} |" in page
    assert f"| {limits.strangers} / {limits.strangers_of_an_address} |" in page
    assert f"{limits.arrivals} at once, then {limits.arrivals_each_second:g} in a second" in page
    assert f"{limits.newcomers} at once, then {limits.newcomers_each_second:g} in a second" in page
    assert f"not heard for {limits.penalty / 60:g} minutes" in page
    assert f"| {limits.check:g} s / {inbox._BOUNDS.most:g} s | 503" in page
    assert f"{limits.burst} at once, then one in {limits.every:g} s" in page
    assert f"| {limits.together} / {limits.queue} |" in page
    if shutil.which("systemd-analyze") is None:
        return
    (unit,) = re.findall(r"```ini\n(.+?)```", page, re.DOTALL)
    path = tmp_path / "tunecheck-ingest.service"
    path.write_text(unit.replace("/opt/tunecheck-control/bin/tunecheck", sys.executable))
    shown = subprocess.run(["systemd-analyze", "verify", "--man=no", str(path)], capture_output=True, text=True,
                           timeout=60, check=False)
    assert shown.returncode == 0 and "tunecheck-" not in shown.stderr, shown.stderr
