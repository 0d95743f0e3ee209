"""The first process of a trial's container: runs the supervisor and its workers there, on what the image brings.

The image's own Python runs this file as a script, with nothing but the standard library, errors.py, tied.py and this
folder. Descriptor 0 brings requests, one JSON object per line, and signs of life (`{}`); without one for a while, or
when it is closed, everything here ends: the parent is gone, and the container must not outlive it. Descriptor 1 takes
answers.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import queue
import select
import shutil
import sys
import tempfile
import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..supervisor import Job, Suspect

__all__ = ["OLDEST", "main"]

#: itertools.pairwise and zip(strict=True) are of Python 3.10, which engines on Ubuntu 22.04 have.
OLDEST = (3, 10)
_SILENT_SECONDS = 20.0
_SIGN_SECONDS = 0.5
_PR_SET_NAME = 15
_VERSION = ".".join(map(str, sys.version_info[:3]))


class _Wall:
    """The connection to the parent outside of the container: requests come in, answers go out."""

    def __init__(self) -> None:
        self.requests: queue.Queue[dict[str, Any]] = queue.Queue()
        self._answers: queue.Queue[dict[str, Any]] = queue.Queue()
        self._writing = threading.Lock()
        for work in (self._listen, self._signs):
            threading.Thread(target=work, daemon=True).start()

    def tell(self, **fields: Any) -> None:
        with self._writing:
            sys.stdout.write(json.dumps(fields) + "\n")
            sys.stdout.flush()

    def evidence(self, suspects: Sequence[Suspect], seconds: float) -> Mapping[str, Any]:
        """Ask the parent to take evidence, and wait until it has. It is taken outside, where the processes, the kernel
        log and NVML can be seen; nothing is killed before."""
        from tunecheck.trials.containers.ipc import plain

        self.tell(stall=[plain(suspect) for suspect in suspects], seconds=seconds)
        with contextlib.suppress(queue.Empty):
            self._answers.get(timeout=seconds + 5.0)
        return {}

    def _listen(self) -> None:
        rest, poller = b"", select.poll()
        poller.register(0, select.POLLIN)
        while poller.poll(_SILENT_SECONDS * 1000):
            part = os.read(0, 1 << 16)
            if not part:
                break
            *lines, rest = (rest + part).split(b"\n")
            for found in map(json.loads, lines):
                if found:
                    (self._answers if "evidence" in found else self.requests).put(found)
        os._exit(0)         # the first process of a pid namespace: the kernel kills all others with it

    def _signs(self) -> None:
        while True:
            time.sleep(_SIGN_SECONDS)
            self.tell()


def main(token: str) -> None:
    """Serve until the requests end. ``token`` becomes this process' name, by which it is found from outside."""
    if sys.version_info < OLDEST:
        print(json.dumps({"refused": _VERSION}))
        return
    root = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))  # noqa: PTH120, PTH118
    # Not this folder, whose `cuda` would hide another one. The image's own PYTHONPATH stays: NCCL may be found by it.
    sys.path[0] = root
    os.environ["PYTHONPATH"] = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
    from tunecheck.trials.containers.ipc import plain
    from tunecheck.trials.supervisor import Supervisor

    ctypes.CDLL(None).prctl(_PR_SET_NAME, token.encode(), 0, 0, 0)
    wall = _Wall()
    wall.tell(hello=_VERSION)
    while True:
        request = wall.requests.get()
        folder = tempfile.mkdtemp(prefix="tunecheck-")      # where the ranks meet: the parent's is not in here
        supervisor = Supervisor(request.get("limits"), wall.evidence,
                                lambda _, states: wall.tell(progress=[vars(state) for state in states]))
        outcome = supervisor.run(_jobs(request, folder), request["seconds"])
        shutil.rmtree(folder, ignore_errors=True)
        wall.tell(outcome=plain(outcome))


def _jobs(request: Mapping[str, Any], folder: str) -> list[Job]:
    from tunecheck.trials.supervisor import Job

    return [Job(job["name"], {**job["parameters"], **({"folder": folder} if "folder" in job["parameters"] else {})},
                job["environment"]) for job in request["jobs"]]


if __name__ == "__main__":
    main(sys.argv[1])
