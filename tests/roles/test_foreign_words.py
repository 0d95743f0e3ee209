"""A word that somebody else set against the spec is refused before anything is written, with the line where it stands.

The module runs whole, with a real loader over real files; only update-grub, grubby and the trial's own writes are not
reached, since the refusal comes first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.bootloader import Stopped, grub_debian, grubby, owned, systemd_boot
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

    def fail_json(self, msg: str, code: str, against: list[dict[str, str]]) -> None:
        assert code == Stopped.CONTRADICTED.value
        for each in against:
            assert all(value in msg for value in each.values()), msg
        raise _EndError(msg, [tuple(each.values()) for each in against])

    def run_command(self, argv: list[str], **_options: Any) -> tuple[int, str, str]:
        return self.answers.get(argv[1], (1, "", "not in this test"))


def refused(box: Box, loader: Any, tokens: list[str], check: bool = False) -> list[tuple[str, str, str]]:
    """What the module refuses as (token, where it stands, the word of ours that it contradicts); empty where it goes on
    to its first write. Its message names all of that, and what an edit by hand needs."""
    box.monkeypatch.setattr(situation, "read_text", box.read)
    module = loader.module = _Module(tokens, check)
    loader.module.answers = getattr(loader, "answers", {})
    for name in ("stage", "commit"):
        box.monkeypatch.setattr(loader, name, lambda *_args: None)
    box.monkeypatch.setattr(loader, "trial_refusal", lambda *_: None)
    # What is written beside the boot loader's files: the note, how the last trial ended, the trial's own initramfs.
    for place, name in ((steps, "note"), (steps, "confirm"), (steps.proof, "forget"),
                        (steps.trial_confirmation, "forget"), (steps.trial_initrd, "forget")):
        box.monkeypatch.setattr(place, name, lambda *_args: None)
    try:
        steps.run_staged(module, loader, situation.Situation(loader, tokens))
    except _EndError as end:
        message, found = end.args
        assert loader.after_an_edit and loader.after_an_edit in message
        return list(found)
    return []


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
@pytest.mark.parametrize(("line", "default", "dropins", "found"), [
    ("amd_iommu=off", "quiet", {}, [("amd_iommu=off", "/etc/default/grub:3", "iommu=pt")]),
    ("console=ttyS0 iommu=off", "", {}, [("iommu=off", "/etc/default/grub:3", "iommu=pt")]),
    ("", "quiet intel_iommu=off", {}, [("intel_iommu=off", "/etc/default/grub:2", "iommu=pt")]),
    ("", "", {"10-x": "# theirs\nGRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX pcie_aspm=off\"\n"},
     [("pcie_aspm=off", "/etc/default/grub.d/10-x.cfg:2", "pcie_aspm.policy=performance")]),
    ("", "", {"10-x": "GRUB_CMDLINE_LINUX_DEFAULT+=' pci=nocrs,noaer'\n"},
     [("pci=nocrs,noaer", "/etc/default/grub.d/10-x.cfg:1", "pcie_aspm.policy=performance")]),
    ("pcie_aspm.policy=powersave", "", {},
     [("pcie_aspm.policy=powersave", "/etc/default/grub:3", "pcie_aspm.policy=performance")]),
    ("", "", {"zzz": "GRUB_CMDLINE_LINUX_DEFAULT=\"${GRUB_CMDLINE_LINUX_DEFAULT} \\\n  iommu=nopt\"\n"},
     [("iommu=nopt", "/etc/default/grub.d/zzz.cfg:1", "iommu=pt")]),
    ("amd_iommu=off", "pcie_aspm=off", {},
     [("amd_iommu=off", "/etc/default/grub:3", "iommu=pt"),
      ("pcie_aspm=off", "/etc/default/grub:2", "pcie_aspm.policy=performance")]),
])
def test_grub_debian(box: Box, line: str, default: str, dropins: dict[str, str], found: list[tuple[str, str, str]],
                     check: bool) -> None:
    """Also where update-grub has not run since: the files are what the next update-grub makes a command line of."""
    loader = debian(box, line, default, generated="quiet", **dropins)
    assert sorted(refused(box, loader, PT, check)) == sorted(found)


@pytest.mark.parametrize(("line", "default", "dropins", "tokens"), [
    ("console=ttyS0", "quiet splash", {}, PT), ("iommu=pt intel_iommu=on", "pci=realloc=off", {}, PT),
    # the cloud image's file throws away what stood before
    ("", "amd_iommu=off", {"50-cloudimg-settings": 'GRUB_CMDLINE_LINUX_DEFAULT="console=ttyS0"\n'}, PT),
    ("", "", {"10-x": "#GRUB_CMDLINE_LINUX=amd_iommu=off\n"}, PT), ("amd_iommu=off pci=noaer", "", {}, []),
    ("amd_iommu=off iommu=off", "", {}, ["iommu=off"]), ("", "pcie_aspm=off", {}, ["pci=noacs"]),
])
def test_what_is_not_refused(box: Box, line: str, default: str, dropins: dict[str, str],
                             tokens: list[str]) -> None:
    assert refused(box, debian(box, line, default, generated="quiet", **dropins), tokens) == []


def test_a_word_that_only_the_generated_entry_has_is_named_there(box: Box) -> None:
    """The trial is a copy of it: gone from the files, still in the trial."""
    assert refused(box, debian(box, generated="quiet amd_iommu=off"), PT) == [
        ("amd_iommu=off", "/boot/grub/grub.cfg:2", "iommu=pt")]


def test_our_own_former_words_are_no_contradiction_and_go(box: Box) -> None:
    """A box provisioned with the former profile: pcie_aspm=off is ours, so it is dropped and nothing is refused."""
    former = ["pci=noacs", "pcie_aspm=off", "pcie_port_pm=off"]
    loader = debian(box, ours=former)
    assert refused(box, loader, PT) == []
    now = situation.Situation(loader, PT)
    assert now.dropped == ["pcie_aspm=off"] and situation.decide(now, trial=True) == ("staged", "stage")
    block = grub.trial_block(loader._default(), now.configured, now.tokens)
    assert "pcie_aspm=off" not in block and "pcie_aspm.policy=performance" in block
    # The same word of somebody else stays one, and is refused.
    loader = debian(box, "pcie_aspm=off", ours=former)
    assert refused(box, loader, PT) == [("pcie_aspm=off", "/etc/default/grub:3", "pcie_aspm.policy=performance")]


def test_clutter_does_not_stop_a_box_that_is_settled(box: Box) -> None:
    """iommu=nopt before ours: the kernel obeys ours. A new change is refused, a box that has it goes on."""
    assert [token for token, _, _ in refused(box, debian(box, "iommu=nopt"), PT)] == ["iommu=nopt"]
    merged = debian(box, "iommu=nopt", ours=PT)
    assert refused(box, merged, PT) == []
    assert [token for token, _, _ in refused(box, debian(box, "amd_iommu=off", ours=PT), PT)] == ["amd_iommu=off"]


def test_grubby(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    box.put("/boot/loader/entries/1-5.14.conf", "title Rocky\noptions root=UUID=1 ro $kernelopts amd_iommu=off\n")
    box.put("/boot/grub2/grubenv", "kernelopts=pci=noaer quiet\n")
    box.put(owned.OWNED, json.dumps({"tokens": ["pcie_aspm=off"], "retired": []}))
    box.put("/proc/cmdline", "root=UUID=1 ro\n")
    loader = grubby.Grubby(None)
    loader.answers = {"--info=DEFAULT": (0, 'args="ro $kernelopts amd_iommu=off pcie_aspm=off"\nid="1-5.14"\n', "")}
    assert sorted(refused(box, loader, PT, check=True)) == [
        ("amd_iommu=off", "/boot/loader/entries/1-5.14.conf:2", "iommu=pt"),
        ("pci=noaer", "/boot/grub2/grubenv:1", "pcie_aspm.policy=performance")], "pcie_aspm=off is our own"
    assert "--remove-args" in loader.after_an_edit


def test_systemd_boot(box: Box) -> None:
    """The entry is what boots, /etc/kernel/cmdline what the next entries are made of: both count."""
    entry = "/efi/loader/entries/1.conf"
    box.put(entry, "title Debian\noptions root=UUID=1 ro pcie_aspm=off\n")
    box.put("/etc/kernel/cmdline", "root=UUID=1 ro iommu=off\n")
    box.put("/proc/cmdline", "root=UUID=1 ro\n")
    loader = systemd_boot.SystemdBoot(None)
    listed = [{"isDefault": True, "type": "type1", "id": "1.conf", "path": entry}]
    loader.answers = {"list": (0, json.dumps(listed), ""), "--print-esp-path": (0, "/efi\n", "")}
    assert sorted(refused(box, loader, PT)) == [
        ("iommu=off", "/etc/kernel/cmdline:1", "iommu=pt"),
        ("pcie_aspm=off", f"{entry}:2", "pcie_aspm.policy=performance")]
