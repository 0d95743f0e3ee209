"""The receiver, for real: uvicorn over TLS in a process of its own, and everything that a box could send it."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import socket
import ssl
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
import zstandard
from click.testing import CliRunner
from tests.unit.fleet.receiver import Receiver, make_pki, receiver, snapshot, token, tokens
from tests.unit.refusing import refused

from tunecheck.errors import Misuse, UsageError
from tunecheck.parsers.text.damage import Damage
from tunecheck_fleet.cli.ingest import ingest
from tunecheck_fleet.ingest.limits import Pace, Why
from tunecheck_fleet.ingest.serve import Listen, _check, _tls
from tunecheck_fleet.ingest.tokens import Tokens, add, remove

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_pki(tmp_path_factory.mktemp("pki"))


@dataclass
class Open:
    """One receiver for the tests that leave it as it was; the hosts gpu1 and gpu2 may push."""

    at: Receiver
    gpu1: str
    gpu2: str


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory, pki: Path) -> Iterator[Open]:
    state = tmp_path_factory.mktemp("state")
    given = token(state, "gpu1"), token(state, "gpu2")
    token(state, "silent")      # so that no window closes
    with receiver(state, pki, seconds=1.0, head=1.0, burst=200, packed=1 << 20, unpacked=4 << 20) as found:
        yield Open(found, *given)


def told(answer: httpx.Response) -> tuple[int, Why]:
    """Its status and code; each has a sentence, too, of one line without the server's insides."""
    sentence: str = answer.json()["error" if answer.status_code != 200 else "result"]
    assert 3 < len(sentence) < 400 and "\n" not in sentence
    assert not re.search(r"Traceback|/tmp|\.py|site-packages|sqlite", sentence), sentence
    return answer.status_code, Why(answer.json()["code"])


def test_a_snapshot_is_kept_once_and_only_a_newer_one_after_it(tmp_path: Path, pki: Path) -> None:
    mine, _ = token(tmp_path, "gpu1"), token(tmp_path, "silent")
    with receiver(tmp_path, pki) as found:
        first, newer = snapshot(60, tunecheck="1"), snapshot(5)
        assert told(found.post(first, mine)) == (200, Why.KEPT)
        assert told(found.post(first, mine)) == (200, Why.KEPT_BEFORE)
        packed = zstandard.ZstdCompressor().compress(newer)
        assert found.post(packed, mine, {"Content-Encoding": "zstd"}).status_code == 200
        assert told(found.post(first, mine)) == (409, Why.REPLAYED)
        assert told(found.post(snapshot(100_000), mine)) == (409, Why.TOO_OLD)
        assert found.end() == 0
        assert found.kept() == {"gpu1": newer}
        assert mine not in found.log and mine.split(".")[1] not in (tmp_path / "hosts.json").read_text()
        assert found.log.count("gpu1 200") == 3 and "gpu1 409" in found.log
    # Also after a restart the older one is out.
    with receiver(tmp_path, pki) as found:
        assert told(found.post(first, mine)) == (409, Why.REPLAYED)


def test_a_host_is_who_its_token_says(tmp_path: Path, pki: Path, door: Open) -> None:
    path = "../../etc/shadow\x1b[2J<script>"
    body = json.loads(snapshot())
    body["snapshot"]["hostname"] = {**body["snapshot"]["hostname"], "value": path}
    assert door.at.post(json.dumps(body).encode(), door.gpu2).status_code in (200, 422)
    for given in ("x", "tc_0123456789abcdef." + "A" * 43, door.gpu1[:-1], door.gpu1 + "x", "é"):
        answer = door.at.post(b"{}", headers={"Authorization": f"Bearer {given}".encode()})  # type: ignore[dict-item]
        assert told(answer) == (401, Why.NO_TOKEN) and answer.headers["www-authenticate"] == "Bearer"
    assert door.at.post(b"{}", headers={"Authorization": f"Basic {door.gpu1}"}).status_code == 401
    swapped = f"{door.gpu1.split('.')[0]}.{door.gpu2.split('.')[1]}"
    assert door.at.post(b"{}", swapped).status_code == 401
    assert door.at.post(b"{}").status_code == 401


