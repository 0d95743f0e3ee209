"""A real `tunecheck ingest` in a process of its own, over TLS of an authority made for the test, and real snapshots."""

from __future__ import annotations

import json
import secrets
import sqlite3
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import zstandard

from tunecheck_fleet.ingest.tokens import Known, _digest, _write, add

ROOT = Path(__file__).resolve().parents[3]
#: What the process runs: the command's own path, with limits that a test can wait for.
_SERVE = """
import json, sys
from pathlib import Path
from tunecheck_fleet.ingest.limits import Limits
from tunecheck_fleet.ingest.serve import Listen, serve
from tunecheck_fleet.ingest.tokens import Tokens
given = json.loads(sys.argv[1])
state = Path(given["state"])
serve(Listen(**given["listen"]), state, Tokens(state / "hosts.json"), given["store"], given["window"],
      Limits(**given["limits"]), lambda place: print("listening on", place, file=sys.stderr, flush=True))
"""


class Receiver:
    """``url`` is its address; ``log`` what it has said on standard error so far."""

    def __init__(self, process: subprocess.Popen[str], state: Path, ca: str | None) -> None:
        self.process, self.state, self.ca = process, state, ca
        self.log, self.url = "", ""
        self._up = threading.Event()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        assert self._up.wait(30) and self.url, self.log

    def _read(self) -> None:
        assert self.process.stderr
        for line in self.process.stderr:
            self.log += line
            if line.startswith("listening on "):
                self.url = line.split()[-1]
                self._up.set()
        self._up.set()

    def post(self, content: bytes, token: str = "", headers: Mapping[str, str] | None = None, **more: Any
             ) -> httpx.Response:
        given = {**({"Authorization": f"Bearer {token}"} if token else {}), **(headers or {})}
        verify = more.pop("verify", None) or self.trust()
        return httpx.post(self.url, content=content, headers=given, verify=verify, timeout=120, trust_env=False, **more)

    def trust(self) -> ssl.SSLContext | bool:
        return ssl.create_default_context(cafile=self.ca) if self.ca else False

    def end(self, kill: bool = False) -> int:
        if self.process.poll() is None:
            (self.process.kill if kill else self.process.terminate)()
        try:
            code = self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        self._reader.join(30)
        if self.process.stderr:
            self.process.stderr.close()
        return code

    def kept(self) -> dict[str, bytes]:
        """host -> what waits; the receiver has to have ended."""
        db = sqlite3.connect(self.state / "inbox.db")
        try:
            rows = db.execute("SELECT host, content FROM newest WHERE content IS NOT NULL").fetchall()
        finally:
            db.close()
        return {host: zstandard.ZstdDecompressor().decompress(content, max_output_size=1 << 24)
                for host, content in rows}


@contextmanager
def receiver(state: Path, pki: Path | None, port: int = 0, store: Path | None = None, window: float = 3600,
             mtls: bool = False, **limits: float) -> Iterator[Receiver]:
    listen: dict[str, Any] = {"host": "127.0.0.1", "port": port}
    if pki:
        listen.update(cert=str(pki / "server.pem"), key=str(pki / "server.key"))
    if pki and mtls:
        listen["client_ca"] = str(pki / "ca.pem")
    given = {"state": str(state), "listen": listen, "store": str(store) if store else None, "window": window,
             "limits": {"check": 60.0, **limits}}     # however busy this machine is
    child = subprocess.Popen([sys.executable, "-c", _SERVE, json.dumps(given)], stderr=subprocess.PIPE, text=True,
                             env={"PYTHONPATH": str(ROOT / "checks"), "PATH": "/usr/bin:/bin"})
    found = None
    try:
        found = Receiver(child, state, str(pki / "ca.pem") if pki else None)
        yield found
    finally:
        if found:
            found.end()
        else:
            child.kill()
            child.wait()


def token(state: Path, host: str, group: str = "h200") -> str:
    return add(state / "hosts.json", host, group)


def tokens(state: Path, hosts: list[str]) -> dict[str, str]:
    """The same for many, with one write of the file."""
    made = {host: f"tc_{number:016x}." + secrets.token_urlsafe(32) for number, host in enumerate(hosts)}
    known = {host: Known(host, "h200", {text[3:19]: _digest(text[20:])}, "") for host, text in made.items()}
    state.mkdir(exist_ok=True)
    _write(state / "hosts.json", known)
    return made


@cache
def _document() -> dict[str, Any]:
    from tunecheck.app.read_host import look
    from tunecheck.facts.snapshot_file import Stored, packed

    frozen, found = look("preflight", None, str(ROOT / "tests/fixtures/h200-2gpu-vm.tar.zst"))
    return json.loads(packed(Stored(found, frozen)))  # type: ignore[no-any-return]


def snapshot(age: float = 0.0, **more: Any) -> bytes:
    """A real box's snapshot, made ``age`` seconds ago."""
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - age))
    return json.dumps({**_document(), "created": created, **more}).encode()


def make_pki(folder: Path) -> Path:
    """ca.pem, a server's certificate for 127.0.0.1, and clients' for gpu1 and stranger; by openssl."""

    def openssl(*words: str) -> None:
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True, timeout=60)

    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    openssl("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=test authority",
            "-addext", "keyUsage=critical,keyCertSign,cRLSign")
    for name, san in (("server", "IP:127.0.0.1"), ("gpu1", "DNS:gpu1"), ("stranger", "DNS:stranger")):
        openssl("req", *key, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        (folder / f"{name}.ext").write_text(f"subjectAltName={san}\nauthorityKeyIdentifier=keyid\n")
        openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days",
                "2", "-extfile", f"{name}.ext", "-out", f"{name}.pem")
    return folder
