"""GPUs that hang after a stall: reset once, where it is allowed and possible, proven again, and never waited for
without a bound. systemd, NVML and nvidia-smi are the seam; how a command is bounded is the real thing."""

from __future__ import annotations

import itertools
import json
import re
import sys
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.recovery.test_act import UNIT, Box1, Killed, _at_once, asked, box, way

from tunecheck.cli.recover import _box, _proof
from tunecheck.gate import passed
from tunecheck.gate.passed import Pass
from tunecheck.gate.state import State
from tunecheck.host import Unreadable
from tunecheck.host.base import Completed
from tunecheck.host.live import LiveHost
from tunecheck.model.absence import Absence
from tunecheck.model.fact import known
from tunecheck.recovery import gpu_reset
from tunecheck.recovery.act import Box, recover
from tunecheck.recovery.gpu_reset import HELPS, GpuReset
from tunecheck.recovery.journal import Journal
from tunecheck.recovery.model import Record, Step, Why, incidents
from tunecheck.spec.frozen import Watch
from tunecheck.trials import lock

__all__ = ["_at_once"]

WATCH, PERSISTENCED = "tunecheck-watch.service", "nvidia-persistenced.service"
ALLOWED = Watch("restart", gpu_reset=True)
UPTIME = 5000.0
PLAIN: dict[str, Any] = {"fabric_state": "not_supported", "nvlinks_active": 0, "mig_mode": "disabled", "processes": []}


@dataclass
class Gpus(Box1):
    """``cured``: what a start comes to after a reset; ``says``: nvidia-smi's exit code and words; ``devices``: vendor
    and class by address; ``boards``: NVML's values of each GPU, None where it does not answer."""

    starts: str = "failed"
    cured: str = "active"
    says: tuple[int, str] = (0, "")
    devices: dict[str, tuple[str, str]] = field(default_factory=lambda: {"0000:01:00.0": ("0x10de", "0x030200")})
    boards: list[dict[str, Any]] | None = field(default_factory=lambda: [PLAIN, PLAIN])
    running: tuple[str, ...] = (WATCH, PERSISTENCED)
    silent: tuple[str, ...] = ()        # units of which systemd says nothing in time
    open: int = 0

    def run(self, argv: tuple[str, ...], deadline: float = 20.0) -> Completed:
        if argv[0] == "nvidia-smi" and "--gpu-reset" in argv:
            assert not self.open, "somebody of ours holds the GPUs open"
            self.asked.append("reset")
            if self.says[0] == 0:
                self.starts = self.cured
            return Completed(argv, self.says[0], self.says[1], "")
        if argv[0] == "systemctl" and argv[-1] != UNIT:
            if argv[1] == "is-active":
                if argv[-1] in self.silent:
                    raise Unreadable("systemctl", Absence.TIMED_OUT)
                return Completed(argv, 0 if argv[-1] in self.running else 3, "", "")
            self.asked.append(f"{argv[1]} {argv[-1]}")
            return Completed(argv, 0, "", "")
        return super().run(argv, deadline)

    def read_bytes(self, path: str) -> bytes:
        bdf, _, name = path.removeprefix("/sys/bus/pci/devices/").partition("/")
        if bdf in self.devices:
            return f"{self.devices[bdf][name == 'class']}\n".encode()
        if path == "/proc/uptime":
            return f"{UPTIME} 1.0\n".encode()
        return super().read_bytes(path)

    def list(self, path: str) -> list[str]:
        return [*self.devices] if path == "/sys/bus/pci/devices" else super().list(path)

    realpath = read_bytes

    def nvml(self, deadline: float = 10.0) -> dict[str, Any]:
        if self.boards is None:
            raise Unreadable("nvml", Absence.TIMED_OUT)
        return {"gpus": [{"bdf": f"0000:0{number}:00.0", "values": each} for number, each in enumerate(self.boards, 1)]}

    def close(self) -> None:
        self.open -= 1

    def opened(self) -> Gpus:
        self.open += 1
        return self


