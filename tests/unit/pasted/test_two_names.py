"""One paste with names in front of its lines: of two machines it is refused, whatever their texts are and however long;
of one it is the paste without the name; no line is lost without a word."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.imports.twice import TWICE
from tests.unit.refusing import refused

from tunecheck.facts.snapshot import gather
from tunecheck.host.imported.files import pieces
from tunecheck.host.imported.machine import load_import
from tunecheck.parsers.text.damage import Damage
from tunecheck.rules import judge
from tunecheck.rules.context import Case

XID = "[  100.000001] NVRM: Xid (PCI:0000:06:00): 79, pid=1, name=x, GPU has fallen off the bus.\n"
#: More lines than are looked at to tell what stands in front of them.
_LONG = 420


def _named(name: str, text: str) -> str:
    return "".join(f"{name}: {line}\n" for line in text.splitlines())


def _long(text: str) -> str:
    return text * (1 + _LONG // text.count("\n"))


def _texts(path: Path, text: str) -> list[str]:
    path.write_text(text)
    return ["\n".join(line.rstrip() for line in piece.text.strip("\n").splitlines()) for piece in pieces(str(path))]


@pytest.mark.parametrize("other", TWICE)
def test_texts_of_two_machines_are_refused(other: str, tmp_path: Path) -> None:
    for text in (text for both in TWICE.values() for text in (both[0], _long(both[0]))):
        (tmp_path / "a").write_text(_named("gpu1", text) + _named("gpu2", TWICE[other][1]))
        with refused(Damage.CONTRADICTS, "gpu1", "gpu2"):
            load_import(str(tmp_path / "a"))


@pytest.mark.parametrize("other", TWICE)
def test_texts_of_one_machine_are_those_without_its_name(other: str, tmp_path: Path) -> None:
    for kind, (one, _) in TWICE.items():
        text = one + TWICE[other][1]
        assert _texts(tmp_path / "a", _named("gpu1", text)) == _texts(tmp_path / "a", text), kind


@pytest.mark.parametrize("line", [XID, XID.partition("] ")[2]], ids=["with its time", "without"])
@pytest.mark.parametrize("kind", TWICE)
def test_one_line_of_another_machine_is_enough(kind: str, line: str, tmp_path: Path) -> None:
    for text in (TWICE[kind][0], _long(TWICE[kind][0])):
        for one, other in ((text, line), (line, text)):
            (tmp_path / "a").write_text(_named("gpu1", one) + _named("gpu2", other))
            with refused(Damage.CONTRADICTS, "gpu1", "gpu2"):
                load_import(str(tmp_path / "a"))


@pytest.mark.parametrize("kind", TWICE)
def test_a_line_with_a_name_beside_lines_without_counts(kind: str, tmp_path: Path) -> None:
    for order in ((TWICE[kind][0], _named("gpu2", XID)), (_named("gpu2", XID), TWICE[kind][0])):
        (tmp_path / "a").write_text("".join(order))
        found = judge(Case(gather(load_import(str(tmp_path / "a")), None, True)), "preflight")
        assert ("gpu-fallen-off", "fail") in {(each.id, each.outcome) for each in found}


def test_what_is_not_used_behind_another_name_is_said(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(_named("gpu1", _long(TWICE["kernel log"][0])) + _named("gpu2", "hello\nbye\n"))
    assert load_import(str(tmp_path / "a")).summary().endswith("; not used: 2 lines of a")
