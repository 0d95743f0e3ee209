"""One fault of what a box serves, on the box itself: from the fault until it serves again by itself.

    python3 recover_trial.py stop|group|mute|cut|oom|kill     (as root)

Prints one document of JSON, with seconds since the fault by this machine's clock; exit code 1, with a sentence, where
the fault cannot be made. For a box of role `inference` with the engine of lab/engine and a specification whose
watch.on_stall is restart; lab/bench/recover.py runs it there. Standard library only. The record of incidents on the
box is lost.

stop: SIGSTOP to every process of the container. group: llama.cpp's engine is one process, so one thread group, and a
signal stops all of it; here the kernel freezes a group of its threads, all that answer HTTP, while the first one and
the one that computes run. mute: the thread that computes hangs, so that `/health` answers, no token comes and SIGTERM
does not end it. cut: the network namespace of the container loses its link. oom: the engine asks for more memory than
its control group may have, and the kernel's OOM killer takes it. kill: SIGKILL."""

from __future__ import annotations

import contextlib
import ctypes
import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

UNIT, WATCH, RECOVER = "tunecheck-inference.service", "tunecheck-watch.service", "tunecheck-recover.service"
_INCIDENTS = Path("/var/lib/tunecheck/incidents")
_RUN = Path("/run/tunecheck")
_KEY = Path("/etc/tunecheck/secrets/api-key")
_CGROUPS = Path("/sys/fs/cgroup")
_ENGINE, _DOOR = 30000, 9638
#: In seconds. A watch that looks answers after its look.
_ANSWER, _NOTICED, _SERVED = 20.0, 300.0, 900.0
_TGKILL = 234       # x86-64


def show(*names: str) -> dict[str, str]:
    """Properties of the unit that serves."""
    done = subprocess.run(["systemctl", "show", UNIT, "-p", ",".join(names)], capture_output=True, text=True,
                          timeout=60, check=True)
    return dict(line.partition("=")[::2] for line in done.stdout.splitlines())


def asked(port: int, path: str, body: str = "", seconds: float = _ANSWER) -> int | None:
    """The HTTP status; None where nobody listens, or nobody answers in time."""
    door = http.client.HTTPConnection("127.0.0.1", port, timeout=seconds)
    head = {"Content-Type": "application/json", "Authorization": f"Bearer {_KEY.read_text().strip()}"} if body else {}
    try:
        door.request("POST" if body else "GET", path, body or None, head)
        return door.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        door.close()


def engine() -> int:
    """The process of llama.cpp's server."""
    for place in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if place.name.isdigit() and b"/app/llama-server" in (place / "cmdline").read_bytes().split(b"\0")[:2]:
                return int(place.name)
    raise SystemExit("the engine's process is not there")


def group(pid: int) -> Path:
    """Its control group of version 2."""
    lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
    return _CGROUPS / next(line for line in lines if line.startswith("0::"))[3:].lstrip("/")


def busiest(pid: int) -> int:
    """The thread that computes: it has computed most, beside the first one, which loads Python."""
    def ticks(thread: int) -> int:
        return int(Path(f"/proc/{pid}/task/{thread}/stat").read_text().rpartition(") ")[2].split()[11])

    return max((each for each in threads(pid) if each != pid), key=ticks)


def threads(pid: int) -> list[int]:
    """All threads of a process."""
    return [int(each.name) for each in Path(f"/proc/{pid}/task").iterdir()]


def stop() -> float:
    for pid in (group(engine()) / "cgroup.procs").read_text().split():
        os.kill(int(pid), signal.SIGSTOP)
    return time.monotonic()


def freeze() -> float:
    """A threaded control group below the container's own: the freezer takes threads there."""
    pid = engine()
    apart = group(pid) / "bench"
    apart.mkdir()
    (apart / "cgroup.type").write_text("threaded")
    for thread in set(threads(pid)) - {pid, busiest(pid)}:
        (apart / "cgroup.threads").write_text(str(thread))
    (apart / "cgroup.freeze").write_text("1")
    return time.monotonic()


def mute() -> float:
    pid = engine()
    if ctypes.CDLL(None, use_errno=True).syscall(_TGKILL, pid, busiest(pid), int(signal.SIGUSR1)):
        raise SystemExit(f"the engine's thread cannot be hung: {os.strerror(ctypes.get_errno())}")
    return time.monotonic()


def cut() -> float:
    subprocess.run(["nsenter", "-t", str(engine()), "-n", "ip", "link", "set", "eth0", "down"], check=True, timeout=60)
    return time.monotonic()


def oom() -> float:
    """Its group may have 1 MiB more than it has now; a prompt of 30 MB needs more."""
    pid = engine()
    place, limit, mounted = group(pid), "memory.max", None
    if not (place / limit).exists():
        mounted, place, limit = _of_version_1(pid)
    told = place / ("memory.events" if mounted is None else "memory.oom_control")
    now = int((place / "memory.current").read_text()) if mounted is None else 0
    (place / limit).write_text(str(now + (1 << 20)))
    prompt = json.dumps({"prompt": "word " * 6_000_000, "max_tokens": 1})
    killer = threading.Thread(target=asked, args=(_ENGINE, "/v1/completions", prompt, 120.0), daemon=True)
    killer.start()
    killed, end = 0, time.monotonic() + 120
    while not killed and time.monotonic() < end and Path(f"/proc/{pid}").exists():
        with contextlib.suppress(OSError):      # the container's group ends with it
            killed = int(told.read_text().split("oom_kill ")[1].split()[0])
        time.sleep(0.01)
    at = time.monotonic()
    if mounted is not None:
        subprocess.run(["umount", "--lazy", str(mounted)], check=False, timeout=60)
    if Path(f"/proc/{pid}").exists() and not killed:
        raise SystemExit("the OOM killer did not end the engine")
    return at


