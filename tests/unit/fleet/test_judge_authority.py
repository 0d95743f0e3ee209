"""Which check judges which fact: names on both sides exist, so that no table entry silently matches nothing."""

from __future__ import annotations

from fnmatch import fnmatchcase

from tunecheck.facts.registry import ENTRIES, entry_of
from tunecheck.rules.index import CHECKS
from tunecheck_fleet.judge.authority import HAPPENING, JUDGED, judged


def test_every_check_and_every_fact_of_the_table_exists() -> None:
    assert not {*JUDGED, *HAPPENING} - {check.id for check in CHECKS}
    for check, patterns in JUDGED.items():
        for pattern in patterns:
            name = pattern.replace("{subject}", "x").replace("*", "x")
            assert entry_of(name) is not None, f"{check}: no fact is called {pattern}"
            kinds = {entry.kind for entry in ENTRIES if fnmatchcase(entry.name, pattern.replace("{subject}", ""))}
            assert kinds <= {"config"}, f"{check}: {pattern} is not kept as history"


def test_a_subject_names_its_fact_and_is_no_pattern() -> None:
    facts = ["kernel.cmdline.iommu", "kernel.cmdline.pci", "kernel.cmdline.*", "module.parameter.nvidia.NVreg_X"]
    assert [*judged("cmdline-token", "iommu=pt", facts)] == ["kernel.cmdline.iommu"]
    assert [*judged("cmdline-token", "*", facts)] == ["kernel.cmdline.*"]
    assert [*judged("module-parameter", "nvidia NVreg_X", facts)] == ["module.parameter.nvidia.NVreg_X"]
    assert [*judged("xid", "GPU0", facts)] == []
