"""``tunecheck init``: an inventory for a box, written from what the box says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import CONTROL_NODE, Misuse, UsageError
from ..util.durations import seconds
from .fleet_verbs import fleet_part
from .unread_input import from_option

if TYPE_CHECKING:
    from ..app.draft import Draft
    from ..app.draft_files import Login
    from ..facts.snapshot import Snapshot

__all__ = ["init"]

_TARGET = re.compile(r"(?:(?P<user>[A-Za-z0-9_][A-Za-z0-9_.-]*)@)?"
                     r"(?P<host>[A-Za-z0-9][A-Za-z0-9._-]*|\[[0-9a-fA-F:.]+\])(?::(?P<port>\d{1,5}))?")
#: Of a terminal of 80, the last one stays empty.
_COLUMNS = 79


@click.command()
@click.argument("target", metavar="[USER@]HOST", required=False)
@from_option("PATH", "Read no box but a recording, a snapshot or pasted outputs.")
@click.option("--name", metavar="NAME", help="What reports call the box; default: its own host name, else "
              "one that is free, such as box2.")
@click.option("-o", "--output", metavar="DIR", help="The inventory's new directory; default: inventory/NAME.")
@click.option("--timeout", metavar="TIME", default="3m", show_default=True, help="How long HOST may take to answer.")
def init(target: str | None, source: str | None, name: str | None, output: str | None, timeout: str) -> None:
    """Write an inventory for a box from what the box says.

    HOST is reached over ssh, through Ansible; without HOST and --from it is this machine. The box is only read. Every
    line that could not be known is marked CHANGE."""
    from ..app.draft import drafted
    from ..app.draft_counts import no_gpu
    from ..app.draft_files import Login, files
    from ..app.draft_name import free_names, taken

    if target is not None and source is not None:
        raise UsageError("a HOST and --from exclude each other: drop one of them", Misuse.DOES_NOT_BELONG)
    if name is not None and (why := taken(name)):
        raise UsageError(f"--name {name[:60]!r}: {why}", Misuse.MALFORMED)
    if output is not None:
        _free(Path(output))
    login, most = Login(local=source is None), seconds("--timeout", timeout)
    if target is not None:
        login, snapshot = _over_ssh(target, most)
    else:
        snapshot = _looked(source)
    # Of a host that was named the cards may be such as only a specification takes for accelerators: CHANGE says so.
    if target is None and no_gpu(snapshot):
        what, other = ("this machine", "tunecheck init USER@HOST, or --from with a recording of it") \
            if source is None else (f"the box of {source}", "give its host or recording")
        raise UsageError(f"{what} has no NVIDIA GPU, so nothing was written; for another box: {other}",
                         Misuse.OTHER_MACHINE)
    # inventory/box1 is there in every checkout.
    free = (each for each in free_names() if output or not _there(_folder(each)))
    draft = drafted(snapshot, name, next(free))
    folder = Path(output) if output else _folder(draft.name)
    _free(folder)
    made = files(draft, login)
    _write(folder, made)
    click.echo(_summary(draft, folder, made))


def _looked(source: str | None) -> Snapshot:
    from ..app.read_host import look

    return look("preflight", None, source)[1]


def _over_ssh(target: str, most: float) -> tuple[Login, Snapshot]:
    import tempfile  # start-up time: the list of verbs needs this module, too

    from ..app.draft_files import Login

    match = _TARGET.fullmatch(target)
    if match is None:
        raise UsageError(f"{target[:80]!r} is not a host: expected HOST, USER@HOST or USER@HOST:PORT", Misuse.MALFORMED)
    login = Login(match["host"].strip("[]"), match["user"], int(match["port"]) if match["port"] else None)
    content = _asked(login, target, most)
    with tempfile.TemporaryDirectory(prefix="tunecheck-init-") as folder:
        kept = Path(folder, "snapshot.json")
        kept.write_bytes(content)
        return login, _looked(str(kept))


def _asked(login: Login, target: str, most: float) -> bytes:
    """Return the box's snapshot. UsageError with the next step where it gives none within ``most`` seconds."""
    import json
    import tempfile

    collect = fleet_part("collect", "init HOST")
    answers: list[Any] = []
    variables = {"ansible_host": login.address, **({"ansible_user": login.user} if login.user else {}),
                 **({"ansible_port": login.port} if login.port else {})}
    with tempfile.TemporaryDirectory(prefix="tunecheck-init-") as folder:
        hosts = Path(folder, "hosts.yml")
        hosts.write_text(json.dumps({"all": {"hosts": {"box": variables}}}), encoding="utf-8")
        options = collect.Options(source="live", deadline=most, doing=_doing(login.address or "", most))
        collected = collect.collect(str(hosts), None, options, answers.append, (("box", "all"),))
    if collected.interrupted:
        raise KeyboardInterrupt
    (answer,) = answers
    if not answer.content:
        failure, connecting = answer.reason or answer.status, fleet_part("connecting", "init HOST")
        slow = answer.reached and answer.status == "timeout"
        step = f"give it more time: tunecheck init {target} --timeout {round(3 * most)}s" if slow else \
            connecting.next_step(failure, login.address or "", login.user, typed=True, port=login.port)
        raise UsageError(f"{login.address}: {failure.rstrip('.')}; {step}", Misuse.UNREACHABLE)
    content: bytes = answer.content
    return content


