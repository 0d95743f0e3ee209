"""The plain table of `nvidia-smi`, cell by cell: what stands in one of them loses nothing of the others."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.imports.smi_texts import row, table
from tests.unit.imports.test_smi_table import answers, snap

from tunecheck.facts.nvidia.nvml import Gpu
from tunecheck.facts.snapshot import gather
from tunecheck.host.imported.machine import load_import
from tunecheck.model.fact import Absence
from tunecheck.parsers.nvidia.smi_table import parse_table

WHO = "0000:91:00.0"
#: cell -> what it holds on a sound board, and the keys that are read there.
CELLS: dict[tuple[int, int], tuple[str, tuple[str, ...]]] = {
    (0, 0): ("   1  NVIDIA H200                    On  ", ("name", "persistence")),
    (0, 1): ("   00000000:91:00.0 Off ", ()),
    (0, 2): ("                    0 ", ("ecc_mode", "ecc_volatile_uncorrected")),
    (1, 0): (" N/A   30C    P0             75W /  700W ",
             ("temperature_c", "pstate", "power_draw_mw", "power_limit_mw")),
    (1, 1): ("       4MiB / 143771MiB ", ("memory_used_mib", "memory_total_mib")),
    (1, 2): ("      0%      Default ", ("utilization_gpu", "compute_mode")),
    (2, 0): ("                                         ", ()), (2, 1): ("                        ", ()),
    (2, 2): ("             Disabled ", ("mig_mode", "mig_pending"))}
WORDS = ("ERR!", "N/A", "GPU is lost", "Unknown Error", "[Unknown Error]", "Insufficient Permissions")
_END = "+-----------------------------------------+------------------------+----------------------+\n"



def rows(but: dict[tuple[int, int], str], mig: bool) -> str:
    lines = ["|" + "|".join(but.get((line, cell), CELLS[line, cell][0]) for cell in range(3)) + "|\n"
             for line in range(3 if mig else 2)]
    return "".join(lines) + _END


def read(text: str) -> Gpu:
    parsed = parse_table(table(row(), text))
    assert parsed is not None and len(parsed["gpus"]) == 2
    found = parsed["gpus"][1]
    return Gpu(found["bdf"], found["index"], found["values"], found["errors"])


def fits(where: tuple[int, int], word: str) -> str:
    return f"{word:^{len(CELLS[where][0])}}"


@pytest.mark.parametrize("mig", [True, False])
@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("where", [where for where in CELLS if where != (0, 1)])
def test_a_word_in_place_of_a_cell(tmp_path: Path, where: tuple[int, int], word: str, mig: bool) -> None:
    if where[0] == 2 and not mig:
        return
    sound, ill = read(rows({}, mig)), read(rows({where: fits(where, word)}, mig))
    lost = CELLS[where][1]
    assert {key: value for key, value in sound.values.items() if key not in lost} == ill.values
    why = {"N/A": Absence.NOT_SUPPORTED, "GPU is lost": Absence.LOST,
           "Insufficient Permissions": Absence.NO_PERMISSION}.get(word, Absence.FAILED)
    assert {ill.fact(key).absence for key in lost if key in ill.errors
            and not (word in ("N/A", "Insufficient Permissions") and key == "ecc_volatile_uncorrected")} <= {why}
    (found,) = answers(snap(tmp_path, table(row(), rows({where: fits(where, word)}, mig))))
    if word == "GPU is lost":
        assert (found.code, found.subject) == ("gpu-lost", WHO)
    elif "Unknown" in word:
        assert (found.code, found.subject) == ("gpu-no-answer", WHO)
    elif word in ("N/A", "Insufficient Permissions"):
        assert found.code == "ok"


@pytest.mark.parametrize("mig", [True, False])
@pytest.mark.parametrize("first", [where for where in CELLS if CELLS[where][1]])
def test_two_errors_are_a_board_and_one_may_be_a_sensor(
        tmp_path: Path, first: tuple[int, int], mig: bool) -> None:
    for second in CELLS:
        if not CELLS[second][1] or second <= first or (second[0] == 2 and not mig):
            continue
        text = rows({first: fits(first, "ERR!"), second: fits(second, "ERR!")}, mig)
        (found,) = answers(snap(tmp_path, table(row(), text)))
        assert (found.outcome, found.code) == ("fail", "gpu-no-answer"), (first, second)


VALUES = ("On  ", "30C", "P0", "75W", "700W", "4MiB", "143771MiB", "0%", "Default")


@pytest.mark.parametrize("word", ["GPU is lost", "Unknown Error", "ERR!", "N/A"])
@pytest.mark.parametrize("value", VALUES)
def test_a_word_in_place_of_a_value(tmp_path: Path, value: str, word: str) -> None:
    text = rows({}, True).replace(f" {value}", f" {word} ", 1)
    sound, ill = read(rows({}, True)), read(text)
    assert len(sound.values) - len(ill.values) == 1 and set(ill.values) < set(sound.values)
    (found,) = answers(snap(tmp_path, table(row(), text)))
    one = "warn" if ill.refused else "pass"
    assert found.outcome == {"ERR!": one, "N/A": "pass"}.get(word, "fail")


def test_a_row_with_words_in_the_memory_cell(tmp_path: Path) -> None:
    for memory in ("Unknown Error", "GPU is lost", "4MiB /  97887MiB", "ERR!", "ERR! / ERR!"):
        for power in ("N/A /  N/A", "ERR! / ERR!", "ERR!", "Unknown Error"):
            text = rows({(1, 0): f"ERR!   ERR!  ERR!            {power}  ", (1, 1): f"     {memory}      ",
                         (1, 2): "    ERR!      Default "}, True)
            (found,) = answers(snap(tmp_path, table(row(), text)))
            assert found.outcome == "fail"
            assert read(text).values["compute_mode"] == "default"
            assert {"temperature_c", "pstate", "utilization_gpu"} <= set(read(text).errors)


@pytest.mark.parametrize("word", WORDS)
def test_a_gpu_whose_address_is_refused_is_no_pass(tmp_path: Path, word: str) -> None:
    text = table(row(), rows({(0, 1): fits((0, 1), word)}, True))
    (found,) = answers(snap(tmp_path, text))
    assert (found.outcome, found.subject) == (("unknown", "NVML") if word == "N/A" else ("fail", "gpu 1"))
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(text)
    known = gather(load_import(str(tmp_path)), None, True).nvml.value
    assert known is not None and known.errors


def test_the_only_gpu_without_an_address(tmp_path: Path) -> None:
    (found,) = answers(snap(tmp_path, table(rows({(0, 1): fits((0, 1), "ERR!")}, True))))
    assert (found.outcome, found.subject) == ("fail", "gpu 1")


@pytest.mark.parametrize("gone", [0, 1, 2])
def test_a_line_that_is_gone_takes_only_its_own(tmp_path: Path, gone: int) -> None:
    lines = rows({}, True).splitlines(keepends=True)
    text = table(row(), "".join(lines[:gone] + lines[gone + 1:]), row(index=2, bus="A1"))
    parsed = parse_table(text)
    assert parsed is not None
    kept = {key for (line, _), (_, keys) in CELLS.items() for key in keys if line != gone}
    for gpu in parsed["gpus"]:
        if gpu["bdf"] == WHO:
            assert kept - {"mig_pending"} <= set(gpu["values"]) | {"mig_pending"} and set(gpu["values"]) <= kept
    assert {each.outcome for each in answers(snap(tmp_path, text))} <= {"pass", "unknown"}


def test_the_mode_of_another_system_is_no_error(tmp_path: Path) -> None:
    text = rows({(0, 0): "   1  NVIDIA H200                   TCC  "}, False)
    assert read(text).fact("persistence").absence is Absence.NOT_UNDERSTOOD
    assert [each.code for each in answers(snap(tmp_path, table(row(), text)))] == ["ok"]
