"""A golden candidate: the figure that our own counter measured, with everything about the box that could change it.
What the published figures do not record: GPU, driver, command line, image, revision, power limit, clocks, ACS."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..recipes.frozen import Recipe

if TYPE_CHECKING:
    from ..facts.snapshot import Snapshot
    from ..spec.frozen import Frozen

__all__ = ["SCHEMA", "candidate", "provenance", "why_not_golden"]

SCHEMA = "tunecheck/golden/1"
_TOLERANCE_PCT, _LEAST_SPREAD_PCT = 10.0, 3.0
#: Runs of a quiet box lie 1 to 3 % apart; a reference that is wider than its own tolerance holds nobody to anything.
_MOST_SPREAD_PCT = 5.0
_GPU = ("name", "uuid", "vbios", "power_limit_mw", "power_limit_default_mw")


def provenance(snapshot: Snapshot, frozen: Frozen | None, recipe: Recipe | None) -> dict[str, Any]:
    """Return the facts about the box behind a figure; None with a reason where one could not be read."""
    host, nvml = snapshot.host, snapshot.nvml.value
    kernel = host.kernel if host else None
    ports = {bdf: _acs(snapshot, bdf) for bdf in snapshot.topology.path_ports()}
    return {
        "host": snapshot.hostname.value, "boot_id": snapshot.boot_id.value,
        "kernel": kernel.release.value if kernel else None,
        "cmdline": " ".join(kernel.cmdline.value or ()) if kernel else None,
        "driver": host.driver.version.value if host else None,
        "driver_why_not": host.driver.version.why() if host and not host.driver.version.known else None,
        "spec_digest": frozen.digest if frozen else None,
        "acs": ports,
        "gpus": [{"bdf": gpu.bdf} | {key: gpu.values.get(key) for key in _GPU} for gpu in (nvml.gpus if nvml else ())],
        "gpus_why_not": None if nvml else snapshot.nvml.why(),
        "image_id": recipe.image.image_id if recipe else None,
        "image_digest": recipe.image.digest if recipe else None,
        "model": recipe.model.id if recipe else None,
        "revision": recipe.model.revision if recipe else None,
        "args": list(recipe.serve.args) if recipe else None,
        "env": dict(recipe.env) if recipe else None,
    }


def _acs(snapshot: Snapshot, bdf: str) -> str | None:
    acs = snapshot.topology.bridges[bdf].acs.value
    return f"0x{acs.ctl:04x}" if acs else None


def why_not_golden(data: dict[str, Any]) -> str:
    """Return why this figure cannot be the measure for other boxes, "" where it can: it is of a full acceptance that
    was passed, with all its runs, which lie close together."""
    figures = data["figures"]
    if data["exit_code"] or data["profile"] != "full" or len(figures["runs"]) < 3:
        return "only a full acceptance that passed can be golden"
    if figures["spread_pct"] > _MOST_SPREAD_PCT:
        return (f"its runs lie {figures['spread_pct']:.1f} % apart, expected at most {_MOST_SPREAD_PCT:g} %: let "
                "nothing else run, warm up, and measure again")
    return ""


def candidate(data: dict[str, Any], facts: dict[str, Any]) -> dict[str, Any]:
    """Return what may become a recipe's ``expected``, made of a passed acceptance's document."""
    figures = data["figures"]
    return {
        "schema": SCHEMA, "tunecheck": data["tunecheck"], "created": data["created"], "recipe": data["recipe"],
        "engine": data["engine"],
        "expected": {"metric": "decode_tok_s_c1", "value": figures["tok_s"], "tol_pct": _TOLERANCE_PCT,
                     "spread_pct": max(_LEAST_SPREAD_PCT, 2 * (figures["spread_pct"] or 0.0)),
                     "counted_by": figures["counted_by"],
                     "ttft_s": {str(point["prompt"]): point["ttft_s"] for point in figures["ladder"]}},
        "runs": figures["runs"], "provenance": facts,
        "note": "one server process: restart the engine and measure again before a recipe becomes golden, single runs "
                "of an autotuned engine vary by 15 %",
    }