def resetting(host: Gpus, folder: Path, policy: Watch = ALLOWED, codes: tuple[str, ...] = ("trial-hang/wedged",),
              age: float = 0.0) -> Box:
    """``age``: of preflight's verdict, in seconds. It is read from its file as the verb reads it."""
    passed.write(str(folder / "pass.json"), verdict(codes, UPTIME - age))

    def proof() -> tuple[tuple[str, ...], float | None]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(passed, "PATH", str(folder / "pass.json"))
            return _proof(host)         # type: ignore[arg-type]

    return replace(box(host, folder, policy), resets=GpuReset(host, host.opened, proof))  # type: ignore[arg-type]


def verdict(codes: tuple[str, ...], uptime: float) -> Pass:
    state = State(known("boot", "x"), known(uptime, "x"), known("", "x"), known("580.1.2", "x"), known((), "x"))
    return Pass(1, ("what failed",), "d", state, True, "2026-11-25T00:00:00+00:00", "1", codes)


def test_gpus_that_hang_are_reset_proven_again_and_serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = tmp_path / "wedged.json"
    mark.write_text("{}")
    monkeypatch.setattr(lock, "_MARK", mark)
    host = Gpus()
    found = resetting(host, tmp_path)
    ended = recover(found, asked())
    assert ended is not None and ended.step is Step.SERVING
    assert way(found) == [Step.NOTICED, Step.EVIDENCE, Step.STOPPING, Step.STOPPED, Step.STARTING, Step.RESETTING,
                          Step.STARTING_AGAIN, Step.SERVING]
    assert host.asked == ["stop", "void", "reset-failed", "start", f"stop {WATCH}", f"stop {PERSISTENCED}", "reset",
                          f"start {WATCH}", f"start {PERSISTENCED}", "void", "reset-failed", "start"]
    assert not mark.exists(), "trials waited for a reset, and this was one"
    whole, = incidents(found.journal.read())
    assert whole.records[5].codes == (WATCH, PERSISTENCED) and whole.records[5].text == "trial-hang/wedged"


def test_what_was_not_running_is_not_started(tmp_path: Path) -> None:
    host = Gpus(running=(WATCH,))
    recover(resetting(host, tmp_path), asked())
    assert not [each for each in host.asked if PERSISTENCED in each]


@pytest.mark.parametrize("codes", [
    (), ("acs/redirects",), ("p2p-integrity/not-checked",),
    ("gpu-recovery/reset-needed", "gpu-recovery/reboot-needed")])
def test_a_proof_that_fails_otherwise_resets_nothing(tmp_path: Path, codes: tuple[str, ...]) -> None:
    host = Gpus()
    ended = recover(resetting(host, tmp_path, codes=codes), asked())
    assert ended is not None and (ended.step, ended.why) == (Step.STAYS_DOWN, Why.NOT_STARTED)
    assert "reset" not in host.asked and ended.text == "gate closed: acs"


@pytest.mark.parametrize("policy", [Watch("restart"), Watch("restart", gpu_reset=False)])
def test_what_the_specification_does_not_allow_is_not_reset(tmp_path: Path, policy: Watch) -> None:
    host = Gpus()
    ended = recover(resetting(host, tmp_path, policy), asked())
    assert ended is not None and ended.why is Why.NOT_STARTED and "reset" not in host.asked


def test_a_verdict_of_an_earlier_preflight_resets_nothing(tmp_path: Path) -> None:
    host = Gpus()
    ended = recover(resetting(host, tmp_path, age=60), asked())
    assert ended is not None and ended.why is Why.NOT_STARTED and "reset" not in host.asked


