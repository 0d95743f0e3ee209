"""Compatibility rules: each a file of its name, with its reason, its source, and whether a recipe may override it."""

from __future__ import annotations

from importlib import import_module

from ..box import Box
from ..frozen import Recipe
from .rule import Rule, Unknown, Verdict

__all__ = ["RULES", "judge"]

_NAMES = (
    "b12x-format", "quantization-flag", "quantization-redundant", "graphs-one-gpu", "marlin-speculation",
    "expert-parallel-pcie", "eager-mode", "tensorrt-sm120", "cutlass-auto", "marlin-forced", "sglang-058-nan",
    "flashinfer-sampler", "image-python", "gpu-capability", "gpu-count", "gpu-memory", "gpu-topology",
    "parallel-product", "p2p-host", "oneshot-segments", "sglang-compressed-nan", "not-pinned", "golden-counted",
    "undoes-preflight", "oneshot-version", "ttft-context", "figure-advisory", "draft", "driver-minimum",
    "speculation-args", "secret-stated", "option-known", "option-nowhere", "option-value", "weights-memory",
)
#: By id, in the order in which they speak.
RULES: dict[str, Rule] = {
    name: import_module(f".{name.replace('-', '_')}", __package__).RULE for name in _NAMES
}


def judge(recipe: Recipe, box: Box | None = None) -> list[Verdict]:
    """What the rules have to say: nothing where all is well. Without a box those that ask for one stay silent."""
    found = []
    for rule in RULES.values():
        text = rule.says(recipe, box)
        if text is None:
            continue
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