def _doing(address: str, most: float) -> str:
    """Return the line that is shown meanwhile. It is never wrapped, so it fits into 80 columns, also with a long name
    of a host."""
    start, end = "init: reads ", f" (up to {most:.0f} s); Ctrl-C ends it, writes nothing"
    room = _COLUMNS - len(start) - len(end)
    return f"{start}{address if len(address) <= room else f'{address[:room - 3]}...'}{end}"


def _folder(name: str) -> Path:
    return Path("inventory", name)


def _there(folder: Path) -> bool:
    return folder.exists() or folder.is_symlink()


def _free(folder: Path) -> None:
    if _there(folder):
        raise UsageError(f"{folder}: exists already, and an inventory is never overwritten; choose another: -o DIR",
                         Misuse.ALREADY)


def _write(folder: Path, made: dict[str, str]) -> None:
    """Write all files of the inventory or none: they are written beside the place, then renamed."""
    import tempfile

    from ..util.interrupt import held
    from ..util.left_behind import wrote
    from ..util.safe_files import replace

    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as beside:
            ready = Path(beside, "inventory")
            for path, content in made.items():
                (ready / path).parent.mkdir(parents=True, exist_ok=True)
                replace(str(ready / path), content.encode(), 0o644)
            with held():
                ready.rename(folder)
                wrote(str(folder))
    except OSError as error:
        raise UsageError(f"{folder}: cannot be written ({error.strerror}); choose another place: -o DIR",
                         Misuse.UNWRITABLE) from None


def _spec_runs_here() -> bool:
    """Return whether `tunecheck spec show` finds here what reads an inventory: Ansible's program, and YAML."""
    from importlib.util import find_spec

    from ..spec.programs import beside

    try:
        beside("ansible-inventory")
    except UsageError:
        return False
    return find_spec("yaml") is not None


def _summary(draft: Draft, folder: Path, made: dict[str, str]) -> str:
    marked = [f"  {folder / path}:{number}" for path, content in made.items()
              for number, line in enumerate(content.splitlines(), 1) if "# CHANGE" in line]
    todo = [f"{len(marked)} line{'s' if len(marked) > 1 else ''} to complete, marked CHANGE:", *marked] if marked else [
        "every line was read from the box: nothing is marked CHANGE"]
    profile = draft.spec["profile"]
    shown = f"profile {profile}" if profile else "without a profile yet"
    where = "" if _spec_runs_here() else f"\n  not here, where it cannot run; {CONTROL_NODE}"
    return "\n".join([f"{folder}: an inventory for {draft.name}, {shown}",
                      *(f"  {line}" for line in draft.observations), *draft.contradictions, *todo,
                      f"a second box: a line in {folder}/hosts.yml; another kind: docs/rollout.md",
                      f"next: {'complete them, then: ' if marked else ''}tunecheck spec show -i {folder}{where}"])
