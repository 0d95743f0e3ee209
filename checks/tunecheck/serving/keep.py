"""Make of a passed acceptance what a watch may hold the engine to."""

from __future__ import annotations

import os
import statistics
from pathlib import Path

from ..recipes.frozen import Recipe
from .accepted import GPUS, MOST_TEXT, Accepted, Question, addresses
from .figures import rates
from .measured import Measured
from .plan import Plan
from .verdict import answered

__all__ = ["of"]

#: A shorter prompt's time to the first token is the time of a step, not of a prompt.
_LONG = 1024
#: Tokens beyond those that the right answer took: the same question is answered alike, not in the same words.
_MORE = 32


def of(seen: Measured, plan: Plan, recipe: Recipe | None, digest: str, model: str, api: str,
       boot_id: str) -> Accepted | None:
    """Return what a passed acceptance leaves on the box; None where no speed was measured. It is called where the
    server runs, in the unit that runs it: INVOCATION_ID is systemd's."""
    found = rates(seen)
    if not found:
        return None
    prompts = [read / run.first_s for run in seen.runs
               if run.usage and run.first_s and not run.broken and run.kind in ("canary", "ladder", "needle")
               and (read := run.usage.prompt - (run.usage.cached or 0)) >= _LONG]
    try:
        gpus = addresses([each.name for each in Path(GPUS).iterdir()])
    except OSError:
        gpus = ()
    return Accepted(boot_id, os.environ.get("INVOCATION_ID", ""), digest,
                    (recipe.image.image_id if recipe else None) or "", gpus, statistics.median(found),
                    max(prompts, default=None), model or seen.model, api, _question(seen, plan))


def _question(seen: Measured, plan: Plan) -> Question | None:
    """Return the question with the shortest right answer and no filler before it; None where there is none, or it is
    too long to be kept."""
    told = []
    for canary in plan.canaries:
        runs = [run for run in seen.of("canary") if run.expect == canary.expect]
        short = max(len(canary.prompt.encode()), len(canary.expect.encode())) <= MOST_TEXT
        if short and not canary.context and runs and all(answered(run) and not run.broken for run in runs):
            told.append((max(run.tokens for run in runs), canary))
    if not told:
        return None
    tokens, canary = min(told, key=lambda each: each[0])
    return Question(canary.prompt, canary.expect, min(canary.tokens, tokens + _MORE))