def test_a_revoked_token_is_out_at_once_and_a_changed_one_overlaps(tmp_path: Path, pki: Path) -> None:
    three = [token(tmp_path, "gpu1") for _ in range(3)]
    token(tmp_path, "silent")
    with receiver(tmp_path, pki) as found:
        assert [found.post(b"{}", each).status_code for each in three] == [401, 422, 422]
        remove(tmp_path / "hosts.json", "gpu1")
        assert found.post(b"{}", three[2]).status_code == 401
        (tmp_path / "hosts.json").write_text("[")
        answer = found.post(b"{}", three[2])
        assert told(answer) == (503, Why.NO_HOSTS) and answer.headers["retry-after"] == "60"


def test_certificates(tmp_path: Path, pki: Path) -> None:
    first, second = token(tmp_path, "gpu1"), token(tmp_path, "gpu2")

    def context(name: str | None) -> ssl.SSLContext:
        made = ssl.create_default_context(cafile=str(pki / "ca.pem"))
        if name:
            made.load_cert_chain(pki / f"{name}.pem", pki / f"{name}.key")
        return made

    with receiver(tmp_path, pki, mtls=True) as found:
        assert found.post(snapshot(), verify=context("gpu1")).status_code == 200
        assert told(found.post(snapshot(9), first, verify=context("gpu1"))) == (409, Why.REPLAYED)
        assert told(found.post(snapshot(), second, verify=context("gpu1"))) == (403, Why.TWO_HOSTS)
        assert told(found.post(snapshot(), second, verify=context("stranger"))) == (403, Why.NO_SUCH_HOST)
        with pytest.raises(httpx.HTTPError):
            found.post(snapshot(), first, verify=context(None))
        found.end()
        assert set(found.kept()) == {"gpu1"}


ZEROS = zstandard.ZstdCompressor(level=19).compress(bytes(1 << 28))
BODIES = [
    (b"", {}, 422, Damage.NOT_JSON), (b"{}", {}, 422, Damage.OTHER_SCHEMA),
    (b'{"schema": "tunecheck/report/1"}', {}, 422, Damage.OTHER_SCHEMA), (b"[" * 100_000, {}, 422, Damage.NOT_JSON),
    (b"9" * 50_000, {}, 422, Damage.NOT_JSON), (b"\xff\xfe", {}, 422, Damage.NOT_JSON),
    (b'{"schema": "tunecheck/snapshot/1"}', {}, 422, Damage.WRONG_TYPE),
    (snapshot(created=None), {}, 422, Why.NO_TIME), (snapshot(created=["x"]), {}, 422, Why.NO_TIME),
    (snapshot(created="2026-11-21T18:00:00Z\n" * 9), {}, 422, Why.NO_TIME),
    (snapshot(created="0001-01-01T00:00:00Z"), {}, 409, Why.TOO_OLD),
    (snapshot(extra=1), {}, 422, Damage.UNKNOWN_PART), (snapshot(spec={"host": "x"}), {}, 422, Damage.SPEC),
    (snapshot(snapshot=[]), {}, 422, Damage.WRONG_TYPE),
    (b"x" * (1 << 20) + b"x", {}, 413, Why.TOO_LARGE),
    (b" " * 100, {"Content-Encoding": "br"}, 415, Why.ENCODING),
    (ZEROS, {"Content-Encoding": "zstd"}, 413, Why.TOO_LARGE),
    (ZEROS[:60], {"Content-Encoding": "zstd"}, 422, Damage.NOT_JSON),
    (gzip.compress(bytes(1 << 26)), {"Content-Encoding": "gzip"}, 413, Why.TOO_LARGE),
    (b"{}", {"Content-Encoding": "zstd"}, 422, Why.NOT_PACKED),
    (b"{}", {"Content-Encoding": "gzip"}, 422, Why.NOT_PACKED),
    (gzip.compress(b"{}")[:-3], {"Content-Encoding": "gzip"}, 422, Why.NOT_PACKED),
    (zstandard.ZstdCompressor(compression_params=zstandard.ZstdCompressionParameters(window_log=27)).compress(
        bytes(1 << 20), ), {"Content-Encoding": "zstd"}, 422, Damage.NOT_JSON),
]


