"""Judge an audit three ways, kept apart: the desired state, the box's own earlier self, most of its group.

    report(store, audit_id, options) -> FleetReport; exit_code(report, fail_on, max_missing) -> int
"""

from .exits import FAIL_ON, allowed_missing, exit_code
from .options import BASELINES, JudgeOptions
from .verdict import judge, matched, outcome, report

__all__ = ["BASELINES", "FAIL_ON", "JudgeOptions", "allowed_missing", "exit_code", "judge", "matched",
           "outcome", "report"]
