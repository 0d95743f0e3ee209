"""Who is blamed for a stall: one witness, several, and witnesses that do not agree."""

from __future__ import annotations

import itertools
import random
import re
from dataclasses import replace

from tests.unit.parsers.test_nccl_ras import OUT_OF_STEP, STOPPED, answer
from tests.unit.watch.test_judge import BOTH_SPIN, DECODES, LIMITS, SPINS, Night, _codes

from tunecheck.parsers.nvidia.nccl_ras import parse
from tunecheck.watch import blame, culprits
from tunecheck.watch.model import Claim, Code, Culprit, Kind, Process, Seen, State, Witness
from tunecheck.watch.tell import Watched, document, line

#: A container's ids are others than this machine's.
RANKS = (Process(501, "VLLM::Worker_TP0", "R", 1317, ("0000:03:00.0",)),
         Process(502, "VLLM::Worker_TP1", "S", 1318, ("0000:04:00.0",)))


def _stall(gpus: object = BOTH_SPIN, **more: object) -> Seen:
    night = Night()
    night.go(30)
    return night.go(LIMITS.spin + 3, step=0, gpus=gpus, **more)


def test_who_is_behind_in_a_collective() -> None:
    seen = _stall(processes=RANKS, ras=parse(OUT_OF_STEP))
    assert seen.culprit == Culprit(501, "VLLM::Worker_TP0", "", 0, "0000:03:00.0", "", "AllReduce", (Witness.RAS,),
                                   (Kind.BEHIND,))
    told = document(seen, 1.0, 1.0, Watched(""))
    assert told["claims"][0]["launched"] == 224 and told["claims"][0]["others_launched"] == 226
    assert told["culprit"]["rank"] == 0 and culprits.named(seen.culprit) in line(seen, 1.0)
    assert re.search(r"\b0\b.*\b501\b", culprits.named(seen.culprit)), "rank and process"
    assert culprits.of_document(told["culprit"]) == seen.culprit


def test_three_witnesses_that_agree() -> None:
    stopped = (RANKS[0], replace(RANKS[1], state="T", engine_pid=1216))
    seen = _stall(SPINS, processes=stopped, ras=parse(STOPPED))
    assert seen.culprit is not None and (seen.culprit.pid, seen.culprit.letter, seen.culprit.rank) == (502, "T", 1)
    assert set(seen.culprit.witnesses) == set(Witness) and Code.WITNESSES_DISAGREE not in _codes(seen)


def test_a_gpu_that_does_something_else_than_wait() -> None:
    computes = (BOTH_SPIN[0], replace(BOTH_SPIN[1], power_mw=400_000))
    for gpus, kind in ((SPINS, Kind.IDLE), (computes, Kind.COMPUTES)):
        seen = _stall(gpus, processes=RANKS)
        assert seen.culprit is not None and seen.culprit.gpu == "0000:04:00.0"
        assert (seen.culprit.pid, seen.culprit.kinds) == (502, (kind,))


def test_a_kernel_on_all_sms_is_no_collective() -> None:
    """Utilisation, memory and power of both look like waiting (own runs on 2 x H100: 154 W and 137 W)."""
    first, second = (each.bdf for each in BOTH_SPIN)
    seen = _stall(BOTH_SPIN, processes=RANKS, sms=((first, 3.0), (second, 100.0)))
    assert seen.culprit is not None and (seen.culprit.pid, seen.culprit.kinds) == (502, (Kind.COMPUTES,))
    for sms in (((first, 100.0), (second, 100.0)), ((first, 3.0), (second, 0.8)), ((second, 100.0),), (),
                ((first, 70.0), (second, 100.0)), ((first, 0.0), (second, 100.0))):
        assert _stall(BOTH_SPIN, processes=RANKS, sms=sms).culprit is None, sms


def test_nobody_is_blamed_without_evidence() -> None:
    assert _stall(BOTH_SPIN, processes=RANKS, ras=parse(answer())).culprit is None
    assert _stall(BOTH_SPIN, processes=RANKS).culprit is None
    night = Night()     # whose GPUs they are was never seen
    assert night.go(LIMITS.spin + 9, step=0, gpus=SPINS).culprit is None
    assert _stall(processes=RANKS, ras=parse(answer())).claims == ()


def test_witnesses_that_disagree_are_told() -> None:
    """NCCL: rank 0 is behind. Its GPU waits, and the other one rests: the more direct witness is believed."""
    seen = _stall(SPINS, processes=RANKS, ras=parse(OUT_OF_STEP))
    assert seen.culprit is not None and seen.culprit.rank == 0 and Code.WITNESSES_DISAGREE in _codes(seen)
    # A process that is stopped, and another one that does not answer NCCL: nobody knows.
    stopped = (replace(RANKS[0], state="T"), replace(RANKS[1], engine_pid=1216))
    seen = _stall(BOTH_SPIN, processes=stopped, ras=parse(STOPPED))
    assert seen.culprit is None and Code.WITNESSES_DISAGREE in _codes(seen)
    assert seen.state is State.STALLED


