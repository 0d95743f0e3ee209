"""The guard of a trial boot, the bounded reboot and their units; the boots are in tests/lab/test_trial.py."""

from __future__ import annotations

import configparser
import importlib.util
import json
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import yaml
from ansible.module_utils import trial_confirmation as told
from ansible.module_utils import trial_hang
from ansible.module_utils.trial_boot import steps
from ansible.module_utils.tunecheck.parsers.kernel import cmdline, trial

ROOT = Path(__file__).resolve().parents[2]
FILES = ROOT / "roles/kernel_cmdline/files"


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, FILES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class ExecutedError(Exception):
    """execv() was called: the process would be another program now."""


@pytest.fixture()
def box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The guard of a box whose files are in a folder; execv() is noted."""
    guard = script("trial_guard")
    monkeypatch.setattr(guard, "CMDLINE", str(tmp_path / "cmdline"))
    monkeypatch.setattr(guard, "STATE", str(tmp_path / "run/trial.json"))
    monkeypatch.setattr(guard, "ENDED", str(tmp_path / "var/trial-ended.json"))
    monkeypatch.setattr(told, "STATE", str(tmp_path / "run/trial.json"))
    monkeypatch.setattr(trial, "ENDED", str(tmp_path / "var/trial-ended.json"))
    monkeypatch.setattr(trial, "MEMORY", str(tmp_path / "var/trial-boot.json"))
    monkeypatch.setattr(guard, "LOOK_EVERY_SECONDS", 0.01)
    executed: list[list[str]] = []

    def execv(_path: str, argv: list[str]) -> None:
        executed.append(argv)
        raise ExecutedError

    monkeypatch.setattr(guard.os, "execv", execv)

    def boot(line: str) -> None:
        (tmp_path / "cmdline").write_text(line)

    return SimpleNamespace(guard=guard, folder=tmp_path, boot=boot, executed=executed)


def test_an_ordinary_boot_has_nothing_to_guard(box: SimpleNamespace) -> None:
    box.boot("root=/dev/vda ro tunecheck.confirm=1")
    assert box.guard.main() == 0 and box.executed == []


def test_the_deadline_ends_the_trial_and_says_so(box: SimpleNamespace) -> None:
    box.boot("ro tunecheck.trial=0a1b2c tunecheck.confirm=1 panic=5")    # this machine runs for longer than a second
    with pytest.raises(ExecutedError):
        box.guard.main()
    assert box.executed == [["@tunecheck-trial", "-I", str(FILES / "bounded_reboot.py")]]
    ended = trial.parse_ended((box.folder / "var/trial-ended.json").read_text())
    assert (ended.trial_id, ended.reason) == ("0a1b2c", "not_confirmed") and ended.at.endswith("Z")
    assert told.recorded() == ended, "the modules read what the guard wrote"


def test_what_the_play_noted_stays(box: SimpleNamespace) -> None:
    told.note("0a1b2c", "not_proven", "b", "2026-11-21T05:00:00Z")
    box.boot("tunecheck.trial=0a1b2c tunecheck.confirm=1")
    with pytest.raises(ExecutedError):
        box.guard.main()
    assert told.recorded().reason == "not_proven"


def test_a_commit_is_heard(box: SimpleNamespace) -> None:
    box.boot("tunecheck.trial=0a1b2c tunecheck.confirm=1")
    told.hold()
    assert box.guard.told((box.folder / "run/trial.json").read_text())[1] == pytest.approx(
        time.monotonic() + told.HOLD_SECONDS, abs=5)
    assert not told.confirmed()
    told.confirm()
    assert told.confirmed() and box.guard.main() == 0 and box.executed == []
    told.hold()     # the next play on this boot
    assert told.confirmed()


def test_a_hold_puts_the_deadline_off_within_a_limit(box: SimpleNamespace) -> None:
    assert box.guard.deadline(1200, 0.0) == 1200
    assert box.guard.deadline(1200, 1900.0) == 1900
    assert box.guard.deadline(1200, float("inf")) == 1200 + box.guard.LONGEST_HOLD_SECONDS
    assert box.guard.deadline(1200, float("nan")) == 1200
    assert told.HOLD_SECONDS < box.guard.LONGEST_HOLD_SECONDS


@pytest.mark.parametrize("text", [
    "", "{", "[]", "7", "null", '{"confirmed": "yes"}', '{"confirmed": 1}', '{"hold_until": "soon"}',
    '{"hold_until": [1]}', "[" * 100_000, '{"confirmed": false, "hold_until": null}', "\x00\xff"])
def test_a_damaged_state_confirms_nothing(box: SimpleNamespace, text: str) -> None:
    confirmed, hold = box.guard.told(text)
    assert confirmed is False and hold in (0.0, pytest.approx(0.0))


@pytest.mark.parametrize(("line", "asked"), [
    ("", ("", 1200)),
    ("tunecheck.trial=abc", ("abc", 1200)),
    ("tunecheck.trial=abc tunecheck.confirm=300", ("abc", 300)),
    ("tunecheck.trial=abc tunecheck.confirm=0", ("abc", 1)),
    ("tunecheck.trial=abc tunecheck.confirm=999999", ("abc", 14400)),
    ("tunecheck.trial=abc tunecheck.confirm=never", ("abc", 1200)),
    ('tunecheck.trial=a"b tunecheck.confirm=5', ("", 5)),
])
def test_what_the_command_line_asks_for(box: SimpleNamespace, line: str, asked: tuple[str, int]) -> None:
    assert box.guard.asked(line) == asked


def test_a_dead_disk_does_not_hold_the_reboot(box: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    """The record goes to a FIFO that nobody reads: opening it never ends."""
    (box.folder / "var").mkdir()
    os.mkfifo(box.folder / "var/trial-ended.json.new")
    monkeypatch.setattr(box.guard, "RECORD_SECONDS", 0.3)
    box.boot("tunecheck.trial=abc tunecheck.confirm=1")
    began = time.monotonic()
    with pytest.raises(ExecutedError):
        box.guard.main()
    assert time.monotonic() - began < 10


def test_the_bounded_reboot_goes_from_orderly_to_sysrq(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reboot = script("bounded_reboot")
    trigger = tmp_path / "sysrq"
    trigger.touch()
    done: list[Any] = []
    clock = [1000.0]
    monkeypatch.setattr(reboot, "SYSRQ", str(trigger))
    monkeypatch.setattr(reboot, "lock_memory", lambda: done.append("lock"))
    monkeypatch.setattr(reboot, "start", lambda argv: done.append((clock[0] - 1000, argv)))
    monkeypatch.setattr(reboot, "say", lambda _text: None)
    monkeypatch.setattr(reboot.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(reboot.time, "sleep", lambda seconds: clock.__setitem__(0, clock[0] + seconds))
    monkeypatch.setattr(reboot.ctypes, "CDLL", lambda _name: SimpleNamespace(reboot=done.append))
    reboot.main()
    assert done == ["lock", (0.0, ["systemctl", "--no-block", "reboot"]), (300.0, ["systemctl", "--force", "reboot"]),
                    reboot._RB_AUTOBOOT]
    assert trigger.read_bytes() == b"sub" and clock[0] - 1000 == 435


def test_a_reboot_goes_through_the_firmware_whatever_kernel_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """systemctl reboot takes a kernel that somebody loaded for kexec, and GRUB would not see its one-shot."""
    reboot, told = script("bounded_reboot"), list[dict[str, str]]()
    monkeypatch.setattr(reboot.subprocess, "Popen", lambda _argv, **more: told.append(more["env"]))
    reboot.start(["systemctl", "--no-block", "reboot"])
    assert told[0]["SYSTEMCTL_SKIP_AUTO_KEXEC"] == told[0]["SYSTEMCTL_SKIP_AUTO_SOFT_REBOOT"] == "1"


def unit(name: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(strict=True, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string((FILES / name).read_text())
    return parser


def test_the_guard_is_early_and_ends_with_nothing_else() -> None:
    guard = unit("tunecheck-trial.service")
    about, service = guard["Unit"], guard["Service"]
    assert about["ConditionKernelCommandLine"] == cmdline.TRIAL_KEY
    assert about["DefaultDependencies"] == "no" and about["IgnoreOnIsolate"] == "yes"
    assert {"sysinit.target", "local-fs-pre.target", "network-pre.target"} <= set(about["Before"].split())
    assert not {"After", "Requires", "Wants", "BindsTo", "Conflicts"} & set(about), "it needs nothing of the boot"
    assert about["StartLimitAction"] == "reboot-force" and service["Restart"] == "on-failure"
    for name in ("tunecheck-trial", "tunecheck-reboot"):
        argv = unit(f"{name}.service")["Service"]["ExecStart"].split()
        assert argv[0] == "@/usr/bin/python3" and argv[1] == f"@{name}", "systemd-shutdown leaves it alive"
        assert argv[-1] in _installed()


def _installed() -> dict[str, dict[str, str]]:
    held = yaml.safe_load((ROOT / "roles/kernel_cmdline/vars/main.yml").read_text())
    return {entry["path"]: entry for entry in held["kernel_cmdline__guard"]}


def test_the_role_links_what_the_unit_says_and_before_it_stages() -> None:
    wanted = unit("tunecheck-trial.service")["Install"]["WantedBy"].split()
    links = {path for path, entry in _installed().items() if "link_to" in entry}
    assert links == {f"/etc/systemd/system/{target}.wants/tunecheck-trial.service" for target in wanted}
    tasks = yaml.safe_load((ROOT / "roles/kernel_cmdline/tasks/main.yml").read_text())
    assert [next(key for key in task if key != "name") for task in tasks][:2] == ["box_files", "kernel_cmdline"]


BASE = ["root=/dev/vda", "ro"]


@pytest.fixture()
def sysfs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Watchdogs of a box: sysfs(identity=..., state=...)."""
    folder = tmp_path / "watchdog"
    folder.mkdir()
    monkeypatch.setattr(trial_hang, "_CLASS", f"{folder}/")
    monkeypatch.setattr(trial_hang, "_DRACUT", str(tmp_path / "dracut"))

    def add(name: str = "watchdog0", **attributes: str) -> None:
        (folder / name).mkdir()
        for attribute, value in attributes.items():
            (folder / name / attribute).write_text(value + "\n")

    return add


