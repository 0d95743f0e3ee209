"""What NCCL's RAS may say that is cut, large, or of another machine: nobody is blamed for it."""

from __future__ import annotations

import pytest
from tests.unit.parsers.test_nccl_ras import answer
from tests.unit.watch.test_blame import RANKS, _stall

from tunecheck.parsers.nvidia.nccl_ras import parse

GROUPS = answer("MISMATCH", warnings="""\
#0-0 (00aa) MISMATCH
  Communicator ranks have different AllReduce operation counts
  5 ranks have launched up to operation 226
  Rank 1 has launched up to operation 225 -- GPU 1 managed by process 1318 on node 10.0.0.1
  Rank 0 has launched up to operation 224 -- GPU 0 managed by process 1317 on node 10.0.0.1

""")


@pytest.mark.parametrize("end", [GROUPS.index("  Rank 0"), GROUPS.index("224")])
def test_an_answer_that_is_cut_blames_nobody_of_its_last_list(end: int) -> None:
    """The one who is really behind comes after the cut."""
    assert [each.rank.number for each in parse(GROUPS).behind] == [0]
    cut = parse(GROUPS[:end], ended=False)
    assert cut.behind == () and not cut.whole
    assert _stall(processes=RANKS, ras=cut).culprit is None


def test_the_last_of_a_thousand_ranks_is_the_one_behind() -> None:
    rows = "".join(f"  Rank {rank} has launched up to operation {90 if rank == 999 else 1000 + rank} -- GPU 0 managed "
                   f"by process {2000 + rank} on node h\n" for rank in range(1000))
    found = parse(answer("MISMATCH", warnings=f"#0-0 (00aa) MISMATCH\n  Communicator ranks have different AllReduce "
                                              f"operation counts\n{rows}\n"))
    assert [(each.rank.number, each.launched, each.others) for each in found.behind] == [(999, 90, 1998)]


TWO_NODES = answer("MISMATCH", warnings="""\
#0-0 (00aa) MISMATCH
  Communicator ranks have different AllReduce operation counts
  Rank 1 has launched up to operation 226 -- GPU 1 managed by process 1318 on node 10.0.0.1
  Rank 8 has launched up to operation 224 -- GPU 0 managed by process 1317 on node 10.0.0.2

""")


def test_a_rank_of_another_machine_is_no_process_of_this_one() -> None:
    """Its process id is that of somebody here too."""
    seen = _stall(processes=RANKS, ras=parse(TWO_NODES))
    assert seen.culprit is not None
    assert (seen.culprit.pid, seen.culprit.gpu, seen.culprit.rank) == (0, "", 8)
    silent = parse(answer("INCOMPLETE", """\
INCOMPLETE
  Missing communicator data from 2 job processes
  Process 1317 on node 10.0.0.2 managing GPU 0
  Process 1318 on node 10.0.0.1 managing GPU 1

"""))
    seen = _stall(processes=RANKS, ras=silent)
    assert all(each.pid in (0, 502) for each in seen.claims) or not any(each.pid for each in seen.claims)
