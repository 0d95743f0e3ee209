"""The Enterprise Linux path against a stand-in for grubby: none of its packages can be had on Debian.

The stand-in keeps real BLS files and a real grubenv text; only the two programs that write them are imitated,
after grubby(8) and grub2-reboot(8) of EL 9.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.bootloader import Why, grubby, owned
from ansible.module_utils.tunecheck.parsers.kernel import bls

ENTRY = """\
title Rocky Linux (5.14.0-570.el9.x86_64) 9.6
version 5.14.0-570.el9.x86_64
linux /vmlinuz-5.14.0-570.el9.x86_64
initrd /initramfs-5.14.0-570.el9.x86_64.img
options root=UUID=1 ro crashkernel=1G-4G:192M pci=realloc
grub_class kernel
"""
ID = "0123-5.14.0-570.el9.x86_64"


class StandIn:
    """Answers run_command() as grubby, grub2-reboot and grub2-editenv would."""

    def __init__(self, entries: Path, environment: Path) -> None:
        self.entry, self.environment, self.calls = entries / f"{ID}.conf", environment, []

    def run_command(self, argv: list[str], **_options: Any) -> tuple[int, str, str]:
        self.calls.append(argv)
        program = argv[0].rsplit("/", 1)[1]
        if argv[1:] == ["--info=DEFAULT"]:
            args = re.sub(r" ?root=\S+", "", bls.options(self.entry.read_text())).strip()
            return 0, f'index=0\nkernel="/boot/vmlinuz"\nargs="{args} $tuned_params"\nroot="UUID=1"\nid="{ID}"\n', ""
        if program == "grubby":
            line = bls.options(self.entry.read_text()).split()
            for option in argv[2:]:
                name, _, value = option.partition("=")
                for token in value.split():
                    if name == "--remove-args" and token in line:
                        line.remove(token)
                    if name == "--args" and token not in line:
                        line.append(token)
            self.entry.write_text(bls.with_options(self.entry.read_text(), " ".join(line)))
        elif program == "grub2-reboot":
            self.environment.write_text(f"next_entry={argv[1]}\ntuned_params=\n")
        elif program == "grub2-editenv":
            self.environment.write_text("tuned_params=\n")
        return 0, "", ""


@pytest.fixture()
def loader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    entries = tmp_path / "entries"
    entries.mkdir()
    (entries / f"{ID}.conf").write_text(ENTRY)
    environment = tmp_path / "grubenv"
    environment.write_text("tuned_params=\n")
    monkeypatch.setattr(grubby, "_ENTRIES", str(entries))
    monkeypatch.setattr(grubby, "_ENV", str(environment))
    monkeypatch.setattr(owned, "OWNED", str(tmp_path / "kernel_cmdline.json"))
    return grubby.Grubby(StandIn(entries, environment))


def test_the_trial_is_a_copy_taken_once(loader: Any) -> None:
    loader.stage([], ["pci=noacs", "panic=30", "tunecheck.trial=abc"])
    staged = loader.staged()
    assert staged.armed and staged.tokens[-3:] == ["pci=noacs", "panic=30", "tunecheck.trial=abc"]
    assert {"pci=realloc", "root=UUID=1"} <= set(staged.tokens) and loader.configured() == []
    assert "pci=noacs" not in loader.generated()
    loader.give_up()
    assert loader.staged() is None


def test_commit_change_and_remove_touch_only_ours(loader: Any) -> None:
    loader.commit(["pci=noacs", "iommu=pt"], [])
    assert loader.configured() == ["pci=noacs", "iommu=pt"] and "iommu=pt" in loader.generated()
    loader.commit(["iommu=off"], ["iommu=pt"])
    assert loader.configured() == ["iommu=off"] and loader.retired() == ["iommu=pt"]
    assert "pci=noacs" not in loader.generated() and "pci=realloc" in loader.generated()
    loader.remove()
    assert loader.configured() == [] and "iommu=off" not in loader.generated()
    assert bls.options(loader.module.entry.read_text()) == bls.options(ENTRY)


def test_grubby_that_lies_is_caught(loader: Any) -> None:
    """EL 8 with grubenv linked into the ESP: grubby reports success and nothing reaches the entry."""
    loader.module.entry.chmod(0o644)
    original = loader.module.run_command
    loader.module.run_command = lambda argv, **options: (
        original(argv, **options) if "--info=DEFAULT" in argv else (0, "", ""))
    with pytest.raises(grubby.BootloaderError, match=r"\biommu=pt\b") as caught:
        loader.commit(["iommu=pt"], [])
    assert caught.value.why is Why.NOT_IN_DEFAULT
