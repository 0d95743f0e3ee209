"""Whether two boards are joined by NVLink has one answer in a report: a source that says they are not fails on boards
that always are, whichever source it is, and one that contradicts another is named beside it."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.unit.checks.machines import build
from tests.unit.imports.test_import import folder, found

from tunecheck.cli.main import cli
from tunecheck.facts.snapshot import gather
from tunecheck.host.imported.machine import load_import
from tunecheck.model.finding import Finding
from tunecheck.rules import judge
from tunecheck.rules.context import Case

_GPUS = 4
_SWITCHED, _BRIDGED, _PLAIN = "NVIDIA B200", "NVIDIA GeForce RTX 3090", "NVIDIA RTX A400"


def _named(name: str) -> str:
    return "".join(f"GPU {number}: {name} (UUID: GPU-{number}1111111-2222-3333-4444-555555555555)\n"
                   for number in range(_GPUS))


def _table(word: str) -> str:
    names = [f"GPU{number}" for number in range(_GPUS)]
    return "\t" + "\t".join(names) + "\tCPU Affinity\tNUMA Affinity\n" + "".join(
        f"{row}\t" + "\t".join(" X " if row == name else word for name in names) + "\t0-55\t0\n" for row in names)


def _letters(word: str, letter: str = "n") -> str:
    names = [f"GPU{number}" for number in range(_GPUS)]
    return f"$ nvidia-smi topo -p2p {letter}\n \t" + "\t".join(names) + "\t\n" + "".join(
        f" {row}\t" + "\t".join("X" if row == name else word for name in names) + "\t\n" for row in names)


def _status(up: bool, links: int = 18) -> str:
    return "".join(f"GPU {number}: {_SWITCHED} (UUID: GPU-{number}1111111-2222-3333-4444-555555555555)\n"
                   + "".join(f"\t Link {link}: {'50 GB/s' if up else '<inactive>'}\n" for link in range(links))
                   for number in range(_GPUS))


def _told(path: Path, *texts: str) -> list[Finding]:
    case = Case(found(load_import(folder(path, *texts))))
    return [each for each in judge(case, "preflight") if each.id == "fabric-state"]


_JOINED = {"nvidia-smi topo -m": _table("NV18"), "nvidia-smi topo -p2p n": _letters("OK"),
           "nvidia-smi nvlink -s": _status(True)}
_NOT = {"nvidia-smi topo -m": _table("SYS"), "nvidia-smi topo -p2p n": _letters("NS"),
        "nvidia-smi nvlink -s": _status(False)}


@pytest.mark.parametrize("source", _NOT)
def test_each_text_that_says_no_fails_on_boards_that_are_always_joined(tmp_path: Path, source: str) -> None:
    told = _told(tmp_path, _named(_SWITCHED), _NOT[source])
    assert any(each.outcome == "fail" and source in (*each.evidence, each.text) for each in told), told


def _verdicts(told: list[Finding]) -> list[Finding]:
    return [each for each in told if each.outcome not in ("unknown", "skip")]


@pytest.mark.parametrize(("yes", "no"), [
    (yes, no) for one, other in combinations(_JOINED, 2) for yes, no in ((one, other), (other, one))])
def test_two_answers_are_no_pass_and_the_one_that_says_no_is_named(tmp_path: Path, yes: str, no: str) -> None:
    told = _verdicts(_told(tmp_path, _named(_SWITCHED), _JOINED[yes], _NOT[no]))
    assert told and all(each.outcome == "fail" for each in told), told
    assert any(no in each.text for each in told)
    # The links of one board say nothing of what they lead to.
    if yes != "nvidia-smi nvlink -s":
        assert any(each.code == "nvlink-refused" and yes in each.text and no in each.text for each in told), told


def test_one_answer_of_all_is_well(tmp_path: Path) -> None:
    assert not _verdicts(_told(tmp_path, _named(_SWITCHED), *_JOINED.values()))


@pytest.mark.parametrize(("name", "table", "letter", "codes"), [
    (_BRIDGED, "NV4", "OK", []), (_BRIDGED, "SYS", "NS", []), (_PLAIN, "PHB", "NS", []), (_PLAIN, "PHB", "CNS", []),
    (_BRIDGED, "NV4", "U", []), (_BRIDGED, "NV4", "DR", []),
    (_BRIDGED, "NV4", "NS", ["nvlink-disputed"]), (_BRIDGED, "SYS", "OK", ["nvlink-disputed"])])
def test_of_other_boards_a_contradiction_warns(tmp_path: Path, name: str, table: str, letter: str, codes: list[str]
                                               ) -> None:
    told = _verdicts(_told(tmp_path, _named(name), _table(table), _letters(letter)))
    assert [(each.code, each.outcome) for each in told] == [(code, "warn") for code in codes], told


def test_links_of_a_table_without_its_letter_are_not_judged(tmp_path: Path) -> None:
    told = _told(tmp_path, _named(_SWITCHED), _table("NV18"), _letters("NS").partition("\n")[2])
    assert not _verdicts(told)


@pytest.mark.parametrize("table", ["NV18", "NV4"])
def test_a_report_of_two_answers_says_no_fault_seen_nowhere(tmp_path: Path, table: str) -> None:
    name = _SWITCHED if table == "NV18" else _BRIDGED
    shown = CliRunner().invoke(cli, ["preflight", "--from", folder(
        tmp_path, _named(name), _table(table), _letters("NS"))])
    told = " ".join(shown.output.split())
    assert "no fault seen" not in told and "topo -m" in told and "topo -p2p n" in told, told


_SMI = "\tGPU0\tGPU1\nGPU0\t X \t{0}\nGPU1\t{0}\t X \n"


@pytest.mark.parametrize(("table", "active", "status", "more", "codes"), [
    ("NV6", (6, 6), 0, {}, []), ("NV6", (6, 6), 5, {}, ["nvlink-disputed"]),
    ("NV6", (0, 6), 5, {}, ["nvlink-disputed"]),
    ("PIX", (6, 6), 0, {}, ["nvlink-disputed"]), ("PIX", (0, 0), 5, {}, []),
    ("NV6", (6, 6), 5, {"mig_mode": "enabled"}, []),
    ("NV6", (5, 6), 0, {}, ["links-disagree"]), ("NV12", (18, 18), 0, {}, ["links-disagree"]),
    ("NV6", (12, 12), 0, {}, [])])      # a mesh: other boards have the rest of them
def test_nvml_of_a_live_machine_is_held_against_the_table(
        table: str, active: tuple[int, int], status: int, more: dict[str, Any], codes: list[str]) -> None:
    values = {"p2p_nvlink": status}
    case = Case(gather(build({
        "machine": "switch", "driver": {},
        "realpaths": {f"/sys/bus/pci/devices/0000:0{bus}:00.0/driver": "/sys/bus/pci/drivers/nvidia" for bus in (3, 4)},
        "runs": {"nvidia-smi topo -m": _SMI.format(table)}, "pairs": {"0-1": values, "1-0": values},
        "nvml": {number: {"nvlinks_active": count, **more} for number, count in enumerate(active)}}), None, True))
    told = [each for each in judge(case, "preflight") if each.id == "fabric-state"]
    assert case.snapshot.topo_text.value, case.snapshot.topo_text.why()
    assert [each.code for each in told if each.outcome == "warn"] == codes, told
    assert all("NVML" in each.text and "nvidia-smi topo -m" in each.text for each in told if each.code in codes)
