"""How often does the watch cry for nothing? Real watches beside engines that are well, and busy, idle or started anew.

    PYTHONPATH=checks:. python3 -m lab.bench.watch_soak [--minutes 30] [--seed 1] [--json FILE]

One watch with its usual limits, --act, --listen and canaries beside each engine (soak_engine.py: vLLM, SGLang,
llama.cpp), each with a unit whose systemctl is played. Meanwhile somebody restarts the units, and systemd starts
engines again that were killed. Needs root, for a mount namespace with that systemctl. Exit code 1 where a watch said
stalled, lost or degraded, asked for a recovery, or answered not ready beside an engine that serves, and where
`watch --once` ended with 1."""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from lab.bench.soak_engine import DIALECTS
from lab.bench.watch import _cpu, _family

_INSIDE = "TUNECHECK_SOAK"
_ALARMS = ("stalled", "lost", "degraded")
#: In seconds: the unit is read every 5 s, and a look may take its deadline.
_SETTLES = 12.0
_ONCE_EVERY = 180.0
#: show prints what stands in the unit's file; all else is noted.
_SYSTEMCTL = """#!/bin/sh
for unit; do :; done
if [ "$1" = show ]; then cat "{folder}/$unit"; else echo "$@" >> "{folder}/asked"; fi
"""


class Unit:
    """An engine, its unit as systemctl shows it, its watch, and what was seen of them."""

    def __init__(self, folder: Path, dialect: str, number: int, seed: int) -> None:
        self.dialect, self.port, self.door = dialect, 30500 + number, 30600 + number
        self.name, self._folder = f"soak-{number}.service", folder
        self._rng = random.Random(seed * 100 + number)
        self._runs = self._restarts = 0
        self._engine: subprocess.Popen[bytes] | None = None
        self.up_at: float | None = None
        self.counts: collections.Counter[str] = collections.Counter()
        self.phases: collections.Counter[str] = collections.Counter()
        self.alarms: list[dict[str, Any]] = []
        self._start()
        self.watch = subprocess.Popen(
            [sys.executable, "-m", "tunecheck", "watch", "--url", f"http://127.0.0.1:{self.port}", "--unit", self.name,
             "--listen", f"127.0.0.1:{self.door}", "--canary", "60s", "--act", "--json"],
            stdout=subprocess.PIPE, text=True)
        threading.Thread(target=self._hear, daemon=True).start()
        threading.Thread(target=self._live, daemon=True).start()

    def _show(self, active: str, sub: str = "running") -> None:
        pid = self._engine.pid if self._engine and active == "active" else 0
        entered = int(time.monotonic() * 1e6) if active == "active" else 0
        new = self._folder / f"{self.name}.new"
        new.write_text(f"ActiveState={active}\nSubState={sub}\nLoadState=loaded\nNRestarts={self._restarts}\n"
                       f"ControlGroup=\nMainPID={pid}\nInvocationID=run{self._runs}\n"
                       f"ActiveEnterTimestampMonotonic={entered}\n")
        new.rename(self._folder / self.name)

    def _start(self) -> None:
        self._runs += 1
        self._show("activating", "start")
        time.sleep(self._rng.uniform(3, 20))        # it loads, and nobody answers
        self._engine = subprocess.Popen([sys.executable, "-m", "lab.bench.soak_engine", self.dialect, str(self.port),
                                         str(self._rng.randrange(1 << 30)), str(self._folder / f"{self.name}.phase")])
        while self._engine.poll() is None and not _answer(f"http://127.0.0.1:{self.port}/metrics"):
            time.sleep(0.3)
        self._show("active")
        self.up_at = time.monotonic()

    def _live(self) -> None:
        """Somebody restarts the unit now and then, or the engine dies and systemd follows."""
        while True:
            time.sleep(self._rng.uniform(90, 360))
            assert self._engine is not None
            crash, self.up_at = self._rng.random() < 0.4, None
            self.counts["crashes" if crash else "restarts by somebody"] += 1
            if not crash:
                self._show("deactivating", "stop-sigterm")
            self._engine.send_signal(signal.SIGKILL if crash else signal.SIGTERM)
            self._engine.wait()
            if crash:
                self._restarts += 1
                self._show("activating", "auto-restart")
                time.sleep(5)
            else:
                self._show("inactive", "dead")
                time.sleep(self._rng.uniform(0, 8))
            self._start()

    def _hear(self) -> None:
        assert self.watch.stdout is not None
        for line in self.watch.stdout:
            told = json.loads(line)
            self.counts[f"said {told['state']}"] += 1
            if told["state"] in _ALARMS:
                self.alarms.append({"phase": self.phase, **told})

    @property
    def phase(self) -> str:
        with contextlib.suppress(OSError):
            return (self._folder / f"{self.name}.phase").read_text()
        return ""

    def ask_ready(self) -> None:
        """Note what a load balancer would see, where the engine has been up for a while."""
        up = self.up_at
        if up is None or time.monotonic() - up < _SETTLES:
            return
        said = _answer(f"http://127.0.0.1:{self.door}/ready")
        if self.up_at != up:
            return
        self.phases[self.phase] += 1
        self.counts["ready" if said and said[0] == 200 else "not ready" if said else "no answer of /ready"] += 1
        if said and said[0] != 200:
            self.alarms.append({"phase": self.phase, "state": f"/ready: {said[1].strip()}"})

    def ask_once(self) -> None:
        """Note what a health check in a script would see."""
        up = self.up_at
        done = subprocess.run([sys.executable, "-m", "tunecheck", "watch", "--once", "--url",
                               f"http://127.0.0.1:{self.port}"], capture_output=True, text=True, check=False)
        if up is not None and self.up_at == up:
            self.counts[f"--once ended with {done.returncode}"] += 1
            if done.returncode == 1:
                self.alarms.append({"phase": self.phase, "state": f"--once: {done.stdout.strip()}"})

    def end(self) -> None:
        self.watch.terminate()
        self.watch.wait(30)
        if self._engine is not None:
            self._engine.kill()
            self._engine.wait()


