"""What has one cause is one entry of a report, with its fix: a text that is not whole, whatever it leaves open, and
parts of the driver that are of two versions, whoever says so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.unit.imports.samples import box
from tests.unit.imports.smi_texts import row, table
from tests.unit.imports.test_import import folder

from tunecheck.facts.snapshot import gather
from tunecheck.host.imported.machine import load_import
from tunecheck.report.terminal import Style, is_missing, render
from tunecheck.rules import judge
from tunecheck.rules.context import Case
from tunecheck.rules.part_of_devices import only_of_a_part


def _cuts() -> list[str]:
    text = box("acs-iommu")
    starts = [found.start() for found in re.finditer(r"(?m)^[0-9a-f]{2}:", text)]
    middles = [at + 120 for at in starts[1::2]]
    brief = "\n".join(line for line in text.splitlines() if re.match(r"[0-9a-f]{2}:", line))
    return [*(text[:at] for at in middles), text[starts[3]:], brief, brief[:400]]


@pytest.mark.parametrize("number", range(len(_cuts())))
@pytest.mark.parametrize("verb", ["topo", "host", "preflight"])
def test_it_is_said_once(tmp_path: Path, number: int, verb: str) -> None:
    case = Case(gather(load_import(folder(tmp_path, _cuts()[number])), None, True))
    doubt, findings = case.snapshot.topology.doubt, list(judge(case, verb))
    assert doubt
    # What lacks a text of its own, too, stands with those.
    open_ones = [finding for finding in findings if only_of_a_part(finding) and not is_missing(finding)]
    for width in (0, 80):
        text = render(verb, case, findings, Style(width), imported=True)
        flat = " ".join(text.split())
        assert flat.count(" ".join(doubt.split())) <= 1 + sum(
            doubt in finding.text for finding in findings if finding not in open_ones), text
        if len(open_ones) > 1:
            assert open_ones[0].remedy and "sudo lspci -nnvvv" in open_ones[0].remedy.text
            assert f"{len(open_ones)} " in flat and flat.count(" ".join(open_ones[0].remedy.text.split())) == 1
            if width:
                assert re.search(r": sudo lspci -nnvvv > lspci\.txt; put it into a folder box/ with these texts, in "
                                 r"place of the list that is not whole; then: tunecheck \w+ --from box/", flat)
    whole = render(verb, case, findings, Style(0), verbose=True, imported=True)
    assert all(f"{finding.id}: {doubt}" in whole for finding in open_ones)


def test_the_cuts_leave_several_checks_open(tmp_path: Path) -> None:
    case = Case(gather(load_import(folder(tmp_path, _cuts()[1])), None, True))
    assert sum(map(only_of_a_part, judge(case, "preflight"))) > 5


def test_a_list_of_gpus_that_is_cut_is_one_entry(tmp_path: Path) -> None:
    text = table(*(row(index=number, bus=f"0{number}") for number in range(2))).replace("| Processes:  |\n", "")
    case = Case(gather(load_import(folder(tmp_path, text)), None, True))
    findings = list(judge(case, "preflight"))
    open_ones = [finding for finding in findings if finding.code == "gpu-list-incomplete"]
    lead, = (finding for finding in open_ones if finding.id == "nvml-answers")
    assert len(open_ones) > 5 and {finding.outcome for finding in open_ones} == {"unknown"}
    for width in (0, 80):
        flat = " ".join(render("preflight", case, findings, Style(width), imported=True).split())
        assert flat.count(lead.text) == 1
    whole = render("preflight", case, findings, Style(0), verbose=True, imported=True)
    assert all(f"{finding.id}: {finding.text}" in whole for finding in open_ones)


_SMI = "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 595.84\n"
_BOOT = "[    0.000000] Linux version 6.12.1\n"
_OLDER = _BOOT + """\
[  300.000000] NVRM: API mismatch: the client has the version 595.84, but
               NVRM: this kernel module has the version 595.71.05.  Please
               NVRM: make sure that this kernel module and all NVIDIA driver
               NVRM: components have the same version.
"""
_YOUNGER = _BOOT + """\
[  300.000000] NVRM: API mismatch: the client 'nvidia-smi' (pid 4711)
               NVRM: has the version 595.84, but this kernel module has
               NVRM: the version 595.71.05.  Please make sure that this
               NVRM: kernel module and all NVIDIA driver components
               NVRM: have the same version.
"""
_FILTERED = _BOOT + "[  300.000000] NVRM: API mismatch: the client has the version 595.84, but\n"


@pytest.mark.parametrize("texts", [
    [_SMI], [_OLDER], [_YOUNGER], [_FILTERED], [_OLDER, _SMI], [_YOUNGER, _SMI], [_OLDER + _YOUNGER, _SMI],
    ["NVRM: API mismatch: the client has the version 595.84, but\n"],
    ["NVRM: API mismatch: the client has version 595.84, but this kernel module has version 595.71.05\n"]])
def test_a_driver_of_two_versions_is_one_failure_with_the_reboot(tmp_path: Path, texts: list[str]) -> None:
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.txt").write_text(text)
    case = Case(gather(load_import(str(tmp_path)), None, True))
    found = judge(case, "preflight")
    (told,) = [each for each in found if each.outcome == "fail"]
    assert (told.id, told.code) == ("driver-coherence", "other-version") and told.remedy and told.remedy.needs_reboot
    assert ("sudo", "modprobe", "-r") in {command.argv[:3] for command in told.remedy.commands}
    assert "595.84" in told.observed or texts == [_SMI]
    assert not [each for each in found if each.id in ("gpu-start", "nvml-answers") and each.outcome in ("fail", "warn")]
