"""Two whole dumps of `lspci -xxxx` or -vvv: of what changes while a machine runs the worse value counts, in either
order; in what stays they agree, or are refused as two boots."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest
from tests.unit.imports.own_dump import dump as bytes_of_own
from tests.unit.imports.samples import FIXTURES
from tests.unit.refusing import refused

from tunecheck.facts.snapshot import gather
from tunecheck.host.imported.machine import load_import
from tunecheck.parsers.pci.config_space import find_capability
from tunecheck.parsers.text.damage import Damage
from tunecheck.rules import judge
from tunecheck.rules.context import Case

_AT = 0x40      # where own_dump's PCI Express capability begins
_ROW = re.compile(r"^([0-9a-f]{2,3}): ((?:[0-9a-f]{2} ?){16})$")


_TEXT = (FIXTURES / "pciutils" / "3.14.0.txt").read_text()      # of the same machine


def dump() -> str:
    """As `lspci -nnxxxx` prints it: the first line of each device, and its bytes."""
    heads = {line[:7]: line for line in _TEXT.splitlines() if re.match(r"[0-9a-f]{2}:[0-9a-f]{2}\.", line)}
    lines = [heads[line[:7]] if line.endswith(" device") else line for line in bytes_of_own().splitlines()]
    return "\n".join([*lines, ""])


def _edited(text: str, bdf: str, at: int, value: bytes) -> str:
    """A dump with other bytes at ``at`` of one device."""
    lines, inside = [], False
    for line in text.splitlines():
        inside = line.startswith(bdf) if re.match(r"[0-9a-f]{2}:[0-9a-f]{2}\.", line) else inside
        found = _ROW.match(line) if inside else None
        if found and (first := int(found[1], 16)) <= at < first + 16:
            data = bytearray.fromhex(found[2])
            data[at - first:at - first + len(value)] = value
            line = f"{found[1]}: {' '.join(f'{byte:02x}' for byte in data)}"
        lines.append(line)
    return "\n".join([*lines, ""])


def _told(path: Path) -> list[tuple[str, str, str, str, str]]:
    found = judge(Case(gather(load_import(str(path)), None, True)), "preflight")
    return [(each.id, each.code, each.subject, each.observed, each.text) for each in found
            if each.outcome != "skip"]


def _bytes(text: str, bdf: str) -> bytes:
    block = text.partition(f"{bdf} ")[2].partition("\n\n")[0]
    return b"".join(bytes.fromhex(found[2]) for line in block.splitlines() if (found := _ROW.match(line)))


@pytest.mark.parametrize(("bdf", "place", "value"), [
    ("03:00.0", "LnkSta width", 0x12), ("03:00.0", "LnkSta speed", 0x12), ("03:00.0", "ASPM", 0x10),
    ("05:00.0", "MPS", 0x08), ("05:00.0", "UESta", 0x104), ("05:00.0", "CESta", 0x110), ("02:00.0", "UESta", 0x104)])
@pytest.mark.parametrize("own_text", [False, True], ids=["one paste", "two files"])
def test_what_one_dump_shows_worse_counts(bdf: str, place: str, value: int, own_text: bool, tmp_path: Path) -> None:
    good = dump()
    raw = _bytes(good, bdf)
    at = value if value >= 0x100 else (find_capability(raw, 0x10) or 0) + value
    word = int.from_bytes(raw[at:at + 2], "little")
    other = {"LnkSta width": word & ~0x3F0 | 4 << 4, "LnkSta speed": word & ~0xF | 1, "ASPM": word | 2,
             "MPS": word & ~0xE0, "UESta": word | 1 << 4, "CESta": word | 1 << 6}[place]
    assert other != word
    bad = _edited(good, bdf, at, other.to_bytes(2, "little"))
    (tmp_path / "alone").write_text(bad)
    alone = _told(tmp_path / "alone")
    (tmp_path / "good").write_text(good)
    assert alone != _told(tmp_path / "good"), "a check sees the difference"
    for number, order in enumerate(itertools.permutations((good, bad))):
        given = tmp_path / f"given{number}"
        if own_text:
            given.mkdir()
            for place_, text in enumerate(order):
                (given / f"{place_}.txt").write_text(text)
        else:
            given.write_text("".join(order))
        assert _told(given) == alone, order[0] == good


@pytest.mark.parametrize(("bdf", "at", "value"), [
    ("03:00.0", 2, b"\x35\x23"), ("02:01.0", 0x19, b"\x09\x09"), ("05:00.0", 0x10, b"\x0c\x00\x00\xd0")],
    ids=["another board", "other buses", "other memory"])
def test_dumps_of_two_boots_are_refused(bdf: str, at: int, value: bytes, tmp_path: Path) -> None:
    good = _edited(dump(), "05:00.0", 0x10, b"\x0c\x00\x00\xe0")
    (tmp_path / "a").write_text(good + _edited(good, bdf, at, value))
    with refused(Damage.CONTRADICTS, "0000:0"):
        load_import(str(tmp_path / "a"))


def test_the_same_dump_twice_is_one(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(dump())
    (tmp_path / "b").write_text(dump() * 2)
    one, two = (gather(load_import(str(tmp_path / name)), None, False).topology for name in "ab")
    assert one.devices == two.devices and one.bridges == two.bridges


@pytest.mark.parametrize("edit", [
    ("UESta:\tDLP- ", "UESta:\tDLP+ "), ("CESta:\tRxErr- ", "CESta:\tRxErr+ "),
    ("ASPM Disabled;", "ASPM L0s L1 Enabled;"), ("Speed 32GT/s, Width x16\n", "Speed 32GT/s, Width x4\n")])
def test_a_text_that_shows_it_worse_than_bytes_counts(edit: tuple[str, str], tmp_path: Path) -> None:
    """-vvv of later, under the bytes of before."""
    bad = _TEXT.replace(*edit)
    assert bad != _TEXT
    found = {}
    for name, text in {"good": _TEXT + dump(), "one": bad + dump(), "other": dump() + bad}.items():
        (tmp_path / name).write_text(text)
        found[name] = _told(tmp_path / name)
    assert found["one"] == found["other"] != found["good"]
    assert len(found["one"]) >= len(found["good"])


def _without(text: str, bdf: str) -> str:
    return "\n\n".join(block for block in text.split("\n\n") if not block.startswith(bdf))


@pytest.mark.parametrize("later_first", [False, True])
@pytest.mark.parametrize("one_file", [False, True])
def test_a_board_that_one_of_two_whole_lists_lacks_is_not_kept(
    tmp_path: Path, later_first: bool, one_file: bool,
) -> None:  # fmt: skip
    """To keep the board would hide that it was lost in between: the newer list has to be given alone."""
    texts = [_TEXT, _without(_TEXT, "04:00.0")][::-1 if later_first else 1]
    if one_file:
        (tmp_path / "all.txt").write_text("".join(f"$ sudo lspci -nnvvv\n{each}\n" for each in texts))
    else:
        for number, each in enumerate(texts):
            (tmp_path / f"{number}.txt").write_text(each)
    with refused(Damage.CONTRADICTS, "0000:04:00.0"):
        load_import(str(tmp_path))


def test_a_list_of_some_devices_lacks_no_board(tmp_path: Path) -> None:
    """lspci -d 10de: shows no port, and lspci -s two addresses."""
    blocks = _TEXT.split("\n\n")
    for number, some in enumerate((["03:00.0", "05:00.0"], ["00:00.0", "02:01.0"])):
        (tmp_path / f"{number}.txt").write_text("\n\n".join(each for each in blocks if each[:7] in some) + "\n")
    (tmp_path / "whole.txt").write_text(_TEXT)
    assert len(gather(load_import(str(tmp_path)), None, True).topology.accelerators.value or ()) == 3
