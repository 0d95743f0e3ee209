"""oneshot-version: oneshot all-reduce wins 5 % with b12x 0.7.x and loses 3-7 % with 0.8.3: the flag belongs to one
image.
"""

from __future__ import annotations

from ...box import Box
from ...frozen import Recipe
from ..rule import Rule, has


def violation(recipe: Recipe, box: Box | None) -> str | None:
    if has(recipe, "--enable-pcie-oneshot-allreduce"):
        return "args have --enable-pcie-oneshot-allreduce; measure with and without it on this image"
    return None


RULE = Rule(
    "oneshot-version", "warn",
    "oneshot all-reduce wins 5 % with b12x 0.7.x and loses 3-7 % with 0.8.3: the flag belongs to one image",
    "rtx6kpro wiki (Visual-Synthesizer and local-inference-lab), 2026-05, b650d4u-2gpu.md, 2026-04-12",
    violation,
    unbounded="the option is a fork's: no release in the tables has it, and a fork's versions are not the engine's",
)
