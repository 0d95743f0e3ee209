"""An engine behind TLS with a certificate of one's own: seen by the watch and by the recovery in the same way."""

from __future__ import annotations

import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.unit.recovery.test_act import UNIT, Box1, _at_once, _Page, asked, box

from tunecheck.cli import recover as verb
from tunecheck.cli.watch_options import trusted
from tunecheck.recovery.act import recover
from tunecheck.recovery.model import Step
from tunecheck.watch import request
from tunecheck.watch.ask import Asker
from tunecheck.watch.model import Engine, Seen, State
from tunecheck.watch.request import Request
from tunecheck.watch.timeline import Timeline

__all__ = ["_at_once"]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    folder = tmp_path_factory.mktemp("tls")
    cert, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-days", "30", "-subj", "/CN=engine", "-addext", "subjectAltName=IP:127.0.0.1", "-out", str(cert),
                    "-keyout", str(key)], check=True, capture_output=True, timeout=60)
    return cert, key


@pytest.fixture
def url(certificate: tuple[Path, Path]) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Page)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield f"https://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_an_engine_that_moves_again_is_seen_behind_tls(tmp_path: Path, url: str, certificate: tuple[Path, Path]
                                                       ) -> None:
    """Its counters have moved since the request; who cannot read them would stop it."""
    host = Box1()
    ended = recover(replace(box(host, tmp_path), context=trusted(str(certificate[0]))), asked(url=url))
    assert ended is not None and ended.step is Step.MOVED_AGAIN and host.asked == []
    assert "llamacpp:tokens_predicted_total" in (tmp_path / "a/metrics.txt").read_text()


def test_without_its_certificate_nothing_is_read_and_the_recovery_goes_on(tmp_path: Path, url: str) -> None:
    host = Box1()
    ended = recover(box(host, tmp_path), asked(url=url))
    assert ended is not None and ended.step is Step.SERVING
    assert "llamacpp" not in (tmp_path / "a/metrics.txt").read_text()


def test_the_watch_hands_on_by_what_it_trusts(tmp_path: Path) -> None:
    path = str(tmp_path / "stall.json")
    asker = Asker(Box1(), UNIT, "https://127.0.0.1:1", "boot", print, path, ca="/etc/x/ca.pem")   # type: ignore[arg-type]
    asker.look(Seen(State.STALLED, 1.0, engine=Engine(1, 0, 5.0)), {"reasons": []}, Timeline())
    left = request.read(path)
    assert left is not None and left.ca == "/etc/x/ca.pem"


@pytest.mark.parametrize(("given", "handed"), [((), True), (("--ca", "X"), False)])
def test_the_verb_takes_the_watch_s_or_its_own(tmp_path: Path, url: str, certificate: tuple[Path, Path],
                                               monkeypatch: pytest.MonkeyPatch, given: tuple[str, ...], handed: bool
                                               ) -> None:
    """The verb as the unit runs it, up to the journal's end."""
    found, host = _verb(tmp_path, monkeypatch), Box1()
    good = str(certificate[0])
    request.leave(Request("a", "boot", UNIT, url, {"": 1.0}, {"reasons": []}, ca=good if handed else "/nothing"), found)
    monkeypatch.setattr(verb, "_box", lambda *_: box(host, tmp_path / "box"))
    done = CliRunner().invoke(verb.recover, [good if each == "X" else each for each in given])
    assert done.exit_code == 0 and "it moved again by itself" in done.output, done.output
    assert host.asked == []


def test_a_certificate_that_cannot_be_read_stops_no_recovery(tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch
                                                             ) -> None:
    found, host = _verb(tmp_path, monkeypatch), Box1()
    request.leave(Request("a", "boot", UNIT, url, {"": 1.0}, {"reasons": []}), found)
    monkeypatch.setattr(verb, "_box", lambda *_: box(host, tmp_path / "box"))
    done = CliRunner().invoke(verb.recover, ["--ca", str(tmp_path / "nothing.pem")])
    assert done.exit_code == 0 and "nothing.pem" in done.output and "start" in host.asked, done.output


def _verb(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    path = str(folder / "stall.json")
    monkeypatch.setattr(verb, "_LOCK", str(folder / "lock"))
    monkeypatch.setattr(verb.os, "geteuid", lambda: 0)
    monkeypatch.setattr(request, "PATH", path)
    monkeypatch.setattr(request.read, "__defaults__", (path,))
    return path