def test_two_that_are_behind_are_not_one_culprit() -> None:
    told = [Claim(Witness.RAS, Kind.BEHIND, engine_pid=pid, rank=pid, communicator="a") for pid in (1, 2)]
    assert blame.culprit(told) is None and not blame.disagree(told)


def test_a_rank_that_ended_and_what_its_peer_says_of_it() -> None:
    remote = parse(answer("ERROR", """\
#0-0 (00aa) ERROR
  Asynchronous error on 1 rank
  Rank 0 reported Remote process error -- GPU 0 managed by process 1317 on node h

"""))
    seen = _stall(BOTH_SPIN, processes=(RANKS[0], replace(RANKS[1], state="X")), ras=remote)
    assert seen.culprit is not None and (seen.culprit.pid, seen.culprit.letter) == (502, "Z")
    assert Code.WITNESSES_DISAGREE not in _codes(seen)


def test_a_rank_that_ended_before_anybody_noted_it() -> None:
    """NCCL's ids are this machine's where the ranks that are left have the same in both places; else they are not."""
    left = (replace(RANKS[0], engine_pid=501),)
    seen = _stall(SPINS, processes=left, ras=parse(STOPPED))
    assert seen.culprit is not None
    assert (seen.culprit.pid, seen.culprit.gpu, seen.culprit.rank) == (1216, "0000:04:00.0", 1)
    seen = _stall(BOTH_SPIN, processes=RANKS[:1], ras=parse(STOPPED))
    assert seen.culprit is not None and (seen.culprit.pid, seen.culprit.gpu) == (0, "")


def test_an_id_that_two_containers_have_is_nobodys() -> None:
    twice = (*RANKS, Process(601, "VLLM::Worker_TP0", "S", 1317, ("0000:08:00.0",)))
    seen = _stall(processes=twice, ras=parse(OUT_OF_STEP))
    assert seen.culprit is not None and (seen.culprit.pid, seen.culprit.gpu, seen.culprit.rank) == (0, "", 0)


def test_links_that_carry_something_are_no_spinning() -> None:
    night = Night()
    night.go(30)
    for carried in itertools.count(0, 10_000):
        if night.go(1, step=0, gpus=[replace(each, link_kib=carried) for each in BOTH_SPIN]).state is State.STALLED:
            break
    assert night.all[-1].frozen >= LIMITS.stall, "only the longer limit holds"
    night = Night()
    night.go(30)
    seen = night.go(LIMITS.spin + 3, step=0, gpus=[replace(each, link_kib=777) for each in BOTH_SPIN])
    assert seen.state is State.STALLED


def test_bytes_over_pcie_are_no_excuse_of_gpus_that_wait() -> None:
    night = Night()
    night.go(30)
    for carried in range(0, 10_000 * round(LIMITS.spin + 3), 10_000):
        night.go(1, step=0, gpus=[replace(each, link_kib=carried, over_pcie=True) for each in BOTH_SPIN])
    assert night.all[-1].state is State.STALLED and Code.GPUS_SPINNING in _codes(night.all[-1])


def test_a_culprit_stays_while_ras_is_asked_again() -> None:
    night = Night()
    night.go(30, gpus=DECODES)
    night.go(LIMITS.spin + 3, step=0, gpus=BOTH_SPIN, processes=RANKS, ras=parse(OUT_OF_STEP))
    assert night.go(5, step=0, gpus=BOTH_SPIN, processes=RANKS).culprit is not None
    assert night.go(2).culprit is None, "the stall is over"


def test_any_mixture_of_claims_names_one_that_was_claimed_or_nobody() -> None:
    rng = random.Random(3)
    for _ in range(3000):
        told = [Claim(rng.choice(list(Witness)), rng.choice(list(Kind)), rng.choice((0, 1, 2)), "x",
                      rng.choice((0, 7, 8)), rng.choice((None, 0, 1)), rng.choice(("", "a", "b")))
                for _ in range(rng.randrange(6))]
        found = blame.culprit(told)
        blame.disagree(told)
        if found is not None:
            assert any(found.pid == each.pid or found.gpu == each.gpu or found.rank == each.rank for each in told)
            assert culprits.of_document(culprits.document(found)) == found and culprits.named(found)


def test_a_document_that_is_none_is_no_culprit() -> None:
    whole = culprits.document(Culprit(5, "x", "T", kinds=(Kind.STOPPED,), witnesses=(Witness.PROCESS,)))
    assert culprits.of_document(whole) is not None
    for name, value in (("pid", "5"), ("pid", -1), ("rank", True), ("kinds", []), ("kinds", ["new"]), ("witnesses", 3)):
        assert culprits.of_document({**whole, name: value}) is None
    assert culprits.of_document([]) is None
