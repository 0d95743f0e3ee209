"""Plays against a box that does not answer, behind a BMC that does."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import select
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import Any

from tests.bmc.conftest import Bmc
from tests.bmc.emulator import PASSWORD, ROOT, USER
from tests.play_environment import environment


def _command(tmp_path: Path, bmc: Bmc, playbook: str, host: dict[str, Any]) -> tuple[list[str], dict[str, str]]:
    # Port 9 (discard) of this machine: a box that does not answer.
    variables = {"ansible_host": "127.0.0.1", "ansible_port": 9, "boot_trial_bmc_address": bmc.address,
                 "boot_trial_bmc_user": USER, "boot_trial_bmc_ca_file": str(bmc.shown.file)} | host
    inventory = tmp_path / "hosts.json"
    inventory.write_text(json.dumps({"all": {"hosts": {"box": variables}}}))
    argv = [str(Path(sys.executable).parent / "ansible-playbook"), playbook, "-i", str(inventory)]
    return argv, environment(TUNECHECK_BMC_PASSWORD=PASSWORD)


#: A refused connection is no answer at once; one test waits as long as an operator's play does.
SOON = {"power_cycle_ask_seconds": 1}


def play(tmp_path: Path, bmc: Bmc, *arguments: str, playbook: str = "playbooks/power_cycle.yml",
         **host: Any) -> subprocess.CompletedProcess[str]:
    """Without a terminal, and as talkative as Ansible gets: the password is nowhere in it."""
    argv, variables = _command(tmp_path, bmc, playbook, host)
    done = subprocess.run([*argv, "-vvvv", *arguments], cwd=ROOT, env=variables, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=240, check=False)
    assert PASSWORD not in done.stdout + done.stderr, "the password is shown"
    return done


def at_terminal(tmp_path: Path, bmc: Bmc, asks: str, typed: str, *arguments: str) -> str:
    """A person who types ``typed`` when the play ``asks``; what the terminal showed."""
    argv, variables = _command(tmp_path, bmc, "playbooks/power_cycle.yml", SOON)
    ours, theirs = pty.openpty()
    shown, end = b"", time.monotonic() + 240
    child = subprocess.Popen([*argv, *arguments], cwd=ROOT, env={**variables, "TERM": "dumb"}, stdin=theirs,
                             stdout=theirs, stderr=theirs, start_new_session=True,
                             preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    os.close(theirs)
    try:
        with contextlib.suppress(OSError):      # the terminal's end
            while time.monotonic() < end:
                if select.select([ours], [], [], 2)[0]:
                    if not (part := os.read(ours, 65536)):
                        break
                    shown += part
                # Ansible throws away what was typed before it listens: a person would type again.
                elif asks.encode() in shown and b"TASK [Refuse what is not" not in shown:
                    os.write(ours, f"{typed}\r".encode())
    finally:
        child.kill()
        os.close(ours)
    assert child.wait() == 2, shown.decode(errors="replace")     # nothing comes back on port 9
    return " ".join(shown.decode(errors="replace").split())


def said(done: subprocess.CompletedProcess[str]) -> str:
    return " ".join(done.stdout.split())
