"""Imports of less than a whole machine: what is not there is unknown, what contradicts is a failure, nothing passes."""

from __future__ import annotations

import re
from pathlib import Path

from tests.unit.imports.samples import box
from tests.unit.imports.smi_texts import GPU, HEAD
from tests.unit.imports.test_import import LOG, TOPO, folder

from tunecheck.facts.snapshot import gather
from tunecheck.host.imported.machine import load_import
from tunecheck.model.finding import Finding
from tunecheck.rules import judge
from tunecheck.rules.context import Case


def smi(*buses: str, attached: int = 0) -> str:
    return HEAD.format(count=attached or len(buses)) + "".join(GPU.format(bus=bus) for bus in buses) + "\n"


def judged(path: Path, *texts: str) -> dict[str, list[Finding]]:
    found: dict[str, list[Finding]] = {}
    for finding in judge(Case(gather(load_import(folder(path, *texts)), None, True)), "preflight"):
        found.setdefault(finding.id, []).append(finding)
    return found


def test_a_gpu_that_only_the_driver_knows_fails_by_name(tmp_path: Path) -> None:
    (finding,) = judged(tmp_path, box("acs-iommu"), smi("03", "04", "07"))["accelerator-count"]
    assert finding.outcome == "fail"
    assert "has 3 GPUs, of which the PCI tree lacks 1: 0000:07:00.0" in finding.message


def test_lspci_cut_short_counts_nothing(tmp_path: Path) -> None:
    text = box("acs-iommu")
    found = judged(tmp_path, text[:text.index("04:00.0 ") + 400], smi("03", "04"))
    (count,) = found["accelerator-count"]
    assert (count.outcome, "lspci is cut short at 0000:04:00.0" in count.message) == ("unknown", True)
    assert {each.outcome for check in ("uplink-shared", "uplink-neighbours", "switch-chip")
            for each in found[check]} == {"unknown"}


def test_nvidia_smi_cut_short_is_no_answer_for_all(tmp_path: Path) -> None:
    found = judged(tmp_path, box("acs-iommu"), smi("03", attached=2))["nvml-answers"]
    assert [each.outcome for each in found] == ["unknown"]
    assert "cut short: 2 attached, 1 shown" in found[0].message


def test_a_board_that_nvidia_smi_does_not_show_is_named(tmp_path: Path) -> None:
    found = judged(tmp_path, box("acs-iommu"), smi("03"))["nvml-answers"]
    assert [(each.outcome, each.subject) for each in found] == [("fail", "0000:04:00.0")]


def test_nvidia_smi_alone_is_judged_and_the_tree_is_asked_for(tmp_path: Path) -> None:
    found = judged(tmp_path, smi("03", "04"))
    (count,) = found["accelerator-count"]
    assert count.outcome == "unknown"
    assert "add: sudo lspci -nnvvv" in count.message
    assert "names 2 GPUs: 0000:03:00.0, 0000:04:00.0" in count.message
    assert found["gpu-mig"][0].outcome == "pass"
    assert not [each.message for every in found.values() for each in every if "no accelerator" in each.message]


def test_without_the_tree_nothing_is_said_about_it(tmp_path: Path) -> None:
    off = LOG.replace("pci=noacs", "amd_iommu=off iommu=off")
    for number, texts in enumerate(((TOPO,), (off, "root=/dev/sda1 ro amd_iommu=off iommu=off\n"))):
        (tmp_path / str(number)).mkdir()
        found = judged(tmp_path / str(number), *texts)
        for check in ("accelerator-count", "link-width", "acs-redirect", "switch-chip", "gpu-ecc", "iommu-mode"):
            assert {each.outcome for each in found[check]} == {"unknown"}, check
            assert "add: sudo lspci -nnvvv" in found[check][0].message
    assert [each.outcome for each in found["iommu-trap"]] == ["unknown"]


def test_what_lspci_shows_of_errors_is_told_with_its_limits(tmp_path: Path) -> None:
    flags = ("\t\tUESta:\tDLP- SDES- TLP- FCP- CmpltTO- CmpltAbrt- UnxCmplt- RxOF- MalfTLP- ECRC- UnsupReq+ ACSViol-\n"
             "\t\tCESta:\tRxErr- BadTLP{} BadDLLP- Rollover- Timeout- AdvNonFatalErr-\n")
    for sign, outcome, code, words in (("-", "skip", "nothing-latched", "no error is latched at any of"),
                                       ("+", "warn", "errors-latched", "CESta BadTLP")):
        text = re.sub(r"(?m)^\t\t(?:UE|CE)Sta:.*\n", "", box("acs-iommu"))
        text = re.sub(r"(?m)^(\tCapabilities: \[\w+ v\d+\] Advanced Error Reporting.*\n)",
                      lambda found: found.group() + flags.format(sign), text)  # noqa: B023 - called at once
        # The lab's stand-ins for GPUs report no errors, which a text cannot prove; real boards do.
        text = re.sub(r"(?m)^(.*\[10de:2330\](?:.*\n)+?)(?=\tKernel driver)",
                      lambda found: f"{found[1]}\tCapabilities: [100 v2] Advanced Error Reporting\n{flags.format('-')}",
                      text)
        (tmp_path / outcome).mkdir()
        (found,) = judged(tmp_path / outcome, text, smi("03", "04"))["link-errors"]
        assert (found.outcome, found.code, words in found.message) == (outcome, code, True), found.message
        assert "NVML counts 6 replays at 2 GPUs" in found.message
        assert "a state and no count" in found.message


def test_what_no_text_could_tell_is_skipped_and_all_else_names_what_to_add(tmp_path: Path) -> None:
    found = judged(tmp_path, box("acs-iommu"), LOG, smi("03", "04"))
    for check in ("cmdline-pending", "kernel-pending", "driver-held", "driver-stuck", "nccl-environment"):
        assert {each.outcome for each in found[check]} == {"skip"}, check
        assert "no text shows it; on the box run: sudo tunecheck record" in found[check][0].text
    unknown = [each.message for every in found.values() for each in every if each.outcome == "unknown"]
    assert [message for message in unknown if not any(
        word in message for word in ("add: ", "NVML library", "(kernel-log-complete)"))] == []
