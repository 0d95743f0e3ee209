"""What topo, host and preflight share: their options, and the way from a host to a report."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import click

from .errors import UsageError

__all__ = ["check", "options"]


def options(command: Callable[..., None]) -> Callable[..., None]:
    """Options that topo, host and preflight share."""
    for option in (
        click.option("--since", metavar="PATH",
                     help="Show counters as differences to an earlier recording of the same host."),
        click.option("--record", metavar="FILE", help="Also keep everything that was read, for --from."),
        click.option("--from", "source", metavar="PATH",
                     help="Judge a recording, a bug report or a folder of command outputs, not this machine."),
        click.option("--json", "json_to", is_flag=False, flag_value="-", metavar="[FILE]",
                     help="Write JSON to FILE; without FILE to standard output, in place of the report."),
        click.option("--spec", "spec_file", metavar="FILE",
                     help="Judge against this spec, not /etc/tunecheck/spec.json."),
    ):
        command = option(command)
    return command


def check(verb: str, spec_file: str | None, json_to: str | None, source: str | None, record: str | None,
           since: str | None, trial: bool = False) -> None:
    """Open the host, read, judge, report; leaves through SystemExit with the verdict's code."""
    from .report.output import check_writable, write_file

    for path in (record, json_to):
        if path is not None and path != "-":
            check_writable(path)
    door, recording = _open(source, record)
    try:
        door.ahead(nvml=True)       # the slowest answer: it comes while Python still reads our modules
        from .facts.snapshot import gather
        from .facts.spec_file import read_spec
        from .report.document import document, to_text
        from .rules import Case, judge

        frozen = read_spec(door, spec_file, required=trial)
        snapshot = gather(door, frozen.spec if frozen else None, verb != "topo", verb != "host")
    finally:
        door.close()
    case = Case(snapshot, frozen, trial, _before(since, frozen, verb) if since else None)
    findings = judge(case, verb)
    result = document(verb, case, findings)
    if json_to == "-":
        _print(to_text(result))
    else:
        from .report.terminal import render, style_for

        _print(render(verb, case, findings, style_for(sys.stdout)))
    if json_to not in (None, "-"):
        write_file(str(json_to), to_text(result).encode())
        _print(f"JSON: {json_to}\n")
    if recording is not None and record is not None:
        write_file(record, recording.packed())
    raise SystemExit(result["exit_code"])


def _before(path: str, frozen: Any, verb: str) -> Any:
    """The snapshot in an earlier recording."""
    from .facts.snapshot import gather

    door, _ = _open(path, None)
    return gather(door, frozen.spec if frozen else None, verb != "topo", verb != "host")


def _open(source: str | None, record: str | None) -> tuple[Any, Any]:
    """The host to ask, and the recorder where one was asked for."""
    if source is not None:
        if record is not None:
            raise UsageError("--record and --from exclude each other: there is a recording already; drop one of them")
        from .host.source import open_source

        door, note = open_source(source)
        if note:
            click.echo(f"tunecheck: {note}", err=True)
        return door, None
    from .host.live import LiveHost
    from .host.recording import RecordingHost

    door = LiveHost()
    if record is None:
        return door, None
    recorder = RecordingHost(door)
    return recorder, recorder


def _print(text: str) -> None:
    """Write to standard output; a reader that went away (`| head`) changes nothing about the verdict."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes once more at exit, and would complain there.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        raise UsageError(f"standard output cannot be written ({error.strerror})") from None
