"""Beside llama.cpp's real server: long answers are progress, and a stopped process is seen."""

from __future__ import annotations

import contextlib
import json
import queue
import signal
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from tests.engine import models
from tests.unit.serving.engines import Engine, engine
from tests.unit.watch.served import Watching, tells

from tunecheck.watch.model import Code

pytest.importorskip("xllamacpp")
FAST = ("--interval", "0.5s", "--stall", "6s", "--spin", "3s", "--silent", "4s")


@contextmanager
def _asked(found: Engine) -> Iterator[None]:
    """One request after the other, each of some thousand tokens, read as they come."""
    ended = threading.Event()

    def ask() -> None:
        body = json.dumps({"prompt": "The capital of France", "max_tokens": 4000, "stream": True, "ignore_eos": True})
        while not ended.is_set():
            request = urllib.request.Request(f"{found.base}/v1/completions", body.encode(),
                                             {"Content-Type": "application/json"})
            with contextlib.suppress(OSError), urllib.request.urlopen(request, timeout=60) as answer:
                while not ended.is_set() and answer.readline():
                    pass

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    try:
        yield
    finally:
        ended.set()
        found.process.kill()
        asking.join(90)


def test_a_stopped_engine_is_seen_and_its_return_too() -> None:
    with engine(models.GOOD) as found, _asked(found):
        watching = Watching("--url", found.base, *FAST)
        try:
            watching.until("serving (1 ")
            found.process.send_signal(signal.SIGSTOP)
            assert tells(watching.until("stalled"), Code.METRICS_SILENT)
            found.process.send_signal(signal.SIGCONT)
            watching.until("serving")
            found.process.kill()
            watching.until("stalled")
        finally:
            assert watching.end() == 128 + signal.SIGTERM


def test_answers_of_thousands_of_tokens_are_no_stall() -> None:
    """llama.cpp counts a request's tokens at its end; its decode steps tell of it before."""
    with engine(models.GOOD) as found, _asked(found):
        watching = Watching("--url", found.base, "--interval", "0.3s", "--stall", "1.5s", "--spin", "1s")
        try:
            watching.until("serving")
            with pytest.raises(queue.Empty):
                watching.until("stalled", 12)
        finally:
            watching.end()


def test_an_engine_without_metrics_is_not_known() -> None:
    with engine(models.GOOD, metrics="0") as found:
        watching = Watching("--url", found.base, *FAST)
        try:
            assert tells(watching.until("unknown"), Code.NO_METRICS)
        finally:
            watching.end()
