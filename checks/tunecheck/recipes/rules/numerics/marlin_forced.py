"""marlin-forced: vLLM takes Marlin only by --moe-backend marlin; VLLM_MOE_FORCE_MARLIN is no variable of it."""

from __future__ import annotations

from ...box import Box
from ...frozen import Recipe
from ..bounds import Bounds
from ..rule import Rule, value

_VOID, _OPTION = "VLLM_MOE_FORCE_MARLIN", "--moe-backend"


def violation(recipe: Recipe, box: Box | None) -> str | None:
    if recipe.engine.name != "vllm":
        return None
    stated, chosen = value(recipe, _OPTION), recipe.engine.moe_backend
    if chosen == "marlin" and stated != "marlin":
        void = f", and {_VOID} in env does nothing" if _VOID in recipe.env else ""
        return f"engine.moe_backend is marlin and args have {_OPTION} {stated or 'not at all'}{void}; expected " \
               f'args: [{_OPTION}, marlin]'
    if _VOID in recipe.env:
        return f"env has {_VOID}, which no vLLM reads; take it out"
    if stated == "marlin" and chosen != "marlin":
        return f"args have {_OPTION} marlin and engine.moe_backend is {chosen or 'null'}; expected marlin there too"
    return None


RULE = Rule(
    "marlin-forced", "reject",
    "vLLM takes Marlin only by --moe-backend marlin; VLLM_MOE_FORCE_MARLIN is no variable of it",
    "vLLM 0.17.0, 0.18.0, 0.19.1 and 0.33.0 log \"Unknown vLLM environment variable\", 2026-11-22; vllm-project/vllm "
    "issue 36094, 2026-03",
    violation,
    bounds=Bounds(
        {"vllm": ">=0.17.0,<0.34.0"},
        "--moe-backend is an option of 0.17.0 to 0.33.0 and not of 0.16.0, VLLM_MOE_FORCE_MARLIN is in none of them: "
        "wheels 0.16.0, 0.17.0, 0.18.0, 0.19.1, 0.20.0, 0.21.0, 0.27.1 and 0.33.0, read 2026-11-23"),
)
