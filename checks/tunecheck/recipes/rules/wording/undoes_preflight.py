"""undoes-preflight: it switches off what preflight proved, or the warm-up that the first request then pays for."""

from __future__ import annotations

from ...box import Box
from ...frozen import Recipe
from ..rule import Rule, has


def violation(recipe: Recipe, box: Box | None) -> str | None:
    if recipe.requires.p2p and recipe.env.get("NCCL_P2P_DISABLE", "0") not in ("0", ""):
        return "env sets NCCL_P2P_DISABLE and requires.p2p is true"
    if has(recipe, "--skip-server-warmup"):
        return "args have --skip-server-warmup"
    return None


RULE = Rule(
    "undoes-preflight", "reject",
    "it switches off what preflight proved, or the warm-up that the first request then pays for",
    "tunecheck's own p2p checks; NCCL documentation of NCCL_P2P_DISABLE, 2026-11",
    violation,
    unbounded="it is about NCCL's variables and the warm-up, which every release has",
)