def _answer(url: str) -> tuple[int, str] | None:
    try:
        with urllib.request.urlopen(url, timeout=4) as page:
            return page.status, page.read(2000).decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read(2000).decode()
    except OSError:
        return None


def _soak(folder: Path, minutes: float, seed: int) -> dict[str, Any]:
    units = [Unit(folder, dialect, number, seed) for number, dialect in enumerate(DIALECTS)]
    begun, asked = time.monotonic(), time.monotonic()
    cpu = {each.name: _cpu(_family(each.watch.pid)) for each in units}
    try:
        while (passed := time.monotonic() - begun) < 60 * minutes:
            time.sleep(1.0)
            for each in units:
                if each.watch.poll() is not None:
                    raise SystemExit(f"the watch of {each.dialect} ended with {each.watch.returncode}")
                each.ask_ready()
            if time.monotonic() - asked >= _ONCE_EVERY:
                asked = time.monotonic()
                for each in units:
                    each.ask_once()
        passed = time.monotonic() - begun
        return {"minutes": round(passed / 60, 1), "load": os.getloadavg(), "asked": _asked(folder), "engines": [
            {"engine": each.dialect, "counts": dict(sorted(each.counts.items())), "seconds_of": dict(each.phases),
             "cpu_percent": round(100 * (_cpu(_family(each.watch.pid)) - cpu[each.name]) / passed, 2),
             "alarms": each.alarms} for each in units]}
    finally:
        for each in units:
            each.end()


def _asked(folder: Path) -> list[str]:
    path = folder / "asked"
    return path.read_text().splitlines() if path.exists() else []


def _inside(arguments: list[str]) -> int:
    """In a mount namespace of our own, with our systemctl and an empty /run/tunecheck."""
    with tempfile.TemporaryDirectory(prefix="tunecheck-soak-") as folder:
        played = Path(folder) / "systemctl"
        played.write_text(_SYSTEMCTL.format(folder=folder))
        Path("/run/tunecheck").mkdir(parents=True, exist_ok=True)
        script = ("for each in /usr/local/sbin /run/tunecheck; do mount -t tmpfs none $each; done; "
                  f"install -m 755 {played} /usr/local/sbin/systemctl && exec \"$0\" \"$@\"")
        return subprocess.run(["unshare", "--mount", "sh", "-c", script, sys.executable, "-m", "lab.bench.watch_soak",
                               *arguments], check=False, env={**os.environ, _INSIDE: folder}).returncode


def main() -> int:
    """Run, print, and keep what was seen."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json")
    given = parser.parse_args()
    if _INSIDE not in os.environ:
        return _inside(sys.argv[1:])
    found = _soak(Path(os.environ[_INSIDE]), given.minutes, given.seed)
    if given.json:
        Path(given.json).write_text(json.dumps(found, indent=1))
    print(f"{found['minutes']} minutes, load {found['load'][0]:.1f}; words to systemctl beside show: {found['asked']}")
    for each in found["engines"]:
        print(f"{each['engine']}: {each['counts']}; ready was asked in: {each['seconds_of']}; the watch took "
              f"{each['cpu_percent']} % of one core; alarms: {len(each['alarms'])}")
        for alarm in each["alarms"][:5]:
            print(f"  {json.dumps(alarm)[:600]}")
    return 1 if found["asked"] or any(each["alarms"] for each in found["engines"]) else 0


if __name__ == "__main__":
    sys.exit(main())
