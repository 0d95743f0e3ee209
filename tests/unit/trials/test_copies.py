"""The p2p job and the probe on the fake driver: every figure is there and exact, each fault has its name."""

from __future__ import annotations

import ctypes
import re
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from tests.unit.trials.fake_machine import Blind, Machines

from tunecheck.trials import gpu_recovery, p2p
from tunecheck.trials.supervisor import Outcome, Supervisor


def found(outcome: Outcome, **wanted: Any) -> list[dict[str, Any]]:
    return [result for result in outcome.results[0] if wanted.items() <= result.items()]


def figures(outcome: Outcome, **wanted: Any) -> set[float]:
    return {round(sample, 3) for result in found(outcome, **wanted) for sample in result["samples"]}


def pairs(outcome: Outcome, **wanted: Any) -> list[tuple[int, int]]:
    return [(result["a"], result["b"]) for result in found(outcome, **wanted)]


@pytest.mark.parametrize("count", [2, 4, 8])
def test_a_healthy_machine(machine: Machines, count: int) -> None:
    outcome = machine(count).copies()
    assert outcome.complete, outcome
    ordered = list(permutations(range(count), 2))
    half = [(a, b) for a, b in ordered if a < b]
    (first,) = found(outcome, size=1 << 20)
    assert first["gpus"] == [f"0000:{3 + number:02x}:00.0" for number in range(count)]
    assert pairs(outcome, kind="control", wrong=None) == ordered and figures(outcome, kind="control") == {10}
    assert pairs(outcome, kind="integrity", way="all") == pairs(outcome, kind="integrity") == ordered
    for way in ("engine write", "engine read", "kernel write", "kernel read"):
        assert sorted(pairs(outcome, kind="one way", way=way)) == ordered
    assert figures(outcome, kind="one way") == {50}
    assert sorted(pairs(outcome, kind="latency", way="pointer chase")) == ordered
    assert figures(outcome, kind="latency", way="pointer chase") == {700}
    for way in ("engine write", "kernel write"):
        assert sorted(pairs(outcome, kind="both ways", way=way)) == half
    assert figures(outcome, kind="both ways") == {100}
    assert sorted(pairs(outcome, kind="latency", way="ping-pong", gave_up=False)) == half
    assert figures(outcome, kind="latency", way="ping-pong") == {1400}
    assert figures(outcome, kind="flows") == ({count * 50} if count > 2 else set())


@pytest.mark.parametrize("source,to,offset", [(0, 1, 4096), (1, 0, 65536)])
def test_one_wrong_element_is_found_with_its_place(machine: Machines, source: int, to: int, offset: int) -> None:
    outcome = machine(cuda=f"wrong={source},{to},{offset}").copies()
    assert outcome.complete
    assert pairs(outcome, kind="integrity", way="all") == [(to, source)]
    wrong = found(outcome, kind="integrity", a=source, b=to)
    assert [result["way"] for result in wrong] == ["engine write", "engine read", "kernel write", "kernel read"]
    assert {(result["wrong"]["words"], result["wrong"]["offset"]) for result in wrong} == {(1, offset)}
    assert all(result["size"] == min(size for size in (65540, 1 << 20) if size > offset and not size % unit)
               for result, unit in zip(wrong, (4, 4, 16, 16), strict=True))
    assert all(result["wrong"] is None for result in found(outcome, kind="control"))


def test_a_wrong_control_arm(machine: Machines) -> None:
    outcome = machine(cuda="control=1,0,64").copies()
    (wrong,) = [result for result in found(outcome, kind="control") if result["wrong"]]
    assert (wrong["a"], wrong["b"], wrong["wrong"]["offset"]) == (1, 0, 64)
    assert len(found(outcome, kind="integrity", way="all")) == 2


