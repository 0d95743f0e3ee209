"""Whatever stands in NVML's document, the checks of the GPUs answer, and what makes no sense is never a pass."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.checks.machines import build, spec_of
from tests.unit.imports.test_fuzz import _RUNS

from tunecheck.facts.snapshot import gather
from tunecheck.parsers.nvidia.nvml_keys import KEYS
from tunecheck.rules import judge
from tunecheck.rules.context import Case

#: The check and the value without which it has nothing to say.
NEEDS = {"bar1-size": "bar1_total_mib", "gpu-recovery": "recovery_action", "gpu-ghost": "utilization_gpu",
         "gpu-ecc": "ecc_mode", "gpu-throttle": "clocks_event_reasons", "gpu-temperature": "temperature_c",
         "gpu-power-limit": "power_limit_mw", "gpu-persistence": "persistence", "gpu-mig": "mig_mode",
         "gpu-compute-mode": "compute_mode", "hmm-addressing": "addressing_mode"}
JUNK = [None, -1, 10 ** 30, 2.5, "ERR!", "", [], {}, [1], "N/A"]


def outcomes(nvml: dict[Any, Any], device: str = "2bb1") -> dict[str, list[str]]:
    data = {"nvml": nvml, "spec": {"modules": {"nvidia-uvm": {"uvm_disable_hmm": 1}},
                                   "accelerators": {"pci_ids": [f"10de:{device}"]}},
            "files": {f"/sys/bus/pci/devices/0000:0{bus}:00.0/device": f"0x{device}" for bus in (3, 4)}}
    frozen = spec_of(data)
    assert frozen is not None
    found: dict[str, list[str]] = {}
    for finding in judge(Case(gather(build(data), frozen.spec, True), frozen), "preflight"):
        found.setdefault(finding.id, []).append(finding.outcome)
    return found


@pytest.mark.parametrize("junk", JUNK, ids=repr)
def test_what_makes_no_sense_is_unknown(junk: object) -> None:
    found = outcomes({index: dict.fromkeys(NEEDS.values(), junk) for index in (0, 1)})
    assert {check: found[check] for check in NEEDS} == {check: ["unknown"] for check in NEEDS}


@pytest.mark.parametrize(("error", "outcome"), [("NOT_SUPPORTED", "skip"), ("GPU_IS_LOST", "unknown")])
def test_a_virtual_machine_or_a_lost_gpu_passes_nothing(error: str, outcome: str) -> None:
    found = outcomes({index: {key: {"error": error} for key in KEYS} for index in (0, 1)})
    assert {check: found[check] for check in NEEDS} == {check: [outcome] for check in NEEDS}


_ECC_FAULTS = {"ecc_volatile_uncorrected": 3, "remap_failed": True, "unrepairable_memory": True,
               "sram_threshold_exceeded": True, "remap_pending": True, "retire_pending": True,
               "channel_repair_pending": True, "tpc_repair_pending": True}


@pytest.mark.parametrize("unread", sorted(_ECC_FAULTS))
@pytest.mark.parametrize("told", sorted(_ECC_FAULTS))
def test_beside_a_fault_of_the_memory_another_one_that_cannot_be_read_is_unknown(told: str, unread: str) -> None:
    sound = {**dict.fromkeys(_ECC_FAULTS, False), "ecc_volatile_uncorrected": 0, "ecc_aggregate_uncorrected": 0,
             "ecc_mode": "enabled", "ecc_pending": "enabled"}
    found = outcomes({0: {**sound, told: _ECC_FAULTS[told], unread: {"error": "UNKNOWN"}}, 1: sound})["gpu-ecc"]
    assert found.count("unknown") == 1
    assert ("fail" in found or "warn" in found) == (told != unread)


_VALUES = st.one_of(st.sampled_from(JUNK), st.booleans(), st.integers(), st.text(max_size=5),
                    st.sampled_from(["enabled", "disabled", "HMM", "prohibited"]))


@settings(_RUNS, max_examples=60)
@given(first=st.dictionaries(st.sampled_from(sorted(KEYS)), _VALUES), second=st.dictionaries(
    st.sampled_from(sorted(KEYS)), _VALUES))
def test_no_value_breaks_a_check(first: dict[str, Any], second: dict[str, Any]) -> None:
    found = outcomes({0: first, 1: second})
    assert all(found[check] for check in NEEDS)


PLANTED: tuple[Any, ...] = (0, 1, 90, 450_000, 5_000_000, True, False, "enabled", "pending", "HMM", "prohibited")
BAD = ("fail", "warn", "unknown")


@pytest.mark.parametrize("device", ["2bb1", "ffff"], ids=["known board", "unknown board"])
def test_a_value_that_is_deleted_never_betters_a_verdict(device: str) -> None:
    """Whatever one value of NVML says: without it no check of a GPU says pass or skip where it did not before."""
    better = []
    for key in sorted(KEYS):
        without = outcomes({0: {key: {"error": "UNKNOWN"}}}, device)
        for value in PLANTED:
            better += [f"{check}: {key} {value!r}: {found} -> {without[check]}"
                       for check, found in outcomes({0: {key: value}}, device).items()
                       if set(found) & set(BAD) and not set(without[check]) & set(BAD)]
    assert better == []
