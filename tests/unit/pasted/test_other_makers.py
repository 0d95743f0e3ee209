"""An lspci of a machine with accelerators of other makers is told so, whatever of it was pasted."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.imports.test_fragments import load

from tunecheck.facts.snapshot import gather
from tunecheck.report.document import Run, document
from tunecheck.report.html import html
from tunecheck.report.style import Style
from tunecheck.report.terminal import render
from tunecheck.rules import judge
from tunecheck.rules.context import Case

HOST = "00:00.0 Host bridge [0600]: Advanced Micro Devices, Inc. [AMD] Device [1022:14a4]\n"
OTHERS = {
    "MI300X": ("05:00.0 Processing accelerators [1200]: Advanced Micro Devices, Inc. [AMD/ATI] Aqua Vanjaram "
               "[Instinct MI300X] [1002:74a1]", "AMD Instinct MI300X (0000:05:00.0)"),
    "Radeon": ("03:00.0 VGA compatible controller [0300]: Advanced Micro Devices, Inc. [AMD/ATI] Navi 31 "
               "[Radeon RX 7900 XT] [1002:744c] (rev c8)", "AMD Radeon RX 7900 (0000:03:00.0)"),
    "without numbers": ("03:00.0 VGA compatible controller: Advanced Micro Devices, Inc. [AMD/ATI] Navi 31 "
                        "[Radeon RX 7900 XT] (rev c8)", "AMD (0000:03:00.0)"),
    "MI250": ("c1:00.0 Display controller [0380]: Advanced Micro Devices, Inc. [AMD/ATI] Aldebaran/MI200 [Instinct "
              "MI250X/MI250] [1002:740c] (rev 01)", "AMD Instinct MI250 (0000:c1:00.0)"),
    "Gaudi2": ("33:00.0 Processing accelerators [1200]: Habana Labs Ltd. Gaudi2 AI Training Accelerator [1da3:1020]",
               "Habana (Intel Gaudi) Gaudi2 (0000:33:00.0)"),
    "Gaudi without numbers": ("33:00.0 Processing accelerators: Habana Labs Ltd. Gaudi2 AI Training Accelerator",
                              "a maker that tunecheck does not know (0000:33:00.0)"),
    "Intel Max": ("2a:00.0 Display controller [0380]: Intel Corporation Ponte Vecchio XT [8086:0bd5]",
                  "Intel Data Center GPU Max 1550 (0000:2a:00.0)"),
}
DETAILS = "\n\tControl: I/O- Mem+\n\tStatus: Cap-\n\tKernel driver in use: x\n\n"
NVIDIA = "06:00.0 3D controller [0302]: NVIDIA Corporation GH100 [H200 SXM 141GB] [10de:2335] (rev a1)"


@pytest.mark.parametrize("whole", [True, False], ids=["-vvv", "a list"])
@pytest.mark.parametrize("who", OTHERS)
def test_the_report_names_it_and_says_whom_it_judges(tmp_path: Path, who: str, whole: bool) -> None:
    line, named = OTHERS[who]
    text = f"{HOST.strip()}{DETAILS}{line}{DETAILS}" if whole else f"{HOST}{line}\n"
    for verb in ("topo", "preflight"):
        case = Case(gather(load(tmp_path, text.encode()), None, verb != "topo"))
        findings = judge(case, verb)
        assert [(each.id, each.outcome) for each in findings if each.code == "other-makers"] == [
            ("accelerator-count", "skip")]
        import datetime

        page = html(Run(document(verb, case, findings), findings, datetime.datetime.now(datetime.UTC), "x"))
        for said in (*(render(verb, case, findings, Style(width), verbose, True)
                       for width in (0, 60, 80) for verbose in (True, False)), page):
            flat = " ".join(said.split())
            assert named in flat and "tunecheck judges NVIDIA GPUs only" in flat, said
        # The whole list would tell no more.
        assert "next: on the box" not in render(verb, case, findings, Style(80), imported=True)


@pytest.mark.parametrize("line", [
    "00:02.0 VGA compatible controller [0300]: Intel Corporation Raptor Lake-S GT1 [UHD Graphics 770] [8086:a780]",
    "00:0b.0 Processing accelerators [1200]: Intel Corporation Meteor Lake NPU [8086:7d1d]",
    "03:00.0 VGA compatible controller [0300]: ASPEED Technology, Inc. ASPEED Graphics Family [1a03:2000]",
    "07:00.0 VGA compatible controller [0300]: Matrox Electronics Systems Ltd. Integrated Matrox [102b:0538]"])
def test_what_is_part_of_a_processor_or_server_is_none(tmp_path: Path, line: str) -> None:
    assert gather(load(tmp_path, f"{HOST}{line}\n".encode()), None, False).topology.others == ()


@pytest.mark.parametrize("line", ["0f:00.0 VGA compatible controller [0300]: Advanced Micro Devices, Inc. [AMD/ATI] "
                                  "Raphael [1002:164e]", OTHERS["MI300X"][0]])
def test_beside_nvidias_it_has_a_line_where_it_is_a_known_board(tmp_path: Path, line: str) -> None:
    case = Case(gather(load(tmp_path, f"{HOST}{NVIDIA}\n{line}\n".encode()), None, False))
    for width in (0, 80):
        text = render("topo", case, judge(case, "topo"), Style(width))
        assert ("MI300X" in " ".join(text.split())) == ("MI300X" in line)
