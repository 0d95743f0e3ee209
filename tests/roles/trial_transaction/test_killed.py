"""A trial as a transaction: killed at every write, the old entry boots what it booted before. Stand-ins for the
programs that write (update-grub, mkinitramfs, grub-editenv); the real ones run in tests/lab/test_transaction.py."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from ansible.module_utils import trial_initrd
from ansible.module_utils.bootloader import grub_debian
from ansible.module_utils.tunecheck.parsers.kernel import cmdline, modprobe
from tests.roles.trial_transaction.boot_files import TOKENS, Box, killed, left_of_the_trial, play, to_the_end


def test_a_good_trial(box: Box) -> None:
    before, options = box.what_boots(), box.options()
    assert play(box, "staged") == "staged"
    assert box.what_boots() == before and box.options() == options
    assert play(box, "staged") == "staged", "a second run finds it staged"
    assert modprobe.parse_options(box.power_cycle()) == {"virtio_blk": {"queue_depth": "64"}}
    assert "virtio_blk.queue_depth=64" in box.running and "virtio_blk.queue_depth=64" not in cmdline.without_trial(
        box.running)
    own = Path(trial_initrd.OWN).read_bytes()
    assert play(box, "staged") == "trial"
    assert box.what_boots() == before and box.options() == options
    assert play(box, "committed") == "settled"
    assert box.what_boots()[2] == own, "the very file that was booted"
    to_the_end(box)
    writes = box.writes
    assert play(box, "staged", {}) == "settled" and box.writes == writes


@pytest.mark.parametrize("then", ["power cut", "given up"])
def test_killed_at_every_write_before_the_commit_the_old_entry_is_untouched(box: Box, then: str) -> None:
    before, options = box.what_boots(), box.options()
    at = 1
    while killed(box, "staged", at):
        assert box.what_boots() == before and box.options() == options, at
        if then == "power cut":
            box.power_cycle()
            assert box.what_boots() == before and box.options() == options, at
            box.power_cycle()
            assert cmdline.trial_id(box.running) is None, "taken once"
        else:
            play(box, "given_up")
            assert box.what_boots() == before and box.options() == options, at
            assert not left_of_the_trial()
        at += 1
    assert at > 6, "initramfs, entry, order"
    give_up = 1
    while play(box, "staged") == "staged" and killed(box, "given_up", give_up):
        assert box.what_boots() == before and box.options() == options, give_up
        give_up += 1
    assert give_up > 3 and box.what_boots() == before
    to_the_end(box)


def test_killed_at_every_write_of_the_commit_what_boots_is_proven(box: Box) -> None:
    """Each file is the old one or the one that the trial booted, and the command line changes last."""
    old_block, kernel, old_image, old_tokens = box.what_boots()
    options = box.options()
    assert play(box, "staged") == "staged"
    own = Path(trial_initrd.OWN).read_bytes()
    assert box.what_boots() == (old_block, kernel, old_image, old_tokens) and box.options() == options
    box.power_cycle()
    at = 1
    while killed(box, "committed", at):
        _block, kernel_now, image, tokens = box.what_boots()
        assert kernel_now == kernel and image in (old_image, own)
        changed = [image != old_image, box.options() != options, tokens != old_tokens]
        assert changed == sorted(changed, reverse=True), (at, changed)
        at += 1
    assert at > 5
    to_the_end(box)


@pytest.mark.parametrize("at", range(1, 12))
def test_after_a_power_cut_in_the_commit_the_next_run_ends_it(box: Box, at: int) -> None:
    assert play(box, "staged") == "staged"
    box.power_cycle()
    killed(box, "committed", at)
    box.power_cycle()
    to_the_end(box)


@pytest.mark.parametrize("at", range(1, 12))
def test_after_a_power_cut_in_the_commit_a_run_that_wants_something_else_goes_on(box: Box, at: int) -> None:
    before = box.what_boots()[3]
    assert play(box, "staged") == "staged"
    box.power_cycle()
    killed(box, "committed", at)
    box.power_cycle()
    other = [*TOKENS[:-1], "audit=0"]
    assert play(box, "staged", tokens=other) == "staged"
    assert box.what_boots()[3] in (before, (*before, *TOKENS)), "what was proven"
    to_the_end(box, other)
    assert not set(TOKENS[-1:]) & set(box.what_boots()[3])


@pytest.mark.parametrize("second", range(1, 12))
@pytest.mark.parametrize("first", range(1, 12, 2))
def test_after_two_power_cuts_in_two_commits_the_next_run_goes_on(box: Box, first: int, second: int) -> None:
    assert play(box, "staged") == "staged"
    box.power_cycle()
    killed(box, "committed", first)
    box.power_cycle()
    other, third = ["audit=0"], ["audit=1"]
    assert play(box, "staged", tokens=other) == "staged"
    box.power_cycle()
    assert play(box, "staged", tokens=other) == "trial"
    killed(box, "committed", second, other)
    box.power_cycle()
    assert play(box, "staged", tokens=third) == "staged"
    to_the_end(box, third)


@pytest.mark.parametrize("running", [False, True])
def test_a_rollback_takes_the_trial_away(
        box: Box, monkeypatch: pytest.MonkeyPatch, load_module: Callable[[str], ModuleType], running: bool) -> None:
    """While it is staged, and while it runs; what the module kernel_cmdline does with state: absent."""
    module = load_module("kernel_cmdline")
    before, options = box.what_boots(), box.options()
    play(box, "staged")
    if running:
        box.power_cycle()
    box.params = {"state": "absent", "tokens": [], "modules": {}, "confirm_seconds": 1200, "panic_seconds": 30}
    said: dict[str, Any] = {}
    box.exit_json = lambda **result: said.update(result)  # type: ignore[attr-defined]
    monkeypatch.setattr(module, "AnsibleModule", lambda **_options: box)
    monkeypatch.setattr(module, "detect", lambda *_: grub_debian.GrubDebian(box))
    module.main()
    assert said["changed"] and box.what_boots() == before and box.options() == options and not left_of_the_trial()
    assert "next_entry" not in (box.boot / "grub/grubenv").read_text(), "as the box was found"
    box.power_cycle()
    assert cmdline.trial_id(box.running) is None
