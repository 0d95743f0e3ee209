"""Healthy texts pass, ill ones name why."""

from __future__ import annotations

from pathlib import Path

import pytest

from tunecheck.serving.garbage import logprob_reasons, reasons

_CORPUS = (Path(__file__).resolve().parents[2] / "engine/corpus.txt").read_text()


_CHINESE = ("这是一个没有空格的句子,讲的是服务器如何准备推理。每一步都要先证明,再继续往下走,否则就停下来。"
            "内核参数、驱动版本和链路宽度都会被检查,结果写进报告。")


@pytest.mark.parametrize("text", [_CORPUS[:5000], _CORPUS[:200], "42", "Paris.", _CORPUS[3000:13000], 2 * _CHINESE])
def test_healthy(text: str) -> None:
    assert reasons(text) == []


@pytest.mark.parametrize(("text", "says"), [
    ("", "no text"), ("D" * 300, "in a row"), ("ok \ufffd\ufffd", "U+FFFD"), ("a\x00b\x01 c", "control"),
    ("the same thing again and again, " * 60, "compresses"), ("abcdefgh" * 40, "8 characters"),
    ("one two three four five six " * 30, "distinct"), ("x" + " \n" * 100 + "y", "white space"),
    ("".join(_CORPUS.split())[:1000], "white space"), (_CORPUS[:9000] + "2" * 9000, "compresses")])
def test_ill(text: str, says: str) -> None:
    assert any(says in each for each in reasons(text)), reasons(text)


@pytest.mark.parametrize(("logprobs", "count"), [
    ([-0.1, -0.2], 0), ([None, -0.1], 1), ([float("nan")], 1), ([-1.5] * 40, 1),
    ([-0.01 * each for each in range(40)], 0)])
def test_logprobs(logprobs: list[float | None], count: int) -> None:
    assert len(logprob_reasons(logprobs)) == count
