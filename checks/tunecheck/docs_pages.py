"""The pages about the checks: docs/checks/<id>.md in a checkout, tunecheck/docs in an installed package."""

from __future__ import annotations

import difflib
from pathlib import Path

from .errors import UsageError
from .rules import RULES

__all__ = ["page"]

_HERE = Path(__file__).resolve().parent
_FOLDERS = (_HERE / "docs", _HERE.parents[1] / "docs" / "checks")


def _near(check: str, ids: list[str]) -> list[str]:
    """The check that is meant but for its case; those that begin with it or contain it; those that look like it."""
    if check in ids:
        return [check]
    holding = sorted((name for name in ids if check in name), key=lambda name: not name.startswith(check))
    return holding[:3] if len(check) > 2 and holding else difflib.get_close_matches(check, ids, n=3, cutoff=0.5)


def page(check: str) -> str:
    """The page's text. UsageError for an id that is none, with the nearest ones."""
    ids = [rule.id for rule in RULES]
    if check not in ids:
        near = _near(check.lower().replace("_", "-"), ids)
        hint = f"did you mean {' or '.join(near)}?" if near else "`tunecheck checks` lists them"
        raise UsageError(f"no check is called {check!r}; {hint}")
    for folder in _FOLDERS:
        if (folder / f"{check}.md").is_file():
            return (folder / f"{check}.md").read_text(encoding="utf-8")
    raise UsageError(f"the page of {check} is missing from this installation; install tunecheck again")
