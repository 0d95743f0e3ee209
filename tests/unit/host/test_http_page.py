"""A key goes in clear to this machine alone, at whichever of its addresses a server listens."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import psutil
import pytest

from tunecheck.host import Unreadable
from tunecheck.host.http_page import fetch, own_address
from tunecheck.model.absence import Absence
from tunecheck.serving.reach import own_machine

OWN = sorted({each.address for addresses in psutil.net_if_addrs().values() for each in addresses
              if each.family in (socket.AF_INET, socket.AF_INET6) and "%" not in each.address})


@contextmanager
def _served(address: str) -> Iterator[tuple[str, list[str | None]]]:
    seen: list[str | None] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.headers["Authorization"])
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer((address, 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield f"http://{address}:{server.server_port}", seen
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("address", OWN)
def test_every_address_of_this_machine_is_its_own(address: str) -> None:
    assert own_address(address) and own_machine(f"http://{f'[{address}]' if ':' in address else address}:30000")


@pytest.mark.parametrize("address", ["198.51.100.7", "203.0.113.9", "8.8.8.8", "224.0.0.1", "255.255.255.255",
                                     "2001:db8::1", "fe80::1", "", "gpu1", "localhost.example.org", "127.0.0.1.x",
                                     "0x7f000001", "1.2.3"])
def test_others_are_not(address: str) -> None:
    assert not own_address(address)


@pytest.mark.parametrize("address", [each for each in OWN if ":" not in each])
def test_a_key_goes_to_a_server_at_any_address_of_this_machine(address: str) -> None:
    with _served(address) as (url, seen):
        assert fetch(f"{url}/metrics", 5.0, "secret").status == 200 and seen == ["Bearer secret"]


def test_a_key_goes_to_no_other_machine() -> None:
    with pytest.raises(Unreadable) as refused:
        fetch("http://198.51.100.7:30000/metrics", 5.0, "secret")
    assert refused.value.absence is Absence.NOT_ASKED
