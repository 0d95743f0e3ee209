"""What one acceptance asks of a server, in what sizes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..errors import Misuse, UsageError
from ..recipes.frozen import Canary, Recipe
from ..util.durations import seconds as duration
from .load import LoadPlan
from .prompts import CANARIES

__all__ = ["LADDER", "Plan", "limits_of", "load_for", "numbers", "plan_for", "rates_of"]

#: Prompt tokens of the TTFT ladder; "max" is the most that the model takes.
LADDER = "4K,16K,57K,max"
_EXAMPLES = {"--ladder": "512,4K,16K", "--concurrency": "1,4,16"}


@dataclass(frozen=True)
class Plan:
    """What one acceptance asks: ``warm_ups`` and ``runs`` of ``tokens`` each at one stream, a ``ladder`` of prompt
    tokens (0: the model's limit), ``concurrency``: streams at once, each of ``stream_tokens``."""

    profile: str
    runs: int
    tokens: int
    warm_ups: int
    ladder: tuple[int, ...]
    concurrency: tuple[int, ...]
    canaries: tuple[Canary, ...]
    stream_tokens: int = 256
    ladder_tokens: int = 16
    load: LoadPlan | None = None


def plan_for(profile: str, recipe: Recipe | None, ladder: str | None, concurrency: str | None, scale: float) -> Plan:
    """Return the plan of a profile. ``boot``: canaries and one run of 256 tokens, since a failing ExecStartPost keeps
    the engine down; ``full``: 3 of 1000 with both ladders. ``scale`` shrinks prompts for small models. UsageError for a
    list of numbers that is none."""
    asked = recipe.canaries if recipe and recipe.canaries else CANARIES
    canaries = tuple(replace(each, context=int(each.context * scale)) for each in asked)
    streams = numbers("--concurrency", concurrency) if concurrency else ()
    if any(not 1 <= each <= 4096 for each in streams):
        raise UsageError(f"--concurrency {concurrency}: expected numbers of streams from 1 to 4096, as in 1,4,16",
                         Misuse.MALFORMED)
    if profile == "boot":
        return Plan(profile, 1, 256, 1, (), streams, canaries)
    points = () if ladder == "none" else numbers("--ladder", ladder or LADDER)
    return Plan(profile, 3, 1000, 2, tuple(int(each * scale) for each in points), streams, canaries)


def load_for(seconds: float, streams: tuple[int, ...], rates: str | None, slo: Sequence[str],
             size: int) -> LoadPlan:
    """Return the plan of a load. ``rates``: requests a second, as ``0.5,2``; ``slo``: ``ttft=2s`` each; ``size``: words
    of filler a prompt. UsageError for what cannot be understood."""
    found, limits = rates_of(rates), limits_of(slo)
    if not found and not streams:
        raise UsageError("--sustain: expected a load to sustain; give --concurrency 1,4,16 or --rate 2",
                         Misuse.DOES_NOT_BELONG)
    return LoadPlan(seconds, streams, found, words=size, slo=limits)


def rates_of(rates: str | None) -> tuple[float, ...]:
    """Return the rates of a load. UsageError for a text that is none."""
    found = []
    for part in rates.split(",") if rates else ():
        if not re.fullmatch(r"\d{1,4}(\.\d{1,3})?", part.strip()) or not 0.01 <= float(part) <= 1000:
            raise UsageError(f"--rate {rates}: expected 0.01 to 1000 requests a second, as in 0.5,2,8",
                             Misuse.MALFORMED)
        found.append(float(part))
    return tuple(found)


def limits_of(slo: Sequence[str]) -> dict[str, float]:
    """Return the seconds within which a request counts as good, by name. UsageError for a text that is none."""
    limits = {}
    for each in slo:
        name, equals, text = each.partition("=")
        if not equals or name not in ("ttft", "itl", "e2e"):
            raise UsageError(f"--slo {each}: expected ttft, itl or e2e, as in ttft=2s or itl=0.05", Misuse.MALFORMED)
        limits[name] = duration(f"--slo {name}", text)
    return limits


def numbers(option: str, text: str) -> tuple[int, ...]:
    """Return the numbers of an option: ``4K,16K,max`` as 4096, 16384, 0. UsageError for any other text."""
    found = []
    for part in text.split(","):
        match = re.fullmatch(r"(?:(\d{1,7})(K?)|max)", part.strip())
        if not match or (match[1] and not int(match[1])):
            raise UsageError(f"{option} {text}: expected numbers separated by commas, as in {_EXAMPLES[option]}",
                             Misuse.MALFORMED)
        found.append(int(match[1]) * (1024 if match[2] else 1) if match[1] else 0)
    return tuple(found)


def fits(points: Sequence[int], limit: int | None, beside: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the ladder's points that a model of ``limit`` tokens takes with ``beside`` more, ascending; and those too
    long. Without a limit the point of the model's limit (0) is left out."""
    room = None if limit is None else max(0, limit - beside)
    wanted = sorted({room if each == 0 else each for each in points if each or room} - {None})  # type: ignore[type-var]
    whole = [each for each in wanted if each is not None]
    return tuple(each for each in whole if room is None or each <= room), tuple(
        each for each in whole if room is not None and each > room)
