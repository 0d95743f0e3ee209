"""nvidia-smi topo -m and -p2p: every known shape is read, every damaged one refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from tests.unit.imports.samples import FIXTURES, samples

from tunecheck.parsers.nvidia.topo_matrix import Fault, TableError, parse_matrix

TABLE = ("\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
         "GPU0\t X \tPIX\tSYS\t0-63\t0\t\tN/A\n"
         "GPU1\tPIX\t X \tSYS\t0-63\t0\t\tN/A\n"
         "NIC0\tSYS\tSYS\t X \t\t\t\t\n")
P2P = " \tGPU0\tGPU1\t\n GPU0\tX\tOK\t\n GPU1\tNS\tX\t\n"


@pytest.mark.parametrize("change", [
    lambda text: text,
    lambda text: text.replace("\tGPU0", "\t\x1b[4mGPU0", 1).replace("ID\n", "ID\x1b[0m\n"),
    lambda text: text.replace("\tGPU0", "\t[4mGPU0", 1).replace("ID\n", "ID[0m\n"),
    lambda text: text.replace("SYS", "SOC"),
    lambda text: text.replace("NIC0", "mlx5_bond_0"),
    lambda text: text.replace("0-63\t0", "\t"),
    lambda text: text.replace("\t", "    "),
    lambda text: text.replace("\n", "\r\n"),
    lambda text: text + "\nLegend:\n\n  X    = Self\n\nNIC Legend:\n\n  NIC0: mlx5_0\n",
    lambda text: "".join(line.partition("\t0-63")[0].partition("\tCPU")[0].rstrip() + "\n"
                         for line in text.splitlines()),
    lambda text: "nvidia-smi topo -m\n\n" + text,
], ids=["plain", "ansi", "ansi without esc", "SOC", "mlx5", "empty affinity", "spaces", "crlf", "legend", "old",
        "title"])
def test_every_shape_says_the_same(change) -> None:  # type: ignore[no-untyped-def]
    found = parse_matrix(change(TABLE))
    assert (found.kind, found.gpus, len(found.others)) == ("topo -m", 2, 1)
    assert found.pairs == {(0, 1): "PIX", (1, 0): "PIX"}


@contextmanager
def refused(fault: Fault, *names: str) -> Iterator[None]:
    with pytest.raises(TableError) as told:
        yield
    assert told.value.fault is fault and all(name in str(told.value) for name in names), str(told.value)


@pytest.mark.parametrize(("old", "new", "fault", "names"), [
    ("PIX\tSYS", "PIXSYS", Fault.CELL, ["'PIXSYS'"]),
    (" X \tPIX", " X PIX", Fault.CELL, ["'X PIX'"]),
    ("PIX\t X \tSYS\t0-63", "PIX\t X \t0-63", Fault.CELL, ["GPU1", "'0-63'"]),
    ("PIX\t X ", "SYS\t X ", Fault.CONTRADICTS, ["GPU0-GPU1", "PIX", "GPU1-GPU0", "SYS"]),
    (" X \tPIX\tSYS", "PIX\tPIX\tSYS", Fault.DIAGONAL, ["GPU0-GPU0", "PIX"]),
    ("GPU1\tPIX\t X \tSYS\t0-63\t0\t\tN/A\n", "", Fault.NO_ROW, ["GPU1"]),
    ("GPU1\tPIX", "GPU0\tPIX", Fault.ROW_TWICE, ["GPU0"]),
    ("SYS\t0-63", "SYS\tSYS\t0-63", Fault.TOO_MANY, ["GPU0"]),
    ("SYS\t0-63", "OK\t0-63", Fault.MIXED, []),
    ("\tGPU0\tGPU1", "\tGPU0\tGPU2", Fault.ORDER, ["GPU0", "GPU1"]),
    ("\tGPU0\tGPU1", "\tGPU1\tGPU0", Fault.HEADER, []),
    ("GPU0\t X \tPIX\tSYS\t0-63\t0\t\tN/A", "GPU0\t X \tPI", Fault.CUT, ["'PI'"]),
    ("NIC0\tCPU", "NIC0 NIC0\tCPU", Fault.HEADER, ["NIC0 NIC0"]),
])
def test_damage_is_refused(old: str, new: str, fault: Fault, names: list[str]) -> None:
    assert old in TABLE
    with refused(fault, *names):
        parse_matrix(TABLE.replace(old, new, 1))


@pytest.mark.parametrize(("text", "fault"), [
    ("", Fault.NO_HEADER), ("GPU0", Fault.NO_ROW), ("\tGPU0\n", Fault.NO_ROW), ("\tGPU0\tGPU1\n", Fault.NO_ROW),
    ("Legend:\n", Fault.NO_HEADER), ("\0\1\2", Fault.NO_HEADER), ("\tGPU0 X X\n", Fault.HEADER)])
def test_no_table_is_refused(text: str, fault: Fault) -> None:
    with refused(fault):
        parse_matrix(text)


def test_p2p_keeps_both_directions() -> None:
    found = parse_matrix(P2P)
    assert (found.kind, found.pairs) == ("topo -p2p", {(0, 1): "OK", (1, 0): "NS"})
    with refused(Fault.CUT, "'O'"):
        parse_matrix(P2P.replace("OK", "O"))


def test_one_gpu_and_two_hundred() -> None:
    assert parse_matrix("\tGPU0\tCPU Affinity\nGPU0\t X \t\n").pairs == {}
    count = 200
    rows = ["\t" + "\t".join(f"GPU{number}" for number in range(count))]
    rows += [f"GPU{row}\t" + "\t".join(" X " if row == column else "SYS" for column in range(count))
             for row in range(count)]
    assert len(parse_matrix("\n".join(rows)).pairs) == count * (count - 1)
    with refused(Fault.TOO_WIDE, "1024"):
        parse_matrix("\t" + "\t".join(f"GPU{number}" for number in range(2000)) + "\n")


def test_own_capture() -> None:
    found = parse_matrix((FIXTURES / "h200" / "smi_topo.txt").read_text())
    assert found.pairs == {(0, 1): "NV18", (1, 0): "NV18"}


#: File -> kind, GPUs, other columns, words; None: its README says that it has to be refused.
SAMPLES = {
    "01": ("topo -m", 6, 0, "NODE PIX SYS"), "02": ("topo -m", 8, 0, "PHB PIX SYS"), "03": ("topo -m", 8, 1, "PIX PXB"),
    "04": ("topo -m", 1, 6, ""), "07": None, "08": ("topo -m", 8, 9, "NV18"), "08b": ("topo -m", 8, 9, "NV18"),
    "09": ("topo -m", 8, 0, "NV18"), "11": ("topo -m", 8, 6, "NV18"), "12": ("topo -m", 4, 0, "NODE"),
    "13": ("topo -m", 4, 0, "NODE NV4 PHB"), "15": ("topo -m", 4, 0, "PHB"), "16": ("topo -m", 1, 0, ""),
    "18": ("topo -m", 8, 0, "NODE PIX SYS"), "19": ("topo -m", 8, 0, "NODE PIX SYS"), "21": ("topo -m", 2, 0, "NV18"),
    "p2p-01": ("topo -p2p", 2, 0, "GNS"), "p2p-03": ("topo -p2p", 8, 0, "OK"), "p2p-04": ("topo -p2p", 4, 0, "NS"),
    "p2p-10": ("topo -p2p", 2, 0, "OK"), "p2p-11": ("topo -p2p", 2, 0, "OK"), "p2p-12": ("topo -p2p", 2, 0, "OK"),
    "p2p-13": ("topo -p2p", 2, 0, "OK"), "p2p-14": ("topo -p2p", 2, 0, "NS"),
}


def test_every_sample_is_read_or_refused_as_its_readme_says() -> None:
    seen = set()
    for path in sorted(samples("topo").glob("*.txt")):
        number = path.name[:6] if path.name.startswith("p2p") else path.name.partition("-")[0]
        seen.add(number)
        if SAMPLES[number] is None:
            with refused(Fault.CELL, "PXBNODE"):
                parse_matrix(path.read_text())
            continue
        found = parse_matrix(path.read_text())
        words = " ".join(sorted(set(found.pairs.values())))
        assert (found.kind, found.gpus, len(found.others), words) == SAMPLES[number], path.name
    assert seen == set(SAMPLES)


def test_two_samples_of_one_box_agree() -> None:
    typed, real = (parse_matrix(next(samples("topo").glob(f"{number}-*.txt")).read_text()) for number in ("18", "19"))
    assert typed.pairs == real.pairs
