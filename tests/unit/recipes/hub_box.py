"""A stand-in for the hub on loopback. It answers as huggingface.co/docs/hub/api says and as huggingface_hub's hf_api.py
asks (read 2026-11): /api/models/ID/revision/REV with "sha"; /api/models/ID/tree/COMMIT?recursive=true with a list of
{"type", "oid", "size", "path", "lfs": {"oid", "size", "pointerSize"}}, in pages with a Link header; and
/ID/resolve/COMMIT/PATH with the content.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.server
import json
import threading
import urllib.parse
from collections.abc import Iterator
from typing import Any

__all__ = ["COMMIT", "FILES", "Hub", "hub"]

COMMIT = "0123456789abcdef0123456789abcdef01234567"
LARGE = b"weights" * 1000
FILES = {"config.json": b'{"a": 1}\n', "README.md": b"# x\n", "folder/tokenizer.json": "{\"ü\": 0}".encode(),
         "model-00001-of-00002.safetensors": LARGE, "model-00002-of-00002.safetensors": LARGE[:-1]}


class Hub(http.server.ThreadingHTTPServer):
    """``changed``: what it answers instead, by path; ``asked``: (path, Authorization)."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.changed: dict[str, tuple[int, dict[str, str], bytes]] = {}
        self.asked: list[tuple[str, str | None]] = []


def tree() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [{"type": "directory", "oid": "f" * 40, "size": 0, "path": "folder"}]
    for path, content in FILES.items():
        entry: dict[str, Any] = {"type": "file", "size": len(content), "path": path,
                                 "oid": hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()}
        if path.endswith(".safetensors"):
            entry |= {"oid": "e" * 40, "lfs": {"oid": hashlib.sha256(content).hexdigest(), "size": len(content),
                                               "pointerSize": 135}}
        found.append(entry)
    return found


class _Answer(http.server.BaseHTTPRequestHandler):
    server: Hub

    def do_GET(self) -> None:
        self.server.asked.append((self.path, self.headers.get("Authorization")))
        code, headers, content = self._answer()
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _answer(self) -> tuple[int, dict[str, str], bytes]:
        parts = urllib.parse.urlsplit(self.path)
        if parts.path in self.server.changed:
            return self.server.changed[parts.path]
        if parts.path in (f"/api/models/some/model/revision/{name}" for name in ("main", "refs%2Fpr%2F1", COMMIT)):
            return 200, {}, json.dumps({"id": "some/model", "sha": COMMIT}).encode()
        if parts.path == f"/api/models/some/model/tree/{COMMIT}":
            query = dict(urllib.parse.parse_qsl(parts.query))
            if query.get("recursive") != "true":
                return 400, {}, b"{}"
            if "cursor" in query:
                return 200, {}, json.dumps(tree()[3:]).encode()
            following = f"{self.server.url}{parts.path}?recursive=true&cursor=abc"
            return 200, {"Link": f'<{following}>; rel="next"'}, json.dumps(tree()[:3]).encode()
        name = urllib.parse.unquote(parts.path.removeprefix(f"/some/model/resolve/{COMMIT}/"))
        return (200, {}, FILES[name]) if name in FILES else (404, {}, b'{"error": "Entry not found"}')

    def log_message(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def hub() -> Iterator[Hub]:
    server = Hub()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
