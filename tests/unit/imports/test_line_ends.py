"""Texts whose lines a window broke, or cut off at its right side: broken ones say what whole ones say, and what was cut
off is never told wrongly."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.unit.imports.samples import FIXTURES
from tests.unit.imports.smi_texts import GPU, HEAD
from tests.unit.imports.test_partial_lspci import judged

from tunecheck.host.imported.line_ends import mended

LSPCI = (FIXTURES / "pciutils" / "3.14.0.txt").read_text()
QUERY = HEAD.format(count=2) + "\n".join(GPU.replace("{bus}", bus) for bus in ("03", "04"))
_HOST = "gpu-node-017.dc2.example.com kernel"
JOURNAL = f"""\
Nov 27 10:01:12 {_HOST}: NVRM: GPU at PCI:0000:2b:00: GPU-0b11d014-1685-04bd-26ed-5fc0bc1c44ae
Nov 27 10:01:12 {_HOST}: NVRM: Xid (PCI:0000:2b:00): 79, GPU has fallen off the bus.
Nov 27 10:01:12 {_HOST}: NVRM: GPU 0000:2b:00.0: GPU has fallen off the bus.
Nov 27 10:01:13 {_HOST}: NVRM: Xid (PCI:0000:2b:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 \
(Node Reboot Required)
"""
DMESG = """\
[    0.000000] Linux version 6.8.0-60-generic (b@h) (x86_64-linux-gnu-gcc-13 (Ubuntu 13.3.0) 13.3.0, GNU ld) #63
[    0.100000] Command line: BOOT_IMAGE=/boot/vmlinuz-6.8.0-60-generic root=UUID=11111111-2222-4333-8444-5555 ro quiet
[74785.660366] pcieport 0000:00:02.0: AER: Correctable error message received from 0000:00:02.0
[74785.660380] pcieport 0000:00:02.0: PCIe Bus Error: severity=Correctable, type=Data Link Layer, (Transmitter ID)
[74785.660385] pcieport 0000:00:02.0:   device [8086:2f04] error status/mask=00001000/00002000
[74785.660389] pcieport 0000:00:02.0:    [12] Timeout
[74889.644138] INFO: task python3:620917 blocked for more than 120 seconds.
[74889.644140] mpt3sas 0000:78:00.0: enabling device (0000 -> 0002)
[74889.644142] NVRM: Xid (PCI:0000:02:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.
"""
TEXTS = {"lspci": LSPCI, "query": QUERY, "journal": JOURNAL, "dmesg": DMESG}
WIDTHS = (60, 64, 72, 80, 100, 120)

pytestmark = pytest.mark.skipif(shutil.which("fold") is None, reason="coreutils' fold is not installed")


def fold(text: str, *options: str) -> str:
    return subprocess.run(["fold", *options], input=text, capture_output=True, text=True, check=True, timeout=30).stdout


def cut(text: str, width: int, columns: bool) -> str:
    """As a window that does not break lines (columns), or as `cut -c`, which counts a tab as one character."""
    return "".join(f"{(line.expandtabs() if columns else line)[:width]}\n" for line in text.splitlines())


def said(folder: Path, text: str) -> dict[str, set[tuple[str, str, str]]]:
    """(outcome, code, subject) of every finding, by check."""
    return {check: {(each.outcome, each.code, each.subject) for each in findings}
            for check, findings in judged(folder, text).items()}


@pytest.mark.parametrize("way", ["-w", "-sw"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", TEXTS)
def test_broken_lines_are_what_they_were(name: str, width: int, way: str) -> None:
    text = TEXTS[name]
    broken = fold(text, way, str(width))
    assert mended(broken).text == text
    assert bool(mended(broken).doubt) == (broken != text)


@pytest.mark.parametrize("name", TEXTS)
def test_what_they_say_is_the_same(name: str, tmp_path: Path) -> None:
    assert said(tmp_path / "broken", fold(TEXTS[name], "-w", "80")) == said(tmp_path / "whole", TEXTS[name])


@pytest.mark.parametrize("name", TEXTS)
def test_blanks_that_a_terminal_left_out_at_the_end_are_there_again(name: str) -> None:
    bare = "\n".join(line.rstrip() for line in TEXTS[name].split("\n"))
    broken = "\n".join(line.rstrip() for line in fold(bare, "-sw", "80").split("\n"))
    assert mended(broken).text == bare


@pytest.mark.parametrize("text", [
    *TEXTS.values(), LSPCI + DMESG, QUERY + DMESG, DMESG + "this is what I see on gpu7:\n"])
def test_whole_lines_stay_as_they_are(text: str) -> None:
    assert mended(text).text == text and not mended(text).doubt


@pytest.mark.parametrize("lines", [
    f"Nov 27 10:01:12 {_HOST}: NVRM: Xid (PCI:0000:2b:00):\n 79, GPU has fallen off the bus.\n",
    f"Nov 27 10:01:12 {_HOST}: NVRM: Xid (PCI:\n0000:2b:00): 79, GPU has fallen off the bus.\n",
])
def test_one_broken_line_is_enough_where_it_makes_an_xid(lines: str, tmp_path: Path) -> None:
    assert ("fail", "xid-79", "0000:2b:00 Xid 79") in said(tmp_path / "a", lines)["xid"]


def test_a_broken_command_line_is_one(tmp_path: Path) -> None:
    line = ("BOOT_IMAGE=/boot/vmlinuz-6.8.0-60-generic root=UUID=11111111-2222-4333-8444-555555555555 ro quiet splash "
            "iommu=pt pci=noacs init_on_alloc=0 console=tty0 console=ttyS0,115200n8 crashkernel=512M\n")
    assert said(tmp_path / "broken", fold(line, "-w", "80")) == said(tmp_path / "whole", line)


@pytest.mark.parametrize("columns", [True, False])
@pytest.mark.parametrize("width", [60, 80, 100])
@pytest.mark.parametrize("name", TEXTS)
def test_lines_that_were_cut_off_are_never_told_wrongly(name: str, width: int, columns: bool, tmp_path: Path) -> None:
    """No check fails or warns that did not, and none passes that did not: what is missing is unknown."""
    whole = said(tmp_path / "whole", TEXTS[name])
    for check, findings in said(tmp_path / "part", cut(TEXTS[name], width, columns)).items():
        new = {each for each in findings if each[0] in ("fail", "warn", "pass")} - whole.get(check, set())
        assert not new, check


def test_many_lines_that_end_at_one_width_were_cut_off() -> None:
    for width in (60, 80):
        for columns in (True, False):
            assert f" {width} columns" in mended(cut(LSPCI, width, columns)).doubt
