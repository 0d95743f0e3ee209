"""Real engines for a test session, each a process of its own on loopback."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SERVE = Path(__file__).resolve().parents[2] / "engine/serve.py"


@dataclass(frozen=True)
class Engine:
    base: str
    process: subprocess.Popen[str]


@contextmanager
def engine(model: Path, **options: str) -> Iterator[Engine]:
    """llama.cpp's server with this model. It ends with its standard input, so also with this process."""
    argv = [sys.executable, str(SERVE), str(model), *(f"{key}={each}" for key, each in options.items())]
    child = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert child.stdin and child.stdout
    try:
        base = child.stdout.readline().strip()
        assert base.startswith("http://127.0.0.1:"), "the engine did not start"
        yield Engine(base, child)
    finally:
        child.stdin.close()
        child.kill()
        child.wait()
        child.stdout.close()
