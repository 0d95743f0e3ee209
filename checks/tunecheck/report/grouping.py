"""Put findings that say the same about different subjects together as one: "8 GPUs: x16 at every hop"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ..model.finding import OUTCOMES, Finding, Remedy
from ..rules.index import CHECKS
from ..rules.remedies.redirect_gain import DRIVER_NOT_TOLD, REDIRECTS_NOTHING
from ..rules.wedged import comes_first
from ..util.at_first_use import dataclass, regex
from ..util.text import some

__all__ = ["Fold", "built_so", "folded", "place", "worst_first"]

_BDF = r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]"
#: What may differ between two findings that say the same: labels of pairs, addresses, GPUs and CPUs, numbers.
_VARYING = regex(rf"GPU\d+-GPU\d+(?:, GPU\d+-GPU\d+)*(?:,? and \d+ more)?|{_BDF}|\b(?:GPU|cpu|policy)\d+\b|"
                 r"0x[0-9a-f]+|\d+(?:\.\d+)? to \d+(?:\.\d+)?|\d+(?:\.\d+)?")
#: A number, or a range that a finding says itself: ranges together are one range.
_NUMBER = regex(r"(\d{1,15}(?:\.\d{1,6})?)(?: to (\d{1,15}(?:\.\d{1,6})?))?")
_SUBJECT = "\0"
#: What is well, and what is not known, folds from two on. What is wrong stays one line each on all but large boxes.
#: What needs attention names its subjects.
_FROM = {"pass": 2, "skip": 2, "warn": 5, "unknown": 2, "fail": 5}
_NAMED = 64
#: So many characters of subjects leave room for what is wrong with them.
_LONG_LIST = 40
_KINDS = {"GPUs": regex(rf"GPU\d+(?: {_BDF})?"), "pairs": regex(r"GPU\d+-GPU\d+"),
          "links": regex(rf"{_BDF}-{_BDF}"), "PCI devices": regex(_BDF), "CPUs": regex(r"cpu\d+")}

#: GPUs and pairs are in the tables above; which ports were looked at is nowhere else.
_ALWAYS_NAMED = ("links", "PCI devices")

_BUILT_SO = frozenset(check.id for check in CHECKS if check.built_so)
#: Codes of redirected ports between boards that the driver lets not reach each other: their fix gains nothing here.
_NO_GAIN = frozenset((REDIRECTS_NOTHING, DRIVER_NOT_TOLD))


@dataclass(frozen=True)
class Fold:
    """One line of a report. ``text`` is without the check's id; ``findings`` are those it stands for."""

    text: str
    findings: tuple[Finding, ...]

    @property
    def first(self) -> Finding:
        return self.findings[0]


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings in the order of every report: fail, unknown, warn, pass, skip. Inside of fail and warn first
    what everything else may follow from, then the fix that mends most, with all that it mends in a row, last what is
    about how a machine is built; else as the checks are ordered."""
    groups: dict[tuple[str, Remedy | int], list[Finding]] = {}
    for number, finding in enumerate(findings):
        wrong = finding.outcome in ("fail", "warn") and finding.remedy is not None
        groups.setdefault((finding.outcome, finding.remedy if wrong and finding.remedy else number), []).append(finding)
    ordered = sorted(groups.values(), key=lambda group: place(group[0].outcome, group))
    return [finding for group in ordered for finding in group]


def place(outcome: str, findings: Sequence[Finding]) -> tuple[int, int, int]:
    """Return what the findings of one fix are sorted by."""
    at = OUTCOMES.index(outcome)
    if outcome not in ("fail", "warn"):
        return at, 0, 0
    first = 0 if any(map(comes_first, findings)) else 2 if built_so(findings) else 1
    return at, first, -len({finding.id for finding in findings})


def built_so(findings: Iterable[Finding]) -> bool:
    """Return whether all of them only warn of how the machine is built, or of what costs nothing on it. What a
    specification asks for and is not so is a failure as any other."""
    return all(finding.outcome == "warn" and (finding.id in _BUILT_SO or finding.code in _NO_GAIN)
               for finding in findings)


def folded(findings: Iterable[Finding]) -> list[Fold]:
    """Return the lines of a report, worst first. Findings that differ in nothing but their subject and numbers are one
    line."""
    groups: dict[tuple[str, str, str, str], list[tuple[Finding, list[str]]]] = {}
    for finding in worst_first(findings):
        template, values = _template(finding)
        remedy = finding.remedy.text if finding.remedy else ""
        groups.setdefault((finding.id, finding.outcome, template, remedy), []).append((finding, values))
    result = []
    for (_, outcome, template, _), members in groups.items():
        if len(members) < _FROM[outcome]:
            result += [Fold(finding.text, (finding,)) for finding, _ in members]
        else:
            result.append(_fold(template, members, outcome not in ("pass", "skip")))
    return result


def _template(finding: Finding) -> tuple[str, list[str]]:
    """Return the text with a mark for everything that varies, and what stood at each mark."""
    text = finding.text.replace(_SUBJECT, " ")
    if finding.subject:
        text = text.replace(finding.subject, _SUBJECT)
    values: list[str] = []

    def hole(found: re.Match[str]) -> str:
        values.append(found.group())
        return "\1"

    return _VARYING.sub(hole, text.replace("\1", " ")), values


def _fold(template: str, members: list[tuple[Finding, list[str]]], named: bool) -> Fold:
    findings = tuple(finding for finding, _ in members)
    slots = [_range(values) for values in zip(*(values for _, values in members), strict=True)]
    # Where no words fit all, those of the first.
    shown = [first if slot is None else slot for slot, first in zip(slots, members[0][1], strict=True)]
    parts = template.split("\1")
    text = parts[0] + "".join(slot + part for slot, part in zip(shown, parts[1:], strict=True))
    for start in (f"{_SUBJECT} has ", f"{_SUBJECT} is ", f"{_SUBJECT}: ", f"{_SUBJECT} "):
        if text.startswith(start) and None not in slots and _SUBJECT not in text[1:]:
            text = text.removeprefix(start) if start != f"{_SUBJECT} is " else text.removeprefix(f"{_SUBJECT} ")
            return Fold(_of_all([finding.subject for finding in findings], text, named), findings)
    if None not in slots and _SUBJECT not in text:
        return Fold(_of_all([finding.subject for finding in findings], text, named), findings)
    text = text.replace(_SUBJECT, findings[0].subject)
    others = [each for each in dict.fromkeys(finding.subject for finding in findings) if each != findings[0].subject]
    if not others:
        return Fold(f"{text} ({len(findings)} findings)", findings)
    return Fold(f"{text}; and {_more(others)}", findings)


def _more(subjects: list[str]) -> str:
    """Return what the rest of a fold is about: "11 more PCI devices: 0000:02:00.0, ..."."""
    word = _word(subjects)
    if word and len(subjects) == 1:
        word = word.removesuffix("s")
    return f"{len(subjects)} more{f' {word}' if word else ''}: {_names(subjects)}"


def _range(values: tuple[str, ...]) -> str | None:
    """Return the value that all have, or from where to where the numbers go; None where neither can be said."""
    different = sorted(set(values))
    if len(different) == 1:
        return different[0]
    numbers = [_NUMBER.fullmatch(value) for value in different]
    if all(numbers):
        ordered = sorted({each for found in numbers if found for each in found.groups() if each}, key=float)
        return f"{ordered[0]} to {ordered[-1]}" if len(ordered) > 1 else ordered[0]
    return "/".join(different) if len(different) <= 3 and all(value[:2] == "0x" for value in different) else None


def _of_all(subjects: list[str], text: str, named: bool) -> str:
    """Return what is so of all the subjects. A long list of them stands behind what is wrong: in front of it, that
    would begin in the second line of a terminal, where a short report has one."""
    who, word = _counted(subjects, named), _word(subjects)
    if not named or not word or len(who) <= _LONG_LIST:
        return f"{who}: {text}"
    return f"{len(subjects)} {word}: {text}: {_names(subjects)}"


def _counted(subjects: list[str], named: bool) -> str:
    """Return the subjects of a fold as text: "8 GPUs", "16 PCI devices (0000:02:00.0, ...)", "iommu=pt,
    pci=realloc"."""
    word = _word(subjects)
    if word and not named and word not in _ALWAYS_NAMED:
        return f"{len(subjects)} {word}"
    return f"{len(subjects)} {word} ({_names(subjects)})" if word else _names(subjects)


def _word(subjects: list[str]) -> str | None:
    return next((word for word, like in _KINDS.items() if all(like.fullmatch(subject) for subject in subjects)), None)


def _names(subjects: list[str]) -> str:
    return some(subjects, _NAMED, ", ")
