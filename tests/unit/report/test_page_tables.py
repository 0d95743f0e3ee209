"""Tables of pages on a terminal: every row can be read by itself, nothing is lost, no code is broken."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tunecheck.report.page import _table, inline, rendered
from tunecheck.report.style import Style

PAGES = sorted((Path(__file__).resolve().parents[3] / "docs" / "checks").glob("*.md"))
_ROW = re.compile(r"^\|(?![-|: ]+$)(.*)\|$", re.MULTILINE)
_TABLES = [path for path in PAGES if _ROW.search(path.read_text())]


@pytest.mark.parametrize("width", [60, 80, 100])
@pytest.mark.parametrize("path", _TABLES, ids=lambda path: path.stem)
def test_no_row_of_a_page_is_pressed_into_one_sentence(path: Path, width: int) -> None:
    text = path.read_text()
    shown = rendered(text, Style(width))
    lines = shown.splitlines()
    for row in _ROW.findall(text):
        cells = ["".join(part for _, part in inline(cell.strip())) for cell in re.split(r"(?<!\\)\|", row)]
        assert not any("; ".join(cells[1:]) in line for line in lines if len(cells) > 2), row
        flat = re.sub(r"\s+", "", shown)
        first = re.sub(r"\s+", "", cells[0])
        assert len(cells) > 2 or first in flat or all(word in shown for word in cells[0].split()), row
        for code in (part for cell in re.split(r"(?<!\\)\|", row) for is_code, part in inline(cell) if is_code):
            assert any(code in line for line in lines), code
    assert max(map(len, lines)) <= width or any(len(word) > width - 12 for word in re.findall(r"`([^`]+)`", text))


_CELLS = st.text(alphabet="abc defgh ", min_size=1, max_size=60).map(lambda text: " ".join(text.split()) or "x")


@given(rows=st.integers(1, 3).flatmap(lambda columns: st.lists(
    st.lists(_CELLS, min_size=columns, max_size=columns), min_size=2, max_size=5)), width=st.integers(24, 100))
def test_every_word_of_a_table_is_there(rows: list[list[str]], width: int) -> None:
    lines = _table(rows, width, Style(width))
    words = sorted(word for line in lines for word in line.split())
    assert [word for row in rows[1:] for cell in row for word in cell.split() if word not in " ".join(words)] == []
    assert all(len(line) <= width or len(line.split()[-1]) > width - 20 for line in lines)


@pytest.mark.parametrize("text", [*(path.read_text() for path in PAGES), "# x\n## Wrong\n`x: it is wrong`\nBecause.\n"])
def test_what_explains_an_example_is_a_paragraph_of_its_own(text: str) -> None:
    paragraphs = [" ".join(each.split()) for each in rendered(text, Style(80)).split("\n\n")]
    for message, behind in re.findall(r"^`([a-z-]+: [^`\n]+)`\n(?!#|`)(\S.*)$", text, re.MULTILINE):
        example = " ".join(message.split())
        assert not any(example in each and "".join(part for _, part in inline(behind))[:20] in each
                       for each in paragraphs), message
