"""A table of nvidia-smi topo that was cut at its right side is never the table of a smaller machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.unit.imports.test_fragments import findings, load, snap

from tunecheck.app.draft import drafted
from tunecheck.facts.snapshot import gather
from tunecheck.parsers.nvidia.topo_matrix import Fault, TableError, parse_matrix
from tunecheck.rules import judge
from tunecheck.rules.context import Case
from tunecheck.rules.nvidia.posted_gpus import driver_counts

_LEGEND = "\nLegend:\n\n  X    = Self\n  PIX  = Connection traversing at most a single PCIe bridge\n"


def _table(gpus: int, word: Callable[[int, int], str], nics: int = 0, tail: bool = True) -> str:
    """What `nvidia-smi topo -m` prints, with tabs."""
    names = [f"GPU{number}" for number in range(gpus)] + [f"NIC{number}" for number in range(nics)]
    ends = ["\t0-63\t0\t\tN/A" if tail and name[0] == "G" else "" for name in names]
    rows = [name + "\t" + "\t".join(" X " if a == b else word(min(a, b), max(a, b)) for b in range(len(names))) + end
            for (a, name), end in zip(enumerate(names), ends, strict=True)]
    head = "\t" + "\t".join(names) + ("\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID" if tail else "")
    return "\n".join([head, *rows, _LEGEND])


def _p2p(gpus: int, word: str = "OK") -> str:
    rows = [f" GPU{a}\t" + "".join(("X" if a == b else word) + "\t" for b in range(gpus)) for a in range(gpus)]
    return " \t" + "".join(f"GPU{number}\t" for number in range(gpus)) + "\n" + "\n".join(rows) + "\n"


def _near(a: int, b: int) -> str:
    return "PIX" if a // 2 == b // 2 else "NODE" if a // 4 == b // 4 else "SYS"


_TABLES = {
    "pcie": _table(8, _near), "old": _table(4, _near, tail=False), "nvlink": _table(8, lambda a, b: "NV18"),
    "nvlink alone": _table(4, lambda a, b: "NV18", tail=False),
    "mesh": _table(4, lambda a, b: "NV12" if b - a == 1 else "NV4", tail=False),
    "nics": _table(4, lambda a, b: "NV18" if b < 4 else "SYS", nics=3),
    "sixteen": _table(16, _near), "two": _table(2, lambda a, b: "NV18", tail=False),
    "p2p": _p2p(8), "refused": _p2p(4, "CNS"), "two of p2p": _p2p(2, "GNS"),
}


def _cuts(text: str) -> Iterator[str]:
    """What cut -fN, cut -cN, and a window that shows tabs as blanks leave."""
    lines = text.split("\n")
    for field in range(1, 24):
        yield "\n".join("\t".join(line.split("\t")[:field]) for line in lines)
    for wide in (lines, [line.expandtabs(8) for line in lines]):
        for column in range(1, max(map(len, wide))):
            yield "\n".join(line[:column] for line in wide)


@pytest.mark.parametrize("name", _TABLES)
def test_what_is_cut_is_refused_or_all_there(name: str) -> None:
    whole, refused = parse_matrix(_TABLES[name]), 0
    for text in _cuts(_TABLES[name]):
        try:
            found = parse_matrix(text)
        except TableError:
            refused += 1
            continue
        assert (found.kind, found.gpus, found.pairs) == (whole.kind, whole.gpus, whole.pairs), text
    assert refused


@pytest.mark.parametrize(("text", "names"), [
    ("\tGPU0\tGPU1\nGPU0\t X \tNV1\nGPU1\tNV18\t X\n", ["GPU1", "NV1 ", "NV18"]),
    ("\tGPU0\tGPU1\tGPU2\nGPU0\t X \tPIX\tSY\nGPU1\tPIX\t X \tSY\nGPU2\tSYS\tSYS\t X\n", ["GPU0", "'SY'"]),
    ("\tGPU0\tGPU1\tGPU2\nGPU0\t X \tPIX\t\nGPU1\tPIX\t X \t\nGPU2\tSYS\tSYS\t\n", ["GPU0", "2", "3"]),
    ("\tGPU0\nGPU0\t X \nGPU1\tPIX\n", ["GPU1", "GPU0"]),
    ("\tGPU0\tGPU1\tGPU1\n" + "".join(f"GPU{number}\t X \n" for number in range(11)), ["GPU10"]),
])
def test_a_cut_says_where_it_is(text: str, names: list[str]) -> None:
    with pytest.raises(TableError) as told:
        parse_matrix(text)
    assert told.value.fault is Fault.CUT and all(name in str(told.value) for name in names), str(told.value)


def test_a_contradiction_that_no_cut_makes_is_told_as_one() -> None:
    for cells in ("NV2", "NV19"):
        with pytest.raises(TableError) as told:
            parse_matrix(f"\tGPU0\tGPU1\nGPU0\t X \t{cells}\nGPU1\tNV18\t X\n")
        assert told.value.fault is Fault.CONTRADICTS


_CUT = "\n".join("\t".join(line.split("\t")[:5]) for line in _TABLES["pcie"].split("\n"))
_CUT_P2P = "$ nvidia-smi topo -p2p r\n" + "\n".join(
    "\t".join(line.split("\t")[:5]) for line in _TABLES["p2p"].replace("GPU5\tOK", "GPU5\tCNS").split("\n"))


@pytest.mark.parametrize(("text", "source", "check"), [
    (_CUT, "nvidia-smi topo -m", "topo-relation"), (_CUT_P2P, "nvidia-smi topo -p2p r", "p2p-capability")])
def test_a_cut_table_is_named_and_tells_nothing(tmp_path: Path, text: str, source: str, check: str) -> None:
    host = load(tmp_path, text)
    snapshot = gather(host, None, True)
    assert any(source.removesuffix(" r") in hole and "GPU7" in hole for hole in host.holes), host.summary()
    assert snapshot.posted.least == {source: 8} and not snapshot.posted.letters and not snapshot.posted.table.known
    assert {each.outcome for each in judge(Case(snapshot), "topo")} <= {"unknown", "skip"}
    assert [each.outcome for each in findings(snapshot, check)] == ["unknown"]
    assert not driver_counts(Case(snapshot))


@pytest.mark.parametrize("text", [_CUT, _CUT_P2P])
def test_no_gpu_is_lost_for_a_cut_table(tmp_path: Path, text: str) -> None:
    """Eight boards in lspci, and a table with four columns."""
    tree = "".join(f"{slot:02x}:00.0 3D controller [0302]: NVIDIA Corporation X [10de:2bb1]\n\tControl: I/O- Mem+\n"
                   "\tLnkSta: Speed 32GT/s, Width x16\n\tKernel driver in use: nvidia\n\n" for slot in range(1, 9))
    snapshot = snap(tmp_path, tree, text)
    assert len(snapshot.topology.devices) == 8
    assert "fail" not in {each.outcome for each in findings(snapshot, "accelerator-count")}
    assert "pass" not in {each.outcome for each in findings(snapshot, "p2p-capability")}


@pytest.mark.parametrize("text", [_CUT, _CUT_P2P])
def test_a_draft_asks_for_the_count_of_a_cut_table(tmp_path: Path, text: str) -> None:
    draft = drafted(snap(tmp_path, text))
    assert draft.spec["accelerators"]["count"] == 8 and "8" in draft.change["accelerators.count"]


def test_the_whole_table_counts_beside_a_cut_one(tmp_path: Path) -> None:
    p2p = "$ nvidia-smi topo -p2p r\n" + _TABLES["p2p"]
    for texts in ((_CUT, _TABLES["pcie"], _CUT_P2P, p2p), (p2p, _TABLES["pcie"], _CUT_P2P, _CUT)):
        snapshot = snap(tmp_path, *texts)
        assert snapshot.posted.table.known and len(snapshot.posted.letters["r"]) == 56 and not snapshot.posted.least
