"""``tunecheck pins``: every pin of a box as one lock file, and what differs from another one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from .unread_input import from_option

if TYPE_CHECKING:
    from ..facts.pins import Difference, Pins

__all__ = ["pins"]

_UNKNOWN = 3


@click.command()
@click.option("--spec", "spec_file", metavar="FILE", help="Pin this spec, not /etc/tunecheck/spec.json.")
@from_option("PATH", "The pins in a recording, a snapshot, a bug report or a folder of command outputs.")
@click.option("--diff", "other", metavar="LOCK", help="Print what differs from this lock file, not the pins.")
@click.option("--json", "json_to", default="-", metavar="FILE", help="Write to FILE, not to standard output.")
def pins(spec_file: str | None, source: str | None, other: str | None, json_to: str) -> None:
    """Write every pin of this box as a lock file: kernel, driver, packages with their holds, toolkit, engine, spec.

    With --diff the exit code is 0 where both are the same, 1 where something differs, and 3 where nothing does but
    something is unknown."""
    from ..app.read_host import look
    from ..errors import Misuse, UsageError
    from ..facts import pins as facts
    from ..util.whole_file import check_replaceable, emit, write_file

    if other is not None and json_to != "-":
        raise UsageError("--diff and --json exclude each other: a difference is no lock file; drop one of them",
                         Misuse.DOES_NOT_BELONG)
    if json_to != "-":
        check_replaceable(json_to)
    there = facts.load(other) if other is not None else None
    frozen, snapshot = look("driver", spec_file, source)
    here = facts.pins(snapshot, frozen)
    if there is not None:
        found = facts.compare(here, there)
        emit("".join(f"{_safe(line)}\n" for line in _lines(found, source or "here", other or "")) or
             f"the same: {len(here.known)} pins\n")
        raise SystemExit(1 if any(not each.unknown for each in found) else _UNKNOWN if found else 0)
    if json_to != "-":
        write_file(json_to, here.to_text().encode(), None, "lock file")
        click.echo(f"lock file: {json_to}", err=True)
    else:
        emit(here.to_text())
    _print_unknown(here)


def _lines(found: list[Difference], here: str, there: str) -> list[str]:
    """Return one line for each difference: what differs first, then what is not known."""
    return [f"{'UNKNOWN' if each.unknown else 'DIFFERS'} {each.name}: " + (
                f"{each.here} (both)" if each.here == each.there else f"{each.here} ({here}), {each.there} ({there})")
            for each in sorted(found, key=lambda each: each.unknown)]


def _print_unknown(pins: Pins) -> None:
    if pins.unknown:
        first, why = next(iter(sorted(pins.unknown.items())))
        many = f"{len(pins.unknown)} unknown, such as" if len(pins.unknown) > 1 else "1 unknown:"
        click.echo(f"tunecheck: {many} {first}: {_safe(why)}", err=True)
        sys.stderr.flush()


def _safe(text: str) -> str:
    """Return the text without control characters: a lock file of somebody else's must not send any to the terminal."""
    return "".join(char if char.isprintable() else "?" for char in text)
