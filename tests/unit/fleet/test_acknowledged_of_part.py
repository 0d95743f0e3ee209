"""An acknowledgement stands only where the hosts are that it was said of."""

from __future__ import annotations

import pytest

from tunecheck_fleet.fleet_report import Cause, Decision, Wave
from tunecheck_fleet.outputs.entry_words import acknowledgement, remarks

_SAID = Decision(1, "acknowledge", 3, "12345678", "g a", "ann", "ann", "", "", 0.0)


def _cause(covered: tuple[str, ...]) -> Cause:
    return Cause("desired", "high", "gpu-ecc", "g", ("a", "b", "c"), None, None, "desired on", "none", None, "known",
                 outcome="fail", acknowledged=_SAID, covered=covered,
                 waves=(Wave(None, ("a", "b", "c"), "known"),))


@pytest.mark.parametrize(("covered", "on", "said", "short"), [
    (("a", "b"), ("a", "b", "c"), "not of 1 host", "acknowledged on 2 of 3 (ann)"),
    (("a", "b"), ("a", "c"), "not of 1 host", "acknowledged on 1 of 2 (ann)"),
    (("a", "b"), ("a", "b"), "", "acknowledged (ann)"),
    (("a", "b"), ("c",), None, None),
    # On its one host it was said of one GPU, and not of another.
    ((), ("a",), "not of all of it", "acknowledged in part (ann)"),
])
def test_of_whom_it_was_said(covered: tuple[str, ...], on: tuple[str, ...], said: str | None,
                             short: str | None) -> None:
    cause = _cause(covered).on(on)
    if said is None:
        assert cause.acknowledged is None and not any("acknowledged" in each for each in remarks(cause, 0.0))
        return
    told = acknowledgement(cause)
    assert told.endswith(said) and ("not of" in told) == bool(said)
    assert short in remarks(cause, 0.0)
