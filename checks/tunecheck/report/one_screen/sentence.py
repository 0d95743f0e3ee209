"""What one row of a report says in few lines: its sentence, a clause of it, or the words of its code."""

from __future__ import annotations

from collections.abc import Sequence

from ...model.finding import Finding
from ...rules.index import BY_ID
from ...util.at_first_use import regex
from ..grouping import Fold
from ..style import GOES_ON, NO_BREAK, Style, marked
from ..text_parts import finding_text
from ..typed_commands import commands_in

__all__ = ["sentence"]

_BRACKETS = regex(r" \([^()]*\)")
_ADDRESS = regex(r"(GPU\d+) [0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
#: What was expected takes at most such a share of the lines.
_SHARE = 0.4
#: So many words behind a name say what is wrong with it.
_TELLS = 4


def sentence(row: Fold, style: Style, most: int) -> list[str]:
    """Return what is wrong, in at most so many lines (0: any number). What would end in " ..." is said otherwise where
    that fits, as a whole sentence says more than the beginning of a longer one: what fails keeps what was expected, in
    two lines or more, and leaves out the middle; what is warned of or unknown is its first clause alone, which carries
    the outcome, or the words of its code."""
    finding, many = row.first, len(row.findings)
    whole = finding_text(row, many)
    lines = marked(finding.outcome, whole, style, most)
    if not most or len(marked(finding.outcome, whole, style)) <= most:
        return lines
    front = f"{finding.id}{f' ({many})' if many > 1 else ''}"
    expected = whole.removeprefix(f"{front}: {row.text}")
    if finding.outcome == "fail":
        return (_with_expected(finding, front, row.text, expected, style, most) if most > 1 else []) or lines
    for clause in _clauses(row.text, finding.subject if many > 1 else ""):
        for end in dict.fromkeys((expected, "")):
            said = marked(finding.outcome, f"{front}: {clause}{end}", style)
            if len(said) <= most:
                return said
    if finding.outcome != "warn":
        # What could not be read, and why, tells more than the beginning of what is not known for that.
        reason = _reason(row.text, finding)
        return marked(finding.outcome, f"{front}: {reason}", style, most) if reason else lines
    check = BY_ID.get(finding.id)
    meaning = check.codes.get(finding.code, "").rstrip(".") if check else ""
    subjects = [f" ({each})" for each in (finding.subject, _without_addresses(finding.subject)) if each and many == 1]
    for subject in dict.fromkeys((*subjects, "")):
        if not meaning or (not subject and many == 1 and _names(lines, finding)):
            continue        # the words of a code alone do not say what they are about
        said = marked("warn", f"{front}: {meaning}{subject}", style)
        if len(said) <= most:
            return said
    return _with_expected(finding, front, _without_addresses(row.text), expected, style, most) or lines


def _with_expected(finding: Finding, front: str, text: str, expected: str, style: Style, most: int) -> list[str]:
    """Return the beginning of a text that is too long, and what was expected behind it, in at most so many lines; empty
    where that leaves too little of the text, or nothing was expected."""
    if not expected or len(expected) > style.width * most * _SHARE:
        return []
    for command in commands_in(text):       # half a command must not be pasted
        text = text.replace(command, command.replace(" ", NO_BREAK))
    words = text[:style.width * most].split(" ")
    for count in range(len(words), _TELLS - (most > 1), -1):
        start = " ".join(words[:count]).replace(NO_BREAK, " ")
        if start.count("(") > start.count(")"):
            continue
        said = marked(finding.outcome, f"{front}: {start.rstrip(',;:')}{GOES_ON}{expected}", style)
        if len(said) <= most:
            return said
    return []


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
    of_all = (each.removeprefix(f"{subject}: ") for each in (first, bare))
    return tuple(dict.fromkeys((first, bare, *of_all, _without_addresses(bare))))


def _without_addresses(text: str) -> str:
    """Return the text with the labels of GPUs alone: the tables above have their addresses."""
    return _ADDRESS.sub(r"\1", text)
