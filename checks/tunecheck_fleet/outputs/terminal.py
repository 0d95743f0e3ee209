"""A fleet report for people: who drifted, from what, since when, and who was not heard. Plain lines, wrapped to the
terminal, colour only where it is one; in a pipe one line per cause, so that grep and cron's mail see it whole."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from tunecheck.report.style import Style, safe, unbroken, wrap
from tunecheck.util.host_names import fold
from tunecheck.util.text import and_more, some

from ..entries import Entry, entries
from ..fleet_report import FleetReport, Note, Since, Split
from ..own_command import own_command
from ..value_words import measured
from ..whole_causes import shown
from . import entry_words as words
from .brief import brief, briefs
from .counts import summary, verdict_line, verdict_word
from .decision_words import besides
from .incomplete import incomplete
from .lines import INDENT, cut, entry, marked, short
from .next_step import next_step
from .text import (
    NOT_DRIFT,
    OPEN,
    ago,
    between,
    change,
    clock,
    compared,
    coverage,
    interval,
    kind,
    lasts,
    shown_apart,
)

__all__ = ["entry", "marked", "terminal", "verdict_line"]

#: Entries of one heading (of splits fewer), without -v.
_ENTRIES, _SPLITS = 40, 10
#: What a terminal shows in one line without -v.
_QUIET = ("standing", "intended", "approved")
#: Lines of a page that is read without scrolling. A report of many open entries that has more tells each new one in
#: four lines, and whatever is not drift in one, of which it lists so many.
_PAGE, _MANY, _REST = 40, 10, (3, 2, 1)
_NEWS = ("new", "grown")
#: Checks that are named where many could not be judged.
_NAMED = 6
_BRIEF = ("known", "acknowledged", "resolved", "standing", "intended", "approved")


def terminal(report: FleetReport, style: Style, verbose: bool = False, now: float | None = None,
             changes: bool = False) -> str:
    """The whole report as text, ending in a newline. The causes stand as the judge ranked them. ``now``: seconds since
    1970 that "2 h ago" counts from. ``changes``: without -v what is known from before, and what stands, is one line
    each."""
    now = time.time() if now is None else now
    # With -v every cause stands for itself, below the one that leads.
    findings = shown(report, each=verbose)
    many = sum(each.lead.counts for each in findings) >= _MANY
    changes = changes and not verbose
    lines = _page(report, findings, style, verbose, now, changes=changes)
    if style.width and not verbose and len(lines) > _PAGE:
        lines = _page(report, findings, style, verbose, now, changes=changes, one_step=True)
        if len(lines) > _PAGE and not many:
            lines = _page(report, findings, style, verbose, now, changes=changes, one_step=True, quiet=True)
    for rest in _REST if many and style.width and not verbose else ():
        if len(lines) > _PAGE:
            lines = _page(report, findings, style, verbose, now, rest, changes, quiet=rest == min(_REST))
    return "\n".join(lines) + "\n"


def _page(report: FleetReport, findings: Sequence[Entry], style: Style, verbose: bool, now: float,
          rest: int = 0, changes: bool = False, one_step: bool = False, quiet: bool = False) -> list[str]:
    """``rest``: in few lines, with so many of what is not drift; 0: as long as it is. ``one_step``: the next step is
    the first alone; so it is in few lines. ``quiet``: several causes that stand are one line."""
    audit, tight = report.audit, rest > 0
    one = short if tight else entry
    lines = entry("", [f"tunecheck audit #{audit.id}, {clock(audit.started)} ({ago(audit.started, now)}), {audit.scope}"
                       + (f": {audit.note}" if audit.note else "")], style)
    lines += entry("", [f"{coverage(report)}; {compared(report)}"], style)
    if audit.finished is None:
        lines += entry("", ["This audit is not finished: what it has not heard yet stands as INCOMPLETE."], style)
    kinds: dict[str, list[Entry]] = {}
    for each in findings:
        kinds.setdefault(kind(each.lead), []).append(each)
    # Every number is of what happened, also where -v shows each fact of it below: two runs over one audit say the same.
    lines += ["", *entry("", [f"CAUSES  {summary(entries(report.causes))}"], style)]
    stand = len(kinds.get("standing", []))
    one_line = stand > 0 if changes else quiet and stand > 1
    splits, rest, before = rest or _SPLITS, rest or _ENTRIES, ""
    for part, section, most, word in (
            *(("news" if word in _NEWS else "open", _older(kinds.get(word, []), style) if changes and word == "known"
               else _causes(kinds.get(word, []), style, verbose, now, tight), _ENTRIES, word)
              for word in OPEN),
            ("rest", [_split(each, style, verbose, one) for each in report.splits], splits, ""),
            ("rest", list(incomplete(report, style, verbose, tight, known=False)), _ENTRIES, ""),
            ("rest", list(incomplete(report, style, verbose, tight, known=True)), rest, ""),
            *(("rest", _quiet(kinds[word], style) if word == "standing" and one_line
               else _causes(kinds.get(word, []), style, verbose, now, tight), rest, word) for word in NOT_DRIFT),
            # What a note comes to stands at its end, so it is never cut.
            ("rest", [entry("NOTE", [note], style) for note in sorted(
                report.notes, key=lambda note: not (isinstance(note, Note) and note.first))], rest, "")):
        if section:
            lines += [""] if style.width and not (tight and part == before) else []
            lines += [line for each in (section if verbose else section[:most]) for line in each]
            # The line of many is the last, so where lines are left out each that is shown is of one.
            left = 0 if verbose or len(section) <= most else len(kinds.get(word, section)) - most
            lines += entry("", [f"{' ' * INDENT}{and_more(left, '')} (-v shows all)"], style) if left > 0 else []
            before = part
    # In a pipe a line is a cause, or what is said of the whole.
    step, commands = next_step(findings, report, verbose, tight or one_step)
    lines += entry("NEXT", [step], style, commands=commands) if style.width and step else []
    last = entry("", [verdict_line(report)], style)
    if style.colour:    # it may be of several lines, of which the first has the word
        last[0] = marked(last[0], verdict_word(report))
    return [*lines, "", *last]


def _causes(findings: Sequence[Entry], style: Style, verbose: bool, now: float, tight: bool) -> list[list[str]]:
    if style.width and not verbose and len(findings) > words.FEW and kind(findings[0].lead) in _QUIET:
        return _quiet(findings, style)
    unread = [each for each in findings if each.lead.unjudged]
    if not verbose and len(unread) > words.FEW:
        # What nobody could look at: one line, below what somebody saw.
        where = words.plural(len({host for each in unread for host in each.lead.hosts}), "host")
        names = [*dict.fromkeys(each.lead.fact for each in unread)]
        of = f" ({words.plural(len(names), 'check')})" if len(names) != len(unread) else ""
        over = kind(unread[0].lead) == "resolved"
        many = f"{words.plural(len(unread), 'cause')}{of} on {where}"
        said = f"{many} that could not be judged" if over else f"{kind(unread[0].lead)}  {many} could not be judged"
        said += f": {some(names, _NAMED if style.width else len(names), ', ')} (-v lists them)"
        told = [each for each in findings if each not in unread]
        return [*_causes(told, style, verbose, now, tight), entry("RESOLVED" if over else "UNKNOWN", [said], style)]
    if tight and findings and kind(findings[0].lead) not in _NEWS:
        return briefs(findings, style, now)
    if tight:
        return [_four(each, style, now) for each in findings]
    return [brief(each, style, now) if style.width and not verbose and kind(each.lead) in _BRIEF
            and not _gone_dark(each)
            else _cause(each, style, verbose, now) for each in findings]


def _quiet(findings: Sequence[Entry], style: Style) -> list[list[str]]:
    """What is no drift, in one line."""
    hosts = len({host for each in findings for host in each.lead.hosts})
    whole = sum(1 + len(each.more) for each in findings)
    brought = f"{words.plural(whole, 'finding')}; " if whole > len(findings) else ""
    said = f"{words.plural(len(findings), 'cause')} on {words.plural(hosts, 'host')} ({brought}-v lists them)"
    return [entry(kind(findings[0].lead).upper(), [said], style)]


def _gone_dark(finding: Entry) -> bool:
    """Whether it was known once and cannot be told now: one line has no room for why, and for the command."""
    cause = finding.lead
    return cause.outcome == "unknown" and not cause.unjudged and cause.state != "resolved"


def _older(findings: Sequence[Entry], style: Style) -> list[list[str]]:
    """What did not change lately, in one line, and which command shows it."""
    if not findings:
        return []
    hosts = words.plural(len({host for each in findings for host in each.lead.hosts}), "host")
    command = own_command("fleet -v")
    blind = sum(each.lead.unjudged for each in findings)
    parts = [words.plural(len(findings) - blind, "cause")] if len(findings) > blind else []
    parts += [f"{blind} that could not be judged"] if blind else []
    said = f"{' and '.join(parts)} on {hosts} from before (-v lists them, and so does: {command})"
    return [entry("KNOWN", [said], style, commands=[command])]


def _four(finding: Entry, style: Style, now: float) -> list[str]:
    """What is new, in four lines: what, where, since when, and what to do or what it says."""
    cause = finding.lead
    where = f"{cause.group}, {words.named_hosts(cause.hosts, False)}"
    if len(cause.new_hosts) < len(cause.hosts):
        beside = words.plural(len(cause.hosts) - len(cause.new_hosts), "host")
        where = f"{cause.group}, new on {fold(cause.new_hosts, 60)}, beside {beside}"
    room = style.width - INDENT - len(safe(f"{where}; "))
    where = "; ".join(part for part in (where, words.below(finding, room)) if part)
    since = max((wave.since for wave in cause.all_waves if wave.since is not None), key=lambda each: each.seen,
                default=None)
    last = (f"fix: {words.fix(cause)}" if cause.remedy else cause.text if cause.text not in ("", change(cause)) else
            words.more(finding) if finding.more else "")
    if command := words.approving(finding):
        fix = unbroken(command, [command], style.width, INDENT)
        fix[0] = f"{' ' * INDENT}{fix[0].lstrip()}"
    elif cause.remedy and len(safe(last)) > style.width - INDENT:        # half a command is none
        command = own_command("drift --host {host} -v", host=cause.hosts[0])
        fix = unbroken(f"fix: {command} says how", [command], style.width, INDENT)
    else:
        fix = [cut(safe(f"{' ' * INDENT}{last}"), style)] if last else []
    about = ", ".join((kind(cause), *words.remarks(cause, now)))
    mark = words.severity(cause)
    title = f"{mark:<{INDENT}}{about}  {words.title(finding)}: "
    says = words.says_within(finding, style.width - len(safe(title)), 1)
    title += words.says(finding) if says is None else says
    lines = [*(cut(safe(line), style) for line in (title, " " * INDENT + where)),
        *_judged(finding, since, style, now), *fix]
    return [marked(lines[0], mark) if style.colour else lines[0], *lines[1:]]


def _judged(finding: Entry, since: Since | None, style: Style, now: float) -> list[str]:
    """The id, the judgement, what the fix takes, and since when: its times are left out first, then all of it, before
    anything is cut."""
    cause = finding.lead
    said = "; ".join(part for part in (f"id {cause.id}" if cause.id else "", words.judgement(finding),
                                       words.needs(finding)) if part)
    for when in (f"since {interval(since, now)}", f"since {between(since)}", ""):
        line = safe(" " * INDENT + "; ".join(part for part in (said, when) if part))
        if len(line) <= style.width:
            return [line]
    return wrap(line, style.width, 2)


def _cause(finding: Entry, style: Style, verbose: bool, now: float) -> list[str]:
    cause = finding.lead
    word = kind(cause)
    own = word in ("standing", "approved", "waived", "resolved")
    mark = word.upper() if own else words.severity(cause)
    remarks = [word] if not own else [cause.severity] if word == "standing" else []
    remarks += ["rollout"] * cause.rollout + ["by our own roles"] * (cause.intended and word != "intended")
    remarks += words.silence(cause, now)
    if cause.flapping:
        remarks.append(f"flapping on {fold(cause.flapping, 60)}")
    says = words.says(finding)
    first = f"{', '.join(remarks)}{'  ' if remarks else ''}{words.title(finding)}{': ' if says else ''}{says}"
    several = len(cause.all_waves) > 1
    since = "" if several or cause.since is None else f"since {interval(cause.since, now)}"
    parts = [f"{cause.group}, {words.named_hosts(cause.hosts, verbose)}",
             "; ".join(part for part in (words.judgement(finding), since,
                                         words.needs(finding) if word not in ("waived", "resolved") else "",
                                         f"id {cause.id}" if cause.id and (cause.counts or word == "resolved") else "",
                                         words.part_of(finding)) if part)]
    parts += [f"{'new on' if wave.state == 'new' else 'since'} {words.wave(wave, verbose, now)}"
              for wave in cause.all_waves] if several else []
    parts += words.over(cause, verbose, now)
    if (told := words.lead(finding)) and told not in first:
        parts.append(told)
    if cause.text and cause.text not in first and cause.text not in told and word != "resolved":
        parts.append(cause.text)
    if decided := "" if verbose else besides(finding, words.FEW):
        parts.append(decided + " (-v lists them)" * (len(finding.more) > words.FEW))
    elif finding.more:
        parts.append(words.more(finding, verbose))
    if cause.acknowledged and cause.counts:
        parts.append(words.acknowledgement(cause))
    if cause.approved:
        parts.append(f"approved by {cause.approved.author} as of #{cause.approved.audit}: {cause.approved.note}")
    if cause.waived:
        waived = cause.waived
        parts.append(f"waiver {waived.id} {lasts(waived)} by {waived.author}: {waived.reason}")
    elif word != "resolved" and cause.remedy and cause.remedy not in cause.text:    # it may say what to add
        parts.append(f"fix: {words.fix(cause)}")
    approve = words.approving(finding) if word != "approved" else ""
    parts += [approve] if approve else []
    return entry(mark, parts, style, first, [*(each.shown for each in cause.commands), approve])


def _split(split: Split, style: Style, verbose: bool, one: Callable[..., list[str]]) -> list[str]:
    values = shown_apart([measured(split.fact, value) for value, _ in split.shares[:6]], 60)
    parts = list(zip(values, split.parts, strict=False))
    shares = " / ".join(f"{value} on {count}" for value, (_, count, _) in parts)
    more = f" / {len(split.shares) - 6} more values" if len(split.shares) > 6 else ""
    who = [f"{value}: {fold(names, 0 if verbose else words.NAMES)}" for value, (_, _, names) in parts if names]
    return one("SPLIT", [shares + more, *who, split.note], style, f"{split.group}: {split.fact}, no verdict")
