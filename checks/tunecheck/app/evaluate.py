"""What topo, host, driver, runtime and preflight share: their options, and the way from a host to a report."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypedDict

import click

from ..errors import UsageError

if TYPE_CHECKING:
    from ..facts.snapshot import Snapshot
    from ..host import Host
    from ..host.recording import RecordingHost
    from ..model.finding import Finding
    from ..spec.frozen import Frozen

__all__ = ["HISTORY", "REPORTS", "check", "look", "options", "passing", "say"]


#: Those that show the tree, and compare it with nvidia-smi's table.
_WITH_TREE = ("topo", "preflight")
#: Those that take --history.
_WITH_PAST = ("host", "preflight")
#: What every verb that ends in a report takes.
REPORTS = (
    click.option("--html", "html_to", metavar="FILE", help="Write a report for the browser, one file, offline."),
    click.option("--prometheus", "prometheus_to", metavar="FILE.prom",
                 help="Write metrics for node_exporter's textfile collector."),
    click.option("--junit", "junit_to", metavar="FILE", help="Write JUnit XML, for CI."),
    click.option("--json", "json_to", is_flag=False, flag_value="-", metavar="[FILE]",
                 help="Write JSON to FILE; without FILE to standard output, in place of the report."),
    click.option("--spec", "spec_file", metavar="FILE",
                 help="Judge against this spec, not /etc/tunecheck/spec.json."),
    click.option("-v", "--verbose", is_flag=True, help="Show every finding, also what was not judged."),
)


def options(command: Callable[..., None]) -> Callable[..., None]:
    """Options that all of them have."""
    for option in (
        click.option("--since", metavar="PATH",
                     help="Show counters as differences to an earlier recording or snapshot of the same host."),
        click.option("--record", metavar="FILE", help="Also keep what was read, without names, for --from."),
        click.option("--from", "source", metavar="PATH", help="Judge a recording, a snapshot, a bug report, or a file "
                     "or folder of command outputs (- for standard input), not this machine."),
        *REPORTS,
    ):
        command = option(command)
    return command


#: Of the verbs that read the kernel log.
HISTORY = click.option("--history", is_flag=True, help="Also list what the kernel said of GPUs before this boot: the "
                       "journal's earlier boots, or those in what --from gives.")


def check(verb: str, spec_file: str | None, source: str | None, record: str | None, since: str | None,
          verbose: bool = False, trial: bool = False, history: bool = False, **outputs: str | None) -> None:
    """Open the host, read, judge, report; leaves through SystemExit with the verdict's code. ``history``: also list
    what happened before this boot. ``outputs``: json_to, junit_to, prometheus_to, html_to, each a file or "-"."""
    from ..report.exporters import check_outputs, to_standard_output, write_ready

    wanted = {kind.removesuffix("_to"): place for kind, place in outputs.items()}
    check_outputs(wanted, record)
    recording = _recorder(source) if record is not None else None
    alone = to_standard_output(wanted)
    seen = _look(verb, spec_file, None, _note, recording, trial, history) if source is None else None

    def judged(note: Callable[[str], None]) -> _Verdict:
        frozen, snapshot = seen or _look(verb, spec_file, source, note, None, trial, history)
        return _judged(verb, frozen, snapshot, trial, verbose, source, since, note, wanted, alone, history)

    foreign = source if source is not None else since
    if foreign is None:
        done = judged(_note)
    else:
        from .confined import apart

        # The machine itself was read before: only what somebody else wrote is under the limits.
        done = json.loads(apart(foreign, lambda note: json.dumps(judged(note)).encode()))
    packed = None
    if recording is not None and record is not None:
        packed = (record, recording.packed(redact=True, root=os.geteuid() == 0, verb=verb))
    say(done["text"], lambda: write_ready(done["files"], packed), alone is not None)
    raise SystemExit(done["code"])


class _Verdict(TypedDict):
    """A verdict as text: ``files`` are (kind, place, content)."""

    text: str
    files: list[tuple[str, str, str]]
    code: int


def _judged(verb: str, frozen: Frozen | None, snapshot: Snapshot, trial: bool, verbose: bool, source: str | None,
            since: str | None, note: Callable[[str], None], wanted: dict[str, str | None],
            alone: str | None, history: bool) -> _Verdict:
    import datetime

    from ..report.document import document
    from ..report.exporters import Run, ready, rendered
    from ..rules import judge
    from ..rules.context import Case

    case = Case(snapshot, frozen, trial, _before(since, frozen, verb, snapshot, note) if since else None)
    with _made_by_others(source, since):
        findings = judge(case, verb)
        run = Run(document(verb, case, findings), findings, datetime.datetime.now(datetime.UTC), source or "")
        if alone:
            text = rendered(alone, run)
        else:
            from ..report.terminal import render, style_for

            text = render(verb, case, findings, style_for(sys.stdout), verbose, _is_import(source), history)
        return {"text": text, "files": ready(wanted, run), "code": run.document["exit_code"]}


def passing(pass_file: str | None, full: bool) -> Callable[[Sequence[Finding], int, Frozen | None], list[str]]:
    """Takes away an older pass before anything is looked at; what is returned leaves the new one."""
    if pass_file is None:
        return lambda *_: []
    from ..cli.gate import forget_pass, leave_pass

    forget_pass(pass_file)
    return lambda findings, code, frozen: [leave_pass(pass_file, findings, code, frozen, full)]


def look(verb: str, spec_file: str | None, source: str | None, recorder: RecordingHost | None = None,
         required: bool = False, history: bool = False) -> tuple[Frozen | None, Snapshot]:
    """The spec and the facts: of this machine (through ``recorder``, where there is one), a recording, an import or a
    snapshot, which are read in a child with limits. ``required``: refuse to go on without a spec.
    ``history``: read what happened before this boot, too; what was given as a file is read in any case."""
    if source is None:
        return _look(verb, spec_file, None, _note, recorder, required, history)
    from ..facts.snapshot_file import Stored, packed, unpack
    from .confined import apart

    def facts(note: Callable[[str], None]) -> bytes:
        frozen, found = _look(verb, spec_file, source, note, None, required, history)
        return packed(Stored(found, frozen))

    stored = unpack(apart(source, facts))
    return stored.frozen, stored.snapshot


def _look(verb: str, spec_file: str | None, source: str | None, note: Callable[[str], None],
          recorder: RecordingHost | None = None, required: bool = False,
          history: bool = False) -> tuple[Frozen | None, Snapshot]:
    if source is not None and _is_snapshot(source):
        from ..facts.snapshot_file import load
        from ..facts.spec_file import read_spec
        from ..host.recording import RecordedHost

        stored = load(source)
        frozen = stored.judged_with(read_spec(RecordedHost({}), spec_file, required and stored.frozen is None))
        return frozen, stored.seen_by(verb)
    from ..host import prefetch

    door = recorder or _open(source, note)
    try:
        prefetch.start(door, verb in _WITH_TREE, verb != "topo")
        from ..facts.snapshot import gather
        from ..facts.spec_file import PATH, read_spec

        frozen = read_spec(door, spec_file, required)
        if recorder is not None and spec_file is not None and frozen is not None:
            recorder.keep(PATH, frozen.to_json().encode())
        return frozen, gather(door, frozen.spec if frozen else None, verb != "topo", verb in _WITH_TREE,
                              history or (_is_import(source) and verb in _WITH_PAST))
    finally:
        door.close()


def _is_import(path: str | None) -> bool:
    from ..host.source import is_import

    return path is not None and is_import(path)


def _is_snapshot(path: str) -> bool:
    from ..host.source import is_snapshot

    return is_snapshot(path)


def _before(path: str, frozen: Frozen | None, verb: str, now: Snapshot, note: Callable[[str], None]) -> Snapshot:
    """The facts of an earlier recording or snapshot. One without names has another word for the same boot."""
    from ..facts.same_machine import other_machine
    from ..facts.snapshot import gather
    from ..facts.snapshot_file import load, same_boot

    then = load(path).seen_by(verb) if _is_snapshot(path) else gather(
        _open(path, note), frozen.spec if frozen else None, verb != "topo", verb in _WITH_TREE)
    before = same_boot(then, now)
    with _made_by_others(path):
        apart = other_machine(before, now)
    if apart:
        raise UsageError(f"--since {path}: not a recording of this machine ({apart}); give an earlier one of this one")
    return before


def _recorder(source: str | None) -> RecordingHost:
    from ..host.live import LiveHost
    from ..host.recording import RecordingHost

    if source is not None:
        raise UsageError("--record and --from exclude each other: there is a recording already; drop one of them")
    return RecordingHost(LiveHost())


def _note(text: str) -> None:
    click.echo(text, err=True)


def _open(source: str | None, note: Callable[[str], None]) -> Host:
    """The host to ask."""
    if source is None:
        from ..host.live import LiveHost

        return LiveHost()
    from ..host.source import open_source

    door, said = open_source(source)
    if said:
        from ..report.terminal import wrapped

        note(wrapped(f"tunecheck: {said}", sys.stderr))
    return door


@contextmanager
def _made_by_others(*paths: str | None) -> Iterator[None]:
    """A snapshot holds facts, so whoever wrote it decides whether they fit together."""
    try:
        yield
    except (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        path = next((path for path in paths if path is not None and _is_snapshot(path)), None)
        if path is None:
            raise
        raise UsageError(f"{path}: not a usable snapshot: its parts do not fit together "
                         f"({type(error).__name__})") from None


def say(text: str, write: Callable[[], list[str]], alone: bool) -> None:
    """The report, then the files and a note about each; on standard error where a document is ``alone`` on standard
    output."""
    from ..util.whole_file import emit

    emit(text)
    notes = write()
    if alone:
        for note in notes:
            click.echo(f"tunecheck: {note}", err=True)
    elif notes:
        emit("\n".join([*notes, ""]))
