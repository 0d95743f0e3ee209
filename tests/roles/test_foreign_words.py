"""A word that somebody else set against the spec is refused before anything is written, with the line where it stands.

The module runs whole, with a real loader over real files; only update-grub, grubby and the trial's own writes are not
reached, since the refusal comes first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.bootloader import grub_debian, grubby, owned, systemd_boot
from ansible.module_utils.trial_boot import situation, steps
from ansible.module_utils.tunecheck.parsers.kernel import grub

PT = ["iommu=pt", "pcie_aspm.policy=performance", "pcie_port_pm=off", "pci=noacs"]
ENTRY = "menuentry 'Debian' $menuentry_id_option 'x' {{\n\tlinux /vmlinuz root=UUID=1 ro {}\n}}\n"


class Box:
    """The files of a box, mapped into a folder; a write by the module is an error."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.monkeypatch = monkeypatch

    def put(self, path: str, text: str) -> None:
        target = self.folder / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def read(self, path: str) -> str:
        target = self.folder / path.lstrip("/")
        return target.read_text() if target.is_file() else ""

    def glob(self, pattern: str) -> list[str]:
        return [f"/{path.relative_to(self.folder)}" for path in sorted(self.folder.glob(pattern.lstrip("/")))]


@pytest.fixture()
def box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Box:
    found = Box(tmp_path, monkeypatch)
    from ansible.module_utils.bootloader import base

    for module in (grub_debian, grubby, owned, systemd_boot, base):
        monkeypatch.setattr(module, "read_text", found.read)
    monkeypatch.setattr(grub_debian.glob, "glob", found.glob)
    return found


class _EndError(Exception):
    """Where AnsibleModule would end the process."""


class _Module:
    """Stands in for AnsibleModule: an end is an exception."""

    def __init__(self, tokens: list[str], check_mode: bool) -> None:
        self.params = {"state": "staged", "tokens": tokens, "trial": True, "panic_seconds": 30}
        self.check_mode = check_mode
        self.answers: dict[str, tuple[int, str, str]] = {}

    def fail_json(self, msg: str) -> None:
        raise _EndError(msg)

    def run_command(self, argv: list[str], **_options: Any) -> tuple[int, str, str]:
        return self.answers.get(argv[1], (1, "", "not in this test"))


def refused(box: Box, loader: Any, tokens: list[str], check: bool = False) -> str:
    """The module's words where it refuses; "" where it goes on to its first write."""
    box.monkeypatch.setattr(situation, "read_text", box.read)
    module = loader.module = _Module(tokens, check)
    loader.module.answers = getattr(loader, "answers", {})
    for name in ("stage", "commit"):
        box.monkeypatch.setattr(loader, name, lambda *_args: None)
    box.monkeypatch.setattr(loader, "trial_refusal", lambda *_: None)
    # What is written beside the boot loader's files: the note, how the last trial ended, the trial's own initramfs.
    for place, name in ((steps, "note"), (steps, "confirm"), (steps.proof, "forget"), (steps.trial_guard, "forget"),
                        (steps.trial_initrd, "forget")):
        box.monkeypatch.setattr(place, name, lambda *_args: None)
    try:
        steps.run_staged(module, loader, situation.Situation(loader, tokens))
    except _EndError as end:
        return str(end)
    return ""


def debian(box: Box, line: str = "", default: str = "quiet", ours: list[str] | None = None,
           generated: str | None = None, **dropins: str) -> Any:
    box.put("/etc/default/grub", "GRUB_DEFAULT=0\n"
            f'GRUB_CMDLINE_LINUX_DEFAULT="{default}"\nGRUB_CMDLINE_LINUX="{line}"\n')
    for name, text in dropins.items():
        box.put(f"/etc/default/grub.d/{name}.cfg", text)
    if ours:
        box.put(grub.DROPIN, grub.render_dropin(ours))
    made = f"{line} {default} {' '.join(ours or [])}" if generated is None else generated
    box.put(grub.GRUB_CFG, ENTRY.format(made))
    box.put("/proc/cmdline", f"BOOT_IMAGE=/vmlinuz root=UUID=1 ro {made}\n")
    return grub_debian.GrubDebian(None)


@pytest.mark.parametrize("check", [False, True], ids=["run", "check mode"])
@pytest.mark.parametrize(("line", "default", "dropins", "says"), [
    ("amd_iommu=off", "quiet", {}, ["amd_iommu=off (/etc/default/grub:3) against iommu=pt", "run update-grub"]),
    ("console=ttyS0 iommu=off", "", {}, ["iommu=off (/etc/default/grub:3)", "pt does not undo it"]),
    ("", "quiet intel_iommu=off", {}, ["intel_iommu=off (/etc/default/grub:2)"]),
    ("", "", {"10-x": "# theirs\nGRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX pcie_aspm=off\"\n"},
     ["pcie_aspm=off (/etc/default/grub.d/10-x.cfg:2) against pcie_aspm.policy=performance", "no AER"]),
    ("", "", {"10-x": "GRUB_CMDLINE_LINUX_DEFAULT+=' pci=nocrs,noaer'\n"},
     ["pci=nocrs,noaer (/etc/default/grub.d/10-x.cfg:1)", "aer-events"]),
    ("pcie_aspm.policy=powersave", "", {}, ["pcie_aspm.policy=powersave (/etc/default/grub:3)"]),
    ("", "", {"zzz": "GRUB_CMDLINE_LINUX_DEFAULT=\"${GRUB_CMDLINE_LINUX_DEFAULT} \\\n  iommu=nopt\"\n"},
     ["iommu=nopt (/etc/default/grub.d/zzz.cfg:1) against iommu=pt", "last of them"]),
    ("amd_iommu=off", "pcie_aspm=off", {},
     ["amd_iommu=off (/etc/default/grub:3)", "pcie_aspm=off (/etc/default/grub:2)"]),
])
def test_grub_debian(box: Box, line: str, default: str, dropins: dict[str, str], says: list[str],
                     check: bool) -> None:
    """Also where update-grub has not run since: the files are what the next update-grub makes a command line of."""
    loader = debian(box, line, default, generated="quiet", **dropins)
    message = refused(box, loader, PT, check)
    assert all(text in message for text in [*says, "Nothing was written"]), message


