"""``tunecheck spec``: show, explain and freeze the desired state. Runs on the control node."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, ParamSpec

import click

from tunecheck.cli import completed
from tunecheck.errors import Misuse, SpecError, TunecheckError, UsageError

if TYPE_CHECKING:
    from tunecheck.spec.frozen import Frozen

__all__ = ["spec"]

P = ParamSpec("P")


def _refusing(command: Callable[P, None]) -> Callable[P, None]:
    """Turn this package's errors into plain sentences on stderr and their exit code."""

    @functools.wraps(command)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except TunecheckError as error:
            from ..report.style import fitted

            click.echo(fitted(str(error), sys.stderr), err=True)
            sys.exit(error.exit_code)

    return wrapper


@click.group()
def spec() -> None:
    """The desired state of a box, as the inventory declares it."""


@spec.command()
@click.option("-i", "--inventory", required=True, metavar="PATH", help="Ansible inventory (folder, file or host list).")
@click.option("--host", metavar="HOST", shell_complete=completed.hosts,
              help="Only this host; default: every host of the inventory.")
@click.option("--json", "as_json", is_flag=True,
              help="The frozen JSON instead of lines: with --host of that host alone, else keyed by name.")
@click.option("--sources", is_flag=True, help="Below each value, where it comes from and when that was seen.")
@_refusing
def show(inventory: str, host: str | None, as_json: bool, sources: bool) -> None:
    """Print the frozen spec, one line per value. Warns of variables that have no effect, misspelt ones too."""
    from tunecheck.report.style import wrapped
    from tunecheck.spec.inventory import hosts_in, listed_of
    from tunecheck.spec.orphans import warnings_of

    listed = listed_of(inventory)
    for warning in warnings_of(inventory, listed):
        click.echo(wrapped(f"warning: {warning}", sys.stderr), err=True)
    asked = hosts_in(listed, inventory, host)
    for warning in _emptied(asked):
        click.echo(wrapped(f"warning: {warning}", sys.stderr), err=True)
    frozen = _freeze_all(asked)
    if as_json:
        whole = {item.host: item.to_plain() for item in frozen}
        click.echo(frozen[0].to_json() if host else json.dumps(whole, indent=2, sort_keys=True), nl=not host)
        return
    click.echo("\n\n".join(_lines(item, sources) for item in frozen))
    if not sources:
        click.echo("\nI: from the inventory, P: from the profile, others: default. Why: --sources\n"
                   "null, leave: no value is asked of the box")


@spec.command()
@_refusing
def schema() -> None:
    """Print the JSON Schema of the inventory variables, for editors."""
    from tunecheck.spec import models, profile_files

    click.echo(json.dumps(models.schema(profile_files.names()), indent=2))


@spec.command()
@click.option("--host", required=True, metavar="HOST", help="The inventory host the variables belong to.")
@click.option("-i", "--inventory", multiple=True, metavar="PATH",
              help="Where they stand: a key that stands twice there is refused. May be given again.")
@_refusing
def freeze(host: str, inventory: tuple[str, ...]) -> None:
    """Read {"box_spec": ..., "box_spec_host": ...} as JSON on stdin, print the frozen JSON. Standard error has a line
    for each empty mapping, which changes nothing."""
    from tunecheck.spec import build
    from tunecheck.spec.emptied import without_effect

    if inventory:
        from tunecheck.spec.doubled_keys import doubled_keys

        if doubled := doubled_keys(inventory, host):
            raise UsageError("\n".join(doubled), Misuse.MALFORMED)

    example = 'expected {"box_spec": {...}, "box_spec_host": {...} or null} on stdin'
    try:
        data = json.loads(sys.stdin.read())
    except ValueError as error:
        raise UsageError(f"stdin is not JSON ({error}); {example}", Misuse.MALFORMED) from error
    if not isinstance(data, dict) or set(data) - {"box_spec", "box_spec_host"}:
        raise UsageError(f"stdin holds something else; {example}", Misuse.MALFORMED)
    frozen = build(host, data.get("box_spec"), data.get("box_spec_host"))
    for warning in without_effect(data.get("box_spec"), data.get("box_spec_host")):
        click.echo(warning, err=True)     # the play says it (playbooks/callback_plugins)
    click.echo(frozen.to_json(), nl=False)


def _emptied(hosts: dict[str, dict[str, Any]]) -> list[str]:
    """Return a sentence for each empty mapping that changes nothing, with its hosts."""
    from tunecheck.spec.emptied import without_effect
    from tunecheck.util.text import some

    found: dict[str, list[str]] = {}
    for name, variables in hosts.items():
        for told in without_effect(variables.get("box_spec"), variables.get("box_spec_host")):
            found.setdefault(told, []).append(name)
    return [f"{some(names, 6)}: {told}" for told, names in found.items()]


def _freeze_all(hosts: dict[str, dict[str, Any]]) -> list[Frozen]:
    """Freeze every host; all refusals are collected, so that one run shows them all."""
    from tunecheck.spec import build

    frozen, problems = [], []
    for name, variables in hosts.items():
        try:
            frozen.append(build(name, variables.get("box_spec"), variables.get("box_spec_host")))
        except SpecError as error:
            problems += [f"{name}: {problem}" for problem in error.problems]
    if problems:
        raise SpecError(problems)
    return frozen


def _lines(frozen: Frozen, sources: bool) -> str:
    from tunecheck.report.style import style_for, wrap
    from tunecheck.spec.cross_field import idle
    from tunecheck.spec.merge import leaves

    width = style_for(sys.stdout).width
    found = leaves(asdict(frozen.spec))
    without_effect = idle(dict(found))
    longest = max(len(path) for path, _ in found)
    lines = wrap(f"{frozen.host}  profile {frozen.profile}  {frozen.digest[:19]}", width)
    for path, value in found:
        source = frozen.sources[path]
        letter = "P" if source.startswith("profile ") else "I" if source.startswith("inventory") else " "
        remark = f"   (no effect beside {without_effect[path]})" if path in without_effect else ""
        lines += wrap(f"{letter} {path:<{longest}} = {json.dumps(value)}{remark}", width, hang=longest + 5)
        if sources:
            lines += wrap(f"    {source}", width, hang=0)
    return "\n".join(lines)
