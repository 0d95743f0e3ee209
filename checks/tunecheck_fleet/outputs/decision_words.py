"""What a decision about an entry covers and leaves out, in the words of waive, approve and acknowledge."""

from __future__ import annotations

from collections.abc import Iterable

from tunecheck.util.text import some

from ..entries import Entry
from ..fleet_report import Decision
from .entry_words import FEW, plural, title
from .text import kind, titled

__all__ = ["also", "besides", "in_place_of", "not_approved", "rest_of"]

#: What a cause is by somebody's decision.
_DECIDED = ("acknowledged", "approved", "waived")


def besides(finding: Entry, most: int) -> str:
    """What somebody's decision about it covers, too, in the words of waive, approve and acknowledge; of more than
    ``most`` only how many. "" where it covers the cause that leads alone."""
    word = kind(finding.lead)
    covered = [*dict.fromkeys(titled(each) for each in finding.more if kind(each) == word)] * (word in _DECIDED)
    return f"covers also {plural(len(covered), 'finding')}" if len(covered) > most else also(covered)


def also(names: Iterable[str]) -> str:
    """"covers also gpu.count, gpu.serials"; "" of none."""
    found = ", ".join(dict.fromkeys(names))
    return f"covers also {found}" if found else ""


def in_place_of(earlier: Iterable[Decision]) -> str:
    """"in place of 3 (by ann, owner bob), which ...": whose acknowledgements are not looked at while this one holds;
    "" of none."""
    found = [f"{each.id} (by {each.author}{f', owner {each.owner}' if each.owner else ''})" for each in earlier]
    again = "holds" if len(found) == 1 else "hold"
    return f"in place of {some(found, FEW, ', ')}, which {again} again if this is taken back" if found else ""


def rest_of(finding: Entry) -> str:
    """What a decision about a part of an entry leaves out; "" of a whole one."""
    whole = finding.part_of
    if whole is None:
        return ""
    return (f"only this part of {whole.lead.id} ({title(whole)}); its {plural(len(whole.more), 'other finding')} "
            f"{'is' if len(whole.more) == 1 else 'are'} not covered")


def not_approved(finding: Entry) -> str:
    """What stays open of an entry whose values are approved: what its checks ask for; "" where that is nothing."""
    left = [each for each in finding.more if each.outcome and each.counts]
    names = some([*dict.fromkeys(f"{titled(each)} ({each.id})" for each in left)], FEW, ", ")
    return f"{names} {'stays' if len(left) == 1 else 'stay'} open: what a check asks for cannot be approved" \
        if left else ""
