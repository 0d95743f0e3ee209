"""How words get onto the kernel command line by hand is told for every boot loader, from one text that also the fixes
of findings are made of; no page of a check names the way of one of them alone."""

from __future__ import annotations

import re

import pytest
from tests.unit.cli.carried import ROOT

from tunecheck.facts.kernel.boot import Loader
from tunecheck.report.check_pages import page
from tunecheck.report.words.command_line import LINK, NAMES, by_loader
from tunecheck.rules.index import CHECKS
from tunecheck.rules.remedies.loader_edit import made_by, place_of

#: Files and programs of one boot loader.
_OF_ONE = re.compile(r"/etc/default/grub(?!\.d)|/etc/kernel/cmdline|/boot/loader|update-grub|grubby|kernel-install|"
                     r"proxmox-boot-tool")
#: Words with which a fix tells somebody to edit the command line.
_EDITS = re.compile(r"(?:kernel|the) command line|[Bb]oot with|the boot loader")


def _fix(check: str) -> str:
    text = (ROOT / f"docs/checks/{check}.md").read_text(encoding="utf-8")
    return " ".join(text.partition("## How to fix")[2].split())


@pytest.mark.parametrize("check", [check.id for check in CHECKS])
def test_a_page_gives_the_way_of_every_boot_loader_or_of_none(check: str) -> None:
    fix = _fix(check)
    assert not _OF_ONE.search(fix), "the file or program of one boot loader"
    if _EDITS.search(fix):
        assert LINK in fix
    assert (by_loader() in page(check)) == (LINK in fix)


def test_there_are_pages_that_ask_for_it() -> None:
    asking = {check.id for check in CHECKS if LINK in _fix(check.id)}
    assert {"acs-redirect", "acs-persistence", "iommu-mode", "iommu-trap", "cmdline-token", "cpu-lost"} <= asking


@pytest.mark.parametrize("name", [*NAMES, "command line", "cmdline", "kernel command line"])
def test_explain_knows_it_by_each_of_its_names(name: str) -> None:
    assert by_loader() in page(name)


@pytest.mark.parametrize("loader", [each for each in Loader if each is not Loader.NOT_KNOWN])
def test_every_boot_loader_is_told_as_findings_tell_it(loader: Loader) -> None:
    lines = by_loader().splitlines()
    program = "grubby" if loader is Loader.GRUBBY else made_by(loader, None).shown
    assert any(place_of(loader) in line and program in line for line in lines)
