"""Two outputs of one kind: whichever comes first, in one paste or as two files, nothing bad in one of them is lost."""

from __future__ import annotations

import itertools
import re
from enum import Enum
from pathlib import Path

import pytest
from tests.unit.imports import smi_texts
from tests.unit.imports.twice import TWICE
from tests.unit.refusing import refused

from tunecheck.errors import UsageError
from tunecheck.facts.snapshot import gather
from tunecheck.host.imported import kinds, posts
from tunecheck.host.imported.machine import load_import
from tunecheck.host.imported.seams import MOST, parts
from tunecheck.parsers.nvidia.smi_query import parse_query
from tunecheck.parsers.text.damage import Damage
from tunecheck.rules import judge
from tunecheck.rules.context import Case

_RANK = {"not_applicable": 0, "skip": 0, "pass": 0, "unknown": 1, "warn": 2, "fail": 3}
#: Kinds of which there is no good output, or that no command prints.
_ONE_SIDED = {"nvidia-smi's failure", "spec"}


def outcomes(path: Path) -> dict[str, int] | Enum | None:
    """The worst outcome of each check; the code where the texts are refused."""
    try:
        found = judge(Case(gather(load_import(str(path)), None, True)), "preflight")
    except UsageError as error:
        return error.flaw
    worst: dict[str, int] = {}
    for each in found:
        worst[each.id] = max(worst.get(each.id, 0), _RANK[each.outcome])
    return worst


def test_every_kind_is_here() -> None:
    every = {kind for kind, _ in kinds._PATTERNS} | {kind for kind, _, _ in posts._SIGNS}
    assert set(TWICE) | _ONE_SIDED >= every | {"lspci", "lspci -m", "kernel log", "/proc/cmdline", "spec"}


@pytest.mark.parametrize("kind", TWICE)
def test_a_bad_output_beside_a_good_one_of_its_kind_counts(kind: str, tmp_path: Path) -> None:
    good, bad = TWICE[kind]
    (tmp_path / "bad.txt").write_text(bad)
    alone = outcomes(tmp_path / "bad.txt")
    (tmp_path / "bad.txt").unlink()
    assert isinstance(alone, dict), alone
    said = []
    for number, order in enumerate(itertools.permutations((good, bad))):
        paste, folder = tmp_path / f"{number}.txt", tmp_path / f"folder{number}"
        paste.write_text("".join(order))
        folder.mkdir()
        for place, text in enumerate(order):
            (folder / f"{place}-p2p-r.txt").write_text(text)
        for given in (paste, folder):
            found = outcomes(given)
            if isinstance(found, Enum):
                assert found is Damage.CONTRADICTS
            else:
                lost = {check: (rank, found.get(check, 0)) for check, rank in alone.items()
                        if rank > 1 and not found.get(check, 0)}
                assert not lost, (given, lost)
            said.append(found)
    assert any(isinstance(found, Enum) for found in said) or any(rank > 0 for rank in alone.values())


@pytest.mark.parametrize("kind", sorted(set(TWICE) - {"kernel log", "NCCL log", "topo", "topo -p2p", "sysfs values"}))
def test_two_outputs_of_one_kind_are_two_texts(kind: str) -> None:
    good, bad = TWICE[kind]
    for one, other in ((good, bad), (bad, good)):
        found = [text for _, text in parts(one + other)]
        assert [text.strip() for text in found] == [one.strip(), other.strip()]


@pytest.mark.parametrize(("one", "other"), [*itertools.permutations(
    ("nccl-tests", "p2pBandwidthLatencyTest", "nvbandwidth"), 2)])
def test_outputs_of_two_benchmarks_are_two_texts(one: str, other: str) -> None:
    assert [text for _, text in parts(TWICE[one][0] + TWICE[other][0])] == [TWICE[one][0], TWICE[other][0]]


@pytest.mark.parametrize(("edit", "words"), [
    (("595.71.05", "580.159.04"), r" 595\.71\.05 \w+ 580\.159\.04"),
    (("Attached GPUs                             : 2", "Attached GPUs                             : 3"), r" 2 \w+ 3\b"),
    (("GPU-11111111-2222", "GPU-99999999-2222"), "GPU-11111111-2222.*GPU-99999999-2222"),
    (("00000000:07:00.0", "00000000:17:00.0"), r"0000:[01]7:00\.0| 3\b")])
def test_reports_of_two_boxes_are_refused(edit: tuple[str, str], words: str, tmp_path: Path) -> None:
    other = smi_texts.TEXT.replace(*edit)
    assert other != smi_texts.TEXT
    (tmp_path / "x.txt").write_text(smi_texts.TEXT + other)
    with refused(Damage.CONTRADICTS, str(tmp_path / "x.txt")) as told:
        load_import(str(tmp_path / "x.txt"))
    assert re.search(words, str(told.value).partition("moments: ")[2])


