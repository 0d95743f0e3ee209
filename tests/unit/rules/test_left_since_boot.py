"""A GPU that the kernel found at boot and that is gone: a failure where the list of devices is whole, and where it may
be a part only if the driver's list lacks the GPU, too."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.checks.machines import build
from tests.unit.checks.test_cases import CASES, read

from tunecheck.facts.snapshot import gather
from tunecheck.model.fact import Absence, absent
from tunecheck.rules.context import Case
from tunecheck.rules.index import BY_ID

_CASE = next(path for path in CASES if path.stem == "accelerator-count-left-since-boot")
_NO_NVML = absent("NVML", Absence.NOT_IN_IMPORT)


def _codes(doubt: str, nvml: bool, log: str | None = None) -> set[str]:
    data = read(_CASE)
    snapshot = gather(build(data if log is None else {**data, "log": log}), None, True)
    snapshot = replace(snapshot, topology=replace(snapshot.topology, doubt=doubt))
    snapshot = snapshot if nvml else replace(snapshot, nvml=_NO_NVML)
    return {each.code for each in BY_ID["accelerator-count"].judge(Case(snapshot, None, False, None, None))
            if each.outcome == "fail"}


@pytest.mark.parametrize(("doubt", "nvml", "told"), [
    ("", True, True), ("", False, True), ("lspci shows only some devices", True, True),
    ("lspci shows only some devices", False, False)])
def test_it_is_told_where_the_lists_are_whole_enough(doubt: str, nvml: bool, told: bool) -> None:
    assert ("left-since-boot" in _codes(doubt, nvml)) == told


def test_a_part_of_a_log_tells_nothing() -> None:
    """Where it lacks a board that is there, it is not the log of this boot's beginning, or addresses are new."""
    lines = str(read(_CASE)["log"]).splitlines(keepends=True)
    assert "left-since-boot" not in _codes("", True, "".join(line for line in lines if "0000:03:00.0" not in line))
