"""What a waiver may be about: a check, its codes, what a finding is about, a fact; anything else is refused with what
was probably meant."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tunecheck.errors import UsageError
from tunecheck.rules.codes import COMMON
from tunecheck.rules.index import CHECKS
from tunecheck_fleet.lookup import waivable
from tunecheck_fleet.store.store import Store

_OWN = [(check.id, code) for check in CHECKS for code in check.codes if code not in COMMON]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Any]:
    made = Store(str(tmp_path / "fleet.db"))
    made.finish(made.begin("test", [], "pull").id)
    yield made
    made.close()


def test_every_check_and_code_may_be_waived(store: Store) -> None:
    for check, code in _OWN:
        assert waivable(store, check) and waivable(store, f"{check}/{code.replace('-N', '-79')}")
    assert waivable(store, "acs-redirect/0000:00:01.0") and waivable(store, "cmdline-token/iommu=pt")


def test_a_code_with_a_slip_is_refused_with_the_code_that_was_meant(store: Store) -> None:
    for check, code in [(check, code) for check, code in _OWN if not code.endswith("-N") and len(code) > 6]:
        with pytest.raises(UsageError) as refused:
            waivable(store, f"{check}/{code[:-2]}{code[-1]}q")
        assert check in str(refused.value) and code in str(refused.value)


def test_a_code_without_its_check_is_told_with_it_and_no_fact_stands_before_it(store: Store) -> None:
    for check, code in _OWN:
        with pytest.raises(UsageError) as told:
            waivable(store, code.replace("-N", "-79").upper().replace("-", "_"))
        meant = str(told.value).rpartition("; did you mean ")[2]
        assert all("/" in each for each in meant.rstrip("?").split(" or ")), meant
        assert f"{check}/" in meant or sum(code == other for _, other in _OWN) > 4
