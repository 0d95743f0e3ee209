"""``tunecheck waive``: what is known and not to be counted, until when, why, and who says so."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import click

from tunecheck.util.text import some

from .shared_options import stored

if TYPE_CHECKING:
    from ..decisions.covered import Covered
    from ..store import Store, Waiver

__all__ = ["waive"]

#: As reports name a finding.
_ID = re.compile(r"[0-9a-fA-F]{4,8}")


@click.command()
@click.argument("fact", metavar="FACT|ID", required=False)
@click.option("--host", metavar="HOST", help="On this host; * and ? as in the shell.")
@click.option("--group", metavar="GROUP", help="In this group.")
@click.option("--value", metavar="VALUE", help="Only while it has this value, as in history --json; default: any.")
@click.option("--until", metavar="TIME", help="30d, 2027-01-31, or never: an accepted state.")
@click.option("--reason", metavar="TEXT", help="Why it may be so.")
@click.option("--author", metavar="NAME", help="Who says so; default: you.")
@click.option("--list", "show", is_flag=True, help="List the waivers.")
@click.option("--end", "ended", metavar="N", help="Take waivers away, as --list numbers them: 3, or 3,5-7.")
@click.option("--json", "as_json", is_flag=True, help="JSON on standard output.")
@stored
def waive(fact: str | None, host: str | None, group: str | None, value: str | None, until: str | None,
          reason: str | None, author: str | None, show: bool, ended: str | None, as_json: bool,
          store_url: str | None) -> None:
    """Do not count a fact or a check as drift on a host or in a group, until a day, with a reason.

    FACT is a fact (gpu.vbios), a check (gpu-ecc), one of its codes (gpu-ecc/remap-pending), or what it is about
    (cmdline-token/iommu=pt). An ID, as `tunecheck fleet` shows it, is that finding on all of its hosts. Either covers
    what the same thing had moved by then: of a lost GPU that is forty facts. It still shows in every report. One that
    is over, or that matches nothing, is reported."""
    from tunecheck.errors import Misuse, UsageError

    from ..decisions.covered import by_waiver
    from .shared_options import opened

    about = [name for name, given in (("FACT", fact), ("--host", host), ("--group", group), ("--value", value),
                                      ("--until", until), ("--reason", reason), ("--author", author)) if given]
    if sum((show, ended is not None, bool(about))) != 1:
        raise UsageError("expected one of: waive FACT --host HOST --until TIME --reason TEXT, waive --list, or "
                         "waive --end N", Misuse.LEFT_OUT)
    from ..decisions.numbers import numbers_of

    numbers = numbers_of(ended, "--end") if ended is not None else []
    rest = ""
    with opened(store_url) as store:
        if numbers:
            found = store.unwaive(*numbers)
            covered: dict[int, Covered] = {}
        else:
            meant, rest = ([], "") if show else _meant(store, fact, host, group)
            made = [_add(store, name, its, group, value, until, reason, author) for name, its in meant]
            covered = by_waiver(store, made or store.waivers())
            own = {each.id for each in made}
            # As they are now, with the audit in which each covered something.
            found = [each for each in store.waivers() if show or each.id in own]
    _show(found, as_json, covered, "ended: " if numbers else "", new=bool(about), rest=rest)


def _meant(store: Store, fact: str | None, host: str | None,
           group: str | None) -> tuple[list[tuple[str | None, str | None]], str]:
    """Which fact on which host: as given, or all that a finding's id names; and what of its entry that leaves out."""
    if fact is None or not _ID.fullmatch(fact):
        return [(fact, host)], ""
    from tunecheck.errors import Misuse, UsageError

    from ..decisions.by_id import finding_of, shown_in
    from ..model import fault_of
    from ..outputs.decision_words import rest_of

    if group is not None:
        raise UsageError(f"{fact} is a finding, of hosts: leave --group out, or name its fact", Misuse.DOES_NOT_BELONG)
    found = finding_of(shown_in(store, [fact]), fact, store.decisions())
    lead = found.lead
    name = f"{lead.fact}/{fault_of(lead.fact, lead.code)}" if lead.code else lead.fact
    wanted = [each for each in lead.hosts if host is None or fnmatchcase(each, host)]
    if not wanted:
        raise UsageError(f"{fact} is not on {host}; it is on {some(lead.hosts, 10, ', ')}", Misuse.NO_SUCH)
    return [(name, each) for each in wanted], rest_of(found)


