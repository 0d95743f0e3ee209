"""A fix of the kernel command line by hand is one of the boot loader that booted the host."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.checks.test_cases import CASES, case_of, check_of
from tests.unit.facts.trees import frozen, full, switch

from tunecheck.facts.kernel.boot import Loader
from tunecheck.facts.snapshot import gather
from tunecheck.model.fact import known
from tunecheck.model.finding import Finding
from tunecheck.rules import judge
from tunecheck.rules.context import Case
from tunecheck.rules.remedies import boot_remedies

TESTS = Path(__file__).parents[2]
_TOOLS = {"update-grub": (Loader.GRUB, Loader.NOT_KNOWN), "grubby": (Loader.GRUBBY, Loader.NOT_KNOWN),
          "kernel-install": (Loader.SYSTEMD_BOOT,),
          "proxmox-boot-tool": (Loader.PROXMOX_BOOT, Loader.PROXMOX_GRUB)}
_GRUB_FILE = (Loader.GRUB, Loader.NOT_KNOWN, Loader.PROXMOX_GRUB)


def _booted_by(case: Case, loader: Loader) -> Case:
    host = case.host
    return replace(case, snapshot=replace(case.snapshot, host=replace(host, boot=replace(host.boot, loader=loader))))


def _case(loader: Loader) -> Case:
    spec = frozen()
    return _booted_by(Case(gather(full(switch()).host(), spec.spec, True), spec), loader)


def _of_the_line(case: Case, verb: str) -> Iterator[tuple[Finding, str]]:
    """The findings whose fix edits the command line, with all that it says."""
    for finding in judge(case, verb):
        if finding.remedy is not None:
            said = " ".join((finding.text, finding.remedy.text, finding.remedy.by_hand))
            if any(tool in said for tool in _TOOLS):
                yield finding, said


def _cases() -> list[Path]:
    """The cases of every check that names one of these programs somewhere (wording.txt has all that checks say)."""
    found, check = set(), ""
    for row in (TESTS / "unit/checks/wording.txt").read_text().splitlines():
        if row and not row.startswith(" "):
            check = row
        elif any(tool in row for tool in _TOOLS):
            found.add(check)
    named = {check_of(path) for path in CASES if f"{path.parent.name}/{path.stem}" in found}
    return [path for path in CASES if check_of(path) in named]


@pytest.mark.parametrize("path", _cases(), ids=lambda path: path.stem)
def test_a_fix_by_hand_is_one_of_the_hosts_own_boot_loader(path: Path) -> None:
    _, case, verb = case_of(path)
    if case.snapshot.host is None or not list(_of_the_line(case, verb)):
        return
    for loader in Loader:
        for finding, said in _of_the_line(_booted_by(case, loader), verb):
            for tool, loaders in _TOOLS.items():
                assert tool not in said or loader in loaders, (loader, finding)
            assert "GRUB_CMDLINE_LINUX_DEFAULT" not in said or loader in _GRUB_FILE, (loader, finding)


@pytest.mark.parametrize(("loader", "text"), [
    (Loader.GRUB, "take maxcpus=4 out of GRUB_CMDLINE_LINUX_DEFAULT in /etc/default/grub and run: sudo update-grub, "
                  "then reboot"),
    (Loader.GRUBBY, "take maxcpus=4 out of the options of the entries in /boot/loader/entries: sudo grubby "
                    "--update-kernel=ALL --remove-args=maxcpus=4, then reboot"),
    (Loader.SYSTEMD_BOOT, "take maxcpus=4 out of /etc/kernel/cmdline and run: sudo kernel-install add 6.12.1 "
                          "/boot/vmlinuz-6.12.1, then reboot"),
    (Loader.PROXMOX_BOOT, "take maxcpus=4 out of the first line of /etc/kernel/cmdline and run: sudo "
                          "proxmox-boot-tool refresh, then reboot"),
    (Loader.PROXMOX_GRUB, "take maxcpus=4 out of GRUB_CMDLINE_LINUX_DEFAULT in /etc/default/grub and run: sudo "
                          "proxmox-boot-tool refresh, then reboot"),
    (Loader.NOT_KNOWN, "take maxcpus=4 out of GRUB_CMDLINE_LINUX_DEFAULT in /etc/default/grub and run: sudo "
                       "update-grub (on Fedora and Rocky one command does both steps: sudo grubby --update-kernel=ALL "
                       "--remove-args=maxcpus=4), then reboot")])
def test_the_words_of_each_boot_loader(loader: Loader, text: str) -> None:
    case = _case(loader)
    host = replace(case.host, kernel=replace(case.host.kernel, release=known("6.12.1", "uname")))
    assert boot_remedies.remove(replace(case, snapshot=replace(case.snapshot, host=host)), ["maxcpus=4"]).text == text


def test_a_word_that_a_shell_would_read_gets_no_grubby_command() -> None:
    remedy = boot_remedies.remove(_case(Loader.GRUBBY), ["dyndbg=\"file a +p\""])
    assert [each.argv for each in remedy.commands] == [("sudo", "grubby", "--info=ALL")]
