"""What tunecheck-recover.service and a start do beside the stand-in: the way of an incident, and the proof of the GPUs.

The way is the real one (tunecheck.recovery.act), with a policy that allows every restart; the proof is the one that
follows every stall in a trial: a fresh context on each GPU that allocates, writes and reads."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tunecheck.host.live import LiveHost
from tunecheck.recovery import act
from tunecheck.recovery.journal import Journal
from tunecheck.spec.frozen import Watch
from tunecheck.watch import request


def _recover() -> int:
    host = LiveHost()
    boot = host.read_bytes("/proc/sys/kernel/random/boot_id").decode().strip()
    box = act.Box(host, Journal(), Watch("restart", 1 << 30), boot, "", lambda: None, lambda: False, lambda _: None,
                  lambda: None)
    ended = act.recover(box, request.read())
    Path(request.PATH).unlink(missing_ok=True)
    host.close()
    return 0 if ended is not None and ended.step.value == "serving" else 1


def _prove(path: Path) -> int:
    from tunecheck.trials.gpu_recovery import examine

    host = LiveHost()
    found = examine(host, range(_count()), {})
    host.close()
    path.write_text(json.dumps({"verdict": found.verdict, "text": found.text, "seconds": found.seconds}))
    return 0 if found.verdict in ("recovered", "ghost latch") else 1


def _count() -> int:
    import pynvml  # type: ignore[import-untyped]

    pynvml.nvmlInit()
    return int(pynvml.nvmlDeviceGetCount())


if __name__ == "__main__":
    sys.exit(_prove(Path(sys.argv[2])) if sys.argv[1:2] == ["--prove"] else _recover())