def _of_version_1(pid: int) -> tuple[Path, Path, str]:
    """Where the memory controller is one of version 1: a group of its own for the engine. Mount, group, limit."""
    mounted = Path("/run/bench-memory")
    mounted.mkdir(exist_ok=True)
    done = subprocess.run(["mount", "-t", "cgroup", "-o", "memory", "cgroup", str(mounted)], capture_output=True,
                          text=True, timeout=60, check=False)
    if done.returncode:
        raise SystemExit(f"oom needs the memory controller, which is not here: {done.stderr.strip()}; leave it out: "
                         "--faults ...")
    place = mounted / f"tunecheck-bench-{pid}"
    place.mkdir()
    (place / "cgroup.procs").write_text(str(pid))
    return mounted, place, "memory.limit_in_bytes"


def kill() -> float:
    os.kill(engine(), signal.SIGKILL)
    return time.monotonic()


FAULTS = {"stop": stop, "group": freeze, "mute": mute, "cut": cut, "oom": oom, "kill": kill}
#: Of these systemd sees the end by itself: nothing stalls, and the evidence is what systemd says of the end.
ENDED = ("oom", "kill")


def forget() -> None:
    """The day's incidents: each would make the next one wait longer."""
    subprocess.run(["systemctl", "stop", RECOVER], check=False, timeout=60)
    shutil.rmtree(_INCIDENTS, ignore_errors=True)
    for name in ("stall.json", "incidents.jsonl"):
        (_RUN / name).unlink(missing_ok=True)
    subprocess.run(["systemctl", "reset-failed", UNIT, RECOVER], check=False, timeout=60, capture_output=True)


def until(status: int, holds: bool, seconds: float, every: float) -> float | None:
    """When /ready of the watch answered with this status, or no more. None: not in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if (asked(_DOOR, "/ready") == status) is holds:
            return time.monotonic()
        time.sleep(every)
    return None


def served(run: str) -> float | None:
    """When another run of the unit was accepted and ready."""
    end = time.monotonic() + _SERVED
    while (at := until(200, True, end - time.monotonic(), 0.5)) is not None:
        now = show("InvocationID", "StatusText", "ActiveState")
        if (now["ActiveState"], now["StatusText"]) == ("active", "accepted, serving") and now["InvocationID"] != run:
            return at
        time.sleep(0.5)
    return None


def evidence(fault: str, since: float) -> list[str]:
    """Files of the one incident; of an engine that ended what systemd says of it."""
    if fault in ENDED:
        said = subprocess.run(["journalctl", "--no-pager", "--quiet", "--output=cat", f"--since=@{int(since)}",
                               f"--unit={UNIT}", "--grep=Failed with result|OOM killer"], capture_output=True,
                              text=True, timeout=120, check=False)
        return said.stdout.splitlines()
    found = [each for each in _INCIDENTS.iterdir() if each.is_dir()] if _INCIDENTS.is_dir() else []
    threads_of = found[0] / "processes.json" if len(found) == 1 else None
    if threads_of is None or not threads_of.exists() or not json.loads(threads_of.read_text()):
        return []
    return sorted(each.name for each in found[0].iterdir() if each.stat().st_size)


def steps(since: float) -> list[list[Any]]:
    """Steps of the recovery: name, why, seconds since the fault."""
    path = _INCIDENTS / "journal.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return [[each["step"], each["why"], round(each["at"] - since, 2)] for each in map(json.loads, lines)]


def prepare() -> None:
    """A box that is ready, with no incident on record. One that an earlier trial left down is started."""
    if until(200, True, 60.0, 0.5) is None:
        forget()
        subprocess.run(["systemctl", "restart", UNIT], check=False, timeout=_SERVED)
        if until(200, True, 120.0, 0.5) is None:
            raise SystemExit(f"the box is not ready before the fault: {show('ActiveState', 'StatusText')}")
    forget()


def main() -> None:
    fault = sys.argv[1]
    prepare()
    run = show("InvocationID")["InvocationID"]
    begun = FAULTS[fault]()
    since = time.time() - (time.monotonic() - begun)
    health = asked(_ENGINE, "/health", seconds=2.0)
    noticed = until(200, False, _NOTICED, 0.1)
    again = served(run) if noticed is not None else None
    question = json.dumps({"model": "tiny", "max_tokens": 4, "messages": [{"role": "user", "content": "Hello"}]})
    answer = asked(_ENGINE, "/v1/chat/completions", question, 60.0) if again is not None else None
    if fault not in ENDED and again is not None:        # the recovery says so a moment after the watch does
        end = time.monotonic() + 30
        while not (found := steps(since)) or (found[-1][0] != "serving" and time.monotonic() < end):
            time.sleep(0.5)
    print(json.dumps({
        "fault": fault, "noticed": noticed and round(noticed - begun, 2), "served": again and round(again - begun, 2),
        "health": health, "answer": answer, "evidence": evidence(fault, since), "steps": steps(since),
        "status": show("StatusText")["StatusText"]}))


if __name__ == "__main__":
    main()