def test_what_is_no_snapshot_is_refused_with_a_sentence(door: Open) -> None:
    for content, headers, status, why in BODIES:
        answer = door.at.post(content, door.gpu2, headers)
        damage = why if isinstance(why, Damage) else None
        assert told(answer) == (status, Why.NO_SNAPSHOT if damage else why), (content[:40], answer.text)
        assert answer.json().get("damage") == (damage and damage.value), (content[:40], answer.text)
    # A bomb of 256 MiB was in it twice.
    peak = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{door.at.process.pid}/status").read_text())
    assert peak and int(peak[1]) < 200 << 10
    chunked = door.at.post((bytes(1 << 16) for _ in range(40)), door.gpu2)  # type: ignore[arg-type]
    assert chunked.status_code == 413
    base = door.at.url.removesuffix("/v1/snapshot")
    for path, status, why in (("/healthz", 200, None), ("/v1/snapshot", 405, Why.METHOD),
                              ("/v1/snapshot/../../etc", 404, Why.NO_PAGE), ("/", 404, Why.NO_PAGE)):
        found = httpx.get(base + path, verify=door.at.trust(), trust_env=False)
        assert told(found) == (status, why) if why else found.json() == {"status": "ok"}
        assert "server" not in found.headers


def test_who_dawdles_is_ended_and_nobody_waits_for_him(door: Open) -> None:
    port = int(door.at.url.split(":")[2].split("/")[0])
    context = ssl.create_default_context(cafile=str(door.at.ca))

    def talk(text: str) -> tuple[bytes, float]:
        begun = time.monotonic()
        with socket.create_connection(("127.0.0.1", port), 30) as raw, \
                context.wrap_socket(raw, server_hostname="127.0.0.1") as line:
            line.sendall(text.encode())
            answer = b""
            try:
                while block := line.recv(4096):
                    answer += block
            except OSError:
                pass
        return answer, time.monotonic() - begun

    head = f"POST /v1/snapshot HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {door.gpu1}\r\n"
    with ThreadPoolExecutor(4) as pool:
        body = pool.submit(talk, head + "Content-Length: 1000\r\n\r\n{")
        heads = [pool.submit(talk, text) for text in (head, "")]
        many = pool.submit(talk, head + "X: " + "x" * 200_000)
        assert door.at.post(snapshot(2000), door.gpu2).status_code in (200, 409)
        answer, seconds = body.result(20)
        assert b" 408 " in answer and b'"code":"too-slow"' in answer and b" 1 s" in answer and seconds < 15
        assert all(each.result(20)[0] == b"" and each.result()[1] < 15 for each in heads)
        assert b" 400 " in many.result(20)[0]


def test_too_often_and_too_many(tmp_path: Path, pki: Path) -> None:
    mine, other = token(tmp_path, "gpu1"), token(tmp_path, "gpu2")
    with receiver(tmp_path, pki, burst=2, every=100.0) as found:
        assert [told(found.post(b"{}", mine)) for _ in range(3)] == [
            (422, Why.NO_SNAPSHOT), (422, Why.NO_SNAPSHOT), (429, Why.TOO_OFTEN)]
        assert 90 < int(found.post(b"{}", mine).headers["retry-after"]) <= 101
        assert found.post(b"{}", other).status_code == 422


def test_a_pace_refills() -> None:
    now = [0.0]
    pace = Pace(2, 10.0, lambda: now[0])
    assert [pace.wait("a"), pace.wait("a"), pace.wait("a"), pace.wait("b")] == [0, 0, 10, 0]
    now[0] = 11
    assert pace.wait("a") == 0 and pace.wait("a") == pytest.approx(9)


def test_a_hundred_hosts_at_once_and_a_kill_lose_nothing(tmp_path: Path) -> None:
    hosts = tokens(tmp_path, [f"gpu{number:03}" for number in range(100)])
    token(tmp_path, "silent")
    content = snapshot()
    with receiver(tmp_path, None) as found:
        with ThreadPoolExecutor(100) as pool:
            answers = list(pool.map(lambda each: found.post(content, each).status_code, hosts.values()))
        assert answers == [200] * 100
        found.end(kill=True)
        assert found.kept() == dict.fromkeys(hosts, content)


