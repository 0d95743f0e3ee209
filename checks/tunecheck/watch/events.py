"""What happened keeps a box degraded for a while; a GPU that fell off the bus is gone until it answers again. Pure."""

from __future__ import annotations

from .model import Code, Look, Reason

__all__ = ["Events"]

#: Of one code, so that a flood of one hides no other; and of GPUs.
_MOST = 40
#: In seconds: a sample of before the fall may come after its message.
_SURE = 30.0


class Events:
    """``hold``: so many seconds."""

    def __init__(self, hold: float) -> None:
        self._hold = hold
        self._held: dict[tuple[object, ...], tuple[float, Reason]] = {}
        self._fell: dict[str, tuple[float, Reason]] = {}

    def judge(self, look: Look, before: Look | None) -> list[Reason]:
        """Those of this look and of the time that counts."""
        for each in (*look.events, *_restarted(look, before)):
            # Two Xids of one GPU are two; a count that grows is one.
            apart = each.numbers if each.code in (Code.XID, Code.SXID) else ()
            key = each.code, each.subject, apart
            if each.code is Code.GPU_GONE:
                if each.subject in self._fell or len(self._fell) < _MOST:
                    self._fell[each.subject] = (look.at, each)
            elif key in self._held or sum(kept.code is each.code for _, kept in self._held.values()) < _MOST:
                self._held[key] = (look.at, each)
        self._held = {key: kept for key, kept in self._held.items() if look.at - kept[0] <= self._hold}
        back = {each.bdf for each in look.gpus or () if not each.error}
        self._fell = {bdf: kept for bdf, kept in self._fell.items()
                      if bdf not in back or look.at - kept[0] < _SURE}
        return [each for _, each in (*self._held.values(), *self._fell.values())]


def _restarted(look: Look, before: Look | None) -> list[Reason]:
    last = before.run.restarts if before and before.run else None
    now = look.run.restarts if look.run else None
    return [Reason(look.run.again, numbers=(("restarts", float(now)),))] if (
        look.run is not None and last is not None and now is not None and now > last) else []
