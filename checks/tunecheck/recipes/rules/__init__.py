"""Compatibility rules: each a file of its name in the folder of its subject, with its reason, its source, and whether a
recipe may override it."""

from __future__ import annotations

from importlib import import_module

from ..box import Box
from ..frozen import Recipe
from .rule import Rule, Unknown, Verdict

__all__ = ["RULES", "judge"]

_NAMES = (
    "numerics/b12x-format", "numerics/quantization-flag", "numerics/quantization-redundant", "hardware/graphs-one-gpu",
    "numerics/marlin-speculation", "hardware/expert-parallel-pcie", "wording/eager-mode", "numerics/tensorrt-sm120",
    "numerics/cutlass-auto", "numerics/marlin-forced", "numerics/sglang-058-nan", "numerics/flashinfer-sampler",
    "wording/image-python", "hardware/gpu-capability", "hardware/gpu-count", "hardware/gpu-memory",
    "hardware/gpu-topology", "hardware/parallel-product", "hardware/p2p-host", "hardware/oneshot-segments",
    "numerics/sglang-compressed-nan", "wording/not-pinned", "wording/golden-counted", "wording/undoes-preflight",
    "hardware/oneshot-version", "wording/ttft-context", "wording/figure-advisory", "wording/draft",
    "hardware/driver-minimum", "numerics/speculation-args", "wording/secret-stated", "wording/option-known",
    "wording/option-nowhere", "wording/option-value", "hardware/weights-memory",
)
#: By id, in the order in which they speak.
RULES: dict[str, Rule] = {
    name.partition("/")[2]: import_module(f".{name.replace('/', '.').replace('-', '_')}", __package__).RULE
    for name in _NAMES
}


def judge(recipe: Recipe, box: Box | None = None, which: str | None = None) -> list[Verdict]:
    """Return what the rules find wrong with the recipe: nothing where all is well. Without a box the rules that ask for
    one say nothing. ``which``: how a command names the recipe."""
    found = []
    for rule in RULES.values():
        text = rule.violation(recipe, box)
        if text is None:
            continue
        if rule.way_out is not None:
            text = f"{text}; {rule.way_out(recipe, which)}"
        why = recipe.overrides.get(rule.id) if rule.overridable else None
        weighed = ("unknown", str(text)) if isinstance(text, Unknown) else rule.weighed(recipe.engine, text)
        if weighed is None:
            continue
        outcome, text = weighed
        # A board that the rule's table does not know is no reason for ever.
        if why is not None and (outcome == "reject" or (outcome == "unknown" and rule.severity == "reject")):
            found.append(Verdict(rule, "overridden", text, why))
        else:
            found.append(Verdict(rule, outcome, text))
    return found