def test_sigterm_answers_what_is_under_way(tmp_path: Path) -> None:
    mine, _ = token(tmp_path, "gpu1"), token(tmp_path, "silent")
    content = snapshot()
    with receiver(tmp_path, None) as found:
        port = int(found.url.split(":")[2].split("/")[0])
        with socket.create_connection(("127.0.0.1", port), 30) as line:
            line.sendall(f"POST /v1/snapshot HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {mine}\r\n"
                         f"Content-Length: {len(content)}\r\n\r\n".encode() + content[:100])
            time.sleep(0.3)
            found.process.terminate()
            time.sleep(0.3)
            line.sendall(content[100:])
            assert b" 200 OK" in line.recv(4096)
        assert found.end() == 0 and "Traceback" not in found.log
        assert found.kept() == {"gpu1": content}


def test_two_receivers_of_one_folder(tmp_path: Path) -> None:
    with receiver(tmp_path, None):
        done = CliRunner().invoke(ingest, ["--state", str(tmp_path), "--bind", "127.0.0.1:0"])
        assert isinstance(done.exception, UsageError) and done.exception.flaw is Misuse.ALREADY


@pytest.mark.parametrize(("listen", "flaw", "names"), [
    (Listen("0.0.0.0", 1), Misuse.NOT_ENCRYPTED, "--bind 0.0.0.0"), (Listen("::", 1), Misuse.NOT_ENCRYPTED, "--cert"),
    (Listen("localhost", 1), Misuse.MALFORMED, "--bind localhost"),
    (Listen("127.0.0.1", 1, cert="x"), Misuse.LEFT_OUT, "--key"),
    (Listen("127.0.0.1", 1, client_ca="x"), Misuse.LEFT_OUT, "--client-ca"),
    (Listen("127.0.0.1", 1, "/nowhere", "/nowhere"), Misuse.UNREADABLE, "No such file"),
    (Listen("127.0.0.1", 1, "/dev/null", "/dev/null"), Misuse.UNREADABLE, "--cert"),
])
def test_where_it_does_not_listen(listen: Listen, flaw: Misuse, names: str) -> None:
    with refused(flaw, names):
        _check(listen)
        _tls(listen)


def test_behind_a_proxy_and_with_tls_it_listens_anywhere(pki: Path) -> None:
    _check(Listen("0.0.0.0", 1, behind_proxy=True))
    _check(Listen("0.0.0.0", 1, "a", "b"))
    assert _tls(Listen("0.0.0.0", 1, str(pki / "server.pem"), str(pki / "server.key"))) is not None
    with refused(Misuse.UNREADABLE, "--cert"):
        _tls(Listen("0.0.0.0", 1, str(pki / "server.pem"), str(pki / "gpu1.key")))


def test_the_verbs_for_tokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*words: str) -> str:
        done = CliRunner().invoke(ingest, ["--state", str(tmp_path / "new"), *words], catch_exceptions=False)
        assert done.exit_code == 0
        return done.output

    made = run("token", "gpu1", "--group", "h100").strip()
    assert Tokens(tmp_path / "new/hosts.json").host_of(made) == "gpu1"
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "new/hosts.json").stat().st_mode & 0o777 == 0o600
    assert run("token", "gpu2", "--certificate") == ""
    assert [line.split("\t")[:3] for line in run("hosts").splitlines()] == [
        ["host", "group", "tokens"], ["gpu1", "h100", "1"], ["gpu2", "all", "0"]]
    behind = CliRunner().invoke(ingest, ["hosts", "--state", str(tmp_path / "new")], catch_exceptions=False)
    assert behind.output == run("hosts")
    # The receiver's own libraries are an extra: only to listen needs them.
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    done = CliRunner().invoke(ingest, ["--state", str(tmp_path / "new")])
    assert "pip install '.[ingest]'" in str(done.exception)
    assert "gpu1" in run("revoke", "gpu1") and "gpu1" not in run("hosts")
    for host in ("../x", "", "a b", "x" * 300, "a\n"):
        with pytest.raises(UsageError):
            add(tmp_path / "new/hosts.json", host, "")
    with refused(Misuse.NO_SUCH, "gpu9"):
        remove(tmp_path / "new/hosts.json", "gpu9")
