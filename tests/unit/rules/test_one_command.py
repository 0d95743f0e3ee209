"""Where one fix mends what several findings of a check say, one command covers them all."""

from __future__ import annotations

import re
from collections import defaultdict

import pytest
from tests.unit.checks.test_cases import CASES, case_of
from tests.unit.report.all_reports import reports

from tunecheck.model.finding import Finding
from tunecheck.rules import judge

_GPUS = re.compile(r"(nvidia-smi) -i (\S+)")
_CASES = {path.stem: path for path in CASES}


def _wrong(name: str) -> list[Finding]:
    _, case, verb = case_of(_CASES[name])
    return [each for each in judge(case, verb) if each.outcome in ("fail", "warn") and name.startswith(each.id)]


def test_no_two_findings_of_a_check_have_a_command_that_differs_in_its_gpus_alone() -> None:
    apart, commands = set(), 0
    for each in reports():
        lists: dict[tuple[str, str], set[str]] = defaultdict(set)
        for found in each.findings:
            if found.outcome in ("fail", "warn") and found.remedy and (gpus := _GPUS.search(found.remedy.text)):
                lists[found.id, _GPUS.sub(r"\1", found.remedy.text)].add(gpus[2])
                commands += 1
        apart |= {(check, fix) for (check, fix), different in lists.items() if len(different) > 1}
    assert commands > 50 and apart == set()


@pytest.mark.parametrize("name", ["gpu-ecc-different-counts", "gpu-ecc-different-uncorrectable"])
def test_gpus_with_other_figures_are_in_one_command(name: str) -> None:
    one, other = _wrong(name)
    assert one.text != other.text and one.remedy == other.remedy and one.remedy is not None
    assert [command.shown for command in one.remedy.commands if "-i 0,1 " in f"{command.shown} "]


def test_parameters_of_several_modules_are_one_edit() -> None:
    found = _wrong("module-parameter-several")
    assert len(found) == 3 and len({each.remedy for each in found}) == 1
    fix = found[0].remedy
    assert fix is not None and fix.needs_reboot
    # modprobe.d has NVreg_DeviceFileMode=0660 already: it only waits for the module to be loaded anew.
    assert ('write "options nvidia NVreg_EnableResizableBar=1" and, on a line of its own, '
            '"options nvidia-uvm uvm_disable_hmm=1" to a file of its own in /etc/modprobe.d') in fix.by_hand


def test_every_wrong_parameter_of_a_box_is_in_the_one_edit() -> None:
    boxes = [[found for found in each.findings if found.id == "module-parameter" and found.outcome == "fail"]
             for each in reports()]
    assert sum(map(len, boxes)) > 3
    for found in boxes:
        assert len({each.remedy for each in found}) <= 1
        assert all(each.remedy is not None and (each.expected in each.remedy.by_hand) == (each.code != "older-value")
                   for each in found)
