"""The quantities between two GPUs that the page has a matrix of, and the colours of their cells."""

from __future__ import annotations

from ...util.at_first_use import dataclass

__all__ = ["KINDS", "OTHERS", "Kind", "legend", "level", "short"]

#: Shares of what was to be expected, best first: p2p-bandwidth passes from 90 % on and fails below 78 %.
_LEVELS = (0.95, 0.9, 0.78, 0.5, 0.0)
#: What stands beside a quantity: trial, what, and its name.
OTHERS = {
    "one way": (("one way", "kernel write", "by SMs, write"), ("one way", "kernel read", "by SMs, read"),
                ("one way", "engine read", "copy engine, read"), ("control", "engine write", "without peer access")),
    "both ways": (("both ways", "kernel write", "by SMs"),),
    "latency": (("latency", "ping-pong", "flag there and back"),),
}


@dataclass(frozen=True)
class Kind:
    trial: str
    what: str
    id: str
    title: str
    unit: str
    meaning: str
    digits: int
    predicted: str | None
    more_is_better: bool = True


KINDS = (
    Kind("one way", "engine write", "one-way", "One way", "GB/s", "the copy engine of the row writes to the column", 1,
          "one_way_gb_s"),
    Kind("both ways", "engine write", "both-ways", "Both ways", "GB/s",
          "both directions at once, their sum; measured once per pair", 1, "two_way_gb_s"),
    Kind("latency", "pointer chase", "latency", "Latency", "ns", "a dependent load of the row from the column's memory",
          0, None, False),
)


def level(share: float | None) -> int:
    if share is None:
        return 0
    return next((len(_LEVELS) - place for place, limit in enumerate(_LEVELS) if share >= limit), 1)


def short(kind: Kind, share: float | None) -> str:
    """Return a share as text: "98 %" of a bandwidth, "+3 %" on top of the least latency; "" where there is none."""
    if share is None or share <= 0:
        return ""
    return f"{share * 100:.0f} %" if kind.more_is_better else f"+{(1 / share - 1) * 100:.0f} %"


def legend(kind: Kind) -> tuple[tuple[int, str], ...]:
    if kind.more_is_better:
        texts = ["95 % or more", "90 to 95 %", "78 to 90 %", "50 to 78 %", "below 50 %"]
    else:
        most = [f"{(1 / limit - 1) * 100:.0f}" for limit in _LEVELS[:-1]]
        texts = [f"up to +{most[0]} %", *(f"to +{each} %" for each in most[1:]), "more"]
    return tuple(zip((5, 4, 3, 2, 1), texts, strict=True))