def _gpu(*texts: str) -> dict[str, dict[str, object]]:
    document = parse_query(texts)
    assert document is not None
    found: dict[str, dict[str, object]] = next(gpu for gpu in document["gpus"] if gpu["bdf"] == "0000:06:00.0")
    return found


def test_of_two_values_the_worse_one_counts_in_either_order() -> None:
    later = smi_texts.TEXT.replace("SRAM Uncorrectable Parity     : 2", "SRAM Uncorrectable Parity     : 20") \
        .replace("Current                   : 16x", "Current                   : 8x") \
        .replace("GPU Current Temp                  : 30 C", "GPU Current Temp                  : ERR!") \
        .replace("Current                           : Disabled", "Current                           : Enabled")
    for order in ((smi_texts.TEXT, later), (later, smi_texts.TEXT)):
        values, errors = (_gpu(*order)[part] for part in ("values", "errors"))
        assert (values["ecc_volatile_uncorrected"], values["link_width"]) == (40, 8)
        assert errors["temperature_c"] == "UNKNOWN" and "temperature_c" not in values
        assert values["mig_mode"] == "enabled" and "mig_mode" not in errors


def test_a_gpu_that_another_text_calls_lost_is_lost_and_keeps_its_counts() -> None:
    lost = "Unable to determine the device handle for gpu 0000:06:00.0: GPU is lost.  Reboot the system to recover.\n"
    for order in ((smi_texts.TEXT, lost), (lost, smi_texts.TEXT)):
        found = _gpu(*order)
        assert found["errors"]["pstate"] == "GPU_IS_LOST"
        assert found["values"]["ecc_volatile_uncorrected"] == 22


def test_an_idle_link_is_not_put_beside_the_load_of_another_moment() -> None:
    busy = smi_texts.TEXT.replace("                     : P8", "                     : P0") \
        .replace("Current                   : 1\n", "Current                   : 5\n")
    slow = busy.replace("Current                   : 5\n", "Current                   : 4\n")
    idle = smi_texts.TEXT.replace("        : 100 %", "        : 0 %")
    for order in ((idle, busy), (busy, idle)):
        values = _gpu(*order)["values"]
        assert (values["utilization_gpu"], values["link_gen"], values["pstate"]) in ((0, 1, 8), (100, 5, 0))
    for order in ((idle, slow), (slow, idle)):
        values = _gpu(*order)["values"]
        assert (values["utilization_gpu"], values["link_gen"], values["pstate"]) == (100, 4, 0)


@pytest.mark.parametrize("first", [True, False])
def test_an_error_in_a_plain_table_counts_beside_a_report_without_it(first: bool, tmp_path: Path) -> None:
    report = smi_texts.HEAD.format(count=1) + smi_texts.GPU.format(bus="06").replace(
        "SRAM Uncorrectable Parity     : 2", "SRAM Uncorrectable Parity     : 0").replace(
        "SRAM Uncorrectable SEC-DED    : 4", "SRAM Uncorrectable SEC-DED    : 0").replace(
        "DRAM Uncorrectable            : 16", "DRAM Uncorrectable            : 0")
    table = TWICE["nvidia-smi"][1].replace("580.159.04", "595.71.05").replace("00:06.0", "06:00.0").replace(
        "NVIDIA H200  ", "NVIDIA RTX...")
    (tmp_path / "x.txt").write_text(report + table if first else table + report)
    document = load_import(str(tmp_path / "x.txt")).nvml()
    assert [gpu["values"]["ecc_volatile_uncorrected"] for gpu in document["gpus"]] == [3]


def test_more_outputs_than_a_folder_may_hold_are_refused(tmp_path: Path) -> None:
    one = "available: 1 nodes (0)\nnode 0 cpus: 0 1\nnode 0 size: 100 MB\n"
    (tmp_path / "x.txt").write_text(one * 3)
    assert len(list(parts(one * 3))) == 3 and load_import(str(tmp_path / "x.txt"))
    (tmp_path / "x.txt").write_text(one * (MOST + 1))
    with refused(Damage.TOO_MANY, str(MOST)):
        load_import(str(tmp_path / "x.txt"))


def test_the_links_of_one_gpu_are_no_other_list_of_gpus(tmp_path: Path) -> None:
    listed = TWICE["nvidia-smi -L"][0]
    (tmp_path / "x.txt").write_text(f"{listed}{listed.splitlines()[0]}\n\t Link 0: 26.562 GB/s\n")
    assert len(load_import(str(tmp_path / "x.txt")).posts["nvidia-smi -L"]) == 2
