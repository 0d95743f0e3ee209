"""The box's side of push. It leaves a snapshot where a pull finds it, spools it, and sends what is spooled to
`tunecheck ingest`.

A snapshot is sent as it was made, packed with zstd, with this host's token. What the receiver does not take for now (no
connection, 429, 5xx) stays in the spool for the next run; what it never takes (400, 409, 413, 415, 422) is left out and
said; a token that it does not know (401, 403) ends the run and leaves the spool as it is, until somebody corrects
it.
"""

from __future__ import annotations

import os
import random
import re
import ssl
import stat
import time
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from ..errors import Misuse, UsageError
from .spool import Spool

__all__ = ["Sent", "Target", "push", "target"]

_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]{16,512}")
_LOCAL = ("127.0.0.1", "::1", "localhost")
#: It takes this one never: not a snapshot, too large, older than what it has.
_NEVER = (400, 409, 413, 415, 422)
_NO_ENTRY = (401, 403)
#: Trying again may help; anything else (404, a redirect) says that the address is wrong.
_AGAIN = (0, 408, 425, 429, 500, 502, 503, 504)
#: Seconds: one try; between tries, doubled each time, half of it by chance.
_TRY, _FIRST_WAIT, _LONGEST_WAIT = 20.0, 1.0, 30.0
_ANSWER = 4096


@dataclass(frozen=True)
class Target:
    """The receiver, and the token to send with. ``deadline``: seconds for all sending, waiting included; ``tries``: for
    one snapshot."""

    url: str
    token: str = field(repr=False)
    tls: ssl.SSLContext | bool = True
    deadline: float = 90.0
    tries: int = 4


@dataclass
class Sent:
    """What became of the snapshots. ``taken``: how many the receiver took; ``left_out``: one sentence per snapshot that
    it never takes; ``waiting``: how many are in the spool for next time; ``refused``: the token is not known there;
    ``reason``: why the rest waits; ``unkept``: there is no usable spool, so what is not taken at once is lost."""

    taken: int = 0
    left_out: list[str] = field(default_factory=list)
    waiting: int = 0
    refused: bool = False
    reason: str = ""
    unkept: bool = False


def target(url: str, token_file: str | None, ca: str | None = None, cert: str | None = None, key: str | None = None,
           deadline: float = 90.0) -> Target:
    """Return the receiver that the options name. UsageError says which option is unusable. ``ca``: PEM, in place of the
    public authorities."""
    parts = urllib.parse.urlsplit(url)
    try:
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        host = ""
    if parts.scheme not in ("https", "http") or not host or parts.username or parts.query or parts.fragment:
        raise UsageError(f"--to {url[:100]}: expected an address such as https://fleet.example.org:8733",
                         Misuse.MALFORMED)
    if parts.scheme == "http" and host not in _LOCAL:
        raise UsageError(f"--to {url[:100]}: the token is not sent without TLS; use https", Misuse.NOT_ENCRYPTED)
    if bool(cert) != bool(key):
        raise UsageError("--cert and --key belong together: this host's certificate and its private key, both PEM",
                         Misuse.LEFT_OUT)
    if token_file is None and not cert:
        raise UsageError("--to needs --token-file, with what tunecheck ingest token HOST printed, or --cert and --key",
                         Misuse.LEFT_OUT)
    path = parts.path.rstrip("/")
    whole = url if path.endswith("/v1/snapshot") else f"{parts.scheme}://{parts.netloc}{path}/v1/snapshot"
    tls = _tls(ca, cert, key) if parts.scheme == "https" else True
    return Target(whole, _token(token_file) if token_file else "", tls, deadline)


def push(content: bytes, to: Target, spool: Spool, say: Callable[[str], None],
         sleep: Callable[[float], None] = time.sleep) -> Sent:
    """Spool this snapshot and send what waits, oldest first. ``say`` gets sentences for the journal. Never raises for
    what the receiver or the disk does."""
    until = time.monotonic() + to.deadline
    try:
        with spool.held() as ours:
            spooled = _spooled(content, spool, say)
            if not ours:
                return Sent(waiting=len(spool.waiting()), reason="another tunecheck push is sending")
            with _client(to) as client:
                sent = _all(client, to, spool, until, say, sleep)
                if not spooled and not sent.reason:     # full disk: this one chance
                    _count(sent, *_one(client, to, content, until, sleep)[:2])
                return sent
    except UsageError as error:
        say(str(error))
        sent = Sent(unkept=True)
        with _client(to) as client:
            _count(sent, *_one(client, to, content, until, sleep)[:2])
        return sent


def _spooled(content: bytes, spool: Spool, say: Callable[[str], None]) -> bool:
    try:
        if dropped := spool.put(content):
            say(f"{dropped} old snapshot{'s' * (dropped > 1)} dropped from {spool.folder}: it holds no more")
    except UsageError as error:
        say(str(error))
        return False
    return True


def _all(client: httpx.Client, to: Target, spool: Spool, until: float, say: Callable[[str], None],
         sleep: Callable[[float], None]) -> Sent:
    sent = Sent()
    for path in spool.waiting():
        try:
            content = _unpacked(path)
        except (OSError, ValueError):
            path.unlink(missing_ok=True)
            say(f"{path}: damaged, dropped")
            continue
        status, said, nonce = _one(client, to, content, until, sleep)
        _count(sent, status, said)
        if nonce:
            spool.keep_nonce(nonce)
        if status == 200 or status in _NEVER:
            path.unlink(missing_ok=True)
        else:
            break       # the next one would fare no better
    sent.waiting = len(spool.waiting())
    return sent