def test_the_watchdog_of_a_box(sysfs: Callable[..., None]) -> None:
    assert trial_hang.watchdog()["code"] == "none"
    sysfs("watchdog0", identity="Software Watchdog", state="inactive")
    assert trial_hang.watchdog()["code"] == "software"
    sysfs("watchdog1")
    assert trial_hang.watchdog()["code"] == "unknown"
    sysfs("watchdog2", identity="iTCO_wdt", state="inactive")
    assert trial_hang.watchdog() == {"code": "usable", "device": "/dev/watchdog2", "identity": "iTCO_wdt"}
    sysfs("watchdog3", identity="IPMI", state="active")
    assert trial_hang.watchdog()["code"] == "in_use"


def test_the_trials_own_parameters(sysfs: Callable[..., None], tmp_path: Path) -> None:
    assert trial_hang.tokens(BASE, "abc", 1200, 30) == [
        "tunecheck.trial=abc", "tunecheck.confirm=1200", "panic=30", "softlockup_panic=1", "hung_task_panic=1",
        "nmi_watchdog=panic", "systemd.crash_reboot=1"]
    sysfs(identity="iTCO_wdt", state="inactive")
    (tmp_path / "dracut").touch()
    tokens = trial_hang.tokens([*BASE, "nmi_watchdog=0"], "abc", 1200, 30)
    assert tokens[-4:] == ["systemd.watchdog_sec=60", "rd.shell=0", "rd.emergency=reboot", "rd.timeout=300"]
    assert not any(token.startswith("nmi_watchdog") for token in tokens), "what the operator set stays"
    assert cmdline.without_trial([*BASE, *tokens]) == BASE, "a fleet sees no drift in a trial boot"


