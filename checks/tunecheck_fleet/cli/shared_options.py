"""Options that several verbs of the fleet have, and the way from a report to its outputs and exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import click

from ..own_command import own_command, remember

if TYPE_CHECKING:
    from ..fleet_report import Decision, FleetReport
    from ..store import Store

__all__ = ["check_list", "check_places", "decided", "deciding", "finish", "history", "judged", "listed",
           "only_above", "opened", "stored", "stored_below"]

_WHERE = ("The history: a file, or postgresql://...; default: $TUNECHECK_STORE, or fleet.db in "
          "/var/lib/tunecheck-fleet (as root) or ~/.local/state/tunecheck.")
stored = click.option("--store", "store_url", metavar="FILE|URL", envvar="TUNECHECK_STORE", callback=remember,
                      help=_WHERE)
#: For a verb below another one that has looked into the environment already.
stored_below = click.option("--store", "store_url", metavar="FILE|URL", callback=remember, help=_WHERE)
#: What every verb that shows a list takes.
listed = click.option("--json", "json_to", is_flag=False, flag_value="-", metavar="[FILE]",
                      help="Write JSON to FILE; without FILE to standard output, in place of the text.")

_JUDGED = (
    click.option("--html", "html_to", metavar="FILE", help="Write the fleet page for the browser, one file, offline."),
    click.option("--prometheus", "prometheus_to", metavar="FILE.prom",
                 help="Write metrics for node_exporter's textfile collector."),
    click.option("--junit", "junit_to", metavar="FILE", help="Write JUnit XML, for CI."),
    click.option("--json", "json_to", is_flag=False, flag_value="-", metavar="[FILE]",
                 help="Write JSON to FILE; without FILE to standard output, in place of the report."),
    click.option("-v", "--verbose", is_flag=True, help="Show every cause and every host's name."),
    click.option("--max-missing", default="0", metavar="N|P%", show_default=True,
                 help="How many hosts may be silent or partial before the exit code is 3."),
    click.option("--fail-on", "fail_on", multiple=True,
                 type=click.Choice(["drift", "fail", "unknown", "coverage"]),
                 help="End with exit code 1 on it; may be given again."),
    click.option("--baseline", default="previous", metavar="WHAT", show_default=True,
                 help="Compare with previous, audit:N, host:NAME, desired or majority."),
)


def judged(command: Callable[..., None]) -> Callable[..., None]:
    """Options of what ends in a fleet report: audit, drift, fleet."""
    for option in _JUDGED:
        command = option(command)
    return stored(command)


def opened(url: str | None) -> Store:
    """The history, to be read: UsageError where there is no audit in it."""
    from tunecheck.errors import Misuse, UsageError

    from ..store import open_store

    store = open_store(url, create=False)
    if not store.audits(1):
        where = store.where
        store.close()
        raise UsageError(f"the history ({where}) holds no audit yet; run: {own_command('audit -i INVENTORY')}",
                         Misuse.EMPTY)
    return store


def check_places(given: dict[str, Any]) -> dict[str, str | None]:
    """The outputs asked for, kind -> place; refused here where they could not be written afterwards."""
    from tunecheck.report.exporters import KINDS, check_outputs

    wanted = {kind: given.get(f"{kind}_to") for kind in KINDS}
    check_outputs(wanted)
    return wanted


def only_above(context: click.Context, *below: str) -> None:
    """Refuse the options of a verb that stand before another verb below it: nobody would look at them there. ``below``:
    the parameters that the other one takes over."""
    from click.core import ParameterSource

    from tunecheck.errors import Misuse, UsageError

    group, name = context.command, context.invoked_subcommand
    assert isinstance(group, click.Group) and name is not None
    params = group.commands[name].params if name in group.commands else []
    behind = {option for each in params for option in each.opts}
    heeded = {each.name for each in params if each.name in below}
    for each in group.params:
        if each.name in heeded or context.get_parameter_source(each.name or "") is not ParameterSource.COMMANDLINE:
            continue
        option = max(each.opts, key=len)
        how = f"give it behind {name}" if option in behind else "leave it out"
        raise UsageError(f"{option} stands before {name}, where {context.command_path} alone would heed it; {how}",
                         Misuse.DOES_NOT_BELONG)


def check_list(json_to: str | None) -> None:
    """Refuse a place where the list could not be written afterwards."""
    if json_to is not None and json_to != "-":
        from tunecheck.util.whole_file import check_replaceable

        check_replaceable(json_to)


def finish(report: FleetReport, wanted: dict[str, str | None], verbose: bool, fail_on: tuple[str, ...],
           max_missing: str, then: Callable[[], list[str]] = list, changes: bool = False) -> NoReturn:
    """Show the report, write its outputs, and leave with its exit code. ``then``: what else is to be done once they
    are written; its notes stand behind the others. ``changes``: as in terminal()."""
    from tunecheck.app.write_reports import emit_report
    from tunecheck.report.exporters import to_standard_output
    from tunecheck.report.style import style_for

    from ..judge.exits import exit_code
    from ..outputs import rendered, write_outputs

    code = exit_code(report, fail_on, max_missing)
    alone = to_standard_output(wanted)
    if alone:
        text = rendered(alone, report)
    else:
        from ..outputs.terminal import terminal

        text = terminal(report, style_for(sys.stdout), verbose, changes=changes)
    emit_report(text, lambda: [*write_outputs(wanted, report), *then()], alone is not None)
    raise SystemExit(code)


def history(title: str, rows: list[Any], json_to: str | None, verb: str, empty: str = "nothing",
            **about: str | int | None) -> None:
    """A list as text, or as JSON (tunecheck/fleet-list/1)."""
    from tunecheck.util.whole_file import emit, write_file

    from ..outputs.rows import list_document, list_text

    if json_to is not None:
        from tunecheck.report.plain import to_text

        text = to_text(list_document(verb, rows, **about))
        if json_to == "-":
            emit(text)
            return
        write_file(json_to, text.encode(), 0o600, "list")
        click.echo(f"JSON: {json_to}", err=True)
        return
    from tunecheck.report.style import style_for

    emit(list_text(title, rows, style_for(sys.stdout), empty=empty))


def deciding(command: Callable[..., None]) -> Callable[..., None]:
    """The argument and the options that `approve` and `acknowledge` share."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="JSON on standard output."),
        click.option("--audit", "audit_id", type=click.IntRange(1), metavar="N",
                     help="As this audit shows them; default: the newest that shows them."),
        click.option("--end", "ended", type=click.IntRange(1), metavar="N", help="Take back what --list shows as N."),
        click.option("--list", "show", is_flag=True, help="List what was approved and acknowledged."),
        click.option("--author", metavar="NAME", help="Who says so; default: you."),
        click.argument("findings", metavar="ID", nargs=-1),
    ):
        command = option(command)
    return command


