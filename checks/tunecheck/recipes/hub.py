"""Resolve a model's name at the hub: the commit of a branch, its files, their SHA-256. Over the hub's HTTP API.

Documented at huggingface.co/docs/hub/api and by huggingface_hub's hf_api.py (read 2026-11): /api/models/ID/revision/REV
gives the commit as "sha", /api/models/ID/tree/COMMIT the files, in pages joined by a Link header. A large file states
its SHA-256 there ("lfs": {"oid"}); a small one only git's SHA-1, so it is fetched, compared with that, and summed here.
"""

from __future__ import annotations

import fnmatch
import hashlib
import json
import os
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from typing import Any

from ..errors import ProbeError, UsageError
from .lock import LockedModel
from .unpinned import Unpinned

__all__ = ["resolve"]

_ENDPOINT = "https://huggingface.co"
_SECONDS, _ALL_SECONDS = 30.0, 600.0
_PAGE_BYTES, _FILE_BYTES, _ALL_BYTES, _FILES = 32 << 20, 64 << 20, 512 << 20, 20_000
_COMMIT, _SUM = re.compile(r"[0-9a-f]{40}"), re.compile(r"[0-9a-f]{64}")
_NEXT = re.compile(r'<([^>]+)>\s*;\s*rel="?next"?')


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follow redirects without the token: it goes to the hub and to nobody that it points at."""

    def redirect_request(self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
                         ) -> urllib.request.Request | None:
        found = super().redirect_request(req, fp, code, msg, headers, newurl)
        if found is not None and urllib.parse.urlsplit(newurl).netloc != urllib.parse.urlsplit(req.full_url).netloc:
            found.remove_header("Authorization")
        return found


class _Hub:
    def __init__(self) -> None:
        self.base = os.environ.get("HF_ENDPOINT", _ENDPOINT).rstrip("/")
        parts = urllib.parse.urlsplit(self.base)
        if parts.scheme not in ("https", "http") or not parts.netloc:
            raise UsageError(f"HF_ENDPOINT is {self.base}; expected a URL such as {_ENDPOINT}", Unpinned.NOT_A_URL)
        self._token = os.environ.get("HF_TOKEN", "").strip()
        if self._token and parts.scheme == "http" and parts.hostname not in ("127.0.0.1", "localhost", "::1"):
            raise UsageError(f"HF_ENDPOINT is {self.base}: HF_TOKEN is not sent without TLS; use https, or unset it",
                             Unpinned.NO_TLS)
        self._opener = urllib.request.build_opener(_Redirects())
        self._until = time.monotonic() + _ALL_SECONDS
        self.fetched = 0

    def get(self, url: str, limit: int) -> tuple[bytes, str]:
        """Return the body and the Link header of an answer."""
        request = urllib.request.Request(url, headers={"User-Agent": "tunecheck"})
        if self._token and urllib.parse.urlsplit(url).netloc == urllib.parse.urlsplit(self.base).netloc:
            request.add_header("Authorization", f"Bearer {self._token}")
        content = bytearray()
        try:
            with self._opener.open(request, timeout=_SECONDS) as answer:
                while block := answer.read(1 << 20):
                    content += block
                    if len(content) > limit:
                        raise ProbeError(f"{url}: more than {limit >> 20} MiB; that is no answer of a hub",
                                         Unpinned.TOO_LARGE)
                    if time.monotonic() > self._until:
                        raise ProbeError(f"{url}: the hub took longer than {_ALL_SECONDS:g} s in all; try again",
                                         Unpinned.TOO_SLOW)
                link = answer.headers.get("Link") or ""
        except urllib.error.HTTPError as error:
            error.close()
            if error.code in (401, 403):
                raise UsageError(f"{url}: the hub says {error.code}; accept the model's terms there and set HF_TOKEN",
                                 Unpinned.REFUSED) from None
            if error.code == 404:
                raise UsageError(f"{url}: the hub has no such model or revision; correct model.id",
                                 Unpinned.NO_MODEL) from None
            raise ProbeError(f"{url}: the hub says {error.code}; try again later", Unpinned.FAILED) from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "reason", None) or error
            raise ProbeError(f"{url}: the hub does not answer ({reason}); check the network, or set HF_ENDPOINT",
                             Unpinned.NO_ANSWER) from None
        return bytes(content), link

    def json(self, url: str) -> tuple[Any, str]:
        content, link = self.get(url, _PAGE_BYTES)
        try:
            return json.loads(content), link
        except (ValueError, RecursionError):
            raise ProbeError(f"{url}: the hub's answer is not JSON; is HF_ENDPOINT a hub?", Unpinned.NOT_JSON) from None


def resolve(model: str, revision: str, include: Sequence[str] | None = None) -> LockedModel:
    """Return the pinned model. ``revision``: a branch, tag or commit; ``include``: globs of the files to pin, None:
    all. UsageError where there is no such thing, ProbeError where the hub gave no usable answer."""
    hub = _Hub()
    quoted = urllib.parse.quote(revision, safe="")
    about, _ = hub.json(f"{hub.base}/api/models/{model}/revision/{quoted}")
    commit = about.get("sha") if isinstance(about, dict) else None
    if not isinstance(commit, str) or not _COMMIT.fullmatch(commit):
        raise ProbeError(f"{model}@{revision}: the hub names no commit of 40 hex digits", Unpinned.NO_COMMIT)
    files = {path: _sum(hub, model, commit, path, entry) for path, entry in _tree(hub, model, commit)
             if include is None or any(fnmatch.fnmatchcase(path, glob) for glob in include)}
    if not files:
        raise UsageError(f"{model}@{commit[:12]}: none of its files is {' or '.join(include or ['there'])}; correct "
                         "model.include", Unpinned.NO_FILES)
    return LockedModel(model, f"{model}@{revision}", commit, files)


def _tree(hub: _Hub, model: str, commit: str) -> Iterator[tuple[str, dict[str, Any]]]:
    url: str | None = f"{hub.base}/api/models/{model}/tree/{commit}?recursive=true"
    count = 0
    while url:
        page, link = hub.json(url)
        if not isinstance(page, list):
            raise ProbeError(f"{url}: the hub's answer is no list of files", Unpinned.NO_LIST)
        for entry in page:
            path = entry.get("path") if isinstance(entry, dict) else None
            if not isinstance(path, str) or entry.get("type") == "directory":
                continue
            count += 1
            if count > _FILES or _unsafe(path):
                code, text = ((Unpinned.TOO_MANY_FILES, f"more than {_FILES} files") if count > _FILES else
                              (Unpinned.BAD_NAME, f"the file name {path[:80]!r} is no usable one"))
                raise ProbeError(f"{model}@{commit[:12]}: {text}", code)
            yield path, entry
        following = _NEXT.search(link)
        url = urllib.parse.urljoin(url, following[1]) if following else None


def _unsafe(path: str) -> bool:
    return path.startswith("/") or not path.isprintable() or any(part in ("", ".", "..") for part in path.split("/"))


def _sum(hub: _Hub, model: str, commit: str, path: str, entry: dict[str, Any]) -> str:
    large = entry.get("lfs")
    if isinstance(large, dict):
        stated = str(large.get("oid", "")).removeprefix("sha256:")
        if not _SUM.fullmatch(stated):
            raise ProbeError(f"{model}: the hub states no SHA-256 of {path}", Unpinned.NO_SUM)
        return f"sha256:{stated}"
    size = entry.get("size")
    if not isinstance(size, int) or size > _FILE_BYTES or hub.fetched + size > _ALL_BYTES:
        raise ProbeError(f"{model}: {path} of {size} bytes has no SHA-256 at the hub and is too large to fetch; leave "
                         "it out with model.include", Unpinned.TOO_LARGE_TO_SUM)
    content, _ = hub.get(f"{hub.base}/{model}/resolve/{commit}/{urllib.parse.quote(path)}", _FILE_BYTES)
    hub.fetched += len(content)
    blob = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
    if blob != entry.get("oid"):
        raise ProbeError(f"{model}: {path} arrived as git object {blob[:12]}, the tree says "
                         f"{str(entry.get('oid'))[:12]}; something between here and the hub changes files",
                         Unpinned.ALTERED)
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
