"""What NCCL's RAS says, in the forms of 2.24 to 2.29, and anything else that may come in its place."""

from __future__ import annotations

import random
import time

import pytest

from tunecheck.parsers.nvidia.nccl_ras import MOST, Behind, Failed, Peer, Rank, Ras, parse

_HASH = "00112233445566aa"
HEAD = """\
NCCL version {version} compiled with CUDA 13.0
CUDA runtime version 13000, driver version 13000

Communicators... (2.00s)
=============

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
    0         1         1         2         2         2   RUNNING  {state}

Errors
======

"""
WARNINGS = """\
Warnings
========

"""


def answer(state: str = "OK", errors: str = "", warnings: str = "", version: str = "2.28.9+cuda13.0") -> str:
    """As it comes, with these blocks under its headings."""
    return HEAD.format(version=version, state=state) + errors + WARNINGS + warnings


STOPPED = answer("INCOMPLETE", f"""\
INCOMPLETE
  Missing communicator data from 1 job process
  Process 1216 on node 10.0.0.1 managing GPU 1

#0-0 ({_HASH}) INCOMPLETE
  Missing communicator data from 1 rank
  Rank 1 -- GPU 1 managed by process 1216 on node 10.0.0.1

""")
OUT_OF_STEP = answer("MISMATCH", warnings=f"""\
#0-0 ({_HASH}) MISMATCH
  Communicator ranks have different AllReduce operation counts
  Rank 1 has launched up to operation 226 -- GPU 1 managed by process 1318 on node 10.0.0.1
  Rank 0 has launched up to operation 224 -- GPU 0 managed by process 1317 on node 10.0.0.1

""")


def test_all_is_well() -> None:
    found = parse(answer())
    assert found == Ras(answer(), "2.28.9+cuda13.0", communicators=1, whole=True) and found.understood


def test_a_process_that_does_not_answer() -> None:
    found = parse(STOPPED)
    assert found.silent == (Peer(1216, (1,)),)
    assert found.missing == (Rank(_HASH, 1, 1216, 1),)
    assert (found.behind, found.dead, found.whole) == ((), (), True)


def test_ranks_out_of_step() -> None:
    found = parse(OUT_OF_STEP)
    assert found.behind == (Behind(Rank(_HASH, 0, 1317, 0), "AllReduce", 224, 226),)
    assert (found.unequal, found.silent) == (1, ())


def test_one_of_many_is_behind_and_the_others_are_told_as_a_number() -> None:
    found = parse(answer("MISMATCH", warnings=f"""\
#0-0 ({_HASH}) MISMATCH
  Communicator ranks have different AllGather operation counts
  7 ranks have launched up to operation 90
  Rank 3 has not launched any operations -- GPU 0 (NVML 3) managed by process 44 on node h

  Communicator ranks have different AllReduce operation counts
  7 ranks have launched up to operation 12
  Rank 3 has launched up to operation 11 -- GPU 0 (NVML 3) managed by process 44 on node h

"""))
    rank = Rank(_HASH, 3, 44, 3)
    assert found.behind == (Behind(rank, "AllGather", 0, 90), Behind(rank, "AllReduce", 11, 12))


def test_who_is_ahead_is_not_behind() -> None:
    """Seven wait for what one has launched alone: of which of them is at fault nothing is said."""
    found = parse(answer("MISMATCH", warnings=f"""\
#0-0 ({_HASH}) MISMATCH
  Communicator ranks have different AllReduce operation counts
  7 ranks have launched up to operation 12
  Rank 3 has launched up to operation 13 -- GPU 3 managed by process 44 on node h

"""))
    assert (found.behind, found.unequal) == ((), 1)


def test_several_are_behind_and_named_below_their_number() -> None:
    found = parse(answer("MISMATCH", warnings=f"""\
#1-0 ({_HASH}) MISMATCH
  Communicator ranks have different AllReduce operation counts
  6 ranks have launched up to operation 12
  2 ranks have launched up to operation 11
  Rank 3 -- GPU 3 managed by process 44 on node h
  Rank 4 -- [process information not found]

"""))
    assert [(each.rank.number, each.rank.pid, each.launched) for each in found.behind] == [(3, 44, 11), (4, None, 11)]


