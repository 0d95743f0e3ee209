"""A Redfish service over TLS that answers what a test wants: real BMCs do, and no emulator does."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.bmc.emulator import Certificate

ROOT, SYSTEMS, SYSTEM = "/redfish/v1", "/redfish/v1/Systems", "/redfish/v1/Systems/1"
RESET, SESSIONS = f"{SYSTEM}/Actions/ComputerSystem.Reset", "/redfish/v1/SessionService/Sessions"


def system(allowed: list[str] | None = None, **more: Any) -> dict[str, Any]:
    action: dict[str, Any] = {"target": RESET}
    if allowed is not None:
        action["ResetType@Redfish.AllowableValues"] = allowed
    return {"@odata.id": SYSTEM, "Id": "1", "Name": "system", "SerialNumber": "SN1", "PowerState": "On",
            "Actions": {"#ComputerSystem.Reset": action}} | more


@dataclass
class Service:
    """Path -> an answer: a document, (status, body), or what a handler does itself. Requests are kept."""

    answers: dict[str, Any]
    asked: list[tuple[str, str, dict[str, str], Any]] = field(default_factory=list)
    address: str = ""

    def posted(self) -> list[Any]:
        return [body for method, path, _headers, body in self.asked if method == "POST" and path == RESET]


def service(**more: Any) -> Service:
    """One system behind Basic authentication; ``more`` are other answers, by the names above."""
    names = {"root": ROOT, "systems": SYSTEMS, "system": SYSTEM, "reset": RESET, "sessions": SESSIONS}
    answers: dict[str, Any] = {
        ROOT: {"Id": "root", "Systems": {"@odata.id": SYSTEMS}},
        SYSTEMS: {"Name": "systems", "Members": [{"@odata.id": SYSTEM}]},
        SYSTEM: system(["ForceRestart", "On", "ForceOff"]), RESET: (204, b""),
    }
    return Service(answers | {names.get(name, name): answer for name, answer in more.items()})


@contextmanager
def served(what: Service, shown: Certificate | None) -> Iterator[Service]:
    """Serve it; without a certificate as plain HTTP, at an address that says https all the same."""

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            path = self.path.rstrip("/")
            what.asked.append((self.command, path, dict(self.headers), body))
            found: Callable[[Handler], None] | Any = what.answers.get(path, (404, b"{}"))
            if isinstance(found, list):         # one after the other; the last one stays
                found = found.pop(0) if len(found) > 1 else found[0]
            if callable(found):
                found(self)
                return
            status, text, *headers = found if isinstance(found, tuple) else (200, json.dumps(found).encode())
            self.send_response(status)
            for name, value in headers:
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = do_DELETE = answer       # noqa: N815

        def log_message(self, *_arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.handle_error = lambda *_arguments: None  # type: ignore[method-assign]
    if shown is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(shown.file, shown.key)
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    what.address = f"https://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield what
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