@pytest.mark.parametrize("change", [
    {"devices": {"0000:01:00.0": ("0x10de", "0x030200"), "0000:c4:00.0": ("0x10de", "0x068000")}},
    {"devices": {}, "boards": []},
    {"boards": None},
    {"boards": [PLAIN, {**PLAIN, "fabric_state": "completed"}]},
    {"boards": [{**PLAIN, "fabric_state": "not_started"}]},
    {"boards": [{"nvlinks_active": 12}] * 4},
    {"boards": [{**PLAIN, "mig_mode": "enabled"}]},
    {"boards": [PLAIN, {**PLAIN, "processes": [{"pid": 7, "used_mib": 1}]}]},
    {"running": ("nvidia-fabricmanager.service",)},
    {"silent": ("nvidia-fabricmanager.service",)},
], ids=["switch", "no-gpu", "nvml-hangs", "fabric", "fabric-starts", "links-of-four", "mig", "in-use", "manager",
        "manager-unknown"])
def test_what_cannot_be_reset_is_left_and_says_why(tmp_path: Path, change: dict[str, Any]) -> None:
    host = replace(Gpus(), **change)
    ended = recover(resetting(host, tmp_path), asked())
    assert ended is not None and (ended.step, ended.why) == (Step.STAYS_DOWN, Why.NO_RESET)
    assert "reset" not in host.asked and "gate closed: acs" in ended.text and host.asked.count("start") == 1


@pytest.mark.parametrize("boards", [[{**PLAIN, "nvlinks_active": 12}] * 4, [{"nvlinks_active": 12}] * 2, [{}]])
def test_links_without_switches_are_no_hindrance(tmp_path: Path, boards: list[dict[str, Any]]) -> None:
    ended = recover(resetting(Gpus(boards=boards), tmp_path), asked())
    assert ended is not None and ended.step is Step.SERVING


def test_other_bridges_are_no_switches(tmp_path: Path) -> None:
    host = Gpus(devices={"0000:00:1f.0": ("0x8086", "0x068000"), "0000:01:00.0": ("0x10de", "0x030200")})
    ended = recover(resetting(host, tmp_path), asked())
    assert ended is not None and ended.step is Step.SERVING


def test_devices_that_cannot_be_read_are_a_no(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_reset, "_PCI", str(tmp_path / "nothing"))
    ended = recover(resetting(Gpus(), tmp_path), asked())
    assert ended is not None and ended.why is Why.NO_RESET


def test_a_reset_that_the_driver_refuses_leaves_it_down(tmp_path: Path) -> None:
    host = Gpus(says=(3, "\nGPU 00000000:01:00.0 is currently in use by one or more other processes.\nmore\n"))
    ended = recover(resetting(host, tmp_path), asked())
    assert ended is not None and (ended.step, ended.why) == (Step.STAYS_DOWN, Why.RESET_FAILED)
    assert "currently in use" in ended.text and host.asked.count("start") == 1
    assert host.asked[-2:] == [f"start {WATCH}", f"start {PERSISTENCED}"], "they are there again"


def test_a_reset_that_does_not_help_is_made_once(tmp_path: Path) -> None:
    host = Gpus(cured="failed")
    found = resetting(host, tmp_path)
    ended = recover(found, asked())
    assert ended is not None and (ended.step, ended.why) == (Step.STAYS_DOWN, Why.NOT_STARTED)
    assert host.asked.count("reset") == 1 and host.asked.count("start") == 2
    assert recover(found, None) is None and recover(found, asked()) is None
    assert host.asked.count("reset") == 1


