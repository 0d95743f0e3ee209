"""``tunecheck recipe``: configurations of a served model, linted, pinned and rendered. Runs on the control node."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import click

from ..errors import Misuse, UsageError
from .unread_input import from_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..recipes.box import Box
    from ..recipes.load import Loaded
    from ..recipes.rules.rule import Verdict

__all__ = ["recipe"]

_ORDER = ("reject", "unknown", "overridden", "warn")


@click.group()
def recipe() -> None:
    """On the control node: what is served, and its pins."""


@recipe.command("list")
def show_all() -> None:
    """List the recipes that ship with tunecheck."""
    from ..recipes.load import load, names
    from ..recipes.table import table
    from ..report.style import style_for

    every = [load(name).frozen for name in names()]     # before the first line is out: what is missing here says so
    click.echo(table(every, style_for(sys.stdout).width))


@recipe.command()
@click.argument("which", metavar="ID|FILE")
@click.option("--lock", "lock_file", metavar="FILE", help="Its lock, if not beside it.")
@click.option("--json", "as_json", is_flag=True, help="The frozen recipe as JSON, also of a draft.")
def show(which: str, lock_file: str | None, as_json: bool) -> None:
    """Print a recipe with its pins, its sources and what the rules say."""
    from ..recipes.load import load
    from ..recipes.rules import judge
    from ..recipes.stored import to_json

    found = load(which, lock_file)
    if as_json:
        click.echo(to_json(found.frozen), nl=False)
        return
    click.echo(_shown(found))
    _print(found, judge(found.frozen, None, found.which))


def _shown(found: Loaded) -> str:
    from dataclasses import asdict

    from ..recipes.to_pin import to_pin
    from ..spec.merge import leaves

    plain, pins = asdict(found.frozen), found.lock
    for hidden in ("source", "overrides"):
        plain.pop(hidden)
    for model in (plain["model"]["files"], plain["speculative"]["drafter_files"]):
        count = len(model)
        model.clear()
        model.update({"count": count})
    lines = [f"{path} = {json.dumps(value)}" for path, value in leaves(plain)]
    lines += [f"source: {text}" for text in found.source.sources] + [f"note: {text}" for text in found.source.notes]
    lines += [f"not pinned: {text}" for text in found.source.unpinned if pins is None]
    lines.append(f"lock: {pins.created}, {pins.image.asked}, {pins.model.asked}" if pins else
                 f"lock: none; {to_pin(found.frozen, found.which)}")
    return "\n".join(lines)


@recipe.command()
@click.argument("which", metavar="[ID|FILE]...", nargs=-1)
@click.option("--lock", "lock_file", metavar="FILE", help="Its lock, if not beside it; for one recipe.")
@from_option("PATH", "Also judge for the box of this recording or snapshot.")
@click.option("--live", is_flag=True, help="Also judge for this machine.")
@click.option("--ask-image", "engine", is_flag=False, flag_value="podman", type=click.Choice(["podman", "docker"]),
              metavar="[ENGINE]", help="Also ask the pinned image which words its engine takes; podman by default.")
def lint(which: tuple[str, ...], lock_file: str | None, source: str | None, live: bool, engine: str | None) -> None:
    """Judge recipes by the compatibility rules; all of them without ID.

    Exit code 1 where a rule rejects, 3 where the box or the image does not tell enough."""
    from ..recipes.load import load, names
    from ..recipes.rules import judge

    if lock_file is not None and len(which) != 1:
        raise UsageError("--lock: belongs to one recipe; name it", Misuse.DOES_NOT_BELONG)
    if source is not None and live:
        raise UsageError("--from and --live exclude each other; drop one of them", Misuse.DOES_NOT_BELONG)
    box = _box(source) if source is not None or live else None
    outcomes: list[str] = []
    if box is not None:
        from ..recipes.fit import shown

        click.echo(f"judged for a box with {shown(box)}")
    for name in which or names():
        found = load(name, lock_file)
        verdicts = judge(found.frozen, box, found.which)
        if engine is not None:
            verdicts += _asked(found, engine)
        _print(found, verdicts, box)
        outcomes += [each.outcome for each in verdicts]
    raise SystemExit(1 if "reject" in outcomes else 3 if "unknown" in outcomes else 0)


def _asked(found: Loaded, engine: str) -> list[Verdict]:
    from ..host.live import LiveHost
    from ..recipes.ask import ask

    door = LiveHost()
    try:
        answers = ask(door, found.frozen, engine, found.which)
    finally:
        door.close()
    return [] if answers is None else [answers]


def _box(source: str | None) -> Box:
    from ..app.read_host import look
    from ..recipes.box import box_of

    return box_of(look("preflight", None, source)[1])


def _print(found: Loaded, verdicts: Sequence[Verdict], box: Box | None = None) -> None:
    from ..recipes.fit import fit
    from ..report.style import style_for, wrap

    width = style_for(sys.stdout).width if sys.stdout.isatty() else 0
    worst = next((word for word in _ORDER if any(each.outcome == word for each in verdicts)), "ok")
    click.echo(f"{found.source.id}: {worst}")
    if box is not None and (has := fit(found.frozen, verdicts, box)):
        text = f"  {'fits':<10} this box has what the recipe requires: {has}"
        click.echo("\n".join(wrap(text, width, hang=11)) if width else text)
    for each in sorted(verdicts, key=lambda verdict: _ORDER.index(verdict.outcome)):
        if not width:       # in a pipe one line each
            click.echo(f"  {each.outcome:<10} {each.message}")
            continue
        first, *more = each.lines
        lines = wrap(f"  {each.outcome:<10} {first}", width, hang=11)
        for line in more:
            lines += wrap(f"{' ' * 13}{line}", width)
        click.echo("\n".join(lines))


@recipe.command()
@click.argument("which", metavar="ID|FILE")
@click.option("-o", "--output", metavar="FILE", help="Default: <id>.lock.json beside the recipe.")
@click.option("--engine", type=click.Choice(["podman", "docker"]), default="podman", show_default=True,
              help="Whose storage holds an image named localhost/...")
@click.option("--model-dir", metavar="DIR", help="The model's files, where no hub has it.")
@click.option("--revision", metavar="REV", help="Branch, tag or commit of the model, if not main.")
def pin(which: str, output: str | None, engine: str, model_dir: str | None, revision: str | None) -> None:
    """Resolve the image and the model, and write the lock.

    The image is asked for with skopeo, whose logins are used; the model at HF_ENDPOINT with HF_TOKEN."""
    from ..host.live import LiveHost
    from ..recipes.load import load
    from ..recipes.lock import lock_beside, lock_text
    from ..recipes.pin import pin as resolve
    from ..util.whole_file import check_writable, write_file

    found = load(which, pinned=False)
    place = output or str(lock_beside(found.path))
    check_writable(place)
    door = LiveHost()
    try:
        lock = resolve(door, found.source, found.which, engine, model_dir, revision)
    finally:
        door.close()
    write_file(place, lock_text(lock).encode(), 0o644, "lock")
    click.echo(f"{place}: {lock.image.asked} is {lock.image.digest[:19]}, image id {lock.image.image_id[:19]}")
    for model in (lock.model, lock.drafter):
        if model is not None:
            count = len(model.files)
            click.echo(f"{place}: {model.id} is {model.revision}, {count} file{'s' if count > 1 else ''}")


@recipe.command()
@click.argument("which", metavar="ID|FILE")
@click.option("--lock", "lock_file", metavar="FILE", help="Its lock, if not beside it.")
@click.option("-o", "--output", metavar="FILE", help="Write there, not to standard output.")
@click.option("--command", "as_command", is_flag=True, help="The container's command line instead, one word a line.")
@click.option("--engine", type=click.Choice(["podman", "docker"]), default="podman", show_default=True,
              help="For --command.")
@click.option("--models", metavar="DIR", default="/srv/models", show_default=True, help="For --command.")
def render(which: str, lock_file: str | None, output: str | None, as_command: bool, engine: str, models: str) -> None:
    """Write the frozen recipe that a box serves; only what is pinned and not rejected."""
    from ..recipes.command import Paths, argv
    from ..recipes.handoff import servable
    from ..recipes.stored import to_json
    from ..util.whole_file import emit, write_file

    frozen = servable(which, lock_file)
    try:
        text = "\n".join(argv(frozen, engine, Paths(models=models))) + "\n" if as_command else to_json(frozen)
    except ValueError as error:
        raise UsageError(f"{which}: {error}", Misuse.MALFORMED) from None
    if output is None:
        emit(text)
        return
    write_file(output, text.encode(), 0o644, "recipe")
    click.echo(f"{output}: {frozen.id}, {frozen.status}", err=True)
