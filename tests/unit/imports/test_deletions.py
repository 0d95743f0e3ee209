"""Deleting anything from evidence never turns fail, warn or unknown into pass: a fixed thousand of trials.

For as many as one likes, and over other people's files: python -m lab.bench.deletions."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from tests.unit.imports.deletion_bases import own, real
from tests.unit.imports.deletions import Base, deleted, improved, trials

SEED = 20261122


def test_a_fixed_thousand(tmp_path: Path) -> None:
    found = [(what, better) for what, better in trials(own(), SEED, tmp_path, 1000) if better]
    assert found == [], f"{len(found)} of 1000 trials, seed {SEED}"


def test_other_peoples_files(tmp_path: Path) -> None:
    folder = Path(os.environ.get("TUNECHECK_SAMPLES", ""))
    bases = real(folder) if os.environ.get("TUNECHECK_SAMPLES") and folder.is_dir() else []
    if not bases:
        pytest.skip("TUNECHECK_SAMPLES names no folder: other people's files are not part of the project")
    found = [(what, better) for what, better in trials(bases, SEED, tmp_path, 200) if better]
    assert found == [], f"{len(found)} of 200 trials, seed {SEED}"


def test_the_generator_deletes_and_an_improvement_is_seen() -> None:
    """What it looks for it would find."""
    chance = random.Random(1)
    base = own()[0]
    kinds = {deleted(base, chance).words.partition(": ")[2].split(" ")[0] for _ in range(400)}
    assert {"line", "grep", "device", "section", "lines", "from", "up", "columns", "cell"} <= kinds
    assert deleted(Base("empty"), chance).left == Base("empty")
    before = {("link-width", ""): "fail", ("link-width", "0000:03:00.0"): "fail", ("xid", ""): "pass"}
    assert improved(before, {**before, ("link-width", ""): "pass"}) == ["link-width: fail -> pass"]
    assert improved(before, {**before, ("link-width", "0000:03:00.0"): "skip"}) == [
        "link-width 0000:03:00.0: fail -> skip"]
    assert improved(before, {("link-width", ""): "unknown"}) == []
    # The device is gone: the verdict goes with it only where the count says so.
    gone = {("link-width", ""): "pass", ("link-width", "0000:04:00.0"): "pass"}
    assert improved(before, gone) == ["link-width: fail -> pass"]
    assert improved(before, {**gone, ("accelerator-count", ""): "unknown"}) == []
