"""Healthy texts pass, ill ones name why."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tunecheck.serving.garbage import Ill, logprob_reasons, reasons

_CORPUS = (Path(__file__).resolve().parents[2] / "engine/corpus.txt").read_text()


_CHINESE = ("这是一个没有空格的句子,讲的是服务器如何准备推理。每一步都要先证明,再继续往下走,否则就停下来。"
            "内核参数、驱动版本和链路宽度都会被检查,结果写进报告。")


@pytest.mark.parametrize("text", [_CORPUS[:5000], _CORPUS[:200], "42", "Paris.", _CORPUS[3000:13000], 2 * _CHINESE])
def test_healthy(text: str) -> None:
    assert reasons(text) == []


@pytest.mark.parametrize(("text", "code", "figures"), [
    ("", Ill.NO_TEXT, ""), ("D" * 300, Ill.ONE_CHARACTER, "300"), ("ok \ufffd\ufffd", Ill.REPLACED, "40% U+FFFD"),
    ("a\x00b\x01 c", Ill.CONTROL, "33%"), ("the same thing again and again, " * 60, Ill.COMPRESSES, "1 2 4"),
    ("abcdefgh" * 40, Ill.SAME_CHARACTERS, "8"), ("one two three four five six " * 30, Ill.SAME_WORDS, "3%"),
    ("x" + " \n" * 100 + "y", Ill.BLANK, "99%"), ("".join(_CORPUS.split())[:1000], Ill.BLANK, "0%"),
    (_CORPUS[:9000] + "2" * 9000, Ill.COMPRESSES, "1 2 4")])
def test_ill(text: str, code: Ill, figures: str) -> None:
    found = [each.text for each in reasons(text) if each.code is code]
    assert len(found) == 1 and set(figures.split()) <= set(re.findall(r"U\+FFFD|\d+%?", found[0])), reasons(text)


@pytest.mark.parametrize(("logprobs", "codes"), [
    ([-0.1, -0.2], []), ([None, -0.1], [Ill.NULL_LOGPROBS]), ([float("nan")], [Ill.NULL_LOGPROBS]),
    ([-1.5] * 40, [Ill.SAME_LOGPROBS]), ([-0.01 * each for each in range(40)], []), ([-0.1, 0.1], [Ill.ABOVE_ZERO]),
    ([-3 - 0.01 * each for each in range(40)], [Ill.UNLIKELY])])
def test_logprobs(logprobs: list[float | None], codes: list[Ill]) -> None:
    assert [each.code for each in logprob_reasons(logprobs)] == codes
