"""What a real acceptance of a real engine leaves, and what the watch makes of it."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.engine import models
from tests.unit.serving.engines import engine
from tests.unit.watch.served import ROOT, served
from tests.unit.watch.test_sources import _Host

from tunecheck.serving import accepted
from tunecheck.watch.model import Code
from tunecheck.watch.sources import Sources, Target
from tunecheck.watch.unit import Unit

pytest.importorskip("xllamacpp")


def _accept(base: str, keep: Path, *more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "tunecheck", "accept", "--base", base, "--profile", "boot", "--scale",
                           "0.2", "--keep", str(keep), *more], capture_output=True, text=True, timeout=300, check=False,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "checks"), "INVOCATION_ID": "a" * 32})


def test_an_acceptance_leaves_its_figures_and_a_refusal_takes_them_away(tmp_path: Path) -> None:
    keep = tmp_path / "run/accepted.json"
    with engine(models.GOOD) as found:
        done = _accept(found.base, keep)
        assert done.returncode == 0, done.stdout + done.stderr
        left = accepted.read(str(keep))
        assert left.tok_s > 1 and left.invocation == "a" * 32 and left.boot_id and left.api == "chat"
        assert left.question is not None and left.question.expect and left.question.tokens <= 256
        assert left.prompt_tok_s is not None and keep.stat().st_mode & 0o777 == 0o644
        # A file that is not there takes nothing away from an acceptance that cannot be written.
        assert _accept(found.base, Path("/proc/accepted.json")).returncode == 0
    assert _accept(found.base, keep).returncode == 3 and not keep.exists(), "nobody answers"


def test_what_is_kept_is_of_this_run_alone() -> None:
    text = {"schema": accepted.SCHEMA, "boot_id": "b", "invocation": "run1", "recipe": "", "image": "", "gpus": [],
            "tok_s": 50.0, "prompt_tok_s": None, "model": "m", "api": "chat", "question": None}
    host = _Host()
    host.files[accepted.PATH] = json.dumps(text).encode()

    with served() as server:
        def look(run: str) -> tuple[bool, bool]:
            host.runs["systemctl"] = f"ActiveState=active\nControlGroup=/x\nMainPID=1\nInvocationID={run}\n"
            target = Target(server.url, accepted=accepted.PATH, by_unit=True, boot_id="b")
            unit = Unit(host, "x.service")      # type: ignore[arg-type]
            seen = Sources(host, target, None, None, None, unit).look(False)        # type: ignore[arg-type]
            return seen.accepted is not None, any(each.code is Code.NOT_ACCEPTED for each in seen.conditions)

        assert look("run1") == (True, False)
        assert look("run2") == (False, True), "started again, and not accepted"
        del host.files[accepted.PATH]
        assert look("run1") == (False, True)


@pytest.mark.parametrize(("arguments", "says"), [
    (["--judge", "x.json", "--keep", "y"], ("--keep ", "--judge ")),
    (["--base", "http://127.0.0.1:1", "--keep", "/proc"], ("--keep /proc: ", os.strerror(errno.EISDIR)))])
def test_keep_says_what_is_wrong(arguments: list[str], says: tuple[str, ...]) -> None:
    done = subprocess.run([sys.executable, "-m", "tunecheck", "accept", *arguments], capture_output=True, text=True,
                          timeout=60, check=False, env={**os.environ, "PYTHONPATH": str(ROOT / "checks")})
    assert done.returncode == 2 and all(each in done.stderr for each in says), done.stderr