def test_the_forms_of_2_24() -> None:
    found = parse(answer("INCOMPLETE,MISMATCH", f"""\
#0-0 ({_HASH}) INCOMPLETE
  Missing communicator data from 2 ranks
  The missing ranks: 1,5

""", f"""\
#0-0 ({_HASH}) MISMATCH
  Communicator ranks have different status
  7 ranks have status RUNNING
  Rank 2 has status ABORT -- GPU 2 managed by process 9 on node h
  Communicator ranks have different collective operation counts
  Rank 2 has launched up to operation 8 -- GPU 2 managed by process 9 on node h
  Rank 0 has launched up to operation 9 -- GPU 0 managed by process 7 on node h

""", "2.24.3+cuda12.6"))
    assert found.missing == (Rank(_HASH, 1), Rank(_HASH, 5))
    assert found.behind == (Behind(Rank(_HASH, 2, 9, 2), "", 8, 9),)
    assert found.version == "2.24.3+cuda12.6"


def test_errors_and_the_dead() -> None:
    found = parse(answer("INCOMPLETE,ERROR", f"""\
DEAD
  1 job process is considered dead (unreachable via the RAS network)
  Process 77 on node 10.0.0.1 managing GPUs 0,1 (NVML 4,5)

#0-0 ({_HASH}) ERROR
  Asynchronous errors on 3 ranks
  2 ranks reported Remote process error
  Rank 0 -- GPU 0 managed by process 70 on node h
  Rank 1 -- GPU 1 managed by process 71 on node h
  Rank 2 reported Unhandled CUDA error -- GPU 2 managed by process 72 on node h

"""))
    assert found.dead == (Peer(77, (4, 5)),)
    assert found.failed == (Failed(Rank(_HASH, 0, 70, 0), "Remote process error"),
                            Failed(Rank(_HASH, 1, 71, 1), "Remote process error"),
                            Failed(Rank(_HASH, 2, 72, 2), "Unhandled CUDA error"))


def test_an_answer_that_is_cut_off_is_not_whole() -> None:
    for end in range(0, len(STOPPED), 7):
        found = parse(STOPPED[:end])
        assert not found.whole or end > STOPPED.index("Warnings")
        assert {each.pid for each in found.silent} <= {int("1216"[:size]) for size in range(1, 5)}


@pytest.mark.parametrize("text", ["", "ERROR: Unknown command verbose status\n", "<html>", "\0" * 100, "{}",
                                  "HTTP/1.1 400 Bad Request\r\n\r\n"])
def test_something_else_is_not_understood(text: str) -> None:
    found = parse(text)
    assert not found.understood and not found.whole and not found.behind and not found.silent


def test_whatever_comes_costs_little_and_breaks_nothing() -> None:
    """Lines of real answers cut, doubled, mixed and filled with other things; the largest that is taken."""
    rng, begun = random.Random(22), time.process_time()
    lines = [*STOPPED.splitlines(), *OUT_OF_STEP.splitlines(), "  7 ranks have launched up to operation 12",
             "  Rank 9 -- [process information not found]", "DEAD", "  Communicator ranks have different status"]
    odd = ["9" * 400, "\x1b[2J", "-" * 300, " " * 5000, "Rank 1 -- GPU " * 50, "\ud800", "é" * 99, "\0", "%s%n", ","]
    for _ in range(1500):
        found = [rng.choice(lines) for _ in range(rng.randrange(40))]
        for _ in range(rng.randrange(4)):
            if found:
                at = rng.randrange(len(found))
                cut = rng.randrange(len(found[at]) + 1)
                rest = found[at][rng.randrange(cut, len(found[at]) + 1):]
                found[at] = found[at][:cut] + rng.choice([*odd, ""]) + rest
        ras = parse("\n".join(found))
        assert len(ras.behind) <= 256 and len(ras.missing) <= 256 and len(ras.silent) <= 256
    for line in (*lines, *odd):
        many = parse((line + "\n") * (2 * MOST // (len(line) + 1)))
        assert len(many.silent) <= 256 and len(many.missing) <= 256 and not many.whole
    parse(HEAD + f"#0-0 ({_HASH}) MISMATCH\n" + "  Rank 1 " + "x" * MOST)
    assert time.process_time() - begun < 60
