"""GRUB on Debian and Ubuntu, on a file system that it cannot write: the trial is the firmware's, the commit GRUB's."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible.module_utils.bootloader import BootloaderError, Why, base, efi, grub_debian, proof
from ansible.module_utils.bootloader.base import OneShot
from ansible.module_utils.refusal import Refusal
from ansible.module_utils.trial_boot import situation, steps
from ansible.module_utils.tunecheck.parsers.kernel import grub
from tests.roles.boot_next.firmware import LINE, RELEASE, TOKENS, Firmware, copies, kernel

_ON_BTRFS = Refusal(Why.GRUB_CANNOT_WRITE, "/boot/grub is on btrfs, which GRUB cannot write")


class Grub(Firmware):
    """update-grub puts the drop-in's words behind the default entry."""

    def run_command(self, argv: list[str], **options: Any) -> tuple[int, str, str]:
        if argv[0] == grub_debian._UPDATE:
            self.commands.append("update-grub")
            self.generate(Path(argv[2]))
            return 0, "", ""
        return super().run_command(argv, **options)

    def generate(self, path: Path) -> None:
        dropin = Path(grub.DROPIN)
        words = " ".join(grub.parse_dropin(dropin.read_text())) if dropin.exists() else ""
        path.write_text(f"menuentry 'Debian' {{\n\tlinux {self.kernel} root=UUID=1 ro {words}\n\tinitrd {self.initrd}\n"
                        "}\n# next_entry\n")


@pytest.fixture
def box(firmware: Firmware, monkeypatch: pytest.MonkeyPatch) -> Grub:
    """The same, with a GRUB that cannot write."""
    firmware.__class__ = Grub
    for name, path in (("GRUB_CFG", "grub.cfg"), ("DROPIN", "zz-tunecheck.cfg"), ("TRIAL_SCRIPT", "42_trial")):
        monkeypatch.setattr(grub, name, str(firmware.folder / path))
    monkeypatch.setattr(grub_debian, "_ENV", str(firmware.folder / "grubenv"))
    monkeypatch.setattr(grub_debian, "mount_problem", lambda *_: _ON_BTRFS)
    made: Grub = firmware       # type: ignore[assignment]
    made.generate(Path(grub.GRUB_CFG))
    return made


def loader(box: Grub) -> grub_debian.GrubDebian:
    return grub_debian.GrubDebian(box)


def test_grub_leaves_to_the_firmware_what_it_cannot_do(box: Grub) -> None:
    before, cfg = box.state(), Path(grub.GRUB_CFG).read_text()
    assert loader(box).trial_refusal() is None and loader(box).one_shot() is OneShot.BOOT_NEXT
    own = box.boot / "tunecheck-trial.img"
    own.write_bytes(b"of its own")
    loader(box).stage([], TOKENS[3:], (str(box.initrd), str(own)))
    assert loader(box).staged().armed and copies(box)[1] == b"of its own"
    assert loader(box).staged().tokens == ["root=UUID=1", "ro", *TOKENS[3:]]
    assert Path(grub.GRUB_CFG).read_text() == cfg and "update-grub" not in box.commands
    box.kernel.write_bytes(kernel() + b"another")
    loader(box).refresh((str(box.initrd), str(own)))
    assert copies(box) == [kernel() + b"another", b"of its own"]
    loader(box).give_up()
    assert box.state() == before and "update-grub" not in box.commands and loader(box).staged() is None
    loader(box).stage([], TOKENS[3:])
    loader(box).commit(["pci=noacs"], [])
    assert box.state() == before and loader(box).generated() == ["root=UUID=1", "ro", "pci=noacs"]
    loader(box).remove()
    assert box.state() == before and not Path(grub.DROPIN).exists()


def test_right_before_the_reboot_the_note_and_the_copies_are_of_the_same_files(box: Grub,
                                                                             monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proof, "MEMORY", str(box.folder / "memory.json"))
    loader(box).stage([], TOKENS[3:])
    box.initrd.write_bytes(b"initramfs of a later role")
    now = SimpleNamespace(options=None, running_trial="", trial_id="abc")
    steps.note_again(loader(box), now)
    assert copies(box)[1] == b"initramfs of a later role"
    assert proof.unproven(str(box.kernel), [str(box.initrd)], release=RELEASE, copies=True) == ""


def test_a_boot_by_the_firmware_asks_for_sums(box: Grub, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(proof, "unproven", lambda *arguments: asked.append(arguments[-1]) or "")
    for line in (LINE, LINE.partition(" ")[2]):
        monkeypatch.setattr(situation, "read_text", lambda _path, _default="", line=line: line)
        situation.Situation(loader(box), ["pci=noacs"])
    assert asked == [True, False]


def test_where_none_can_the_refusal_names_each(box: Grub, monkeypatch: pytest.MonkeyPatch) -> None:
    box.set("SecureBoot", b"\1")
    kernel_kept = box.kernel.read_bytes()
    box.kernel.unlink()     # nobody needs it for that answer
    said = loader(box).trial_refusal()
    assert (said.why, said.of_grub.why, said.of_firmware.why, said.of_kexec.why) == (
        Why.NEITHER, Why.GRUB_CANNOT_WRITE, Why.SECURE_BOOT, Why.NO_KEXEC_TOOLS)
    assert said.startswith(said.of_grub) and said.of_firmware in said and said.endswith(said.of_kexec)
    assert "/boot/grub" in said.of_grub
    box.set("SecureBoot", b"")
    box.kernel.write_bytes(kernel_kept)
    monkeypatch.setattr(grub_debian, "mount_problem", lambda *_: None)
    assert loader(box).trial_refusal() is None and loader(box).one_shot() is OneShot.NEXT_ENTRY
    box.initrd.unlink()
    monkeypatch.setattr(grub_debian, "mount_problem", lambda *_: _ON_BTRFS)
    with pytest.raises(BootloaderError, match=r"\binitrd\.img") as caught:
        loader(box).trial_refusal()
    assert caught.value.why is Why.NO_FILE


@pytest.mark.parametrize(("kind", "says"), [("lvm", "LVM"), ("md", "mdraid")])
def test_a_bios_box_with_boot_on_lvm_or_mdraid_is_refused(
    box: Grub, monkeypatch: pytest.MonkeyPatch, kind: str, says: str,
) -> None:  # fmt: skip
    problem = base.mount_problem("/boot/grub", "21 1 253:0 / / rw - ext4 /dev/root rw\n", lambda _number: kind)
    monkeypatch.setattr(grub_debian, "mount_problem", lambda *_: problem)
    assert loader(box).trial_refusal() is None, "the firmware boots it once"
    monkeypatch.setattr(efi, "VARS", f"{box.folder}/none/")
    before = box.state()
    said = loader(box).trial_refusal()
    assert (said.of_grub.why, said.of_firmware.why) == (Why.GRUB_CANNOT_WRITE, Why.NO_UEFI)
    assert says in said.of_grub and box.state() == before
