"""What one acceptance asks of a server, in what sizes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..errors import UsageError
from ..recipes.frozen import Canary, Recipe
from .prompts import CANARIES

__all__ = ["LADDER", "Plan", "numbers", "plan_for"]

#: Prompt tokens of the TTFT ladder; "max" is the most that the model takes.
LADDER = "4K,16K,57K,max"
_EXAMPLES = {"--ladder": "512,4K,16K", "--concurrency": "1,4,16"}


@dataclass(frozen=True)
class Plan:
    """``warm_ups`` and ``runs`` of ``tokens`` each at one stream, a ``ladder`` of prompt tokens (0: the model's limit),
    ``concurrency``: streams at once, each of ``stream_tokens``."""

    profile: str
    runs: int
    tokens: int
    warm_ups: int
    ladder: tuple[int, ...]
    concurrency: tuple[int, ...]
    canaries: tuple[Canary, ...]
    stream_tokens: int = 256
    ladder_tokens: int = 16


def plan_for(profile: str, recipe: Recipe | None, ladder: str | None, concurrency: str | None, scale: float) -> Plan:
    """``boot``: canaries and one run of 256 tokens, since a failing ExecStartPost keeps the engine down; ``full``: 3 of
    1000 with both ladders. ``scale`` shrinks prompts for small models."""
    asked = recipe.canaries if recipe and recipe.canaries else CANARIES
    canaries = tuple(replace(each, context=int(each.context * scale)) for each in asked)
    streams = numbers("--concurrency", concurrency) if concurrency else ()
    if any(not 1 <= each <= 4096 for each in streams):
        raise UsageError(f"--concurrency {concurrency}: expected numbers of streams from 1 to 4096, as in 1,4,16")
    if profile == "boot":
        return Plan(profile, 1, 256, 1, (), streams, canaries)
    points = () if ladder == "none" else numbers("--ladder", ladder or LADDER)
    return Plan(profile, 3, 1000, 2, tuple(int(each * scale) for each in points), streams, canaries)


def numbers(option: str, text: str) -> tuple[int, ...]:
    """``4K,16K,max`` as 4096, 16384, 0."""
    found = []
    for part in text.split(","):
        match = re.fullmatch(r"(?:(\d{1,7})(K?)|max)", part.strip())
        if not match or (match[1] and not int(match[1])):
            raise UsageError(f"{option} {text}: expected numbers separated by commas, as in {_EXAMPLES[option]}")
        found.append(int(match[1]) * (1024 if match[2] else 1) if match[1] else 0)
    return tuple(found)


def fits(points: Sequence[int], limit: int | None, beside: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The ladder's points that a model of ``limit`` tokens takes with ``beside`` more, ascending; and those too long.
    Without a limit its point is left out."""
    room = None if limit is None else max(0, limit - beside)
    wanted = sorted({room if each == 0 else each for each in points if each or room} - {None})  # type: ignore[type-var]
    whole = [each for each in wanted if each is not None]
    return tuple(each for each in whole if room is None or each <= room), tuple(
        each for each in whole if room is not None and each > room)
