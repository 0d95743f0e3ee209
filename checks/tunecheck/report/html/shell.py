"""What every page is made of: its template, one style sheet and one script inside of it, and the policy that lets run
exactly those two, by their hashes. Everything else is data, which the template escapes."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from ...model.command import Command, pieces
from ...model.finding import Finding, Place, Remedy
from ...util.at_first_use import dataclass
from ..grouping import Fold, folded
from .explained import explained

__all__ = ["Row", "policy", "render", "ways"]

_HERE = Path(__file__).resolve().parent
#: As a person reads them: what is known to be wrong stands before what nobody could see.
_HEADINGS = {"fail": "Failed", "warn": "Warnings", "unknown": "Could not be determined", "pass": "Passed",
             "skip": "Not judged"}
#: Where a fix is done when it is not in a shell of the box.
_PLACES = {Place.INVENTORY: "in the inventory", Place.FIRMWARE: "in the firmware's set-up",
           Place.MACHINE: "at the machine itself", Place.HYPERVISOR: "on the host of the virtual machine"}
_PROBLEMS = ("fail", "warn", "unknown")
_SCRIPTS = ("grid.js", "page.js", "common.js")


@dataclass(frozen=True)
class Row:
    """One line of the findings. ``anchor``: the target of links to the check's problems, on the first line of each
    check; ``calm``: one sentence above says the same for all such lines, so the line is closed."""

    fold: Fold
    anchor: str = ""
    calm: bool = False


def render(name: str, styles: Sequence[str], findings: Sequence[Finding], scripts: Sequence[str] = _SCRIPTS,
           **given: Any) -> str:
    """Return the whole page as text. ``name``: its template; ``styles`` and ``scripts``: the files of which its style
    sheet and its script are made."""
    style, script = ("".join((_HERE / part).read_text(encoding="utf-8") for part in parts)
                     for parts in (styles, scripts))
    sections = list(_sections(findings))
    problems = [(outcome, list(dict.fromkeys(row.fold.first.id for row in rows)))
                for outcome, _, rows in sections if outcome in _PROBLEMS]
    told = explained(check for _, checks in problems for check in checks)
    return _environment().get_template(name).render(
        style=style, script=script, policy=policy(style, script), sections=sections, problems=problems,
        explained=told, linked={each.check for each in told}, ways=ways, headings=_HEADINGS,
        **{"proof": list, **given}) + "\n"


@cache
def _environment() -> jinja2.Environment:
    """Return what compiles the templates. It keeps them: to compile one takes longer than to fill it in."""
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True,
                                     undefined=jinja2.StrictUndefined, loader=jinja2.FileSystemLoader(_HERE))
    environment.globals["places"] = _PLACES
    return environment


def policy(style: str, script: str) -> str:
    """Return the content security policy of a page that holds just this style sheet and this script."""
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, script)]
    return (f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'; img-src data:; "
            "base-uri 'none'; form-action 'none'")


def ways(remedy: Remedy) -> list[tuple[str, list[str | Command]]]:
    """Return the ways to follow a remedy: by hand first, then by the play; each as its name, and its words and
    commands. One way alone needs no name, unless it is the play."""
    if not remedy.play_text:
        return [("", list(remedy.parts))]
    by_hand = [command or text for text, command in pieces(remedy.by_hand, remedy.commands)]
    return [*([("By hand", by_hand)] if by_hand else []), ("By play", list(remedy.by_play.parts))]


def _sections(findings: Sequence[Finding]) -> Iterator[tuple[str, int, list[Row]]]:
    """Yield outcome, how many findings, and the folded lines; only for outcomes that occur, in the order of
    _HEADINGS."""
    folds = folded(findings)
    rootless = sum(_needs_root(finding) for finding in findings) > 1
    for outcome in _HEADINGS:
        seen: set[str] = set()
        rows = []
        for fold in folds:
            check = fold.first.id
            if fold.first.outcome == outcome:
                rows.append(Row(fold, "" if check in seen else f"{outcome}-{check}",
                                rootless and _needs_root(fold.first)))
                seen.add(check)
        if rows:
            yield outcome, sum(len(row.fold.findings) for row in rows), rows


def _needs_root(finding: Finding) -> bool:
    return finding.outcome == "unknown" and finding.remedy is not None and finding.remedy.as_root
