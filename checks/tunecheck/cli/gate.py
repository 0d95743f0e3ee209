"""tunecheck gate: refuse to start a container on a box that is not proven, in one line per reason."""

from __future__ import annotations

import sys
from contextlib import suppress

import click

from ..errors import UsageError
from ..util.durations import seconds

__all__ = ["gate"]


@click.command()
@click.option("--recipe", "recipe_file", metavar="FILE", help="Also: this frozen recipe's image and model are here.")
@click.option("--models", metavar="DIR", default="/srv/models", show_default=True, help="Where models lie.")
@click.option("--pass", "pass_file", metavar="FILE", default="/run/tunecheck/pass.json", show_default=True,
              help="What preflight --pass left.")
@click.option("--max-age", metavar="TIME", default="15m", show_default=True, help="How old it may be: 90s, 15m, 2h.")
@click.option("--spec", "spec_file", metavar="FILE", help="The spec in force, if not /etc/tunecheck/spec.json.")
def gate(recipe_file: str | None, models: str, pass_file: str, max_age: str, spec_file: str | None) -> None:
    """Say whether a container may start on this box.

    Preflight must have passed in this boot, and a measurement of its GPUs must still hold. Exit code 1 and one line for
    each reason where it may not; the first begins with "closed:"."""
    from ..facts.measured_pass import measurable
    from ..facts.spec_file import read_spec
    from ..gate import judge, measured, passed
    from ..gate.image import image_id
    from ..gate.measure import key_now
    from ..gate.model_files import problems
    from ..gate.reason import sentences
    from ..gate.state import state
    from ..host.live import LiveHost
    from ..host.notify import refused, tell
    from ..recipes.stored import load_recipe
    from ..report.style import fitted
    from ..spec.frozen import Spec
    from ..util.whole_file import emit

    limit = seconds("--max-age", max_age)
    recipe, digest = load_recipe(recipe_file) if recipe_file else (None, "")
    door = LiveHost()
    try:
        frozen = read_spec(door, spec_file, False)
        now = state(door)
        spec = frozen.spec if frozen else Spec()
        try:
            # First: a pass that is made without a specification opens nothing.
            reasons = sentences([judge.no_spec()] if frozen is None else judge.of_pass(
                passed.read(pass_file), now, frozen.digest, limit, passed.again(pass_file)))
            asked = spec.gate.measured != "never" and measurable(spec.accelerators, now.gpus.value)
            if not reasons and asked:
                # Asked last: where preflight did not pass, it did not measure either.
                found = measured.read(measured.path_beside(pass_file), passed.again(pass_file))
                pinned = recipe.image.image_id if recipe is not None else found.key.image
                reasons = sentences(judge.of_measured(found, key_now(door, spec, found.key, pinned or ""), now,
                                                      spec.gate.measured == "each-boot", passed.again(pass_file)))
        except UsageError as error:
            reasons = [str(error)]
        if recipe is not None and not reasons:
            engine = "podman" if spec.runtime.engine == "leave" else spec.runtime.engine
            image = image_id(door, engine, recipe.image.image_id or "none")
            wrong = tuple(f"{each.file} {each.text}" for model in recipe.models for each in problems(models, model))
            reasons = sentences(judge.of_recipe(recipe, now, judge.Offer(image, wrong)))
    finally:
        door.close()
    if reasons:
        refused(f"gate closed: {reasons[0]}")      # the line Status of `systemctl status`
        for word, reason in zip(("closed", *("also",) * len(reasons)), reasons, strict=False):
            click.echo(fitted(f"tunecheck gate: {word}: {reason}", sys.stderr), err=True)
        raise SystemExit(1)
    tell("gate open, starting")
    with suppress(UsageError):      # a full log disk does not keep a proven box from serving
        emit("tunecheck gate: open" + (f": {recipe.id} {digest[:19]}" if recipe else "") + "\n")
