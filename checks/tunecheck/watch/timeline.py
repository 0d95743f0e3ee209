"""The last minutes before a stall: what was seen at each look, for the evidence and its plot."""

from __future__ import annotations

from collections import deque
from typing import Any

from .model import Seen

__all__ = ["MOST", "Timeline"]

#: Looks that are kept: ten minutes of one a second, 1.5 MB with eight GPUs.
MOST = 600


class Timeline:
    """Keeps the newest looks."""

    def __init__(self) -> None:
        self._looks: deque[tuple[float, Seen]] = deque(maxlen=MOST)

    def add(self, seen: Seen, at: float) -> None:
        """``at``: seconds since 1970."""
        self._looks.append((at, seen))

    def rows(self) -> tuple[dict[str, Any], ...]:
        """Oldest first. ``reasons``: codes, and what they are about; ``generated``: tokens since the engine's start;
        ``gpus``: by address, utilisation of SMs and memory in %, power in mW, KiB over its links since some time. None
        for what was not told."""
        return tuple({"at": round(at, 2), "state": seen.state.value, "frozen": round(seen.frozen, 1),
                      "running": seen.engine.running, "waiting": seen.engine.waiting,
                      "generated": seen.engine.generated,
                      "reasons": [" ".join(filter(None, (each.code.value, each.subject))) for each in seen.reasons],
                      "gpus": {each.bdf: [each.gpu, each.memory, each.power_mw, each.link_kib]
                               for each in seen.gpus or ()}}
                     for at, seen in self._looks)
