"""Ranks of the all-reduce trial on the fake driver and the fake NCCL: sums to the bit, and who is to blame."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.trials.fake_machine import LIMITS, Blind, Machine, Machines

from tunecheck.trials import allreduce
from tunecheck.trials.supervisor import Outcome, Supervisor

SOAK = {**LIMITS, "soak": 1.0, "measure": 3.0}
#: All-reduces of one size before the soak: one that is verified, 12 replays and 3 with stamps of one and 200.
BEFORE = 1 + (12 + 3) * 201


def of_kind(outcome: Outcome, rank: int, kind: str) -> list[dict[str, Any]]:
    return [result for result in outcome.results[rank] if result.get("kind") == kind]


def roles(outcome: Outcome) -> tuple[tuple[int, ...], tuple[int, ...]]:
    assert outcome.stall is not None, outcome
    return outcome.stall.role("culprit"), outcome.stall.role("victim")


def apart(box: Machine, name: str) -> Machine:
    """The same machine with a folder of its own: its ranks find no file of an earlier run."""
    (box.folder / name).mkdir()
    return replace(box, folder=box.folder / name)


@pytest.mark.parametrize(("count", "sizes"), [(2, (8, 65536)), (4, (8192,)), (8, (256,))])
def test_healthy_ranks(machine: Machines, count: int, sizes: tuple[int, ...]) -> None:
    outcome = machine(count, nccl="us=10").ranks(sizes)
    assert outcome.complete, outcome
    for rank in range(count):
        for kind in ("own", "nccl"):
            assert [(each["size"], each["wrong"]) for each in of_kind(outcome, rank, kind) if "size" in each] == [
                (size, False) for size in sizes]
    own = of_kind(outcome, 0, "own")[-1]
    nanoseconds = 1400 + sizes[-1] * (count - 1) / 50
    assert own["microseconds"] == pytest.approx([nanoseconds / 1000] * 10, rel=1e-3)
    assert own["p50_ns"] == pytest.approx(nanoseconds, abs=1) and own["p99_ns"] == pytest.approx(nanoseconds, abs=1)
    nccl = of_kind(outcome, 0, "nccl")[-1]
    assert nccl["microseconds"] == pytest.approx([10 + sizes[-1] * 2 * (count - 1) / count / 1e5] * 10, rel=1e-3)
    assert of_kind(outcome, 0, "nccl")[0]["version"] == 22809


def test_what_a_brief_fake_leaves_out_changes_nothing(machine: Machines) -> None:
    """A graph that repeats an all-reduce computes it twice (lab/standins/gpu/cuda.c): same sums, times and faults."""
    figures = []
    for brief in (0, 1):
        outcome = apart(machine(3, cuda=f"brief={brief}", nccl="us=10 wrong=1,100"), f"brief{brief}").ranks((8, 8192))
        assert outcome.complete, outcome
        assert [[each["wrong"] for each in of_kind(outcome, rank, "nccl") if "size" in each] for rank in range(3)] == [
            [False, False], [True, True], [False, False]]
        assert not any(each["wrong"] for rank in range(3) for each in of_kind(outcome, rank, "own"))
        figures.append([(each["size"], each["microseconds"], each["p50_ns"], each["p99_ns"])
                        for each in of_kind(outcome, 0, "own")])
    assert figures[0] == figures[1]
    lost = apart(machine(cuda="brief=1 lost=0,1,300"), "lost").ranks((8,), nccl=False)
    assert [each.get("gave_up", False) for each in of_kind(lost, 1, "own")] == [True]


def test_large_messages_are_as_large_as_the_fullest_gpu_allows(machine: Machines) -> None:
    for mib, fit in ((96, [4 << 20, 16 << 20]), (95, [4 << 20, 8 << 20]), (66, [1 << 20]), (64, [])):
        box = apart(machine(cuda=f"mib={mib} brief=1"), f"mib{mib}")
        outcome = box.run("reduce", 2, sizes=[8], large=[4 << 20, 16 << 20, 64 << 20])
        assert outcome.complete, outcome
        assert [each["size"] for each in of_kind(outcome, 1, "bus")] == fit


def test_a_tail_shows_in_the_distribution(machine: Machines) -> None:
    own = of_kind(machine(cuda="tail=5").ranks((8,), nccl=False), 0, "own")[0]
    assert own["p50_ns"] == pytest.approx(1400, abs=1) and own["p99_ns"] == pytest.approx(7000, abs=5)


def test_a_wrong_sum_of_the_own_kernel_is_the_receivers(machine: Machines) -> None:
    outcome = machine(cuda="wrong=0,1,64").ranks((8, 8192), nccl=False)
    assert [each["wrong"] for each in of_kind(outcome, 0, "own")] == [False, False]
    assert [each["wrong"] for each in of_kind(outcome, 1, "own")] == [False, True]


def test_a_wrong_sum_of_nccl(machine: Machines) -> None:
    outcome = machine(nccl="wrong=1,100").ranks()
    assert [[each["wrong"] for each in of_kind(outcome, rank, "nccl") if "size" in each] for rank in (0, 1)] == [
        [False], [True]]


@pytest.mark.parametrize("after", ["", ",100"])
def test_stores_that_never_arrive(machine: Machines, after: str) -> None:
    """The kernel gives up by itself, every rank ends, and nothing hangs."""
    outcome = machine(4, cuda=f"lost=2,1{after} mhz=1000").ranks()
    assert outcome.complete and not of_kind(outcome, 0, "nccl")
    (gave_up,) = of_kind(outcome, 1, "own")
    assert gave_up["gave_up"] and gave_up["waited_for"] == 2


def test_the_soak_ends_by_itself_with_checked_sums(machine: Machines) -> None:
    outcome = machine().ranks(soak_seconds=0.1, own=False)
    assert outcome.complete
    assert [(each["steps"] >= 600, each["wrong"]) for rank in (0, 1) for each in of_kind(outcome, rank, "soak")] == [
        (True, 0)] * 2


@pytest.mark.parametrize(("do", "process"), [("stop", {"T"}), ("die", {"gone", "Z"})])
@pytest.mark.parametrize("who", [0, 1])
def test_a_rank_that_stops_in_the_soak_is_the_culprit(machine: Machines, who: int, do: str, process: set[str]) -> None:
    box = machine(nccl=f"at=reduce,{who} do={do} skip={BEFORE + 500}")
    outcome = box.ranks(soak_seconds=30, own=False, limits=SOAK)
    assert roles(outcome) == ((who,), (1 - who,)) and outcome.stall is not None
    assert outcome.stall.phase == "soak" and (do == "die" or outcome.stall.after >= SOAK["soak"])
    assert outcome.stall.suspects[who].process_state in process and not outcome.stall.suspects[who].runs
    assert outcome.codes == (-9, -9) and not outcome.abandoned


@pytest.mark.parametrize("where", ["reduce,1", "ncclAllReduce,1"])
def test_an_all_reduce_that_never_ends(machine: Machines, where: str) -> None:
    """All processes run and have got equally far: nobody is named, and everybody is ended, SIGTERM or not."""
    skip = BEFORE + 100 if where == "reduce,1" else 500
    outcome = machine(nccl=f"at={where} do=hang stubborn=1 skip={skip}").ranks(soak_seconds=30, own=False, limits=SOAK)
    assert roles(outcome) == ((), (0, 1)) and outcome.codes == (-9, -9) and not outcome.abandoned


def test_a_rank_that_never_joins(machine: Machines) -> None:
    limits = {**LIMITS, "driver": 2.0}
    outcome = machine(4, cuda="at=cuDevicePrimaryCtxRetain,2 do=hang").run(
        "reduce", 4, limits, sizes=[8], large=[], nccl=False)
    assert roles(outcome) == ((2,), (0, 1, 3)) and outcome.stall is not None
    assert [each.state.phase for each in outcome.stall.suspects] == ["join", "join", "driver", "join"]


def test_a_rank_that_dies_before_it_joins(machine: Machines) -> None:
    outcome = machine(cuda="at=cuDevicePrimaryCtxRetain,1 do=die").ranks()
    assert roles(outcome) == ((1,), (0,)) and outcome.stall is not None
    assert outcome.stall.suspects[1].process_state in ("gone", "Z") and outcome.codes == (-9, -9)


def test_a_rank_that_hangs_in_nccl_init(machine: Machines) -> None:
    limits = {**LIMITS, "join": 2.0}
    outcome = machine(nccl="at=ncclCommInitRank,1 do=hang").run("reduce", 2, limits, sizes=[8], large=[], own=False)
    assert roles(outcome) == ((), (0, 1)) and outcome.stall is not None and outcome.stall.phase == "join"


@pytest.mark.parametrize(("words", "code", "says"), [
    ("at=cuInit do=100", 100, "CUDA_ERROR_NO_DEVICE"),
    ("at=cuDevicePrimaryCtxRetain,1 do=46 mode=3", 46, "CUDA_ERROR_DEVICE_UNAVAILABLE"),
    ("alloc_mib=0", 2, "CUDA_ERROR_OUT_OF_MEMORY"),
    ("at=any,1 do=gone,719 skip=200", 719, "CUDA_ERROR_LAUNCH_FAILED"),
])
def test_a_rank_that_fails_says_why_and_the_others_are_ended(machine: Machines, words: str, code: int,
                                                             says: str) -> None:
    outcome = machine(cuda=words).ranks(nccl=False)
    assert outcome.stall is None and not outcome.complete
    errors = [result for results in outcome.results for result in results if "error" in result]
    assert any(says in error["error"] and error["code"] == code for error in errors)


def test_no_nccl_is_said(machine: Machines) -> None:
    outcome = machine().ranks(nccl_path="/nonexistent/libnccl.so.2")
    assert outcome.complete and "libnccl" in of_kind(outcome, 0, "nccl")[0]["missing"]


def _trial(box: Machine, monkeypatch: pytest.MonkeyPatch) -> allreduce.Measured:
    for name, value in box.environment.items():
        monkeypatch.setenv(name, value) if value is not None else monkeypatch.delenv(name, raising=False)
    return allreduce.allreduce(Blind(), list(range(box.gpus)), soak_seconds=0.1,  # type: ignore[arg-type]
                               supervisor=Supervisor({"measure": 2.0}), shortened=True)


def test_both_arms_from_the_parents_side(machine: Machines, monkeypatch: pytest.MonkeyPatch) -> None:
    measured = _trial(machine(nccl="us=0 gbs=300"), monkeypatch)
    assert not measured.hangs and not measured.wrong and not measured.failures
    assert [each.what for each in measured.figures] == ["own", "nccl", "bus", "steps", "nccl staged"]
    assert measured.find("allreduce", "bus")[0].median == pytest.approx(300, rel=1e-3)
    assert all(each.verified for each in measured.figures if each.what != "bus")


def test_a_hang_is_the_arms_in_which_it_happens(machine: Machines, monkeypatch: pytest.MonkeyPatch) -> None:
    measured = _trial(machine(nccl="at=reduce,1 do=hang skip=50 p2p=1"), monkeypatch)
    (hang,) = measured.hangs
    assert (hang.arm, hang.phase, hang.aftermath.verdict) == ("p2p", "measure", "recovered")
    assert len(hang.victims) == 2 and not hang.culprits
