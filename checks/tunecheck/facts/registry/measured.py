"""What was measured on the box last. Its figures move a little every night: `steady` keeps noise out of the history."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .definition import Entry
from .selectors import of_host, through

if TYPE_CHECKING:
    from ...model.fact import Fact
    from ..measured_pass import MeasuredPass

__all__ = ["ENTRIES"]


def _last(select: Callable[[MeasuredPass], Any]) -> Callable[[Any], Fact[Any]]:
    return of_host(lambda host: through(host.measured_pass, select))


ENTRIES = (
    Entry("measured.figure.", "figure", "medium", "none", "weakest figure of its sort measured last, as its name says; "
          "the former value until it moves by 5 %",
          _last(lambda last: dict(last.steady))),
    Entry("measured.passed", "gauge", "high", "none", "the last measurement passed",
          _last(lambda last: last.exit_code == 0)),
    Entry("measured.kind", "gauge", "low", "none", "full or quick", _last(lambda last: last.kind)),
    Entry("measured.place", "gauge", "low", "none", "on the host, or inside the image", _last(lambda last: last.place)),
    Entry("measured.taken", "time", "low", "none", "when it was measured, UTC", _last(lambda last: last.taken)),
    Entry("measured.seconds", "gauge", "low", "none", "how long it took", _last(lambda last: last.seconds),
          unit="s"),
)
