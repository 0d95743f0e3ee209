"""What a trial is staged for, when it is staged again, and what ends it before it was begun."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from ansible.module_utils import initramfs
from ansible.module_utils.bootloader import Stopped, Why
from ansible.module_utils.box_io import BoxIOError
from ansible.module_utils.refusal import Refusal
from ansible.module_utils.tunecheck.parsers.kernel import cmdline
from tests.roles.trial_transaction.boot_files import Box, EndedError, left_of_the_trial, play


def test_without_the_modules_a_run_does_not_commit_their_trial(box: Box) -> None:
    """--tags cmdline in the trial of module parameters: this boot has not proven the default initramfs."""
    play(box, "staged")
    box.power_cycle()
    before, options = box.what_boots(), box.options()
    assert play(box, "staged", {}) == "staged", "a trial of its own"
    assert box.what_boots() == before and box.options() == options


def test_an_initramfs_that_was_made_again_meanwhile_is_staged_again(box: Box) -> None:
    play(box, "staged")
    later = time.time() + 60
    os.utime(box.image, (later, later))
    writes = box.writes
    assert play(box, "staged") == "staged" and box.writes > writes


def test_a_word_of_somebody_elses_against_a_parameter_is_refused(box: Box) -> None:
    (box.folder / "default/grub").write_text('GRUB_CMDLINE_LINUX="virtio-blk.queue_depth=8"\n')
    before, options = box.what_boots(), box.options()
    with pytest.raises(EndedError) as ended:
        play(box, "staged")
    said = ended.value.args[0]
    assert said["code"] == Stopped.CONTRADICTED.value and [
        (each["token"], each["declared"]) for each in said["against"]] == [
            ("virtio-blk.queue_depth=8", "virtio_blk.queue_depth=64")]
    assert box.what_boots() == before and box.options() == options and not left_of_the_trial()


def test_disk_full_while_the_initramfs_is_made(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    before, options = box.what_boots(), box.options()

    def full(argv: list[str], **_options: Any) -> tuple[int, str, str]:
        if argv[0].endswith("unshare"):
            Path(argv[-2]).write_text("half")
            return 1, "", "No space left on device"
        return Box.run_command(box, argv)

    monkeypatch.setattr(box, "run_command", full)
    with pytest.raises(BoxIOError, match=r"/tunecheck-trial\.img\.new\b.*: No space left on device\."):
        play(box, "staged")
    assert box.what_boots() == before and box.options() == options
    assert not left_of_the_trial()


@pytest.mark.parametrize(("running", "parameters", "left"), [
    ("a tunecheck.trial=x m.p=1 tunecheck.confirm=9 panic=30 b", ["m.p=1"], ["a", "b"]),
    ("a tunecheck.trial=x tunecheck.confirm=9 panic=30", [], ["a"]),
    ("a tunecheck.trial=x m.p=1", [], ["a", "m.p=1"]),         # no deadline: an entry of an earlier version
    ("a m.p=1 tunecheck.confirm=9", [], ["a", "m.p=1", "tunecheck.confirm=9"]),
])
def test_trial_parameters(running: str, parameters: list[str], left: list[str]) -> None:
    tokens = shlex.split(running)
    assert cmdline.trial_parameters(tokens) == parameters and cmdline.without_trial(tokens) == left


def test_for_whom_the_trial_waits(load_module: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch) -> None:
    """What is only taken away, what can't be loaded and what no trial is possible for is written at once."""
    module = load_module("modprobe_options")
    loader = SimpleNamespace(kernel=lambda: "/vmlinuz", trial_refusal=lambda *_: None, name="GRUB",
                             own_initrd=lambda *_: ("/initrd", "/own"))
    monkeypatch.setattr(module, "detect", lambda *_: loader)
    monkeypatch.setattr(initramfs, "tools", initramfs.InitramfsTools)

    def options(**stated: Any) -> None:
        held = {"changed": {"m": {"p": "1"}}, "rebuild": None, "removed": False, "tokens": ["m.p=1"], "release": "6",
                "installed": lambda _module: True, "needs_boot": lambda: True, **stated}
        monkeypatch.setattr(module.module_options, "Options", lambda *_: SimpleNamespace(**held))

    options()
    assert module.for_the_trial(None, {}) == (True, "")
    options(changed={}, removed=True, rebuild=["x"])
    assert module.for_the_trial(None, {}) == (False, "")
    options(installed=lambda _module: False)
    assert module.for_the_trial(None, {}) == (False, "")
    options(rebuild=["x"])
    assert module.for_the_trial(None, {}) == (True, "")
    loader.own_initrd = lambda *_: None
    assert module.for_the_trial(None, {})[1].why is Why.OTHER_INITRAMFS
    options(tokens=["m.p=$x"])
    assert module.for_the_trial(None, {})[1].why is Why.CHARACTER
    loader.trial_refusal = lambda *_: Refusal(Why.GRUB_CANNOT_WRITE, "/boot/grub is on LVM")
    options()
    waits, note = module.for_the_trial(None, {})
    assert (waits, note.why) == (False, Why.GRUB_CANNOT_WRITE) and "/boot/grub is on LVM" in note