def decided(what: Literal["approve", "acknowledge"], store_url: str | None, findings: tuple[str, ...], show: bool,
            ended: int | None, as_json: bool, audit_id: int | None = None, *, author: str | None, owner: str = "",
            link: str = "", note: str = "") -> None:
    """What `approve` and `acknowledge` share: say it of findings, list what was said, take it back."""
    from tunecheck.errors import Misuse, UsageError
    from tunecheck.util.whole_file import emit

    from ..decisions.covered import by_decision, over
    from ..lookup import me

    if sum((show, ended is not None, bool(findings))) != 1:
        raise UsageError(f"expected one of: {what} ID ..., {what} --list, or {what} --end N", Misuse.LEFT_OUT)
    if audit_id is not None and not findings:
        raise UsageError("--audit says which audit shows the findings: give their ids with it, or leave it out",
                         Misuse.DOES_NOT_BELONG)
    rest: dict[int, str] = {}
    replaced: dict[int, tuple[Decision, ...]] = {}
    done: dict[int, int | None] = {}
    with opened(store_url) as store:
        if show:
            found = store.decisions()
            done = over(store, found)
        elif ended is not None:
            found = [store.end_decision(ended)]
        else:
            from ..decisions.by_id import decide, shown_in
            from ..outputs.decision_words import not_approved, rest_of

            now = shown_in(store, findings, audit_id)
            said = decide(store, now, what, findings, author=author or me(), owner=owner, link=link, note=note)
            found = [each.decision for each in said]
            replaced = {each.decision.id: each.in_place_of for each in said}
            rest = {each.decision.id: "; ".join(filter(None, (
                rest_of(each.entry), not_approved(each.entry) if what == "approve" else ""))) for each in said}
        covered = by_decision(found, store.decided_names())
    if as_json:
        from tunecheck.report.plain import to_text

        from ..outputs.rows import list_document, with_coverage

        emit(to_text(with_coverage(list_document(what, found), [
            {"covers_also": list(dict.fromkeys(covered.get(each.id, ()))), "left_out": rest.get(each.id, ""),
             # A list does not look for it.
             **({"in_place_of": [earlier.id for earlier in replaced[each.id]]} if each.id in replaced else {}),
             "over": each.id in done, "over_since": done.get(each.id)}
            for each in found])))
        return
    emit("".join(_decision(each, covered.get(each.id, ()), rest.get(each.id, ""), _over(each, done),
                           replaced.get(each.id, ())) + "\n" for each in found)
         or "nothing was approved or acknowledged\n")


def _over(decision: Decision, done: Mapping[int, int | None]) -> str:
    if decision.id not in done:
        return ""
    since = done[decision.id]
    return f"over since #{since}" if since is not None else "over: nothing of it is open"


def _decision(decision: Decision, covered: Sequence[str], rest: str, over: str, replaced: Sequence[Decision]) -> str:
    """``covered``: what it is said of besides the finding that was named; ``rest``: what of its entry it leaves
    out; ``over``: that nothing of it is open; ``replaced``: what held of the same before."""
    from tunecheck.report.style import safe

    from ..outputs.decision_words import also, in_place_of
    from ..outputs.text import clock

    verb = "approved" if decision.kind == "approve" else "acknowledged"
    parts = [f"{decision.id}: {decision.finding} {decision.title} {verb} by {decision.author} as of "
             f"#{decision.audit}, {clock(decision.created)}", f"owner {decision.owner}" if decision.owner else "",
             decision.link, decision.note,
             also(covered), in_place_of(replaced), rest, over,
             "taken back" if decision.ended is not None else ""]
    return safe("; ".join(part for part in parts if part))
