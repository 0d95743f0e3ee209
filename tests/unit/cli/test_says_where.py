"""No verb ends in silence, and one that belongs on the control node says how to get there, always in the same words."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tunecheck.errors import CONTROL_NODE

#: What requirements/box.lock leaves out.
_BLOCKED = ("yaml", "pydantic", "sqlalchemy", "tunecheck_fleet")


def _run(*arguments: str, blocked: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    code = (f"import sys; sys.modules.update(dict.fromkeys({blocked!r})); sys.argv = ['tunecheck', *{arguments!r}]; "
            "from tunecheck.cli.main import main; main()")
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("arguments", [
    ("recipe", "list"), ("recipe", "lint"), ("recipe", "show", "lab-tiny"), ("recipe", "render", "lab-tiny"),
    ("recipe", "pin", "lab-tiny"), ("audit", "-i", "x"), ("fleet",), ("drift",), ("history",), ("blame", "x"),
    ("export",), ("ingest",), ("approve",), ("acknowledge",), ("waive",), ("init", "192.0.2.1", "-o", "x/y"),
], ids=" ".join)
def test_on_a_box_the_verbs_of_the_control_node_say_where_to_go(arguments: tuple[str, ...]) -> None:
    done = _run(*arguments, blocked=_BLOCKED)
    assert (done.returncode, done.stdout) == (2, "") and CONTROL_NODE in done.stderr, done.stderr


def test_a_push_to_nobody_says_so(tmp_path: Path) -> None:
    place = tmp_path / "snapshot.json"
    for more in ((), ("--from", str(place))):
        done = _run("push", "--snapshot", str(place), "--spool", str(tmp_path / "spool"), *more)
        assert done.returncode == 0 and str(place) in done.stderr and "nothing was sent" in done.stderr, done.stderr


@pytest.mark.parametrize("verb", ["history", "drift", "audit", "fleet"])
def test_a_host_without_its_option_is_recognised(verb: str) -> None:
    hosts = verb in ("history", "drift")
    done = _run(verb, "box1")
    assert done.returncode == 2 and ("did you mean --host box1?" in done.stderr) == hosts, done.stderr


def test_a_watch_without_a_scheme_is_told_what_is_missing() -> None:
    for url in ("localhost:30000", "127.0.0.1:30000"):
        done = _run("watch", "--once", "--url", url)
        assert done.returncode == 2 and "the scheme is missing; expected http://" in done.stderr
