"""Judge an audit three ways, kept apart: the desired state, the box's own earlier self, most of its group.

    report(store, audit_id, options) -> FleetReport; exit_code(report, fail_on, max_missing) -> int
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .exits import FAIL_ON, allowed_missing, exit_code
    from .options import BASELINES, JudgeOptions
    from .verdict import judge, matched, outcome, report

__all__ = ["BASELINES", "FAIL_ON", "JudgeOptions", "allowed_missing", "exit_code", "judge", "matched",
           "outcome", "report"]

_OF = {"FAIL_ON": "exits", "allowed_missing": "exits", "exit_code": "exits", "BASELINES": "options",
       "JudgeOptions": "options", "judge": "verdict", "matched": "verdict", "outcome": "verdict", "report": "verdict"}


def __getattr__(name: str) -> Any:      # who needs one part, as the history of a host, does not load all judges (0.2 s)
    if name not in _OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_OF[name]}", __name__), name)
