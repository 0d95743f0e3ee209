"""A container that runs trials, seen from outside: started, heard, ended, and never waited for without a bound."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import select
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from ...errors import ImageUnfitError, TrialError
from ...host import Completed, Host, Unreadable
from ..supervisor import process_state
from .refusals import NoContainer
from .runtimes import Image, Runtime

__all__ = ["Container", "Silent"]

#: From start to the first word: an image of 20 GB is mounted, not copied, but a cold disk takes its time.
_START_SECONDS = 90.0
_SIGN_SECONDS = 1.0
_SILENT_SECONDS = 10.0
_KILL_SECONDS, _REMOVE_SECONDS, _END_SECONDS = 10.0, 20.0, 3.0
_MOST = 16 << 20
_KILLED = (137, 143, -9, -15)


class Silent(Exception):  # noqa: N818 - what it is
    """The container was killed, or its first process does not run any more. ``why`` fits behind "the container";
    ``code``: KILLED, where its runtime says that it was, ENDED or SILENT."""

    def __init__(self, why: str, code: NoContainer) -> None:
        self.why = why
        self.code = code
        super().__init__(why)


class Container:
    """One running container on ``image``. TrialError where it does not start; ``close`` ends it, whatever it does."""

    def __init__(self, host: Host, runtime: Runtime, image: Image) -> None:
        self._host = host
        self.runtime = runtime
        self.image = image
        self._token = f"tc-{secrets.token_hex(6)}"
        self.name = f"tunecheck-trial-{self._token[3:]}"
        self._rest = b""
        self._reported_at = time.monotonic()
        self._stderr: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - a pipe that nobody reads would block it
        # Not tied to us: the end of its requests ends the container, and a podman that is killed meanwhile leaves the
        # container's storage behind.
        self.process = subprocess.Popen(runtime.start(image, self.name, self._token), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self._stderr, start_new_session=True)
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            os.set_blocking(stream.fileno(), False)
        try:
            self.python = self._greeting()
        except BaseException:
            self.close()
            raise

    def _greeting(self) -> str:
        """Return the image's Python version, once the first process is up. ImageUnfitError where it is too old for a
        trial."""
        try:
            for found in self.answers(_START_SECONDS, _START_SECONDS):
                if "refused" in found:
                    raise ImageUnfitError(
                        f"{self.image.asked} has Python {found['refused']} as python3, and a trial needs 3.10 or "
                        "later; measure with another image, or without --in-container", NoContainer.OLD_PYTHON)
                if "hello" in found:
                    return str(found["hello"])
        except Silent as error:
            raise TrialError(f"the container of {self.image.asked} {error.why}", error.code) from None
        raise TrialError(f"the container of {self.image.asked} did not start within {_START_SECONDS:g} s",
                         NoContainer.NOT_STARTED)

    def tell(self, **fields: Any) -> None:
        """Send a request, or without fields a sign of life. It never blocks: what does not fit is lost, and the silence
        shows."""
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            os.write(self.process.stdin.fileno(), json.dumps(fields).encode() + b"\n")
        self._reported_at = time.monotonic()

    def answers(self, seconds: float, silent: float = _SILENT_SECONDS) -> Iterator[dict[str, Any]]:
        """Yield what the first process says, for at most ``seconds``. Silent where it says nothing for ``silent``
        seconds or was killed; TrialError where it ended by itself."""
        assert self.process.stdout is not None
        descriptor = self.process.stdout.fileno()
        poller, last_output, size = select.poll(), time.monotonic(), 0
        poller.register(descriptor, select.POLLIN)
        until = last_output + seconds
        while (now := time.monotonic()) < until:
            if now - self._reported_at > _SIGN_SECONDS:
                self.tell()
            if now - last_output > silent:
                raise Silent(f"has said nothing for {silent:g} s", NoContainer.SILENT)
            part = b""
            if b"\n" not in self._rest:
                if not poller.poll(100):
                    continue
                part = os.read(descriptor, 1 << 16)
                size += len(part)
                if not part or size > _MOST:
                    raise self._ended() if not part else TrialError(
                        "the container says more than a trial has to say", NoContainer.TOO_MUCH)
            last_output = time.monotonic()
            self._rest += part
            while b"\n" in self._rest:      # what the caller leaves is there for the next one
                line, _, self._rest = self._rest.partition(b"\n")
                with contextlib.suppress(ValueError, RecursionError):       # the image may print, too
                    found = json.loads(line)
                    if isinstance(found, dict) and found:
                        yield found
            last_output = time.monotonic()        # what the caller did meanwhile was not its silence

    def _ended(self) -> Exception:
        self._wait(_REMOVE_SECONDS)
        code, lines = self.process.returncode, self._last_lines()
        if code is None or code in _KILLED:
            return Silent(f"was killed ({lines[-1]})" if lines else "was killed by somebody, or for memory",
                          NoContainer.KILLED)
        text = " ".join(lines)
        if code in (126, 127) and "python3" in text:
            return ImageUnfitError(f"{self.image.asked} has no python3 in its PATH, which a trial inside it needs; "
                                   "measure with another image, or without --in-container", NoContainer.NO_PYTHON)
        if code == 0 and not lines:
            return Silent("ended", NoContainer.ENDED)
        return TrialError(f"the container of {self.image.asked} does not start or ended with {code}: "
                          f"{lines[-1] if lines else 'it said nothing'}", NoContainer.ENDED)

    def _last_lines(self) -> list[str]:
        size = self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(max(0, size - 4000))
        lines = self._stderr.read().decode("utf-8", "replace").splitlines()
        return [line.strip()[-500:] for line in lines if line.strip()]

    def pids(self) -> dict[int, int]:
        """Return the container's processes, pid inside -> pid on the host. The first one carries our token as its name,
        which everybody may read, without asking a runtime that may hang as well. Empty where they are in another
        machine (a remote runtime)."""
        found: dict[int, tuple[int, int, str]] = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and (status := _status(entry / "status")):
                found[int(entry.name)] = status
        first = next((pid for pid, (_, inside, name) in found.items() if name == self._token and inside == 1), None)
        if first is None:
            return {}
        return {1: first} | {inside: pid for pid, (parent, inside, _) in found.items() if parent == first}

    def close(self, kill: bool = False) -> Mapping[int, str]:
        """End the container: by itself when its requests end, else (and with ``kill`` at once) by force. Return pid ->
        where it hangs, for processes that nothing ends."""
        if self.process.stdout is None or self.process.stdout.closed:
            return {}
        held = self.pids() if kill else {}
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            with contextlib.suppress(OSError):
                stream.close()
        if not kill:
            self._wait(_END_SECONDS)
        if self.process.poll() is None:
            held = held or self.pids()
            self._ask(_KILL_SECONDS, "kill", "--signal=KILL", self.name)
            self._wait(_REMOVE_SECONDS)     # the runtime's client removes it; ended in the midst, it would leave half
        if self.process.poll() is None:
            self.process.kill()
            self._wait(_END_SECONDS)
        self._remove()
        if self.process.poll() is None:
            self.process.returncode = -9        # nobody must wait for it again
        self._stderr.close()
        return {pid: f"state {state}, in the container {self.name}" for pid in held.values()
                for state in (process_state(pid),) if state not in ("gone", "Z", "X")}

    def _remove(self) -> None:
        """Remove the container until the runtime lists it no more. podman 5.4 ends with 0 and leaves it where SIGTERM
        came while the container ended, and one whose clean-up was killed in the midst can be removed only a moment
        later."""
        until = time.monotonic() + _REMOVE_SECONDS
        while True:
            self._ask(_REMOVE_SECONDS, "rm", "--force", self.name)
            left = self._ask(_REMOVE_SECONDS, "ps", "--all", "--quiet", f"--filter=name={self.name}")
            gone = left is None or (left.returncode == 0 and not left.stdout.strip())   # a silent runtime helps nobody
            if gone or time.monotonic() > until:
                return
            time.sleep(0.2)

    def _wait(self, seconds: float) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)

    def _ask(self, seconds: float, *argv: str) -> Completed | None:
        """Run a command of the runtime. None where the runtime hangs or cannot be started: the processes show what is
        left."""
        try:
            return self._host.run((self.runtime.path, *argv), seconds)
        except Unreadable:
            return None


def _status(path: Path) -> tuple[int, int, str] | None:
    """Return parent, innermost pid and name of a process; None where its status cannot be read."""
    try:
        text = path.read_text("utf-8", "replace")
        name, parent, inside = (re.findall(rf"^{word}:\s*(.*)$", text, re.MULTILINE)[0]
                                for word in ("Name", "PPid", "NSpid"))
        return int(parent), int(inside.split()[-1]), name
    except (OSError, IndexError, ValueError):
        return None
