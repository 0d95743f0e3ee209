"""Which releases of an engine a rule was shown to be true of, and where a recipe's release lies among them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..frozen import Engine
from ..options import covers, overlap, within

__all__ = ["ENDED", "SHOWN", "UNSHOWN", "Bounds"]

SHOWN, ENDED, UNSHOWN = "shown", "ended", "unshown"


@dataclass(frozen=True)
class Bounds:
    """The releases of engines for which a rule holds. ``shown``: by engine, as engine.versions is written, the releases
    that the rule was shown to be true of. ``ended``: those of which it was shown to be true no more. Of all others
    nobody knows. ``source``: what was read or measured, and when."""

    shown: Mapping[str, str]
    source: str
    ended: Mapping[str, str] = field(default_factory=dict)

    def place(self, engine: Engine) -> str:
        """Return where the engine's release lies: SHOWN, ENDED or UNSHOWN. A recipe that names no release may be any;
        one with bounds is judged by the worst of its releases."""
        shown, ended = self.shown.get(engine.name), self.ended.get(engine.name)
        if engine.version is not None:
            return SHOWN if shown and within(engine.version, shown) else (
                ENDED if ended and within(engine.version, ended) else UNSHOWN)
        if engine.versions is not None:
            return SHOWN if shown and overlap(engine.versions, shown) else (
                ENDED if ended and covers(ended, engine.versions) else UNSHOWN)
        return SHOWN if shown else UNSHOWN

    def __str__(self) -> str:
        return ", ".join(f"{engine} {versions}" for engine, versions in self.shown.items())
