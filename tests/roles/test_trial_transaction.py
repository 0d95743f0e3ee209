"""A trial as a transaction: killed at every write, the old entry boots what it booted before. Stand-ins for the
programs that write (update-grub, mkinitramfs, grub-editenv); the real ones run in tests/lab/test_transaction.py."""

from __future__ import annotations

import json
import os
import shlex
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from ansible.module_utils import initramfs, module_options, trial_confirmation, trial_hang, trial_initrd
from ansible.module_utils.bootloader import Stopped, Why, grub_debian, proof
from ansible.module_utils.box_io import BoxIOError, read_text
from ansible.module_utils.refusal import Refusal
from ansible.module_utils.trial_boot import situation, steps
from ansible.module_utils.tunecheck.parsers.kernel import cmdline, grub, modprobe, trial

RELEASE = os.uname().release
MODULES = {"virtio_blk": {"queue_depth": 64}}
TOKENS = ["pci=noacs"]
_KILLED, _REFUSED = 9, 7


class EndedError(Exception):
    """The module failed; what it says, as its only argument."""


class Box:
    """A box's boot files in a folder, and its programs: run_command() is AnsibleModule's."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.check_mode, self.writes, self.dies_at = folder, False, 0, 0
        self.boot, self.modprobe_d = folder / "boot", folder / "etc/modprobe.d"
        for each in (self.boot / "grub", self.modprobe_d, folder / "grub.d", folder / "default/grub.d", folder / "var"):
            each.mkdir(parents=True)
        self.image = self.boot / f"initrd.img-{RELEASE}"
        (self.boot / f"vmlinuz-{RELEASE}").write_text("kernel")
        self.image.write_text(json.dumps({"options": ""}))
        (self.boot / "grub/grubenv").write_text("# GRUB Environment Block\n")
        (self.modprobe_d / "other.conf").write_text("blacklist nouveau\n")
        self.running: list[str] = []
        self._write_cfg(self.boot / "grub/grub.cfg")
        self.params: dict[str, Any] = {"trial": True, "reason": "did_not_come_up"}

    def write(self) -> None:
        """One more write: the process may be killed here."""
        self.writes += 1
        if self.writes == self.dies_at:
            os._exit(_KILLED)

    def fail_json(self, **said: Any) -> None:
        raise EndedError(said)

    def _write_cfg(self, path: Path) -> None:
        dropin = self.folder / "default/grub.d/zz-tunecheck.cfg"
        line = " ".join(["root=/dev/vda", "quiet", *(grub.parse_dropin(read_text(str(dropin))))])
        script = self.folder / "grub.d/42_tunecheck_trial"
        entry = "".join(script.read_text().splitlines(keepends=True)[3:]) if script.exists() else ""
        path.write_text(f"menuentry 'Debian' $menuentry_id_option 'simple' {{\n\tlinux {self.boot}/vmlinuz-{RELEASE} "
                        f"{line}\n\tinitrd {self.image}\n}}\n{entry}# next_entry\n")

    def run_command(self, argv: list[str], **_options: Any) -> tuple[int, str, str]:
        program, rest = argv[0].rsplit("/", 1)[-1], argv[1:]
        if program == "unshare":
            folder, _over, _maker, option, target, release = argv[len(trial_initrd._BESIDE):]
            assert (option, release) == ("-o", RELEASE)
            Path(target).write_text("half an ini")
            self.write()
            Path(target).write_text(json.dumps({"options": (Path(folder) / "zz-tunecheck.conf").read_text()}))
        elif program == "update-grub":
            Path(rest[1]).write_text("half a grub")
            self.write()
            self._write_cfg(Path(rest[1]))
        elif program == "grub-editenv":
            self.write()
            Path(rest[0]).write_text("next_entry=tunecheck-trial\n" if rest[1] == "set" else "# none\n")
        elif program == "lsinitramfs":
            return 0, "usr/lib/modules/x/kernel/drivers/block/virtio_blk.ko.xz\n", ""
        elif program == "modinfo":
            return 0, "queue_depth:depth (uint)\n", ""
        return 0, "", ""

    def what_boots(self) -> tuple[str, bytes, bytes, tuple[str, ...]]:
        """Of the default entry: its text, its kernel, its initramfs; and the words of its command line."""
        entry = grub.default_entry((self.boot / "grub/grub.cfg").read_text())
        assert entry is not None
        return entry.block, Path(entry.kernel).read_bytes(), Path(entry.initrds[0]).read_bytes(), entry.tokens

    def options(self) -> dict[str, str]:
        return {path.name: path.read_text() for path in sorted(self.modprobe_d.iterdir())
                if not path.name.startswith(".tunecheck-")}

    def power_cycle(self) -> str:
        """What GRUB does: the one-shot entry once, then the default one. Returns the options of the initramfs."""
        environment = self.boot / "grub/grubenv"
        armed = "next_entry=tunecheck-trial" in environment.read_text()
        # GRUB sets it to nothing and saves that (00_header).
        environment.write_text("# GRUB Environment Block\n" + ("next_entry=\n" if armed else ""))
        text = (self.boot / "grub/grub.cfg").read_text()
        entry = (grub.find_entry(text, "tunecheck-trial") if armed else None) or grub.default_entry(text)
        assert entry is not None
        self.running = [f"BOOT_IMAGE={entry.kernel}", *entry.tokens]
        (self.folder / "var/told.json").unlink(missing_ok=True)
        options: str = json.loads(Path(entry.initrds[0]).read_text())["options"]
        return options


@pytest.fixture()
def box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Box:
    made = Box(tmp_path)
    for name, path in (("GRUB_CFG", "boot/grub/grub.cfg"), ("DROPIN", "default/grub.d/zz-tunecheck.cfg"),
                       ("DEFAULTS", "default/grub"), ("TRIAL_SCRIPT", "grub.d/42_tunecheck_trial")):
        monkeypatch.setattr(grub, name, str(tmp_path / path))
    monkeypatch.setattr(grub_debian, "_ENV", str(tmp_path / "boot/grub/grubenv"))
    monkeypatch.setattr(modprobe, "CONF", str(made.modprobe_d / "zz-tunecheck.conf"))
    monkeypatch.setattr(trial_initrd, "OWN", str(made.boot / "tunecheck-trial.img"))
    monkeypatch.setattr(trial_initrd, "_HOOKS", str(tmp_path / "no-hooks"))
    monkeypatch.setattr(trial_confirmation, "STATE", str(tmp_path / "var/told.json"))
    monkeypatch.setattr(trial, "ENDED", str(tmp_path / "var/ended.json"))
    monkeypatch.setattr(proof, "MEMORY", str(tmp_path / "var/memory.json"))
    monkeypatch.setattr(trial_hang, "take_back", lambda *_: [])
    # What a process that is killed leaves there goes with the test.
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "var"))
    debian = initramfs.InitramfsTools(RELEASE)
    debian.image = str(made.image)
    monkeypatch.setattr(debian, "text", lambda _module, image, _conf: json.loads(Path(image).read_text())["options"])
    monkeypatch.setattr(initramfs, "tools", lambda _release="": debian)
    monkeypatch.setattr(module_options, "_SYSTEM", str(tmp_path / "sys/"))
    monkeypatch.setattr(grub_debian, "block_kind", lambda _number: "disk")
    monkeypatch.setattr(grub_debian, "mount_problem", lambda *_: None)
    monkeypatch.setattr(situation, "read_text", lambda path, default="": (
        " ".join(made.running) if path == "/proc/cmdline" else read_text(path, default)))
    made.power_cycle()

    def counted(real: Callable[..., None]) -> Callable[..., None]:
        def call(*arguments: Any, **more: Any) -> None:
            if str(arguments[0]).startswith(str(tmp_path)) and Path(arguments[0]).exists():
                made.write()
            real(*arguments, **more)
        return call

    for name in ("rename", "unlink"):
        monkeypatch.setattr(os, name, counted(getattr(os, name)))
    return made


def play(box: Box, state: str, modules: dict[str, Any] | None = None, tokens: list[str] = TOKENS) -> str:
    """One run of the module kernel_cmdline; the phase."""
    loader = grub_debian.GrubDebian(box)
    wanted = MODULES if modules is None else modules
    options = module_options.Options(box, wanted, RELEASE) if wanted else None
    now = situation.Situation(loader, tokens, options=options)
    if state == "given_up":
        steps.run_given_up(box, loader, now)
        return "settled"
    run = steps.run_staged if state == "staged" else steps.run_committed
    return str(run(box, loader, now)[0])


def killed(box: Box, state: str, at: int, tokens: list[str] = TOKENS) -> bool:
    """Run it in a process that is killed at its write number ``at``; False where it has fewer."""
    child = os.fork()
    if child == 0:
        try:
            box.writes, box.dies_at = 0, at
            play(box, state, tokens=tokens)
            os._exit(0)
        except BaseException:
            os._exit(_REFUSED)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, _KILLED), f"{state} ended with {code} at write {at}"
    return code == _KILLED


def left_of_the_trial() -> list[Path]:
    own = Path(trial_initrd.OWN)
    return list(own.parent.glob(own.name + "*"))


def to_the_end(box: Box, wanted: list[str] = TOKENS) -> None:
    """Plays and reboots until the box is settled, as an operator would: run it again."""
    for _ in range(4):
        phase = play(box, "staged", tokens=wanted)
        if phase == "staged":
            box.power_cycle()
            phase = play(box, "staged", tokens=wanted)
        if phase == "trial":
            assert play(box, "committed", tokens=wanted) == "settled"
        if phase in ("settled", "trial"):
            break
    block, _kernel, image, tokens = box.what_boots()
    assert set(wanted) <= set(tokens) and "virtio_blk" not in block
    assert modprobe.parse_options(json.loads(image)["options"]) == {"virtio_blk": {"queue_depth": "64"}}
    assert box.options()["zz-tunecheck.conf"] == modprobe.render_options(MODULES)
    assert not left_of_the_trial()


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
