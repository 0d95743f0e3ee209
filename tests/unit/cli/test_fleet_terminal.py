"""Where the output of the fleet's verbs goes: a small terminal, a reader that goes away, a closed descriptor."""

from __future__ import annotations

import os
import pty
import re
import struct
import subprocess
import sys
import termios
from fcntl import ioctl

from tests.unit.cli.carried import Fleet


def test_a_small_terminal_gets_short_lines(drifted: Fleet) -> None:
    outer, inner = pty.openpty()
    ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 40, 0, 0))
    with drifted.popen("fleet", "-v", stdout=inner, env={"TERM": "xterm"}) as process:
        os.close(inner)
        said = b""
        while True:
            try:
                part = os.read(outer, 65536)
            except OSError:
                break
            if not part:
                break
            said += part
        process.wait(60)
    os.close(outer)
    lines = re.sub(r"\x1b\[[0-9;]*m", "", said.decode()).splitlines()
    assert process.returncode == 0 and len(lines) > 10, lines
    assert max(len(line) for line in lines if " " in line.strip()) <= 40


def test_a_reader_that_goes_away_and_a_closed_output(drifted: Fleet) -> None:
    read, write = os.pipe()
    os.close(read)
    with drifted.popen("fleet", "--fail-on", "drift", stdout=write) as process:
        os.close(write)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 1 and err == ""
    done = subprocess.run(["/bin/sh", "-c", f"exec {sys.executable} -m tunecheck fleet >&-"], capture_output=True,
                          text=True, timeout=60, cwd=drifted.folder, env=drifted.env, check=False)
    assert done.returncode == 2 and ">/dev/null" in done.stderr
