"""Read a host: this machine, a recording, an import or a snapshot, with the specification to judge it by."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import Misuse, UsageError

if TYPE_CHECKING:
    from ..facts.snapshot import Snapshot
    from ..host import Host
    from ..host.recording import RecordingHost
    from ..spec.frozen import Frozen

__all__ = ["facts_before", "facts_of", "is_import", "is_snapshot", "look", "made_by_others", "note_on_stderr",
           "recorder"]

#: Verbs that show the tree, and compare it with nvidia-smi's table.
_WITH_TREE = ("topo", "preflight")
#: Verbs that take --history.
_WITH_PAST = ("host", "preflight")


def look(verb: str, spec_file: str | None, source: str | None, recorder: RecordingHost | None = None,
         required: bool = False, history: bool = False, judges: bool = False) -> tuple[Frozen | None, Snapshot]:
    """Return the spec and the facts: of this machine (through ``recorder``, where there is one), a recording, an import
    or a snapshot, which are read in a child with limits. ``required``: refuse to go on without a spec. ``history``:
    read what happened before this boot, too; what was given as a file is read in any case. ``judges``: the caller goes
    on to judge and report."""
    if source is None:
        return facts_of(verb, spec_file, None, note_on_stderr, recorder, required, history, judges)
    from ..facts.snapshot_file import Stored, packed, unpack
    from .confined import apart

    def facts(note: Callable[[str], None]) -> bytes:
        frozen, found = facts_of(verb, spec_file, source, note, None, required, history)
        return packed(Stored(found, frozen))

    stored = unpack(apart(source, facts))
    return stored.frozen, stored.snapshot


def facts_of(verb: str, spec_file: str | None, source: str | None, note: Callable[[str], None],
          recorder: RecordingHost | None = None, required: bool = False,
          history: bool = False, judges: bool = False) -> tuple[Frozen | None, Snapshot]:
    if source is not None and is_snapshot(source):
        from ..facts.snapshot_file import load
        from ..facts.spec_file import read_spec
        from ..host.answers import RecordedHost

        stored = load(source)
        frozen = stored.judged_with(read_spec(RecordedHost({}), spec_file, required and stored.frozen is None))
        return frozen, stored.seen_by(verb)
    from ..host import prefetch

    door = recorder or _open(source, note)
    try:
        prefetch.start(door, verb in _WITH_TREE, verb != "topo")
        from ..facts.snapshot import gather
        from ..facts.spec_file import PATH, read_spec

        if judges:
            _meanwhile(verb)
        frozen = read_spec(door, spec_file, required)
        if recorder is not None and spec_file is not None and frozen is not None:
            recorder.keep(PATH, frozen.to_json().encode())
        return frozen, gather(door, frozen.spec if frozen else None, verb != "topo", verb in _WITH_TREE,
                              history or (is_import(source) and verb in _WITH_PAST))
    finally:
        door.close()


def _meanwhile(verb: str) -> None:
    """Import what judges and shows. NVML and nvidia-smi take 0.1 to 0.2 s: it is done in that time, not behind it."""
    from ..report import document, terminal  # noqa: F401
    from ..rules import get_ready

    get_ready(verb)


def is_import(path: str | None) -> bool:
    """Return whether ``path`` holds texts that somebody posted."""
    from ..host.source import is_import as found

    return path is not None and found(path)


def is_snapshot(path: str) -> bool:
    """Return whether ``path`` holds parsed facts."""
    from ..host.source import is_snapshot as found

    return found(path)


def facts_before(path: str, frozen: Frozen | None, verb: str, now: Snapshot, note: Callable[[str], None]) -> Snapshot:
    """Return the facts of an earlier recording or snapshot. In one without names the same boot has another id; it is
    recognised all the same. UsageError where it is of another machine; ``note`` is told where nothing is compared."""
    from ..facts.same_machine import not_compared, other_machine
    from ..facts.snapshot import gather
    from ..facts.snapshot_file import load, same_boot

    then = load(path).seen_by(verb) if is_snapshot(path) else gather(
        _open(path, note), frozen.spec if frozen else None, verb != "topo", verb in _WITH_TREE)
    before = same_boot(then, now)
    with made_by_others(path):
        apart = other_machine(before, now)
    if apart:
        raise UsageError(f"--since {path}: not a recording of this machine ({apart}); give an earlier one of this one",
                         Misuse.OTHER_MACHINE)
    if why := not_compared(before, now):
        from ..report.style import wrapped

        note(wrapped(f"tunecheck: --since {path}: nothing is compared with it: {why}", sys.stderr))
    return before


def recorder(source: str | None) -> RecordingHost:
    from ..host.live import LiveHost
    from ..host.recording import RecordingHost

    if source is not None:
        from ..host.source import is_import

        if (source == "-" or Path(source).exists()) and is_import(source):
            raise UsageError("--record writes what the checks read on this machine, and --from gives texts; to make "
                             f"one file of the texts: tunecheck snapshot --json FILE --from {shlex.quote(source)}",
                             Misuse.DOES_NOT_BELONG)
        raise UsageError("--record and --from exclude each other: there is a recording already; drop one of them",
                         Misuse.DOES_NOT_BELONG)
    return RecordingHost(LiveHost())


def note_on_stderr(text: str) -> None:
    click.echo(text, err=True)


def _open(source: str | None, note: Callable[[str], None]) -> Host:
    """Return the host to ask: this machine, or what ``source`` holds."""
    if source is None:
        from ..host.live import LiveHost

        return LiveHost()
    from ..host.source import open_source

    door, said = open_source(source)
    if said:
        from ..report.style import wrapped

        note(wrapped(f"tunecheck: {said}", sys.stderr))
    return door


@contextmanager
def made_by_others(*paths: str | None) -> Iterator[None]:
    """Turn the errors of facts that do not fit together into a UsageError that names the snapshot among ``paths``. A
    snapshot holds facts, so whoever wrote it decides whether they fit together."""
    try:
        yield
    except (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        path = next((path for path in paths if path is not None and is_snapshot(path)), None)
        if path is None:
            raise
        from ..parsers.text.damage import Damage

        raise UsageError(f"{path}: not a usable snapshot: its parts do not fit together "
                         f"({type(error).__name__})", Damage.CONTRADICTS) from None
