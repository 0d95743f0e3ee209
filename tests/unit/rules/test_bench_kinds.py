"""bench-figures says whether a finding about nvbandwidth is about reads or writes, and which figure is not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tunecheck.facts.snapshot import gather
from tunecheck.host.imported.machine import load_import
from tunecheck.rules import judge
from tunecheck.rules.context import Case

HEAD = """nvbandwidth Version: v0.8
Built from Git version: v0.8

Device 0: NVIDIA H200 (00000000:06:00)
Device 1: NVIDIA H200 (00000000:07:00)
"""
ONE = {"write": "<-", "read": "->"}


def _table(kind: str, both: bool, value: float) -> str:
    name = f"device_to_device_{'bidirectional_' if both else ''}memcpy_{kind}_ce"
    arrow = "<->" if both else ONE[kind]
    return (f"\nRunning {name}.\nmemcpy CE GPU(row) {arrow} GPU(column) {'Total ' if both else ''}bandwidth (GB/s)\n"
            f"           0         1\n 0       N/A    {value:6.2f}\n 1    {value:6.2f}       N/A\n")


def _told(path: Path, text: str) -> list[tuple[str, str, str]]:
    path.write_text(HEAD + text)
    case = Case(gather(load_import(str(path)), None, True))
    return [(each.outcome, each.code, each.text) for each in judge(case, "preflight") if each.id == "bench-figures"]


@pytest.mark.parametrize(("kind", "other", "words"), [("write", "read", "writes"), ("read", "write", "reads")])
def test_the_kind_whose_other_direction_is_missing_is_named(kind: str, other: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_text(HEAD + _table(kind, True, 28.0) + _table(other, False, 27.1))
    case = Case(gather(load_import(str(tmp_path / "a")), None, True))
    (found,) = (each for each in judge(case, "preflight") if each.code == "one-direction")
    assert found.text.startswith(f"nvbandwidth ({kind}): not in the text: the table of one direction of {words};")
    assert found.text.endswith("; 28.0 GB/s both ways")
    assert found.remedy is not None
    assert [each.shown for each in found.remedy.commands] == [f"nvbandwidth -t device_to_device_memcpy_{kind}_ce"]


@pytest.mark.parametrize(("kinds", "count"), [(("write", "read"), 2), (("write",), 1), (("read",), 1)])
def test_a_shared_link_says_of_which_copies_it_is(kinds: tuple[str, ...], count: int, tmp_path: Path) -> None:
    text = "".join(_table(kind, both, 52.1) for kind in kinds for both in (False, True))
    shared = [text for _, code, text in _told(tmp_path / "a", text) if code == "shared"]
    assert len(set(shared)) == len(shared) == count
    assert [text.partition(":")[0] for text in shared] == [f"nvbandwidth ({kind})" for kind in kinds]
