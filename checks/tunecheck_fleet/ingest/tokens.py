"""Which hosts may push, and the tokens they prove it with. A file of digests: who reads it can not push."""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import json
import os
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tunecheck.errors import Misuse, UsageError
from tunecheck.util.whole_file import PRIVATE, write_file

__all__ = ["Known", "Tokens", "add", "remove"]

SCHEMA = "tunecheck/push-hosts/1"
#: <id>.<secret>: the id finds the entry and is no secret; of the 256 random bits only the digest is kept. A slow hash
#: as for passwords would add nothing to 256 bits, and would be paid at every push.
_TOKEN = re.compile(r"tc_([0-9a-f]{16})\.([A-Za-z0-9_-]{43})")
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?")
#: The one in use and the next: a token is changed without a gap.
_PER_HOST = 2
_MOST_BYTES = 64 << 20


@dataclass(frozen=True)
class Known:
    """One host of the file. ``tokens``: id -> SHA-256 of the secret, hex, oldest first; empty for certificates only."""

    host: str
    group: str
    tokens: dict[str, str]
    made: str


class Tokens:
    """The file as it is now: it is read again when it was replaced, so a removed host is out at once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp: tuple[int, int, int] | None = None
        self._hosts: dict[str, Known] = {}
        self._by_id: dict[str, tuple[str, str]] = {}

    def hosts(self) -> dict[str, Known]:
        """host -> Known. UsageError where the file is not readable or not ours."""
        try:
            found = self._path.stat()
        except FileNotFoundError:
            self._hosts, self._by_id, self._stamp = {}, {}, None
            return self._hosts
        except OSError as error:
            raise UsageError(f"{self._path}: cannot be read ({error.strerror})", Misuse.UNREADABLE) from None
        stamp = (found.st_ino, found.st_mtime_ns, found.st_size)
        if stamp != self._stamp:
            self._hosts = _read(self._path)
            self._by_id = {number: (known.host, digest) for known in self._hosts.values()
                           for number, digest in known.tokens.items()}
            self._stamp = stamp
        return self._hosts

    def host_of(self, token: str) -> str | None:
        """Whose token it is; None for nobody's."""
        self.hosts()
        parts = _TOKEN.fullmatch(token)
        number, secret = parts.groups() if parts else ("", "")
        host, digest = self._by_id.get(number, ("", "0" * 64))
        return host if hmac.compare_digest(_digest(secret), digest) else None


def add(path: Path, host: str, group: str, with_token: bool = True) -> str:
    """A new token for the host, which is told here and never again; its newest one stays valid, older ones do not. The
    empty string where ``with_token`` is False: then the host is only known, for its certificate."""
    if not _NAME.fullmatch(host):
        raise UsageError(f"HOST {host[:60]!r}: expected its inventory name: letters, digits, dots, dashes, underscores",
                         Misuse.MALFORMED)
    if group and not _NAME.fullmatch(group):
        raise UsageError(f"--group {group[:60]!r}: expected letters, digits, dots, dashes and underscores",
                         Misuse.MALFORMED)
    number, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
    with _locked(path):
        hosts = _read(path) if path.exists() else {}
        had = hosts.get(host)
        tokens = dict(had.tokens) if had else {}
        if with_token:
            tokens = {**dict(list(tokens.items())[1 - _PER_HOST:]), number: _digest(secret)}
        made = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        hosts[host] = Known(host, group or (had.group if had else "") or "all", tokens, made)
        _write(path, hosts)
    return f"tc_{number}.{secret}" if with_token else ""


def remove(path: Path, host: str) -> None:
    """Forget the host and its tokens. UsageError where it is not there."""
    with _locked(path):
        hosts = _read(path) if path.exists() else {}
        if hosts.pop(host, None) is None:
            raise UsageError(f"HOST {host[:60]!r}: not in {path}; tunecheck ingest hosts lists who is", Misuse.NO_SUCH)
        _write(path, hosts)


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise UsageError(f"{path.parent}: cannot be used ({error.strerror})", Misuse.UNWRITABLE) from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _write(path: Path, hosts: dict[str, Known]) -> None:
    listed = {name: {"group": known.group, "made": known.made, "tokens": known.tokens}
              for name, known in sorted(hosts.items())}
    document = {"schema": SCHEMA, "hosts": listed}
    write_file(str(path), (json.dumps(document, indent=1) + "\n").encode(), PRIVATE, "list of hosts")


def _read(path: Path) -> dict[str, Known]:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise UsageError(f"{path}: larger than {_MOST_BYTES >> 20} MiB; that is no list of hosts", Misuse.TOO_LARGE)
        document = json.loads(path.read_bytes())
        if document["schema"] != SCHEMA:
            raise ValueError
        return {name: _known(name, entry) for name, entry in document["hosts"].items()}
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})", Misuse.UNREADABLE) from None
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise UsageError(f"{path}: not a {SCHEMA}; expected what tunecheck ingest token writes",
                         Misuse.MALFORMED) from None


def _known(name: str, entry: dict[str, Any]) -> Known:
    tokens = dict(entry["tokens"])
    if not _NAME.fullmatch(name) or not all(isinstance(each, str) and len(each) == 64 for each in tokens.values()):
        raise ValueError
    return Known(name, str(entry["group"]), tokens, str(entry["made"]))
