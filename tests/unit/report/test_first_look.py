"""What texts show stands on top of the screen, then what is not known, then one next step with a command; the figure
of a benchmark that is fine stands beside what was expected."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest
from tests.unit.imports.hgx_report import BUSES, REPORT
from tests.unit.imports.test_named_boards import run

from tunecheck.facts.snapshot import gather
from tunecheck.host.imported.machine import load_import
from tunecheck.model.finding import worst
from tunecheck.report.style import Style
from tunecheck.report.terminal import render
from tunecheck.rules import judge
from tunecheck.rules.context import Case

_HEAD = "\t".join(["", *(f"GPU{gpu}" for gpu in range(8)), "CPU Affinity", "NUMA Affinity"])
_TOPO = _HEAD + "\n" + "".join(
    "\t".join([f"GPU{row}", *("X" if row == gpu else "NV18" for gpu in range(8)), "0-95", "0"]) + "\n"
    for row in range(8))
_LIST = "".join(f"GPU {number}: NVIDIA H100 80GB HBM3 (UUID: GPU-0b0b0b0b-1c1c-2d2d-3e3e-4f4f4f4f4f{bus})\n"
                for number, bus in enumerate(BUSES))
_TEXTS = {"query": REPORT, "topo": _TOPO, "list": _LIST}


def _case(folder: Path, texts: dict[str, str]) -> Case:
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text)
    return Case(gather(load_import(str(folder)), None, True))


def _screen(folder: Path, texts: dict[str, str], verb: str = "preflight", width: int = 80) -> tuple[list[str], str]:
    case = _case(folder, texts)
    findings = judge(case, verb)
    return render(verb, case, findings, Style(width), imported=True).splitlines(), worst(findings)


@pytest.mark.parametrize("verb", ["preflight", "topo", "host"])
@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("names", [names for count in (1, 2, 3) for names in combinations(_TEXTS, count)], ids="-".join)
def test_a_healthy_board_is_told_what_was_seen_and_what_to_do_next(tmp_path: Path, names: tuple[str, ...], width: int,
                                                                 verb: str) -> None:
    lines, outcome = _screen(tmp_path, {name: _TEXTS[name] for name in names}, verb, width)
    assert outcome == "unknown", "what is seen betters no verdict"
    seen = next(at for at, line in enumerate(lines) if line.startswith("seen: "))
    said = " ".join(" ".join(lines[seen:lines.index("", seen)]).split())
    assert ("8 x NVIDIA H100 80GB HBM3" if set(names) - {"topo"} else "8 GPUs") in said
    assert ("NV18 between every pair" in said) is ("topo" in names)
    assert "nothing wrong was found in what is here" in said or "no fault seen, but too little text for a pass" in said
    following = next(at for at, line in enumerate(lines) if line.startswith("next: "))
    unknown = [at for at, line in enumerate(lines) if line.startswith("UNKNOWN ")]
    assert seen < min(unknown) and max(unknown) < following
    assert "sudo " in " ".join(lines[following:]) or "nvidia-smi" in " ".join(lines[following:])


@pytest.mark.parametrize("part", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("ends", [False, True])
def test_a_report_that_is_cut_is_asked_for_anew(tmp_path: Path, part: float, ends: bool) -> None:
    """Whether it ends too early, or its middle is missing."""
    at = int(len(REPORT) * part)
    lines, outcome = _screen(tmp_path, {"query": REPORT[:at] + ("\n...\n" + REPORT[at + 7000:] if ends else "")})
    start = next(at for at, line in enumerate(lines) if line.startswith("next: "))
    following = " ".join(" ".join(lines[start:]).split())
    assert outcome == "unknown" and following.startswith("next: on the box: nvidia-smi -q > nvidia-smi-q.txt; ")


def test_a_fault_comes_first_and_nothing_is_called_well(tmp_path: Path) -> None:
    lines, outcome = _screen(tmp_path, {"query": REPORT.replace("GPU Recovery Action                                : "
                                                                "None", "GPU Recovery Action : Reset", 1)})
    assert outcome == "fail" and not any(line.startswith("seen: ") for line in lines)


def test_a_cut_table_is_the_least(tmp_path: Path) -> None:
    lines, _ = _screen(tmp_path, {"topo": "".join(_TOPO.splitlines(True)[:4])})
    assert [line for line in lines if line.startswith("seen: ") and "at least 8 GPUs" in line], lines


_DEVICES = "".join(f"Device {gpu}: NVIDIA H200 (00000000:{gpu + 6:02x}:00)\n" for gpu in range(2))


def _copies(name: str, figure: str) -> str:
    return (f"Running device_to_device_{name}_ce.\nmemcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n"
            f"           0         1\n 0       N/A    {figure}\n 1    {figure}       N/A\n\nSUM {name} 1.0\n\n")


_FIGURES = {
    "nvbandwidth": ("nvbandwidth Version: v0.8\n\n" + _DEVICES + "\n" + _copies("memcpy_write", "391.25")
                    + _copies("bidirectional_memcpy_write", "771.50"), ("391.2 GB/s one way", "771.5", "376.2")),
    "nccl-tests": (run("NVIDIA H200", "NVIDIA H200"), ("302.0 GB/s", "242 GB/s or more")),
    "p2pBandwidthLatencyTest": (
        "[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]\n" + "".join(
            f"Device: {gpu}, NVIDIA H200, pciBusID: {gpu + 6}, pciDeviceID: 0, pciDomainID:0\n" for gpu in range(2))
        + "".join(f"{way}directional P2P=Enabled Bandwidth{' (P2P Writes)' * (way == 'Uni')} Matrix (GB/s)\n"
                  f"   D\\D     0      1\n     0 3900.00  {figure}\n     1  {figure} 3900.00\n"
                  for way, figure in (("Uni", "391.25"), ("Bi", "771.50"))), ("391.2 GB/s one way", "771.5", "336.6")),
}


@pytest.mark.parametrize("width", [0, 60, 80])
@pytest.mark.parametrize("tool", _FIGURES)
def test_a_figure_that_is_fine_stands_beside_what_was_expected(tmp_path: Path, tool: str, width: int) -> None:
    text, figures = _FIGURES[tool]
    pair = "\tGPU0\tGPU1\tCPU Affinity\nGPU0\tX\tNV18\t0-95\nGPU1\tNV18\tX\t0-95\n"
    lines, _ = _screen(tmp_path, {"topo": pair, "figures": text}, width=width)
    start = next(at for at, line in enumerate(lines) if line.startswith("PASS    bench-figures: "))
    end = next(at for at in range(start + 1, len(lines)) if not lines[at].startswith("        "))
    said = " ".join(" ".join(lines[start:end]).split())
    assert [each for each in figures if each not in said] == [], said
