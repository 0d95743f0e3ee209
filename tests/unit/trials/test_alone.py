"""The trial of single GPUs on the fake driver: every figure is there and exact, each fault has its name."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.trials.fake_machine import Blind, Machine, Machines

from tunecheck.model.measurement import Measured
from tunecheck.trials import gpu_recovery, one_gpu
from tunecheck.trials.one_gpu import alone
from tunecheck.trials.supervisor import Job, Supervisor


def _alone(machine: Machine, monkeypatch: pytest.MonkeyPatch, quick: bool = True, ordinals: tuple[int, ...] = (),
           limits: dict[str, float] | None = None, **parameters: Any) -> Measured:
    """The parent's function, on workers with the fake driver and small buffers."""
    given = {"size": 1 << 20, "blocks": 3, **parameters}
    monkeypatch.setattr(one_gpu, "Job", lambda name, more, _: Job(name, {**more, **given}, machine.environment))
    return alone(Blind(), ordinals or tuple(range(machine.gpus)), supervisor=Supervisor(limits or {}) if limits else
                 Supervisor(), quick=quick)  # type: ignore[arg-type]


def _figures(found: Measured) -> dict[tuple[str, str, int | None], float]:
    return {(each.trial, each.what, each.a): round(each.value, 3) for each in found.figures}


@pytest.mark.parametrize("count", [1, 2, 8])
@pytest.mark.parametrize("quick", [True, False])
def test_a_healthy_machine(machine: Machines, monkeypatch: pytest.MonkeyPatch, count: int, quick: bool) -> None:
    found = _alone(machine(count, cuda="h2d=55 d2h=54 mib=1024"), monkeypatch, quick)
    assert (found.wrong, found.hangs, found.failures) == ((), (), {})
    assert _figures(found) == {(trial, what, gpu): value for gpu in range(count) for trial, what, value in (
        ("host copy", "host to device", 55), ("host copy", "device to host", 54), ("own memory", "copy", 1000))}
    assert all(each.verified and each.unit == "GB/s" and each.b is None and each.samples == (3 if quick else 5)
               for each in found.figures)
    checked = {each.size for each in found.find("own memory")}
    assert checked == {2 << 20 if quick else 5 << 20}


@pytest.mark.parametrize(("fault", "trial", "way", "gpu", "offset"), [
    ("wrong=-1,1,4096", "host copy", "host to device", 1, 4096),
    ("wrong=0,-1,65536", "host copy", "device to host", 0, 65536),
    ("cell=1,1,8192", "own memory", "write and read back", 1, 8192)])
def test_one_wrong_word_is_found_with_its_place(machine: Machines, monkeypatch: pytest.MonkeyPatch, fault: str,
                                                trial: str, way: str, gpu: int, offset: int) -> None:
    found = _alone(machine(cuda=fault), monkeypatch)
    (first, *_) = [each for each in found.wrong if each["way"] == way]
    assert (first["trial"], first["a"], first["words"] >= 1, first["offset"]) == (trial, gpu, True, offset)
    assert {each["a"] for each in found.wrong} == {gpu}
    assert {each.a for each in found.find(trial) if not each.verified} == {gpu}


def test_a_gpu_that_is_slow_to_the_host_alone_and_no_peer_access(machine: Machines,
                                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    found = _alone(machine(cuda="host_gbs=12 nopeer=0,1 nopeer=1,0"), monkeypatch)
    assert {round(each.value, 3) for each in found.find("host copy")} == {12}


@pytest.mark.parametrize("site", ["cuMemHostAlloc", "tc_check", "cuMemcpyAsync"])
def test_one_gpu_that_fails_leaves_the_others_measured(machine: Machines, monkeypatch: pytest.MonkeyPatch,
                                                       site: str) -> None:
    found = _alone(machine(3, cuda=f"at={site},1 do=719"), monkeypatch)
    assert "CUDA_ERROR_LAUNCH_FAILED" in found.failures["alone"] and found.failures["alone"].startswith("GPU1: ")
    assert {each.a for each in found.find("host copy")} == {0, 2}


def test_too_little_memory_says_so(machine: Machines, monkeypatch: pytest.MonkeyPatch) -> None:
    found = _alone(machine(1, cuda="mib=40"), monkeypatch)
    assert " 40 MiB " in found.failures["alone"] and not found.figures


@pytest.mark.parametrize("site", ["cuMemHostAlloc", "tc_check", "cuMemcpyAsync"])
def test_a_hang_is_ended_and_what_was_measured_stays(machine: Machines, monkeypatch: pytest.MonkeyPatch,
                                                     site: str) -> None:
    monkeypatch.setattr(one_gpu, "hang_of", lambda trial, outcome, *_: (trial, outcome.stall.phase))
    assert gpu_recovery
    found = _alone(machine(2, cuda=f"at={site},1 do=hang"), monkeypatch,
                   limits={"start": 5.0, "driver": 2.0, "verify": 1.0, "measure": 1.0, "done": 5.0})
    ((trial, phase),) = found.hangs
    assert trial == "alone" and phase in ("driver", "verify", "measure")
    assert {each.a for each in found.find("own memory")} >= {0} and found.failures == {}
