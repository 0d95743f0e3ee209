"""The words of every check, pinned in one file: no other test asks what a finding of a case says."""

from __future__ import annotations

from difflib import unified_diff

from lab.generators.wording import FILE, wording


def test_the_words_are_those_of_the_file() -> None:
    before, now = FILE.read_text(encoding="utf-8").splitlines(), wording().splitlines()
    changed = list(unified_diff(before, now, "wording.txt", "now", lineterm="", n=1))
    assert not changed, "\n".join([*changed[:40], "if the new words are meant: python -m lab.generators.wording"])
