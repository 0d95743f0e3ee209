"""Pages and addresses that are damaged, absurd or another program's, and where the key may go."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jsonschema
import pytest
from tests.unit.watch.served import ROOT

from tunecheck.host import Unreadable
from tunecheck.host.http_page import fetch
from tunecheck.model.absence import Absence
from tunecheck.watch.model import Code
from tunecheck.watch.progress import engine_of_page
from tunecheck.watch.schema import SCHEMAS
from tunecheck.watch.sources import Sources, Target


@pytest.mark.parametrize("page", [
    "vllm:num_requests_running 1e308\nllamacpp:requests_processing 1e308\nvllm:generation_tokens_total 1\n",
    'vllm:num_requests_running{engine="0"} 1e308\nvllm:num_requests_waiting{engine="0"} 1e308\n'
    'vllm:num_requests_running{engine="1"} 1\nvllm:generation_tokens_total{engine="0"} 1\n'
    'vllm:generation_tokens_total{engine="1"} 1\n',
    "sglang:num_running_reqs 4\nsglang:realtime_tokens_total 5\n" + "".join(
        f'sglang:realtime_tokens_total{{mode="decode",dp_rank="{rank}"}} {"1e308" if rank > 90 else 1}\n'
        for rank in range(99))])
def test_numbers_that_no_engine_counts_to_are_no_counters(page: str) -> None:
    assert engine_of_page(200, page).code is Code.METRICS_UNREADABLE


@contextmanager
def _says(content: bytes) -> Iterator[str]:
    """A server that answers everything with this."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        def serve() -> None:
            while True:
                try:
                    one, _ = door.accept()
                except OSError:
                    return
                with one:
                    one.recv(4096)
                    try:
                        one.sendall(content)
                    except OSError:
                        continue

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{door.getsockname()[1]}"
        door.shutdown(socket.SHUT_RDWR)


def _look(url: str) -> Any:
    from tests.unit.watch.test_sources import _Host

    return Sources(_Host(), Target(url), None, None).look(False).engine


def test_a_page_that_grew_too_large_is_no_silence() -> None:
    """It answers: silence of 30 s is a stall, and the engine would be restarted for its labels."""
    with _says(b"HTTP/1.1 200 OK\r\n\r\nvllm:num_requests_running 1\n" + b"# x\n" * (5 << 18)) as url:
        assert _look(url).code is Code.METRICS_UNREADABLE
    with _says(b"SSH-2.0-OpenSSH_9.6\r\n") as url:
        assert _look(url).code is Code.METRICS_UNREADABLE


@pytest.mark.parametrize("url", ["http://127.0.0.1:99999", "http://[::1", "http://a..b:1", "http://\x00:1", "x"])
def test_an_address_that_is_none_is_unreadable(url: str) -> None:
    with pytest.raises(Unreadable):
        fetch(url, 2.0)

def test_the_key_goes_to_no_other_machine_in_clear() -> None:
    """Canaries never did so; /metrics, once a second, did."""
    with pytest.raises(Unreadable) as found:
        fetch("http://192.0.2.1:9/metrics", 0.5, "secret-word")
    assert found.value.absence is Absence.NOT_ASKED and "secret-word" not in str(found.value)
    done = subprocess.run([sys.executable, "-m", "tunecheck", "watch", "--once", "--url", "http://192.0.2.1:9"],
                          capture_output=True, text=True, timeout=60, check=False,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "checks"), "TUNECHECK_API_KEY": "secret-word"})
    assert done.returncode == 2 and "https" in done.stderr and "secret-word" not in done.stderr + done.stdout


@pytest.mark.parametrize(("head", "state"), [
    ("200 OK\r\n\r\nvllm:num_requests_running 1e308\nvllm:generation_tokens_total 1", "unknown"),
    ("200 OK\r\n\r\nvllm:num_requests_running 0\nvllm:generation_tokens_total 1", "idle"),
    ("200 OK\r\n\r\n\x00\x1b[31m{}" + "x" * 100_000, "unknown"), ("401 X\r\n\r\n", "unknown"),
    ("302 X\r\nLocation: http://192.0.2.1/\r\n\r\n", "unknown"), ("503 X\r\nRetry-After: 1\r\n\r\n", "unknown")])
def test_once_says_what_it_saw_and_ends_as_documented(head: str, state: str) -> None:
    with _says(f"HTTP/1.1 {head}".encode()) as url:
        done = subprocess.run(
            [sys.executable, "-m", "tunecheck", "watch", "--once", "--json", "--interval", "0.2s", "--url", url],
            capture_output=True, text=True, timeout=60, check=False,
            env={**os.environ, "PYTHONPATH": str(ROOT / "checks"), "TUNECHECK_API_KEY": "secret-word"})
    told = json.loads(done.stdout)
    jsonschema.validate(told, SCHEMAS["watch-1.json"])
    assert "secret-word" not in done.stdout + done.stderr
    # Exit code 1 where the box has trouble of its own: a machine of tests may have a full disk.
    assert (told["state"] == state or told["state"] == "degraded") and done.returncode == told["exit_code"]
    assert done.returncode == {"idle": 0, "unknown": 3, "degraded": 1}[told["state"]]
