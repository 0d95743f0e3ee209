"""Imports of less than a whole machine: what is not there is unknown, what contradicts is a failure, nothing passes."""

from __future__ import annotations

import re
from pathlib import Path

from tests.unit.imports.samples import box
from tests.unit.imports.smi_texts import GPU, HEAD
from tests.unit.imports.test_import import LOG, TOPO, folder

from tunecheck.facts.snapshot import gather
from tunecheck.host.imported.machine import load_import
from tunecheck.model.absence import Absence
from tunecheck.model.finding import Finding
from tunecheck.rules import judge
from tunecheck.rules.context import Case

#: The model that the lab's PCI trees have.
BOARD = GPU.replace("0x2BB510DE", "0x233010DE")


def smi(*buses: str, attached: int = 0) -> str:
    return HEAD.format(count=attached or len(buses)) + "".join(BOARD.format(bus=bus) for bus in buses) + "\n"


def judged(path: Path, *texts: str) -> dict[str, list[Finding]]:
    found: dict[str, list[Finding]] = {}
    for finding in judge(Case(gather(load_import(folder(path, *texts)), None, True)), "preflight"):
        found.setdefault(finding.id, []).append(finding)
    return found


def test_a_gpu_that_only_the_driver_knows_fails_by_name(tmp_path: Path) -> None:
    (finding,) = judged(tmp_path, box("acs-iommu"), smi("03", "04", "07"))["accelerator-count"]
    assert (finding.outcome, finding.code, finding.subject) == ("fail", "not-in-tree", "0000:07:00.0")
    assert finding.observed == "2", "those of the tree"


def test_lspci_cut_short_counts_nothing(tmp_path: Path) -> None:
    text = box("acs-iommu")
    found = judged(tmp_path, text[:text.index("04:00.0 ") + 400], smi("03", "04"))
    (count,) = found["accelerator-count"]
    assert (count.outcome, count.code, count.observed) == ("unknown", "devices-incomplete", "2")
    assert {each.outcome for check in ("uplink-shared", "uplink-neighbours", "switch-chip")
            for each in found[check]} == {"unknown"}


def test_nvidia_smi_cut_short_is_no_answer_for_all(tmp_path: Path) -> None:
    found = judged(tmp_path, box("acs-iommu"), smi("03", attached=2))["nvml-answers"]
    assert [(each.outcome, each.code, each.observed) for each in found] == [("unknown", "gpu-list-incomplete", "1")]


def test_a_board_that_nvidia_smi_does_not_show_is_named(tmp_path: Path) -> None:
    found = judged(tmp_path, box("acs-iommu"), smi("03"))["nvml-answers"]
    assert [(each.outcome, each.code, each.subject) for each in found] == [("fail", "gpu-not-listed", "0000:04:00.0")]


def test_nvidia_smi_alone_is_judged_and_the_tree_is_asked_for(tmp_path: Path) -> None:
    found = judged(tmp_path, smi("03", "04"))
    (count,) = found["accelerator-count"]
    assert (count.outcome, count.code, count.absence) == ("unknown", "tree-unread", Absence.NOT_IN_IMPORT)
    assert "sudo lspci -nnvvv" in count.text
    assert "0000:03:00.0, 0000:04:00.0" in count.text, "the GPUs that NVML names"
    assert found["gpu-mig"][0].outcome == "pass"
    assert not [each for every in found.values() for each in every if each.code == "no-accelerator"]


def test_without_the_tree_nothing_is_said_about_it(tmp_path: Path) -> None:
    off = LOG.replace("pci=noacs", "amd_iommu=off iommu=off")
    for number, texts in enumerate(((TOPO,), (off, "root=/dev/sda1 ro amd_iommu=off iommu=off\n"))):
        (tmp_path / str(number)).mkdir()
        found = judged(tmp_path / str(number), *texts)
        for check in ("accelerator-count", "link-width", "acs-redirect", "switch-chip", "gpu-ecc", "iommu-mode"):
            assert {(each.outcome, each.code, each.absence) for each in found[check]} == {
                ("unknown", "tree-unread", Absence.NOT_IN_IMPORT)}, check
            assert "sudo lspci -nnvvv" in found[check][0].text
    assert [each.outcome for each in found["iommu-trap"]] == ["unknown"]


def test_what_lspci_shows_of_errors_is_told_with_its_limits(tmp_path: Path) -> None:
    flags = ("\t\tUESta:\tDLP- SDES- TLP- FCP- CmpltTO- CmpltAbrt- UnxCmplt- RxOF- MalfTLP- ECRC- UnsupReq+ ACSViol-\n"
             "\t\tCESta:\tRxErr- BadTLP{} BadDLLP- Rollover- Timeout- AdvNonFatalErr-\n")
    replays = "0000:03:00.0 packets 3 (replayed, NVML), 0000:04:00.0 packets 3 (replayed, NVML)"
    for sign, outcome, code in (("-", "skip", "nothing-latched"), ("+", "warn", "errors-latched")):
        text = re.sub(r"(?m)^\t\t(?:UE|CE)Sta:.*\n", "", box("acs-iommu"))
        text = re.sub(r"(?m)^(\tCapabilities: \[\w+ v\d+\] Advanced Error Reporting.*\n)",
                      lambda found: found.group() + flags.format(sign), text)  # noqa: B023 - called at once
        # The lab's stand-ins for GPUs report no errors, which a text cannot prove; real boards do.
        text = re.sub(r"(?m)^(.*\[10de:2330\](?:.*\n)+?)(?=\tKernel driver)",
                      lambda found: f"{found[1]}\tCapabilities: [100 v2] Advanced Error Reporting\n{flags.format('-')}",
                      text)
        (tmp_path / outcome).mkdir()
        (found,) = judged(tmp_path / outcome, text, smi("03", "04"))["link-errors"]
        latched = [f"0000:{port} CESta BadTLP" for port in ("00:04.0", "01:00.0", "02:00.0", "02:01.0") if sign == "+"]
        assert (found.outcome, found.code) == (outcome, code)
        assert sorted(found.observed.split(", ")) == sorted([*replays.split(", "), *latched])


def test_what_no_text_could_tell_is_skipped_and_all_else_names_what_to_add(tmp_path: Path) -> None:
    found = judged(tmp_path, box("acs-iommu"), LOG.replace("595.58.03", "595.71.05"), smi("03", "04"))
    for check in ("cmdline-pending", "kernel-pending", "driver-held", "driver-stuck", "nccl-environment"):
        assert {(each.outcome, each.code, each.absence) for each in found[check]} == {
            ("skip", "unread", Absence.ONLY_ON_HOST)}, check
    unknown = [each for every in found.values() for each in every if each.outcome == "unknown"]
    assert [each for each in unknown if not re.search(r"\w: \w", each.text) and each.code != "log-incomplete" and (
        each.id, each.code) != ("driver-coherence", "unread")] == [], "what to add is named; NVML's library is in none"
