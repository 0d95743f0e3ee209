"""GRUB on Debian and Ubuntu where neither it nor the firmware boots an entry once: the trial is by kexec, the commit
GRUB's."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from ansible.module_utils import trial_confirmation, trial_hang
from ansible.module_utils.bootloader import BootloaderError, Unproven, Why, grub_debian, proof
from ansible.module_utils.bootloader.base import OneShot
from ansible.module_utils.refusal import Refusal
from ansible.module_utils.trial_boot import situation, steps
from ansible.module_utils.tunecheck.parsers.kernel import grub, trial
from tests.roles.kexec.running_kernel import LINE, RELEASE, TOKENS, Box

_ON_LVM = Refusal(Why.GRUB_CANNOT_WRITE, "/boot/grub is on LVM, which GRUB cannot write")


class Module:
    """AnsibleModule's part: update-grub puts the drop-in's words behind the default entry."""

    check_mode = False

    def __init__(self, box: Box) -> None:
        self.box, self.params = box, {"reason": "did_not_come_up"}

    def run_command(self, argv: list[str], **_options: object) -> tuple[int, str, str]:
        assert argv[0] == grub_debian._UPDATE, argv
        self.generate(Path(argv[2]))
        return 0, "", ""

    def generate(self, path: Path) -> None:
        dropin = Path(grub.DROPIN)
        words = " ".join(grub.parse_dropin(dropin.read_text())) if dropin.exists() else ""
        path.write_text(f"menuentry 'Debian' {{\n\tlinux {self.box.kernel} root=/dev/mapper/lab-root ro {words}\n"
                        f"\tinitrd {self.box.initrd}\n}}\n# next_entry\n")


@pytest.fixture
def module(box: Box, monkeypatch: pytest.MonkeyPatch) -> Module:
    for name, path in (("GRUB_CFG", "grub.cfg"), ("DROPIN", "zz-tunecheck.cfg"), ("TRIAL_SCRIPT", "42_trial")):
        monkeypatch.setattr(grub, name, str(box.folder / path))
    monkeypatch.setattr(grub_debian, "_ENV", str(box.folder / "grubenv"))
    monkeypatch.setattr(grub_debian, "mount_problem", lambda *_: _ON_LVM)
    monkeypatch.setattr(trial, "ENDED", str(box.folder / "ended.json"))
    monkeypatch.setattr(trial, "MEMORY", proof.MEMORY)
    monkeypatch.setattr(trial_confirmation, "STATE", str(box.folder / "state.json"))
    made = Module(box)
    made.generate(Path(grub.GRUB_CFG))
    return made


def loader(module: Module) -> grub_debian.GrubDebian:
    return grub_debian.GrubDebian(module)


def test_kexec_stands_behind_grub_and_the_firmware(
    box: Box, module: Module, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    cfg = Path(grub.GRUB_CFG).read_text()
    assert loader(module).trial_refusal() is None and loader(module).one_shot() is OneShot.KEXEC
    loader(module).stage([], TOKENS[3:])
    assert loader(module).staged().armed
    assert loader(module).staged().tokens == ["root=/dev/mapper/lab-root", "ro", *TOKENS[3:]]
    assert Path(grub.GRUB_CFG).read_text() == cfg, "the trial touches no boot loader"
    loader(module).give_up()
    assert box.traces() == [] and Path(grub.GRUB_CFG).read_text() == cfg
    loader(module).stage([], TOKENS[3:])
    loader(module).commit(["pci=noacs"], [])
    assert box.traces() == [] and loader(module).generated() == ["root=/dev/mapper/lab-root", "ro", "pci=noacs"]
    monkeypatch.setattr(grub_debian, "mount_problem", lambda *_: None)
    assert loader(module).one_shot() is OneShot.NEXT_ENTRY


def test_where_none_can_the_refusal_names_each(box: Box, module: Module) -> None:
    box.path("_TOOL").unlink()
    said = loader(module).trial_refusal()
    assert (said.why, said.of_grub.why, said.of_firmware.why, said.of_kexec.why) == (
        Why.NEITHER, Why.GRUB_CANNOT_WRITE, Why.NO_UEFI, Why.NO_KEXEC_TOOLS)
    assert all(each in said for each in (said.of_grub, said.of_firmware, said.of_kexec)) and box.traces() == []


def test_what_is_loaded_is_what_the_note_is_about(box: Box, module: Module) -> None:
    own = box.boot / "tunecheck-trial.img"
    own.write_bytes(b"of its own")
    loader(module).stage([], TOKENS[3:])
    box.kernel.write_bytes(b"the kernel of a later role")
    now = SimpleNamespace(options=None, running_trial="", trial_id="abc")
    steps.note_again(loader(module), now)
    assert box.image == (b"the kernel of a later role", b"initramfs", LINE)
    proof.note(str(box.kernel), [str(box.initrd)], own=str(own))
    loader(module).load((str(box.initrd), str(own)))
    assert box.image == (b"the kernel of a later role", b"of its own", LINE)


def test_what_cannot_be_loaded_leaves_no_note_of_a_trial(box: Box, module: Module) -> None:
    loader(module).stage([], TOKENS[3:])
    box.refuses = "--load"
    with pytest.raises(BootloaderError) as caught:
        steps.note_again(loader(module), SimpleNamespace(options=None, running_trial="", trial_id="abc"))
    assert caught.value.why is Why.KEXEC_NOT_LOADED and not Path(proof.MEMORY).exists()
    assert loader(module).staged() and box.image is None


def test_a_trial_that_was_not_taken_is_no_trial_that_did_not_come_up(
    box: Box, module: Module, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Staged for a reboot that somebody else makes: nothing is noted of it before the play's own."""
    monkeypatch.setattr(steps, "decide", lambda *_: ("staged", "stage"))
    monkeypatch.setattr(steps.trial_initrd, "forget", lambda: None)
    module.params["trial"] = True
    now = SimpleNamespace(options=None, running_trial="", trial_id="abc", tokens=["pci=noacs"], generated=[],
                          configured=[], trial_tokens=TOKENS[4:], trial_parameters=[], staged=None)
    steps.run_staged(module, loader(module), now)
    assert loader(module).staged() and not Path(proof.MEMORY).exists()
    steps.note_again(loader(module), now)
    assert trial_confirmation.ended("the boot behind it", "").reason == "did_not_come_up"
    now.staged = None       # as the boot behind it finds it
    monkeypatch.setattr(trial_confirmation, "ended", lambda *_: trial.Ended("abc", "did_not_come_up", ""))
    assert not steps.run_given_up(module, loader(module), now)
    assert trial_confirmation.recorded().trial_id == "abc" and trial_confirmation.recorded().at
    assert not Path(proof.MEMORY).exists()


def test_a_boot_by_kexec_is_proven_by_sums_alone(
    box: Box, module: Module, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    asked: list[object] = []
    monkeypatch.setattr(proof, "unproven", lambda *arguments: asked.append(arguments[-1]) or "")
    for line in (LINE, LINE.rpartition(" ")[0]):
        monkeypatch.setattr(situation, "read_text", lambda _path, _default="", line=line: line)
        assert situation.Situation(loader(module), ["pci=noacs"]).by_kexec is (line == LINE)
    assert asked == [True, False]
    monkeypatch.undo()
    proof_of = {"kernel": str(box.kernel), "initrds": [str(box.initrd)], "release": RELEASE, "copies": True}
    assert proof.unproven(**proof_of).why is Unproven.WRITTEN_SINCE, "nothing was noted"


def test_a_commit_says_what_kexec_did_not_show(module: Module, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial_hang, "take_back", lambda *_: [])
    for by_kexec in (True, False):
        now = SimpleNamespace(running_trial="abc", running=[], by_kexec=by_kexec)
        assert [each.why for each in steps.confirm(now)] == [trial_hang.Stays.NO_RESET] * by_kexec