def test_figures_follow_the_machine(machine: Machines) -> None:
    outcome = machine(4, cuda="host=0,1 link=2,0,30 far=3,1,900 hairpin=1 host_gbs=8").copies()
    assert outcome.complete and not [each for each in found(outcome, kind="integrity") if each["way"] != "all"]
    assert figures(outcome, kind="one way", a=0, b=1) == {5}
    assert figures(outcome, kind="one way", a=2, b=0) == {30}
    assert figures(outcome, kind="one way", a=0, b=2) == {50}
    assert figures(outcome, kind="control") == {8}
    assert figures(outcome, kind="latency", way="pointer chase", a=3, b=1) == {900}
    assert figures(outcome, kind="both ways", a=2, b=3) == {50}
    uneven = machine(4, cuda="link=2,0,30").copies()
    assert figures(uneven, kind="both ways", a=0, b=2) == {80} and figures(uneven, kind="both ways", a=0, b=1) == {100}


@pytest.mark.parametrize(("count", "words", "apart"), [
    (2, "", None), (3, "", None), (4, "", False), (5, "", False), (8, "", False), (4, "collapse=4", True),
    (4, "collapse=1.02", True), (4, "collapse=1.005", False)])
def test_pairs_at_once_are_pairs_that_do_not_slow_each_other(machine: Machines, count: int, words: str,
                                                             apart: bool | None) -> None:
    """``collapse``: transfers of other pairs at the same time make each so many times slower."""
    outcome = machine(count, cuda=words).copies()
    tried = found(outcome, kind="at once")
    assert {result["apart"] for result in tried} == ({apart} if apart is not None else set())
    for result in tried:
        gpus = [gpu for pair in result["pairs"] for gpu in pair]
        assert len(gpus) == len(set(gpus)) >= count - 1
    if tried:
        together = sorted(tuple(pair) for result in tried for pair in result["pairs"])
        assert together == [(a, b) for a, b in permutations(range(count), 2) if a < b], "each pair in one set"
    most = {result["at_once"] for result in outcome.results[0] if "at_once" in result}
    assert most == {count // 2 if apart is False else 1}
    if apart is not False:
        assert figures(outcome, kind="one way") == {50} and figures(outcome, kind="both ways") == {100}
        assert figures(outcome, kind="latency", way="pointer chase") == {700}


def test_flows_that_collapse(machine: Machines) -> None:
    outcome = machine(4, cuda="collapse=4").copies(collapse=[[[0, 2], [1, 3]], [[0, 2], [1, 2]]])
    assert figures(outcome, kind="flows", way="ring") == {50}
    assert [round(result["samples"][0], 3) for result in found(outcome, kind="flows", way="collapse")] == [25, 100]


def test_what_the_driver_refuses_is_not_measured(machine: Machines) -> None:
    outcome = machine(cuda="nopeer=0,1").copies()
    assert outcome.complete and outcome.results[0][-1] == {"no_access": [[0, 1]]}
    assert len(found(outcome, kind="control")) == 2 and not found(outcome, kind="one way")


def test_a_flag_that_never_arrives(machine: Machines) -> None:
    outcome = machine(cuda="lost=0,1 mhz=20000").copies()
    assert outcome.complete and found(outcome, way="ping-pong", gave_up=True)


@pytest.mark.parametrize(("words", "code", "says"), [
    ("at=cuInit do=100", 100, "CUDA_ERROR_NO_DEVICE (100)"),
    ("at=cuDevicePrimaryCtxRetain,1 do=46 mode=3", 46, "CUDA_ERROR_DEVICE_UNAVAILABLE (46)"),
    ("alloc_mib=0", 2, "CUDA_ERROR_OUT_OF_MEMORY (2)"),
    ("mib=32", None, " 32 MiB | 66 MiB"),
    ("at=any do=gone,999 skip=300", 999, "CUDA_ERROR_UNKNOWN (999)"),
    ("at=any do=gone,719 skip=1000", 719, "CUDA_ERROR_LAUNCH_FAILED (719)"),
    ("at=tc_copy,1 do=719", 719, "cuStreamSynchronize: CUDA_ERROR_LAUNCH_FAILED (719)"),
])
def test_what_fails_says_why(machine: Machines, words: str, code: int | None, says: str) -> None:
    outcome = machine(cuda=words).copies()
    assert outcome.stall is None and outcome.codes == (1,)
    assert outcome.results[0][-1]["code"] == code
    assert all(each in outcome.results[0][-1]["error"] for each in says.split("|"))


@pytest.mark.parametrize(("words", "phase", "role"), [
    ("at=cuDevicePrimaryCtxRetain,1 do=hang", "driver", "victim"),
    ("at=peer,0,1 do=hang stubborn=1", "verify", "victim"),
    ("at=cuMemcpyAsync,1 do=hang stubborn=1", "verify", "victim"),
    ("at=tc_chase do=hang", "measure", "victim"), ("at=tc_copy do=stop", "verify", "culprit"),
])
def test_what_hangs_is_ended(machine: Machines, words: str, phase: str, role: str) -> None:
    outcome = machine(cuda=words).copies(limits={"driver": 1.0, "verify": 1.0, "measure": 1.0})
    assert outcome.stall is not None and outcome.stall.phase == phase and outcome.codes == (-9,)
    (suspect,) = outcome.stall.suspects
    assert outcome.stall.role(role) == (0,) and suspect.runs == (role == "victim") and not outcome.abandoned
    assert (suspect.process_state == "T") == (role == "culprit")


def test_a_worker_that_is_killed(machine: Machines) -> None:
    outcome = machine(cuda="at=tc_copy do=die").copies()
    assert outcome.codes == (-9,) and not outcome.complete and not found(outcome, kind="integrity")


@pytest.mark.parametrize(("once", "verdict"), [("once=1", "recovered"), ("", "wedged")])
def test_after_a_hang_a_fresh_context_decides(machine: Machines, monkeypatch: pytest.MonkeyPatch, once: str,
                                              verdict: str) -> None:
    box = machine(cuda=f"at=peer,0,1 do=hang stubborn=1 {once}")
    assert box.copies(limits={"verify": 1.0}).stall is not None
    monkeypatch.setattr(gpu_recovery, "_PROBE_LIMITS", {"verify": 1.0})
    became = gpu_recovery.examine(Blind(), [0, 1], {}, box.environment)  # type: ignore[arg-type]
    assert became.verdict == verdict and ("verify" in became.text) == (verdict == "wedged"), "where it hung again"


@pytest.mark.parametrize("count", [2, 8])
def test_the_probe(machine: Machines, count: int) -> None:
    outcome = machine(count).run("probe")
    assert outcome.complete and [each["usable"] for each in outcome.results[0]] == [True] * count
    wrong = machine(count, cuda=f"wrong=1,{2 % count},4").run("probe")
    assert [each["usable"] for each in wrong.results[0]] == [number != 1 for number in range(count)]


def test_the_parents_side(machine: Machines, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same through p2p(), with buffers as large as the smallest GPU allows."""
    box = machine(cuda="mib=96 wrong=1,0,4096")
    for name, value in box.environment.items():
        monkeypatch.setenv(name, value) if value is not None else monkeypatch.delenv(name, raising=False)
    measured = p2p.p2p(Blind(), [0, 1], supervisor=Supervisor())  # type: ignore[arg-type]
    assert not measured.hangs and not measured.failures and measured.notes["size"] == 16 << 20
    assert {(each["a"], each["b"], each["offset"]) for each in measured.wrong} == {(1, 0, 4096)}
    verified = {(each.a, each.b): each.verified for each in measured.find("one way", "engine write")}
    assert verified == {(0, 1): True, (1, 0): False}


def test_the_fakes_have_every_function_that_the_trials_call(libraries: Path) -> None:
    text = "".join(path.read_text() for path in Path(p2p.__file__).parent.rglob("*.py"))
    for library, names in (("libcuda.so.1", r'"(cu[A-Z]\w+)"'), ("libnccl.so.2", r'"(nccl[A-Z]\w+)"')):
        called = set(re.findall(names, text))
        fake = ctypes.CDLL(str(libraries / library))
        assert len(called) > 3 and [name for name in sorted(called) if not hasattr(fake, name)] == []
