"""A box's boot files and the programs that write them, in a folder of the test; and plays on it that may be killed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from ansible.module_utils import module_options, trial_initrd
from ansible.module_utils.bootloader import grub_debian
from ansible.module_utils.box_io import read_text
from ansible.module_utils.trial_boot import situation, steps
from ansible.module_utils.tunecheck.parsers.kernel import grub, modprobe

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