def _count(sent: Sent, status: int, said: str) -> None:
    if status == 200:
        sent.taken += 1
    elif status in _NEVER:
        sent.left_out.append(f"HTTP {status}{said}")
    else:
        sent.refused = status in _NO_ENTRY
        sent.reason = f"HTTP {status}{said}" if status else said


def _one(client: httpx.Client, to: Target, content: bytes, until: float, sleep: Callable[[float], None]
         ) -> tuple[int, str, str]:
    """Send one snapshot. Return the last status, what was said with it, and the nonce for the next one. The status is 0
    where nobody answered."""
    import zstandard

    packed = zstandard.ZstdCompressor(level=9, write_checksum=True).compress(content)
    status, said, nonce = 0, "no time was left", ""
    for number in range(to.tries):
        left = until - time.monotonic()
        if left <= 0:
            break
        status, said, nonce, after = _ask(client, to.url, packed, min(_TRY, left))
        if status not in _AGAIN:
            break
        wait = min(_FIRST_WAIT * 2 ** number, _LONGEST_WAIT)
        # By chance: the boxes that a restart of the receiver has cut off must not all come back at once.
        wait = max(after or 0.0, wait / 2 + random.random() * wait / 2)
        if number + 1 == to.tries or wait >= until - time.monotonic():
            break       # the next run of the timer
        sleep(wait)
    return status, said, nonce


def _ask(client: httpx.Client, url: str, packed: bytes, seconds: float) -> tuple[int, str, str, float | None]:
    """Post one packed snapshot. Return (status, sentence, nonce, Retry-After). Of the answer only the beginning is
    read, whatever it is."""
    until = time.monotonic() + seconds
    try:
        with client.stream("POST", url, content=packed, timeout=seconds) as answer:
            text = bytearray()
            for block in answer.iter_raw(1024):
                text += block
                if len(text) > _ANSWER or time.monotonic() > until:
                    break
            after = answer.headers.get("retry-after", "")
            return (answer.status_code, *_sentence(bytes(text)),
                    float(after) if re.fullmatch(r"\d{1,5}", after) else None)
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError) as error:
        return 0, f"no answer ({_printable(str(error) or type(error).__name__)})", "", None


def _sentence(text: bytes) -> tuple[str, str]:
    """Return the code and the sentence in an answer of the receiver, and the nonce in it, or "" for it."""
    import json

    nonce: object = ""

    try:
        found = json.loads(text)
        said, nonce = found.get("error") or found.get("result") or "", found.get("nonce")
        code = found.get("code")
    except (ValueError, AttributeError, RecursionError):
        said, code = "what answers there is no tunecheck ingest", None
    named = isinstance(code, str) and re.fullmatch(r"[a-z-]{1,30}", code)
    return f"{f' ({code})' if named else ''}: {_printable(str(said))}", nonce if isinstance(nonce, str) else ""


def _printable(text: str) -> str:
    return "".join(each if each.isprintable() else " " for each in text)[:300]


def _client(to: Target) -> httpx.Client:
    headers = {"Content-Type": "application/json", "Content-Encoding": "zstd", "Accept-Encoding": "identity",
               **({"Authorization": f"Bearer {to.token}"} if to.token else {})}
    # Never on to where a redirect points: the token is for this receiver.
    return httpx.Client(headers=headers, verify=to.tls, trust_env=False, follow_redirects=False)


def _unpacked(path: Path) -> bytes:
    import zstandard

    try:
        return zstandard.ZstdDecompressor().decompress(path.read_bytes(), max_output_size=64 << 20)
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from None


def _token(path: str) -> str:
    try:
        found = Path(path).stat()
        if not stat.S_ISREG(found.st_mode) or found.st_size > 4096:
            raise UsageError(f"--token-file {path}: expected a file with one token", Misuse.MALFORMED)
        if found.st_mode & 0o077:
            raise UsageError(f"--token-file {path}: others may read it (mode {stat.S_IMODE(found.st_mode):04o}); "
                             f"expected 0600: chmod 600 {path}", Misuse.READ_BY_OTHERS)
        if found.st_uid not in (0, os.geteuid()):
            raise UsageError(f"--token-file {path}: belongs to uid {found.st_uid}; expected root or the one who pushes",
                             Misuse.READ_BY_OTHERS)
        token = Path(path).read_bytes().decode("ascii", "replace").strip()
    except OSError as error:
        raise UsageError(f"--token-file {path}: cannot be read ({error.strerror})", Misuse.UNREADABLE) from None
    if not _TOKEN.fullmatch(token):
        raise UsageError(f"--token-file {path}: expected one token, as tunecheck ingest token HOST prints it",
                         Misuse.MALFORMED)
    return token


def _tls(ca: str | None, cert: str | None, key: str | None) -> ssl.SSLContext:
    what = "--ca"
    try:
        context = ssl.create_default_context(cafile=ca)
        what = "--cert"
        if cert and key:
            context.load_cert_chain(cert, key, password="")
    except (OSError, ValueError) as error:
        raise UsageError(f"{what}: not usable ({getattr(error, 'strerror', None) or error}); expected PEM files, the "
                         "key without a passphrase", Misuse.UNREADABLE) from None
    return context
