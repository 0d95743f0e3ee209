"""A cause of several hosts has the words of one of them: no claim of it is made about a host that says other."""

from __future__ import annotations

import pytest

from tunecheck_fleet.judge.causes import causes
from tunecheck_fleet.judge.rows import OVER, Row

_TWO, _NONE = "now 2 of 16 ports redirect", "now none of 16 ports redirects"


def _rows(**said: tuple[str, ...]) -> list[Row]:
    return [Row("desired", "medium", "iommu-trap", "g", host, "expected", "reboot", text=text, outcome="warn")
            for host, texts in said.items() for text in texts]


@pytest.mark.parametrize(("said", "text"), [
    ({"r3": (_NONE,), "r4": (_TWO,)}, f"{_TWO} (so on r4; of the others: "),
    ({"r2": (_TWO,), "r3": (_NONE,), "r4": (_TWO,)}, f"{_TWO} (so on r2, r4; of the others: ")])
def test_words_of_some_hosts_name_them(said: dict[str, tuple[str, ...]], text: str) -> None:
    (found,) = causes(_rows(**said))
    assert found.text.startswith(text) and found.hosts == tuple(sorted(said)), found.text


@pytest.mark.parametrize("said", [
    {"r3": (_TWO,), "r4": (_TWO,)}, {"r3": (_TWO,)}, {"r3": (_TWO, _NONE), "r4": (_TWO, _NONE)}])
def test_words_of_all_hosts_name_none(said: dict[str, tuple[str, ...]]) -> None:
    (found,) = causes(_rows(**said))
    assert found.text in (_TWO, _NONE)


def test_of_what_is_over_each_host_has_its_own_words() -> None:
    (found,) = causes([row._replace(state="resolved") for row in _rows(r3=(_NONE,), r4=(_TWO,))])
    assert found.text == OVER