def test_a_reset_that_hangs_has_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real command, which hears no SIGTERM."""
    monkeypatch.setattr(gpu_reset, "_RESET", 2.0)
    hears_nothing = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
    live = LiveHost()

    class Hangs(Gpus):
        def run(self, argv: tuple[str, ...], deadline: float = 20.0) -> Completed:
            if "--gpu-reset" in argv:
                return live.run((sys.executable, "-c", hears_nothing), deadline)
            return super().run(argv, deadline)

    host, begun = Hangs(), time.monotonic()
    ended = recover(resetting(host, tmp_path), asked())
    assert ended is not None and (ended.step, ended.why) == (Step.STAYS_DOWN, Why.RESET_FAILED)
    assert 2.0 <= time.monotonic() - begun < 60 and re.search(r"\b2 s\b", ended.text)
    assert host.asked[-2:] == [f"start {WATCH}", f"start {PERSISTENCED}"]
    live.close()


def test_somebody_who_starts_it_before_the_reset_has_his_start(tmp_path: Path) -> None:
    host = Gpus()
    found = resetting(host, tmp_path)
    for step in (Step.NOTICED, Step.EVIDENCE, Step.STOPPING, Step.STOPPED, Step.STARTING, Step.RESETTING):
        found.journal.append(Record("a", time.time(), "boot", step, unit=UNIT, invocation="run0"))
    ended = recover(found, None)
    assert ended is not None and ended.step is Step.SERVING and host.asked == []


@pytest.mark.parametrize("at", range(1, 100))
def test_killed_at_any_point_it_ends_the_same_way(tmp_path: Path, at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before and after every line of the journal and every word to systemd, NVML and nvidia-smi, twice."""
    points = itertools.count(1)

    def point() -> None:
        if next(points) in (at, 2 * at):
            raise Killed

    host = Gpus()
    found = resetting(host, tmp_path)
    append, run, nvml = Journal.append, Gpus.run, Gpus.nvml

    def appended(self: Journal, record: Record) -> None:
        point()
        append(self, record)
        point()

    def ran(self: Gpus, argv: tuple[str, ...], deadline: float = 20.0) -> Completed:
        point()
        done = run(self, argv, deadline)
        point()
        return done

    def looked(self: Gpus, deadline: float = 10.0) -> dict[str, Any]:
        point()
        return nvml(self, deadline)

    monkeypatch.setattr(Journal, "append", appended)
    monkeypatch.setattr(Gpus, "run", ran)
    monkeypatch.setattr(Gpus, "nvml", looked)
    kills = 0
    while True:
        try:
            recover(found, asked())
            break
        except Killed:
            kills += 1
            host.open = 0       # whoever was killed holds nothing open
    whole, = incidents(found.journal.read())
    assert whole.last.step is Step.SERVING and host.active == "active"
    assert [each.step for each in whole.records].count(Step.SERVING) == 1
    assert host.asked.count("start") == 2, "one that the gate refused, one after the reset"
    assert 1 <= host.asked.count("reset") <= 1 + kills


def test_every_code_that_helps_is_one_of_a_check() -> None:
    from tunecheck.rules.index import CHECKS

    known_codes = {f"{check.id}/{code}" for check in CHECKS for code in _codes(check)}
    assert set(HELPS) <= known_codes and set(gpu_reset._TOO_LITTLE) <= known_codes


def _codes(check: Any) -> list[str]:
    text = (Path(__file__).resolve().parents[3] / "docs/codes.md").read_text()
    part = text.partition(f"\n`{check.id}`:\n")[2].split("\n`", 1)
    rows = part[0] + "\n" + (part[1].split("`:\n")[0] if len(part) > 1 else "")
    return [line.split("`")[1] for line in rows.splitlines() if line.startswith("| `")]


def test_a_specification_with_it_is_read(tmp_path: Path) -> None:
    from tunecheck.spec import build

    found = build("box", {"profile": "lab", "watch": {"on_stall": "restart", "gpu_reset": True}})
    assert found.spec.watch.gpu_reset and json.loads(found.to_json())


def test_the_verb_has_all_of_it() -> None:
    from tunecheck.recovery import evidence

    host = LiveHost()
    found = _box(host, "")
    assert isinstance(found.resets, GpuReset) and found.folder == evidence.FOLDER and found.context is None
    assert found.resets.wanted(1.0) == (), "no preflight was just now"
    host.close()
