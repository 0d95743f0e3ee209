"""The pinned image itself is asked which words its engine takes: its own --help, in a container without network, GPUs
or files of the host. Control node only: `tunecheck recipe lint --ask-image`.

A table of a version (options.py) is of the wheel; an image may hold a fork or patches, and only it knows."""

from __future__ import annotations

import re

from ..host.base import Unreadable
from ..host.live import LiveHost
from ..model.confinement import CONFINEMENT
from . import engines
from .frozen import Recipe
from .options import Table
from .rules.rule import Rule, Unknown, Verdict
from .rules.wording.option_known import unknown_words
from .to_pin import to_pin

__all__ = ["RULE", "ask", "table_of_help"]

#: Engines import PyTorch before they say anything: 20 to 40 s from a cold disk.
_SECONDS = 180.0
_HELP = {"vllm": ("--help=all",), "sglang": ("--help",), "llama.cpp": ("--help",)}
_MOST = 4 << 20
#: An option where argparse and llama.cpp put it: at the beginning of its line, or behind a comma.
_OPTION = re.compile(r"(?<![\w-])(--?[A-Za-z][A-Za-z0-9_.-]*)(?:[ =]\{([^}\n]{1,2000})\})?")
#: Fewer, and it was no help of an engine.
_LEAST = 20

RULE = Rule(
    "image-help", "reject",
    "an engine ends at a word that it does not know, and the image may be another than its version says",
    "the image's own --help",
    lambda recipe, box: None,       # asked only with --ask-image
)


def ask(door: LiveHost, recipe: Recipe, engine: str, which: str | None = None) -> Verdict | None:
    """Return what the image says of the recipe's words; None where it takes them all. ``engine``: podman or docker.
    ``which``: how a command names the recipe."""
    try:
        found = _asked(door, recipe, engine, which)
    except Unreadable as error:
        found = Unknown(f"{engine} could not be asked: {error.reason}")
    if found is None:
        return None
    if isinstance(found, Unknown):
        return Verdict(RULE, "unknown", found)
    why = recipe.overrides.get(RULE.id)
    return Verdict(RULE, "overridden" if why else "reject", found, why or "")


def _asked(door: LiveHost, recipe: Recipe, engine: str, which: str | None) -> str | None:
    name = recipe.engine.name
    if recipe.serve.command == () or name not in _HELP:
        return Unknown("the image has a launcher of its own, which has no --help that is known")
    if recipe.image.image_id is None:
        return Unknown("the image is not pinned, so nobody knows which one to ask; " + to_pin(recipe, which))
    image = recipe.image.image_id.removeprefix("sha256:")
    start = engines.start(recipe)
    done = door.run((engine, "run", "--rm", "--pull=never", "--network=none", *CONFINEMENT, f"--entrypoint={start[0]}",
                     image, *start[1:], *_HELP[name]), _SECONDS)
    said = (done.stdout + done.stderr)[:_MOST]
    table = table_of_help(name, said)
    if table is None:
        last = " ".join((said.strip().splitlines() or ["nothing"])[-1].split())[:200]
        pull = f"; if it is not there: {engine} pull {recipe.image.ref}" if recipe.image.ref else ""
        return Unknown(f"the image gave no help, {engine} ended with {done.returncode}: {last}{pull}")
    return unknown_words(recipe, table, f"the image {image[:12]}")


def table_of_help(engine: str, text: str) -> Table | None:
    """Return the options of a help text, with the choices that stand in braces behind them; None where it is no help
    text."""
    found: dict[str, list[str] | None] = {}
    for line in text.splitlines():
        # Options stand at the left; a sentence that names one is not its declaration.
        if not re.match(r"\s{0,8}-|\s*\[?-|usage:", line):
            continue
        for option, choices in _OPTION.findall(line):
            given = [each.strip().strip("'\"") for each in choices.split(",")] if choices else None
            found[option] = given or found.get(option)
    # An abbreviated list, "{a,b,...}", is not all of it.
    whole = {option: None if choices and "..." in choices else choices for option, choices in found.items()}
    return Table(engine, "its image", whole, None) if len(whole) >= _LEAST else None