def test_a_trial_entry_fits_the_room_that_is_kept(sysfs: Callable[..., None], tmp_path: Path) -> None:
    sysfs(identity="iTCO_wdt", state="inactive")
    (tmp_path / "dracut").touch()
    longest = " ".join(["", *trial_hang.tokens(BASE, "0123456789ab", 14400, 600)])
    boot_image = " BOOT_IMAGE=(hd0,gpt2)/vmlinuz-6.12.117+deb13-amd64"
    assert len(longest) + len(boot_image) <= steps.ROOM_FOR_TRIAL


def test_a_commit_gives_the_kernel_back_what_it_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial_hang, "_SYSCTL", f"{tmp_path}/")
    for name in ("panic", "softlockup_panic", "hung_task_panic", "hardlockup_panic"):
        (tmp_path / name).write_text("0\n")
    (tmp_path / "panic").write_text("10\n")
    before = trial_hang.live()
    for name in before:
        (tmp_path / name).write_text("1\n")
    line = ["panic=30", "softlockup_panic=1", "hung_task_panic=1"]
    assert trial_hang.take_back(line, before) == []
    assert {name: (tmp_path / name).read_text().strip() for name in before} == {
        "panic": "10", "softlockup_panic": "0", "hung_task_panic": "0", "hardlockup_panic": "1"}
    (left,) = trial_hang.take_back(["hung_task_panic=1"], {})
    assert left.why is trial_hang.Stays.NOT_KNOWN and re.match(r"kernel\.hung_task_panic .*\b0\b", left)


@pytest.mark.parametrize(("boot_id", "running", "reason"), [
    ("staged-in", None, None), ("next", "abc", None), ("next", None, "did_not_come_up"),
    ("next", "other", "did_not_come_up")])
def test_a_trial_that_left_no_word(box: SimpleNamespace, boot_id: str, running: str | None, reason: str | None) -> None:
    (box.folder / "var").mkdir()
    (box.folder / "var/trial-boot.json").write_text(json.dumps(
        {"schema": trial.MEMORY_SCHEMA, "trial_id": "abc", "boot_id": "staged-in", "files": {}}))
    assert told.ended(boot_id, running).reason == (reason or "")
