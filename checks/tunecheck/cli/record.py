"""``tunecheck record``: read every fact once and keep what was read, for judging it elsewhere."""

from __future__ import annotations

import os
import re
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING

import click

from ..model.absence import Absence, Reason

if TYPE_CHECKING:
    from ..host.answers import Answers
    from ..host.recording import RecordingHost
    from ..spec.frozen import Frozen

__all__ = ["record"]


@click.command()
@click.option("-o", "--output", metavar="FILE",
              help="Default: tunecheck-TIME.tar.zst in this directory; with --raw the host's name stands before it. "
                   "-: standard output. A recording that is there is never replaced.")
@click.option("--raw", is_flag=True, help="Keep host names, serial numbers, UUIDs, MAC and IP addresses, user names.")
@click.option("--spec", "spec_file", metavar="FILE", help="Put this spec in, not /etc/tunecheck/spec.json.")
def record(output: str | None, raw: bool, spec_file: str | None) -> None:
    """Keep what every check reads, for --from on another machine.

    Host names, serial numbers, UUIDs, addresses and user names are replaced; passwords, tokens and other variables than
    those of CUDA and NCCL are never kept."""
    from ..facts.snapshot import gather
    from ..host.bundle import is_recording
    from ..host.live import LiveHost
    from ..host.recording import RecordingHost
    from ..util.whole_file import PRIVATE, check_replaceable, emit, free_name, write_file

    usual = free_name(_name(None))
    if output != "-":
        check_replaceable(output or usual, is_recording)
    elif sys.stdout.isatty():
        raise click.UsageError("standard output is a terminal; give a file: -o FILE")
    progress = _Progress()
    door = RecordingHost(LiveHost(), progress.asks)
    try:
        frozen = _spec(door, spec_file)
        found = gather(door, frozen.spec if frozen else None, True)
    finally:
        door.close()
        progress.done()
    content = door.packed(redact=not raw, root=os.geteuid() == 0, verb="record")
    if output == "-":
        emit(content)
    else:
        output = output or (free_name(_name(found.hostname.value)) if raw else usual)
        write_file(output, content, PRIVATE if raw else None, "recording")
    form = "" if output.endswith((".tar.zst", "-")) else "a tar archive compressed with zstd, "
    click.echo(f"{output}: {form}{_size(content)}, {_summary(door.answers)}, "
               + ("raw: it holds names, serial numbers and addresses" if raw else
                  "redacted: names, serial numbers and addresses are replaced"), err=output == "-")
    log = found.host.kernel.log if found.host is not None else None
    if log is not None and log.value is None and not log.missing:
        root = "" if os.geteuid() == 0 else "; run as root: sudo tunecheck record"
        click.echo(f"not read: the kernel log ({log.why()}){root}", err=output == "-")


def _spec(door: RecordingHost, spec_file: str | None) -> Frozen | None:
    """Return the spec to read for. The host's own may be of another version: it is kept, and the recording goes on
    without it."""
    from ..errors import SpecError
    from ..facts.spec_file import PATH, read_spec

    try:
        frozen = read_spec(door, spec_file, required=False)
    except SpecError as error:
        if spec_file is not None:
            raise
        click.echo(f"tunecheck: recording without a spec: {error.problems[0].partition(';')[0]}", err=True)
        return None
    if frozen is not None and spec_file is not None:
        door.keep(PATH, frozen.to_json().encode())
    return frozen


def _name(host: str | None) -> str:
    known = re.sub(r"[^A-Za-z0-9._-]", "", host or "").lstrip(".-")[:64]
    return f"{known or 'tunecheck'}-{time.strftime('%Y%m%d-%H%M%S')}.tar.zst"


def _size(content: bytes) -> str:
    return f"{len(content) / (1 << 20):.1f} MiB" if len(content) >= 100 << 10 else f"{len(content) / 1024:.1f} KiB"


def _summary(answers: Answers) -> str:
    """Return how much was read: ``812 files, 5 commands; not readable: 3 no permission (run as root)``. What does not
    exist is an answer."""
    refused = (done for done in answers.runs.values() if isinstance(done, Reason))
    unread = [why for why in (*answers.errors.values(), *refused) if why.absence is not Absence.NOT_PRESENT]
    # Of a configuration space the kernel shows others than root the first 64 bytes.
    cut = sum(path.endswith("/config") and len(data) == 64 for path, data in answers.reads.items())
    unread += [Reason(Absence.NO_PERMISSION)] * cut
    reasons = Counter(map(_short, unread))
    parts = [f"{count} {reason}" for reason, count in sorted(reasons.items())]
    if not parts:
        missing = ""
    else:
        closed = any(reason.absence is Absence.NO_PERMISSION for reason in unread)
        root = " (run as root: sudo tunecheck record)" if closed and os.geteuid() != 0 else ""
        missing = f"; not readable: {', '.join(parts)}{root}"
    return f"{len(answers.reads)} files, {len(answers.runs)} commands{missing}"


def _short(reason: str) -> str:
    return reason.partition(";")[0][:60]


class _Progress:
    """A line on a terminal that shows once the recording takes longer than a second, and is gone at the end."""

    def __init__(self) -> None:
        from ..util.live_line import LiveLine

        self._begun = self._shown = time.monotonic()
        self._line = LiveLine()

    def asks(self, what: str) -> None:
        now = time.monotonic()
        if now - self._begun > 1 and now - self._shown > 0.1:
            self._shown = now
            self._line.show(f"tunecheck: reading {what}")

    def done(self) -> None:
        self._line.erase()
