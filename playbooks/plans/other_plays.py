"""What the plays say at their end that have no plan: they would end without a word, and nobody knows what was done."""

from __future__ import annotations

from .command_line import NO_BREAK, again, named
from .parts import some

__all__ = ["closing", "not_handed_over"]

#: So many boxes get a line of their own.
_NAMED = 6


def closing(play, file, names):
    """Return the last words of a run of this play with --check. Empty where it says them itself."""
    if play == "audit.yml":
        audit = f"tunecheck audit{named() or ' -i INVENTORY'}".replace(" ", NO_BREAK)
        return ["The boxes were only read, as without --check. This play keeps nothing; an audit that is kept and "
                f"compared with the one before: {audit}"]
    if play == "preflight.yml":
        return [f"--check changes nothing of this play: on {some(names, 6)} the checks ran, the GPUs were measured "
                "where that was due, and the result is in /run/tunecheck and /var/lib/tunecheck there"]
    if play == "power_cycle.yml":
        return ["No box was power-cycled (--check).",
                *(f"  next, once nothing above is refused: {again(file, name)}" for name in names[:_NAMED]),
                *([f"  and so for {len(names) - _NAMED} more"] if len(names) > _NAMED else [])]
    return []


def not_handed_over(hosts, file):
    """Return why these hosts were left out of the hand-over. ``hosts``: name -> its variables."""
    away = sorted(name for name, variables in hosts.items() if variables.get("provision_quarantine"))
    without = sorted(name for name, variables in hosts.items()
                     if name not in away and not variables.get("inference_recipe"))
    told = []
    if away:
        told.append(f"Nothing is handed over to {some(away, 6)}: provision_quarantine is set there.")
    if without:
        told += [f"Nothing is handed over to {some(without, 6)}: inference_recipe is not set there.",
                 "  next: write inference_recipe: ID into group_vars or host_vars (the ids: tunecheck recipe list), "
                 f"then: {again(file, without[0])}"]
    return told
