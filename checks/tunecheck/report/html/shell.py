"""What every page is made of: its template, one style sheet and one script inside of it, and the policy that lets run
exactly those two, by their hashes. Everything else is data, which the template escapes."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import jinja2

from ...rules import Finding
from ...rules.finding import OUTCOMES
from ..fold import Fold, folded

__all__ = ["policy", "render"]

_HERE = Path(__file__).resolve().parent
_HEADINGS = {"fail": "Failed", "unknown": "Could not be determined", "warn": "Warnings", "pass": "Passed",
             "skip": "Not judged"}
_SCRIPTS = ("grid.js", "page.js", "common.js")


def render(name: str, styles: Sequence[str], findings: Sequence[Finding], **given: Any) -> str:
    """The whole page. ``name``: its template; ``styles``: what its style sheet is made of."""
    style, script = ("".join((_HERE / part).read_text(encoding="utf-8") for part in parts)
                     for parts in (styles, _SCRIPTS))
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True,
                                     undefined=jinja2.StrictUndefined, loader=jinja2.FileSystemLoader(_HERE))
    return environment.get_template(name).render(
        style=style, script=script, policy=policy(style, script), sections=list(_sections(findings)),
        headings=_HEADINGS, **given) + "\n"


def policy(style: str, script: str) -> str:
    """The content security policy of a page that holds just this style sheet and this script."""
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, script)]
    return (f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'; img-src data:; "
            "base-uri 'none'; form-action 'none'")


def _sections(findings: Sequence[Finding]) -> Iterator[tuple[str, int, list[Fold]]]:
    """Outcome, how many findings, and the folded lines; only of those that there are, worst first."""
    folds = folded(findings)
    for outcome in OUTCOMES:
        chosen = [fold for fold in folds if fold.first.outcome == outcome]
        if chosen:
            yield outcome, sum(len(fold.findings) for fold in chosen), chosen
