"""Commands that may touch the driver: run with a deadline, and abandoned where they can't be ended.

AnsibleModule.run_command waits for ever; so does subprocess in its last wait, on a child that hangs in the driver."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import time

__all__ = ["run"]


def run(argv, seconds, env=None):
    """Run a command for at most ``seconds``. Return (exit code, stdout, stderr); the code is None where it did not end
    in time or could not be started."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True,
                                     env=dict(os.environ, LC_ALL="C", **(env or {})))
        except OSError as error:
            return None, "", "%s: %s" % (argv[0], error.strerror or error)
        end = time.monotonic() + seconds
        while child.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
        code = child.returncode
        if code is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            return None, _text(out), "%s did not end within %d s" % (argv[0], seconds)
        return code, _text(out), _text(err)


def _text(file):
    file.seek(0)
    return file.read(1 << 22).decode("utf-8", "replace")
