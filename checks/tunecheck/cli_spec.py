"""``tunecheck spec``: show, explain and freeze the desired state. Runs on the control node."""

from __future__ import annotations

import difflib
import functools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec

import click

from tunecheck.errors import SpecError, TunecheckError, UsageError

if TYPE_CHECKING:
    from tunecheck.spec.frozen import Frozen

__all__ = ["spec"]

P = ParamSpec("P")
# A dynamic inventory may ask a slow API; a hung one must not hang the operator.
_INVENTORY_DEADLINE = 120


def _refusing(command: Callable[P, None]) -> Callable[P, None]:
    """Turn this package's errors into plain sentences on stderr and their exit code."""

    @functools.wraps(command)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except TunecheckError as error:
            click.echo(str(error), err=True)
            sys.exit(error.exit_code)

    return wrapper


@click.group()
def spec() -> None:
    """The desired state of a box, as the inventory declares it."""


@spec.command()
@click.option("-i", "--inventory", required=True, metavar="PATH", help="Ansible inventory (folder, file or host list).")
@click.option("--host", metavar="HOST", help="Only this host; default: every host of the inventory.")
@click.option("--json", "as_json", is_flag=True, help="The frozen JSON instead of lines; several hosts: keyed by name.")
@_refusing
def show(inventory: str, host: str | None, as_json: bool) -> None:
    """Print the frozen spec, one line per value with where it comes from."""
    hosts = _inventory_hosts(inventory)
    if not hosts:
        raise UsageError(f"inventory {inventory} has no hosts; add one to its hosts.yml")
    chosen = [_known(host, hosts, inventory)] if host else sorted(hosts)
    frozen = _freeze_all({name: hosts[name] for name in chosen})
    if as_json:
        whole = {item.host: item.to_plain() for item in frozen}
        click.echo(frozen[0].to_json() if host else json.dumps(whole, indent=2, sort_keys=True), nl=not host)
        return
    click.echo("\n\n".join(_lines(item) for item in frozen))


@spec.command()
@_refusing
def schema() -> None:
    """Print the JSON Schema of the inventory variables, for editors."""
    from tunecheck.spec import models, profile_files

    click.echo(json.dumps(models.schema(profile_files.names()), indent=2))


@spec.command()
@click.option("--host", required=True, metavar="HOST", help="The inventory host the variables belong to.")
@_refusing
def freeze(host: str) -> None:
    """Read {"box_spec": ..., "box_spec_host": ...} as JSON on stdin, print the frozen JSON."""
    from tunecheck.spec import build

    example = 'expected {"box_spec": {...}, "box_spec_host": {...} or null} on stdin'
    try:
        data = json.loads(sys.stdin.read())
    except ValueError as error:
        raise UsageError(f"stdin is not JSON ({error}); {example}") from error
    if not isinstance(data, dict) or set(data) - {"box_spec", "box_spec_host"}:
        raise UsageError(f"stdin holds something else; {example}")
    click.echo(build(host, data.get("box_spec"), data.get("box_spec_host")).to_json(), nl=False)


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


def _lines(frozen: Frozen) -> str:
    from tunecheck.spec.merge import leaves

    found = leaves(asdict(frozen.spec))
    width = max(len(path) for path, _ in found)
    lines = [f"{frozen.host}  profile {frozen.profile}  {frozen.digest}"]
    for path, value in found:
        lines.append(f"  {path:<{width}} = {json.dumps(value)}  # {frozen.sources[path]}")
    return "\n".join(lines)


def _known(host: str, hosts: dict[str, Any], inventory: str) -> str:
    if host in hosts:
        return host
    near = difflib.get_close_matches(host, hosts, n=1)
    guess = f"did you mean {near[0]}? " if near else ""
    names = ", ".join(sorted(hosts)[:20])
    raise UsageError(f"inventory {inventory} has no host {host!r}; {guess}Its hosts: {names}")


def _inventory_hosts(inventory: str) -> dict[str, dict[str, Any]]:
    """Each host's variables as Ansible merges them. Raises UsageError when Ansible can't read the inventory."""
    if "," not in inventory and not Path(inventory).exists():
        raise UsageError(f"inventory {inventory!r} does not exist; expected a folder or file, for example inventory/box1")
    beside = Path(sys.executable).with_name("ansible-inventory")
    command = str(beside) if beside.exists() else shutil.which("ansible-inventory")
    if command is None:
        raise UsageError("ansible-inventory is not installed here; on the control node: pip install 'tunecheck[control]'")
    strict = {"ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "true", "ANSIBLE_NOCOLOR": "true"}
    try:
        done = subprocess.run(
            [command, "-i", inventory, "--list"],
            env=os.environ | strict, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=_INVENTORY_DEADLINE, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise UsageError(f"ansible-inventory gave no answer on {inventory} in {_INVENTORY_DEADLINE} s") from error
    if done.returncode != 0:
        raise UsageError(f"Ansible cannot read inventory {inventory}; it says:\n{done.stderr.strip()}")
    return _hosts_of(json.loads(done.stdout))


def _hosts_of(listing: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Hosts without any variable are missing from ``hostvars`` and only stand in their group."""
    hosts: dict[str, dict[str, Any]] = {}
    for name, group in listing.items():
        if name != "_meta":
            hosts.update({host: {} for host in group.get("hosts", [])})
    return hosts | listing.get("_meta", {}).get("hostvars", {})