def _add(store: Store, fact: str | None, host: str | None, group: str | None, value: str | None, until: str | None,
         reason: str | None, author: str | None) -> Waiver:
    from tunecheck.errors import Misuse, UsageError

    from .. import lookup
    from ..own_command import own_command
    from ..store import canonical
    from .time_options import later

    missing = [name for name, given in (("FACT", fact), ("--host or --group", host or group), ("--until", until),
                                        ("--reason", (reason or "").strip())) if not given]
    if missing or fact is None or until is None or reason is None:
        example = own_command("waive gpu.vbios --host gpu1 --until 30d --reason 'RMA ordered'")
        raise UsageError(f"a waiver needs {' and '.join(missing)}; as in: {example}", Misuse.LEFT_OUT)
    if host is not None and not set(host) & set("*?["):
        lookup.host(store, host)
    if group is not None and not set(group) & set("*?["):
        lookup.group(store, group)
    if not set(fact) & set("*?["):
        lookup.waivable(store, fact)
    end = None if until == "never" else later(until, "--until", time.time())
    return store.waive(fact, reason=reason.strip(), author=author or lookup.me(), until=end, host=host, group=group,
                       value=None if value is None else canonical(_value(value)),
                       kind="accept" if end is None else "waive")


def _value(text: str) -> Any:
    """``null``, ``16``, ``{"x": 8}`` are JSON; anything else is text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _show(found: list[Waiver], as_json: bool, covered: Mapping[int, Covered], before: str, new: bool,
          rest: str = "") -> None:
    from tunecheck.util.whole_file import emit

    if as_json:
        from tunecheck.report.plain import to_text

        from ..outputs.rows import list_document, with_coverage

        emit(to_text(with_coverage(list_document("waive", found), [
            {"covered_in": its.audit if its is not None else None, "covers": list(its.own) if its is not None else [],
             "covers_also": list(its.besides) if its is not None else [], "left_out": rest}
            for its in (covered.get(each.id) for each in found)])))
        return
    from ..decisions.numbers import numbers_text
    from ..own_command import own_command

    lines = [f"{before}{_line(each, covered.get(each.id), new)}\n" for each in found]
    if rest:
        lines.append(f"{rest}\n")
    if new:
        end = own_command("waive --end {numbers}", numbers=numbers_text(each.id for each in found))
        lines.append(f"to end {'it' if len(found) == 1 else 'all of it'}: {end}\n")
    emit("".join(lines) or "no waiver\n")


def _line(waiver: Waiver, covered: Covered | None, new: bool) -> str:
    from tunecheck.report.style import safe

    from ..judge.said.waivers import judged_by
    from ..outputs.decision_words import also
    from ..outputs.text import FOR_GOOD

    where = " ".join(part for part in (f"group {waiver.group}" if waiver.group else "",
                                       f"host {waiver.host}" if waiver.host else "") if part)
    end = FOR_GOOD
    if waiver.until is not None:
        end = time.strftime("until %Y-%m-%d %H:%M %Z", time.localtime(waiver.until))
    over = " (expired)" if waiver.until is not None and waiver.until <= time.time() else ""
    if covered is not None:
        used = "; ".join(part for part in (f"covers {', '.join(covered.own)} (audit #{covered.audit})",
                                           also(covered.besides)) if part)
    elif waiver.last_matched is not None:
        used = f"last matched in #{waiver.last_matched}"
    else:
        used = "covers nothing that the last audit shows" if new else "matched nothing yet"
        if told := judged_by(waiver.fact):
            used = f"{used}; {told}"
    value = f" = {waiver.value}" if waiver.value is not None else ""
    return safe(f"{waiver.id}: {waiver.fact}{value} on {where or 'all'}, {end}{over}, by {waiver.author}: "
                f"{waiver.reason}; {used}")
