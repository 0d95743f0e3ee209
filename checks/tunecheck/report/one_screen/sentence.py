"""What one row of a report says in few lines: its sentence, a clause of it, or the words of its code."""

from __future__ import annotations

from collections.abc import Sequence

from ...model.finding import Finding
from ...rules.index import BY_ID
from ...util.at_first_use import regex
from ..grouping import Fold
from ..style import GOES_ON, Style, marked
from ..text_parts import finding_text

__all__ = ["sentence"]

_BRACKETS = regex(r" \([^()]*\)")
#: So many words behind a name say what is wrong with it.
_TELLS = 4


def sentence(row: Fold, style: Style, most: int) -> list[str]:
    """Return what is wrong, in at most so many lines (0: any number). What is warned of or unknown and would end in
    " ..." is its first clause alone, which carries the outcome, or the words of its code, where these fit: a whole
    sentence says more than the beginning of a longer one."""
    finding, many = row.first, len(row.findings)
    lines = marked(finding.outcome, finding_text(row, many), style, most)
    if finding.outcome == "fail" or not most or len(marked(finding.outcome, finding_text(row, many), style)) <= most:
        return lines
    front = f"{finding.id}{f' ({many})' if many > 1 else ''}"
    for clause in _clauses(row.text, finding.subject if many > 1 else ""):
        said = marked(finding.outcome, f"{front}: {clause}", style)
        if len(said) <= most:
            return said
    if finding.outcome != "warn":
        # What could not be read, and why, tells more than the beginning of what is not known for that.
        reason = _reason(row.text, finding)
        return marked(finding.outcome, f"{front}: {reason}", style, most) if reason else lines
    check = BY_ID.get(finding.id)
    meaning = check.codes.get(finding.code, "").rstrip(".") if check else ""
    for subject in (f" ({finding.subject})" if finding.subject and many == 1 else "", ""):
        if not meaning or (not subject and many == 1 and _names(lines, finding)):
            continue        # the words of a code alone do not say what they are about
        said = marked("warn", f"{front}: {meaning}{subject}", style)
        if len(said) <= most:
            return said
    return lines


def _names(lines: Sequence[str], finding: Finding) -> bool:
    """Whether the lines of a sentence that is cut name what it is about, and begin to say what is wrong with it."""
    said = " ".join(line.strip() for line in lines).removesuffix(GOES_ON).partition(f"{finding.id}: ")[2]
    _, named, more = said.partition(finding.subject)
    return bool(finding.subject and named) and len(more.split()) >= _TELLS


def _reason(text: str, finding: Finding) -> str:
    """Return the end of a clause that says which source told nothing, and why: "nvidia-smi topo -m: not understood:
    ..."; "" where it does not name its source so."""
    start = f"{finding.evidence[0]}: " if finding.evidence and finding.absence else ""
    first, found, reason = text.partition(start) if start else ("", "", "")
    return f"{found}{reason.partition('; ')[0]}" if found and "; " not in first else ""


def _clauses(text: str, subject: str) -> tuple[str, ...]:
    """Return the first clause of a text; without what stands in brackets; and, of a row that is about several, without
    the ``subject`` of the first, so the longest that fits is the one to take."""
    first = text.partition("; ")[0]
    bare = _BRACKETS.sub("", first)
    return first, bare, first.removeprefix(f"{subject}: "), bare.removeprefix(f"{subject}: ")
