"""A text that names its boards is not asked which they are; a name says what a board is, and nothing of the way to
another."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.unit.imports.samples import samples
from tests.unit.imports.test_fragments import PLAIN, TOPO, findings, snap
from tests.unit.imports.test_topo_matrix import P2P

from tunecheck.model.finding import Finding

H200 = "NVIDIA H200"


def run(*names: str, busbw: float = 302.0, hosts: tuple[str, ...] = ("box", "box")) -> str:
    """What all_reduce_perf prints for one size."""
    figures = f"888.00  302.00  {busbw:.2f}       0"
    ranks = "".join(f"#  Rank {rank:2} Group  0 Pid {4000 + rank:6} on {host:>10} device {rank:2} "
                    f"[0000:{rank + 6:02x}:00] {name}\n"
                    for rank, (name, host) in enumerate(zip(names, hosts, strict=False)))
    return (f"# nccl-tests version 2.18.2 nccl-headers=22809 nccl-library=22809\n# Collective test starting: "
            f"all_reduce_perf\n# nThread 1 nGpus 2\n# Using devices\n{ranks}#\n"
            f"   268435456      67108864     float     sum      -1   {figures}   {figures}\n"
            f"# Out of bounds values : 0 OK\n# Avg bus bandwidth    : {busbw:.2f}\n#\n")



@pytest.mark.parametrize(("text", "outcome", "code", "names", "asks"), [
    (run(H200, H200), "pass", "ok", " H200 SXM ", False),
    (run(H200, H200, busbw=120), "warn", "below-known", " H200 SXM ", False),
    (run(*["NVIDIA RTX PRO 6000 Blackwell Workstation Edition"] * 2), "unknown", "no-comparison", "", False),
    (run("NVIDIA B200", "NVIDIA B200"), "unknown", "no-comparison", " NVIDIA B200 ", False),
    (run(H200, "NVIDIA H200 NVL"), "unknown", "no-comparison", " (NVIDIA H200, NVIDIA H200 NVL)", False),
    (run(H200, H200, hosts=("a", "b")), "unknown", "no-comparison", " 2 ", False),
    (run(), "unknown", "no-comparison", "", False),
])
def test_nccl_tests_names_its_boards(tmp_path: Path, text: str, outcome: str, code: str, names: str, asks: bool
                                     ) -> None:
    """``asks``: for the list of devices, which says what boards they are."""
    (found,) = findings(snap(tmp_path, text), "bench-figures")
    assert (found.outcome, found.code) == (outcome, code)
    assert names in found.message if names else "NVIDIA" not in found.message
    assert found.message.endswith(": sudo lspci -nnvvv") == asks


def test_the_tree_knows_better_than_a_name(tmp_path: Path) -> None:
    """And half a tree is no worse than none: what it lacks, the name tells."""
    tree = "".join(f"{slot}:00.0 3D controller [0302]: NVIDIA Corporation X [10de:{ids}]\n\tControl: I/O- Mem+\n\n"
                   for slot, ids in (("06", "2bb1"), ("07", "2bb1")))
    text = run(H200, H200)
    assert [each.code for each in findings(snap(tmp_path, text, tree), "bench-figures")] == ["no-comparison"]
    half = tree.replace("2bb1", "2335").partition("07:")[0]
    assert [each.code for each in findings(snap(tmp_path, text, half), "bench-figures")] == ["ok"]


_LIST = "".join(f"GPU {number}: %s (UUID: GPU-{number}1111111-2222-3333-4444-555555555555)\n" for number in (0, 1))


@pytest.mark.parametrize(("given", "shown"), [
    (_LIST % (H200, H200), "(2 x NVIDIA H200)"), (PLAIN, "(1 x NVIDIA H200)"), (run(H200, H200), "(2 x NVIDIA H200)"),
    ("", "")])
def test_the_letters_name_the_boards_and_prove_nothing(tmp_path: Path, given: str, shown: str) -> None:
    letters = f"$ nvidia-smi topo -p2p r\n{P2P.replace('NS', 'OK')}"
    (found,) = findings(snap(tmp_path, letters, *[given] * bool(given)), "p2p-capability")
    assert (found.outcome, found.code) == ("unknown", "not-proven")
    assert shown in found.message if shown else "NVIDIA" not in found.message
    assert "nvidia-smi -L" not in found.message


@pytest.mark.parametrize(("name", "code"), [
    ("NVIDIA GeForce RTX 5090", "refused-by-model"), ("NVIDIA GeForce RTX 4090", "refused-by-model"),
    (H200, "gpu-not-supported"), ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "gpu-not-supported")])
def test_a_name_says_whose_refusal_it_is(tmp_path: Path, name: str, code: str) -> None:
    letters = f"$ nvidia-smi topo -p2p r\n{P2P.replace('OK', 'GNS').replace('NS', 'GNS').replace('GGNS', 'GNS')}"
    assert {each.code for each in findings(snap(tmp_path, letters, _LIST % (name, name)), "p2p-capability")} == {code}


def test_a_name_gives_no_pair_a_path(tmp_path: Path) -> None:
    snapshot = snap(tmp_path, run(H200, H200), _LIST % (H200, H200))
    assert not snapshot.topology.pairs and findings(snapshot, "topo-relation")[0].outcome != "pass"
    (tmp_path / "alone").mkdir()
    assert {each.outcome for each in findings(snap(tmp_path / "alone", TOPO), "topo-relation")} == {"warn"}


@pytest.mark.parametrize("name", ["bench/nccl-03-2x-rtxpro6000-gen4.txt", "bench/nccl-05-2xH200-2proc-own.txt",
                                  "bench/nccl-06-2xH200-1proc-g2-own.txt", "h200/run1/smi_topo.txt"])
def test_real_texts_that_name_their_boards(tmp_path: Path, name: str) -> None:
    snapshot = snap(tmp_path, samples(name).read_text())
    for check in ("bench-figures", "p2p-capability"):
        for found in findings(snapshot, check):
            asked = [text for text in ("nvidia-smi -L", ": sudo lspci -nnvvv") if found.message.endswith(text)]
            assert found.code == "tree-unread" or not asked, "it asks which boards they are"


def _topo(word: str) -> str:
    return ("$ nvidia-smi topo -m\n\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
            f"GPU0\t X \t{word}\t0-15\t0\t\tN/A\nGPU1\t{word}\t X \t0-15\t0\t\tN/A\n\nLegend:\n\n  X    = Self\n\n")


def _bandwidth(name: str, figure: float) -> str:
    devices = f"Device 0: {name} (00000000:06:00)\nDevice 1: {name} (00000000:07:00)\n\n" if name else ""
    return "nvbandwidth Version: v0.8\nBuilt from Git version: 66746a3\n\n" + devices + "".join(
        f"Running device_to_device_{way}memcpy_read_ce.\nmemcpy CE GPU(row) -> GPU(column) {total}bandwidth (GB/s)\n"
        f"           0         1\n 0       N/A    {value:.2f}\n 1    {value:.2f}       N/A\n\nSUM x {value}\n\n"
        for way, total, value in (("", "", figure), ("bidirectional_", "Total ", 1.95 * figure)))


def _latency_test(name: str, figure: float) -> str:
    devices = "".join(f"Device: {number}, {name}, pciBusID: {number + 6}, pciDeviceID: 0, pciDomainID:0\n"
                      for number in (0, 1)) if name else ""
    return "[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]\n" + devices + "".join(
        f"{title} Bandwidth (P2P Writes) Matrix (GB/s)\n   D\\D     0      1\n     0 1500.00  {value:.2f}\n"
        f"     1 {value:.2f}  1500.00\n"
        for title, value in (("Unidirectional P2P=Enabled", figure), ("Bidirectional P2P=Enabled", 1.95 * figure)))


@pytest.mark.parametrize("bench", [_bandwidth, _latency_test])
@pytest.mark.parametrize(("word", "name", "figure", "outcome", "words"), [
    ("NV18", H200, 394.0, "pass", r"394\.0 .* 768\.3 "),
    ("NV18", H200, 290.0, "fail", r" 396\.0; .* -s .* -e"),
    ("NV12", H200, 394.0, "unknown", r" H200 SXM .* NV18, .* NV12"),
    ("NV18", "NVIDIA H20X", 394.0, "unknown", r": .*: .* NVLink, (?!.*nvidia-smi -L)"),
    ("NV18", "", 394.0, "unknown", r": nvidia-smi -L$"),
    ("SYS", H200, 30.0, "unknown", r": sudo lspci -nnvvv"),
])
def test_figures_over_nvlink_ask_for_nothing_that_pcie_would_tell(
        tmp_path: Path, bench: Callable[[str, float], str], word: str, name: str, figure: float, outcome: str,
        words: str) -> None:
    found = findings(snap(tmp_path, _topo(word) + bench(name, figure)), "bench-figures")
    assert found and {each.outcome for each in found} == {outcome}, [each.message for each in found]
    for each in found:
        assert re.search(words, each.message) and ("lspci" in each.message) == (word == "SYS"), each.message


@pytest.mark.parametrize(("bench", "share", "outcome", "expected"), [
    (_bandwidth, 0.96, "pass", ""), (_bandwidth, 0.92, "warn", "95% or more"),
    (_latency_test, 0.86, "pass", ""), (_latency_test, 0.84, "warn", "85% or more")])
def test_the_limit_that_is_told_is_the_one_that_counts(
        tmp_path: Path, bench: Callable[[str, float], str], share: float, outcome: str, expected: str) -> None:
    """p2pBandwidthLatencyTest repeats less well than nvbandwidth does."""
    found = findings(snap(tmp_path, _topo("NV18") + bench(H200, share * 396.0)), "bench-figures")
    assert [each.outcome for each in found] == [outcome]
    assert expected in ("", found[0].expected)


def test_the_boards_of_a_list_do_for_figures_over_nvlink(tmp_path: Path) -> None:
    found = findings(snap(tmp_path, _topo("NV18") + _LIST % (H200, H200), _bandwidth("", 394.0)), "bench-figures")
    assert [each.outcome for each in found] == ["pass"]


@pytest.mark.parametrize("word", ["NV18", "PIX"])
def test_letters_of_a_box_with_nvlink_ask_for_no_tree(tmp_path: Path, word: str) -> None:
    letters = f"$ nvidia-smi topo -p2p r\n{P2P.replace('NS', 'OK')}"
    (found,) = findings(snap(tmp_path, letters, _topo(word)), "p2p-capability")
    assert found.code == "not-proven" and ("lspci" in found.message) == (word == "PIX")


def linked(count: int, word: str) -> str:
    """`nvidia-smi topo -m` of GPUs that are all joined by so many links."""
    head = "\t" + "\t".join(f"GPU{number}" for number in range(count)) + "\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
    rows = (f"GPU{row}\t" + "\t".join(" X " if row == column else word for column in range(count))
            + "\t0-63\t0\t\tN/A\n" for row in range(count))
    return head + "".join(rows)


@pytest.mark.parametrize(("word", "busbw", "outcome", "code"), [
    ("NV18", 41.0, "warn", "below-path"), ("NV18", 9.0, "fail", "below-path"), ("NV18", 129.0, "warn", "below-path"),
    ("NV18", 132.0, "unknown", "no-comparison"), ("NV18", 470.0, "unknown", "no-comparison"),
    ("NV12", 41.0, "unknown", "no-comparison"), ("SYS", 41.0, "unknown", "no-comparison"),
])
def test_boards_without_a_figure_over_nvlink(tmp_path: Path, word: str, busbw: float, outcome: str, code: str) -> None:
    """By as many links as those of a board that was measured; of other numbers of links nothing is known."""
    text = run(*["NVIDIA H100 80GB HBM3"] * 8, busbw=busbw, hosts=("box",) * 8)
    (found,) = findings(snap(tmp_path, text, linked(8, word)), "bench-figures")
    assert (found.outcome, found.code) == (outcome, code), found.text


def _asked(finding: Finding) -> tuple[str, ...]:
    """The commands whose output is asked for."""
    return tuple(command.shown for command in finding.remedy.commands) if finding.remedy else ()


@pytest.mark.parametrize("bench", [_bandwidth, _latency_test])
@pytest.mark.parametrize(("name", "figure", "asked"), [
    (H200, 394.0, ["nvidia-smi topo -m"]), (H200, 20.0, ["nvidia-smi topo -m"]),
    ("NVIDIA RTX PRO 6000 Blackwell Server Edition", 52.0, ["sudo lspci -nnvvv"]),
    ("NVIDIA H20X", 394.0, ["nvidia-smi topo -m"]), ("", 394.0, ["nvidia-smi topo -m", "nvidia-smi -L"]),
    ("NVIDIA H20X", 52.0, ["nvidia-smi topo -m", "sudo lspci -nnvvv"])])
def test_what_is_asked_for_is_what_tells_the_way(
        tmp_path: Path, bench: Callable[[str, float], str], name: str, figure: float, asked: list[str]) -> None:
    """Over NVLink the driver's table alone; a tree that hides the ways does not end there."""
    found = findings(snap(tmp_path, bench(name, figure)), "bench-figures")
    assert {each.code for each in found} == {"no-comparison"}
    assert {_asked(each) for each in found} == {tuple(asked)}
    if name == H200:
        tree = "00:00.0 Host bridge [0600]: Intel Corporation 440FX [8086:1237]\n\tControl: I/O+ Mem+\n\n"
        tree += "".join(f"00:0{slot}.0 3D controller [0302]: NVIDIA Corporation X [10de:2335] (rev a1)\n"
                        "\tControl: I/O- Mem+\n"
                        "\tCapabilities: [60] Express (v2) Endpoint, MSI 00\n\t\tLnkSta: Speed 32GT/s, Width x16\n\n"
                        for slot in (6, 7))
        there = bench(name, figure).replace(":06:00", ":00:06").replace(":07:00", ":00:07")
        there = re.sub(r"pciBusID: (\d), pciDeviceID: 0", r"pciBusID: 0, pciDeviceID: \1", there)
        (tmp_path / "more").mkdir()
        found = findings(snap(tmp_path / "more", there, tree), "bench-figures")
        assert {_asked(each) for each in found} == {tuple(asked)}, [each.message for each in found]


@pytest.mark.parametrize("bench", [_bandwidth, _latency_test])
@pytest.mark.parametrize("word", ["PIX", "PXB", "PHB", "NODE", "SYS", ""])
def test_a_table_that_is_given_is_not_said_to_lack(tmp_path: Path, bench: Callable[[str, float], str], word: str
                                                   ) -> None:
    """What a table says of the way is said; how wide and fast it is, the PCI tree alone tells."""
    found = findings(snap(tmp_path, (_topo(word) if word else "") + bench(H200, 30.0)), "bench-figures")
    assert found
    for each in found:
        assert (f"topo -m says {word}, and not how wide" in each.text) == bool(word), each.text
        assert ("is not given" in each.text) == (not word) == ("lspci" not in each.message), each.message