@pytest.mark.parametrize(("line", "default", "dropins", "tokens"), [
    ("console=ttyS0", "quiet splash", {}, PT), ("iommu=pt intel_iommu=on", "pci=realloc=off", {}, PT),
    # the cloud image's file throws away what stood before
    ("", "amd_iommu=off", {"50-cloudimg-settings": 'GRUB_CMDLINE_LINUX_DEFAULT="console=ttyS0"\n'}, PT),
    ("", "", {"10-x": "#GRUB_CMDLINE_LINUX=amd_iommu=off\n"}, PT), ("amd_iommu=off pci=noaer", "", {}, []),
    ("amd_iommu=off iommu=off", "", {}, ["iommu=off"]), ("", "pcie_aspm=off", {}, ["pci=noacs"]),
])
def test_what_is_not_refused(box: Box, line: str, default: str, dropins: dict[str, str],
                             tokens: list[str]) -> None:
    assert refused(box, debian(box, line, default, generated="quiet", **dropins), tokens) == ""


def test_a_word_that_only_the_generated_entry_has_is_named_there(box: Box) -> None:
    """The trial is a copy of it: gone from the files, still in the trial."""
    message = refused(box, debian(box, generated="quiet amd_iommu=off"), PT)
    assert "amd_iommu=off (/boot/grub/grub.cfg:2)" in message


def test_our_own_former_words_are_no_contradiction_and_go(box: Box) -> None:
    """A box provisioned with the former profile: pcie_aspm=off is ours, so it is dropped and nothing is refused."""
    former = ["pci=noacs", "pcie_aspm=off", "pcie_port_pm=off"]
    loader = debian(box, ours=former)
    assert refused(box, loader, PT) == ""
    now = situation.Situation(loader, PT)
    assert now.dropped == ["pcie_aspm=off"] and situation.decide(now, trial=True) == ("staged", "stage")
    block = grub.trial_block(loader._default(), now.configured, now.tokens)
    assert "pcie_aspm=off" not in block and "pcie_aspm.policy=performance" in block
    # The same word of somebody else stays one, and is refused.
    loader = debian(box, "pcie_aspm=off", ours=former)
    assert "pcie_aspm=off (/etc/default/grub:3)" in refused(box, loader, PT)


def test_clutter_does_not_stop_a_box_that_is_settled(box: Box) -> None:
    """iommu=nopt before ours: the kernel obeys ours. A new change is refused, a box that has it goes on."""
    assert "iommu=nopt" in refused(box, debian(box, "iommu=nopt"), PT)
    merged = debian(box, "iommu=nopt", ours=PT)
    assert refused(box, merged, PT) == ""
    assert "amd_iommu=off" in refused(box, debian(box, "amd_iommu=off", ours=PT), PT)


def test_grubby(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    box.put("/boot/loader/entries/1-5.14.conf", "title Rocky\noptions root=UUID=1 ro $kernelopts amd_iommu=off\n")
    box.put("/boot/grub2/grubenv", "kernelopts=pci=noaer quiet\n")
    box.put(owned.OWNED, json.dumps({"tokens": ["pcie_aspm=off"], "retired": []}))
    box.put("/proc/cmdline", "root=UUID=1 ro\n")
    loader = grubby.Grubby(None)
    loader.answers = {"--info=DEFAULT": (0, 'args="ro $kernelopts amd_iommu=off pcie_aspm=off"\nid="1-5.14"\n', "")}
    message = refused(box, loader, PT, check=True)
    assert "amd_iommu=off (/boot/loader/entries/1-5.14.conf:2) against iommu=pt" in message
    assert "pci=noaer (/boot/grub2/grubenv:1)" in message and "pcie_aspm=off" not in message
    assert "--remove-args" in message


def test_systemd_boot(box: Box) -> None:
    """The entry is what boots, /etc/kernel/cmdline what the next entries are made of: both count."""
    entry = "/efi/loader/entries/1.conf"
    box.put(entry, "title Debian\noptions root=UUID=1 ro pcie_aspm=off\n")
    box.put("/etc/kernel/cmdline", "root=UUID=1 ro iommu=off\n")
    box.put("/proc/cmdline", "root=UUID=1 ro\n")
    loader = systemd_boot.SystemdBoot(None)
    listed = [{"isDefault": True, "type": "type1", "id": "1.conf", "path": entry}]
    loader.answers = {"list": (0, json.dumps(listed), ""), "--print-esp-path": (0, "/efi\n", "")}
    message = refused(box, loader, PT)
    assert f"pcie_aspm=off ({entry}:2)" in message and "iommu=off (/etc/kernel/cmdline:1)" in message
