"""``tunecheck recover``: evidence, stop, proof, start and acceptance of a served model that gives no token any more."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import Misuse, UsageError

if TYPE_CHECKING:
    from ..host.live import LiveHost
    from ..recovery.act import Box
    from ..recovery.model import Incident, Record

__all__ = ["recover"]

_LOCK = "/run/tunecheck/recover.lock"
#: A play that provisions this box holds it.
_PLAY = "/var/lib/tunecheck/provision.lock"


@click.command()
@click.option("--list", "show", is_flag=True, help="Only list the incidents of this box, oldest first.")
@click.option("--html", "html_to", metavar="FILE", help="Only write a page of one incident, the newest by default.")
@click.option("--api-key-file", metavar="FILE", help="A file that holds the engine's API key.")
@click.option("--ca", metavar="FILE", help="Certificates to trust, in PEM; default: those of the watch.")
@click.argument("incident", required=False)
def recover(show: bool, html_to: str | None, api_key_file: str | None, ca: str | None, incident: str | None) -> None:
    """Bring back a served model that stalled, as far as watch.on_stall allows.

    Run by tunecheck-recover.service. Exit code 0: it serves (again), or there is nothing to do; 1: a person has to look
    at it. Without a stall of the watch it does nothing."""
    from ..host.live import LiveHost
    from ..recovery.model import Step

    if incident is not None and html_to is None:
        raise UsageError(f"{incident[:60]}: an incident is for --html FILE, as in tunecheck recover --html page.html "
                         f"{incident[:60]}", Misuse.DOES_NOT_BELONG)
    if html_to is not None:
        _html(html_to, incident)
        return
    if show:
        _list()
        return
    if os.geteuid() != 0:
        raise UsageError("only root may stop and start what is served: run sudo tunecheck recover", Misuse.NOT_ROOT)
    from ..serving.reach import key

    try:
        secret = key(api_key_file)
    except UsageError as error:     # it is for the metrics alone; a stall is worse than evidence without them
        click.echo(f"tunecheck recover: {error}", err=True)
        secret = ""
    host, lock = LiveHost(), _locked()
    try:
        ended = _recovered(host, secret, ca)
        if ended is None:
            click.echo("tunecheck recover: the watch has told no stall; nothing was done")
            return
        said = f"incident {ended.incident}: {_sentence(ended)}{_held_up(ended.incident)}"
        _tell(said)
        click.echo(f"tunecheck recover: {said}")
        if ended.step not in (Step.SERVING, Step.MOVED_AGAIN):
            raise SystemExit(1)
    finally:
        host.close()
        os.close(lock)


def _recovered(host: LiveHost, secret: str, ca: str | None) -> Record | None:
    from ..recovery import act
    from ..watch import request
    from .watch_options import trusted

    box = _box(host, secret)
    try:
        asked = request.read()
    except (OSError, ValueError) as error:
        raise UsageError(f"{request.PATH}: {error}; the watch leaves another one at the next stall",
                         Misuse.UNREADABLE) from None
    if asked is not None and asked.url.startswith("https"):
        try:
            box.context = trusted(ca or asked.ca or None)
        except UsageError as error:     # as with the key
            click.echo(f"tunecheck recover: {error}", err=True)
    try:
        ended = act.recover(box, asked)
    except OSError as error:
        raise UsageError(f"the journal of incidents cannot be written ({error.strerror or error}); nothing was stopped "
                         "or started after that", Misuse.UNWRITABLE) from None
    if asked is not None:
        Path(request.PATH).unlink(missing_ok=True)      # it is in the journal
    return ended


def _box(host: LiveHost, secret: str) -> Box:
    from ..errors import SpecError
    from ..facts.file_text import text
    from ..facts.spec_file import read_spec
    from ..host.live import LiveHost
    from ..host.notify import alive
    from ..recovery.act import Box
    from ..recovery.gpu_reset import GpuReset
    from ..recovery.journal import Journal

    try:
        frozen = read_spec(host, None, False)
    except SpecError as error:
        click.echo(f"tunecheck recover: {error.problems[0]}; without it nothing is stopped or started", err=True)
        frozen = None
    boot_id = text(host, "/proc/sys/kernel/random/boot_id").value
    if boot_id is None:
        raise UsageError("the id of this boot cannot be read (/proc/sys/kernel/random/boot_id); nothing was done",
                         Misuse.UNREADABLE)
    return Box(host, Journal(), frozen.spec.watch if frozen else None, boot_id, secret, _invalidate,
               lambda: os.path.lexists(_PLAY), _tell, alive, resets=GpuReset(host, LiveHost, lambda: _proof(host)))


def _proof(host: LiveHost) -> tuple[tuple[str, ...], float | None]:
    """Return what the last preflight found wrong, and how many seconds ago that was; None where there was none."""
    from ..gate import passed
    from ..gate.state import state

    try:
        found = passed.read(passed.PATH)
    except UsageError:
        return (), None
    now, then = state(host).uptime.value, found.state.uptime.value
    return found.codes, None if now is None or then is None else now - then


def _invalidate() -> None:
    """Make an earlier measurement invalid. OSError where it stays."""
    from ..gate import measured

    try:
        try:
            former = measured.read(measured.PATH)
        except UsageError:      # none, or none that could be believed
            former = None
        measured.invalidate(measured.PATH, former)
    except UsageError:          # a full disk takes nothing, and still forgets
        Path(measured.PATH).unlink(missing_ok=True)


def _locked() -> int:
    import fcntl

    Path(_LOCK).parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    descriptor = os.open(_LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise UsageError("another tunecheck recover is at work: systemctl status tunecheck-recover",
                         Misuse.IN_USE) from None
    return descriptor


def _tell(text: str) -> None:
    from ..host.notify import tell

    tell(text)


def _incidents(verb: str) -> list[Incident]:
    from ..recovery.journal import PATH, Journal
    from ..recovery.model import incidents

    if not os.access(Path(PATH).parent, os.R_OK | os.X_OK) and os.geteuid() != 0:
        raise UsageError(f"{Path(PATH).parent}: only root may read it; run sudo tunecheck recover {verb}",
                         Misuse.NOT_ROOT)
    return incidents(Journal().read())


def _html(place: str, wanted: str | None) -> None:
    import socket

    from ..recovery.kept import read
    from ..recovery.page.incident import incident
    from ..util.whole_file import PRIVATE, check_replaceable, write_file

    check_replaceable(place)
    found = _incidents(f"--html {place}")
    chosen = found if wanted is None else [each for each in found if each.id == wanted]
    if not chosen:
        raise UsageError(f"{wanted[:60]}: no such incident; expected one of tunecheck recover --list" if wanted else
                         "no incident is on record, so there is no page to write", Misuse.NO_SUCH)
    page = incident(chosen[-1], read(chosen[-1].id), socket.gethostname(), datetime.now(UTC))
    write_file(place, page.encode("utf-8", "replace"), PRIVATE, "incident")
    click.echo(f"HTML: {place}")


def _list() -> None:
    found = _incidents("--list")
    for each in found:
        click.echo(_line(each))
    if not found:
        click.echo("no incident is on record")


def _line(incident: Incident) -> str:
    from ..watch.culprits import plain

    first, last = incident.records[0], incident.last
    when = datetime.fromtimestamp(first.at, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
    told = f"{when}  {incident.id}  {first.unit}  {', '.join(first.codes) or 'no reason told'}"
    return f"{plain(told)}: {_sentence(last)}{_blamed(incident)}"


def _held_up(name: str) -> str:
    from ..recovery.journal import Journal
    from ..recovery.model import incidents

    return next((_blamed(each) for each in incidents(Journal().read()) if each.id == name), "")


def _blamed(incident: Incident) -> str:
    """Return the end of a sentence that names the process or rank that held the others up; "" where none is blamed."""
    from ..watch.culprits import named

    culprit = next((each.culprit for each in incident.records if each.culprit is not None), None)
    return f"; {named(culprit)}" if culprit is not None else ""


def _sentence(record: Record) -> str:
    from ..recovery.words import sentence

    return sentence(record)
