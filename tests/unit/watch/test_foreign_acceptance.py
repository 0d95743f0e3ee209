"""What lies where an acceptance leaves its figures, and is none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tunecheck.serving import accepted

_KEPT: dict[str, Any] = {
    "schema": accepted.SCHEMA, "boot_id": "b", "invocation": "", "recipe": "", "image": "", "gpus": [], "tok_s": 50.0,
    "prompt_tok_s": None, "model": "m", "api": "chat", "question": {"prompt": "q", "expect": "42", "tokens": 40}}


def test_a_whole_acceptance_is_one() -> None:
    assert accepted.parsed(json.dumps(_KEPT).encode()).tok_s == 50.0
    assert accepted.parsed(json.dumps({**_KEPT, "more": [[1]], "tok_s": 50}).encode()).tok_s == 50.0


@pytest.mark.parametrize(("name", "value"), [
    *(("tok_s", each) for each in (0, -1, 1e308, 1e-300, float("nan"), float("inf"), "NaN", "50", True, None, [], {},
                                   10**400)),
    *(("prompt_tok_s", each) for each in (0, -1, 1e308, 1e-300, "50", True, [])),
    *(("question", each) for each in (
        [], "x", 3, {}, {"prompt": "q", "expect": "42"}, {"prompt": "", "expect": "42", "tokens": 4},
        {"prompt": "q", "expect": "", "tokens": 4}, {"prompt": None, "expect": "42", "tokens": 4},
        {"prompt": "q", "expect": ["42"], "tokens": 4}, {"prompt": "q", "expect": "42", "tokens": "4"},
        {"prompt": "q", "expect": "42", "tokens": True}, {"prompt": "q", "expect": "42", "tokens": 1.5},
        {"prompt": "q", "expect": "42", "tokens": 0}, {"prompt": "q", "expect": "42", "tokens": -3},
        {"prompt": "q" * 30_000, "expect": "42", "tokens": 4}, {"prompt": "\ud800", "expect": "42", "tokens": 4})),
    ("gpus", "abc"), ("gpus", None), ("gpus", [1]), ("model", 7), ("api", "other"), ("boot_id", None)])
def test_figures_that_no_acceptance_measured_are_none(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        accepted.parsed(json.dumps({**_KEPT, name: value}).encode())


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"\xff", b"[" * 60_000, b" " * 70_000 + b"{}",
                                     json.dumps(_KEPT).encode()[:-20]])
def test_a_file_that_is_torn_or_another_s_is_no_acceptance(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        accepted.parsed(content)
