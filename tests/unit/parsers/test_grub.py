"""grub.cfg, our drop-in and the trial entry. The real GRUB reads them in tests/lab."""

from __future__ import annotations

from pathlib import Path

import pytest

from tunecheck.parsers.kernel import grub

CFG = (Path(__file__).parent / "grub.cfg").read_text()


def test_entries_know_their_place_and_command_line() -> None:
    found = {entry.path: entry for entry in grub.entries(CFG)}
    assert [(path, entry.id) for path, entry in found.items()] == [
        ("0", "gnulinux-simple-1111"), ("1>0", "gnulinux-6.12-advanced-1111"), ("1>1", "old"), ("2", "uefi-firmware")]
    assert found["1>1"].title == "Lab's own, with Linux 6.11"
    assert found["0"].tokens == (
        "root=UUID=1111", "ro", "console=ttyS0", "pci=noacs,disable_acs_redir=0000:00:04.0/00.0;0000:00:05.0",
        "dyndbg=file foo.c +p")


@pytest.mark.parametrize(
    ("default", "saved", "path"),
    [
        ("0", "", "0"),
        ("1>1", "", "1>1"),
        ("gnulinux-advanced-1111>old", "", "1>1"),
        ("Lab's own, with Linux 6.11", "", "1>1"),
        ("${saved_entry}", "old", "1>1"),
        ("${saved_entry}", "", "0"),
        ("no such entry", "", "0"),
    ],
)
def test_default_entry_is_found_as_grub_finds_it(default: str, saved: str, path: str) -> None:
    text = CFG.replace('set default="0"', f'set default="{default}"')
    entry = grub.default_entry(text, saved)
    assert entry is not None and entry.path == path


def test_no_entry_at_all() -> None:
    assert grub.default_entry("# empty\n") is None


@pytest.mark.parametrize(
    ("tokens", "retired"),
    [
        ([], []),
        (["iommu=pt"], []),
        (["pci=noacs,disable_acs_redir=0000:00:04.0/00.0;0000:00:05.0", "pcie_aspm=off"], ["pci=realloc"]),
        (["pci=config_acs=x0x00xx@0000:00:04.0;x0x00xx@0000:00:05.0"], ["a=b;c"]),
    ],
)
def test_dropin_round_trip(tokens: list[str], retired: list[str]) -> None:
    text = grub.render_dropin(tokens, retired)
    assert list(grub.parse_dropin(text)) == tokens
    assert list(grub.parse_retired(text)) == retired


@pytest.mark.parametrize("token", ["a b", "a'b", 'a"b', "a$b", "a`b", "a\\b", "ä=1"])
def test_a_token_that_grub_files_cannot_carry_is_refused(token: str) -> None:
    with pytest.raises(ValueError, match="cannot carry unchanged"):
        grub.render_dropin([token])


def test_trial_block_replaces_our_tokens_and_keeps_everybody_elses() -> None:
    default = grub.default_entry(CFG)
    assert default is not None
    block = grub.trial_block(default, [default.tokens[3]], ["pci=noacs", "panic=30", "tunecheck.trial=abc"])
    trial = grub.find_entry(CFG + block, grub.TRIAL_ENTRY)
    assert trial is not None
    assert trial.tokens == ("root=UUID=1111", "ro", "console=ttyS0", "dyndbg=file foo.c +p", "pci=noacs", "panic=30",
                            "tunecheck.trial=abc")
    assert "initrd\t/boot/initrd.img-6.12" in block


def test_trial_block_takes_one_of_two_equal_tokens() -> None:
    entry = grub.Entry("x", "x", "0", "menuentry 'x' {\n\tlinux /k iommu=pt iommu=pt\n}\n", ("iommu=pt", "iommu=pt"))
    trial = grub.find_entry(grub.trial_block(entry, ["iommu=pt"], []), grub.TRIAL_ENTRY)
    assert trial is not None and trial.tokens == ("iommu=pt",)


def test_an_entry_without_a_kernel_is_refused() -> None:
    firmware = grub.find_entry(CFG, "uefi-firmware")
    assert firmware is not None
    with pytest.raises(ValueError, match="starts no Linux kernel"):
        grub.trial_block(firmware, [], [])


def test_trial_script_prints_only_the_block(tmp_path: Path) -> None:
    import subprocess

    script = tmp_path / "42_tunecheck_trial"
    script.write_text(grub.render_trial_script("menuentry 'x' {\n}\n"))
    printed = subprocess.run(["/bin/sh", str(script)], capture_output=True, text=True, timeout=10, check=True).stdout
    assert printed == "menuentry 'x' {\n}\n"


def test_grubenv() -> None:
    text = "# GRUB Environment Block\nnext_entry=tunecheck-trial\nsaved_entry=a=b\n" + "#" * 50
    assert grub.parse_grubenv(text) == {"next_entry": "tunecheck-trial", "saved_entry": "a=b"}


def test_what_an_entry_loads_beside_its_kernel() -> None:
    text = ("menuentry 'x' --id x {\n\tlinux /vmlinuz-6.1 ro\n\techo initrd\n"
            "\tinitrd /early.img '/initrd.img-6.1'\n}\n")
    assert grub.entries(text)[0].initrds == ("/early.img", "/initrd.img-6.1")
    assert grub.entries("menuentry 'x' {\n\tlinux /k\n}\n")[0].initrds == ()
