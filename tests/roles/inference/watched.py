"""The machine's watch and recovery: limits of seconds, what they say, and how the engine is made to hang."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

from tests.roles.inference.machine import KEY, UNIT, Machine

from tunecheck.spec import build

__all__ = ["INCIDENTS", "RECOVER", "WATCH", "grace", "policy", "ready", "signal_engine", "soon", "steps", "until"]

WATCH, RECOVER = "tunecheck-watch.service", "tunecheck-recover.service"
INCIDENTS = "var/lib/tunecheck/incidents"
#: This machine's Python may lie in somebody's home.
_HOME = "[Service]\nProtectHome=no\n"
#: The watch as the role installs it, with limits of seconds.
_SOON = _HOME + """
ExecStart=
ExecStart=/opt/tunecheck/bin/tunecheck watch --unit {unit} --url http://127.0.0.1:30000 --api-key-file {key} \
--listen 127.0.0.1:9638 --act --interval 0.5s --stall 4s --spin 3s --silent 3s
"""


def soon(box: Machine) -> None:
    """Before the units are there: the watch with its short limits, and a killed recovery that is back soon."""
    for unit, text in ((WATCH, _SOON.format(unit=UNIT, key=KEY)), (RECOVER, _HOME + "RestartSec=1\n")):
        folder = box.root / f"etc/systemd/system/{unit}.d"
        folder.mkdir(parents=True)
        (folder / "soon.conf").write_text(text)


def policy(box: Machine, on_stall: str, restarts: int = 3) -> None:
    spec = build("box", {"profile": "lab", "watch": {"on_stall": on_stall, "restarts_per_day": restarts}})
    (box.root / "etc/tunecheck/spec.json").write_text(spec.to_json())


def until(holds: Callable[[], object], seconds: float = 300) -> bool:
    """Whether it comes to hold: what was seen once counts, as a unit that restarts has failed for a moment only."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() >= end:
            return False
        time.sleep(0.2)
    return True


def grace(box: Machine, seconds: float) -> None:
    """How long a recovery that begins from here on waits for a stopped engine before it kills it."""
    (box.root / "etc/grace").write_text(str(seconds))


def ready(box: Machine) -> tuple[str, str]:
    done = box.run("curl", "-s", "-m", "3", "-w", "\n%{http_code}", "http://127.0.0.1:9638/ready")
    body, _, status = done.stdout.rpartition("\n")
    return status, body.strip()


def steps(box: Machine) -> list[tuple[str, str]]:
    """Steps of the journal, with why."""
    path = box.root / INCIDENTS / "journal.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return [(found["step"], found["why"]) for found in map(json.loads, lines)]


def signal_engine(box: Machine, name: str) -> None:
    box.run("podman", "kill", f"--signal={name}", "tunecheck-inference")
