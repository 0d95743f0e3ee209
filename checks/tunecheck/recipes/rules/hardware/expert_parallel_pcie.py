"""expert-parallel-pcie: expert parallelism over PCIe fell to 1.4-2.6 tok/s; it needs NVLink."""

from __future__ import annotations

from ...box import Box
from ...frozen import Recipe
from ..bounds import Bounds
from ..rule import Rule, has


def violation(recipe: Recipe, box: Box | None) -> str | None:
    asked = has(recipe, "--enable-expert-parallel") or recipe.parallel.ep > 1
    if asked and recipe.requires.topology != "NVLINK":
        return f"experts are spread over GPUs and requires.topology is {recipe.requires.topology}"
    return None


RULE = Rule(
    "expert-parallel-pcie", "reject",
    "expert parallelism over PCIe fell to 1.4-2.6 tok/s; it needs NVLink",
    "vllm-project/vllm issue 36094, 2026-03; exception by hand: 8 GPUs on switches with patched SGLang, 350 tok/s"
    " (wiki)",
    violation,
    bounds=Bounds({"vllm": ">=0.17.0,<0.18.0"}, "measured with 0.17.0rc1, 2026-03; no other release was measured"),
)
