"""A trial in a container, as the verb starts it, without NVML: `python -m tests.unit.trials.contained_main '{...}'`
prints what came of it as one JSON document. A process of its own, because containers of tests live in a /run of theirs.
"""

from __future__ import annotations

import json
import signal
import sys
from dataclasses import asdict
from functools import partial

from tunecheck.errors import TunecheckError
from tunecheck.host.live import LiveHost
from tunecheck.host.recording import RecordingHost
from tunecheck.trials.allreduce import allreduce
from tunecheck.trials.containers.container_trial import in_container
from tunecheck.trials.containers.runtimes import find_image, find_runtime
from tunecheck.trials.p2p import p2p
from tunecheck.util.interrupt import handle

if __name__ == "__main__":
    signal.signal(signal.SIGTERM, handle)
    given = json.loads(sys.argv[1])
    host = RecordingHost(LiveHost())
    reduce = partial(allreduce, shortened=True, soak_seconds=given.get("soak", 0))
    try:
        runtime = find_runtime(host, given.get("runtime"))
        trial = in_container(p2p if given["trial"] == "p2p" else reduce, runtime,
                             find_image(host, runtime, given["image"]), given.get("limits"))
        found = trial(host, [0, 1], ())
        print(json.dumps({**asdict(found), "commands": [" ".join(argv) for argv in host.answers.runs],
                          "read": sorted(host.answers.reads)}))
    except TunecheckError as error:
        why = getattr(error, "why", None) or getattr(error, "flaw", None)
        print(json.dumps({"error": str(error), "code": error.exit_code, "why": why and why.value}))
    finally:
        host.close()
