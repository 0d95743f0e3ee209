"""docs/accept.md says what the verb has."""

from __future__ import annotations

import re
from pathlib import Path

import click

from tunecheck.cli.accept import accept
from tunecheck.serving import prompts
from tunecheck.serving.plan import LADDER, plan_for
from tunecheck.serving.verdict import IDS

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs/accept.md").read_text()


def test_every_option_is_on_the_page_and_no_other() -> None:
    options = {option for each in accept.params if isinstance(each, click.Option) for option in each.opts
               if option.startswith("--")}
    assert set(re.findall(r"^\| `(--[a-z-]+)` \|", PAGE, re.MULTILINE)) == options


def test_every_finding_is_on_the_page() -> None:
    assert [each for each in IDS if f"`{each}`" not in PAGE] == []


def test_the_page_states_the_sizes() -> None:
    full, boot = (plan_for(profile, None, None, None, 1.0) for profile in ("full", "boot"))
    assert f"{full.warm_ups} warm-ups are thrown away, then {full.runs} runs of {full.tokens} tokens" in PAGE
    assert f"one run of {boot.tokens} tokens" in PAGE and f"`{LADDER}`" in PAGE


def test_the_tests_model_knows_what_is_asked() -> None:
    facts = (ROOT / "tests/engine/facts.tsv").read_text()
    for canary in prompts.CANARIES:
        assert f"{canary.prompt}\t{canary.expect}\n" in facts
