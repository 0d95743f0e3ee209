"""What happened in earlier boots, in a few words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ...facts.past import Past, PastBoot
from ...util.text import and_more

__all__ = ["boots", "counted", "from_to"]

_WORDS = {"xid": "Xid", "sxid": "SXid", "fallen": "GPU lost", "adapter": "failed adapter start",
          "gsp": "failed GSP start", "wpr2": "WPR2 already in use", "probe": "failed probe", "gone": "GPU lost",
          "locked": "GPU locked up", "reset": "GPU requires reset", "panic": "kernel panic"}


def boots(number: int) -> str:
    """Return the number of earlier boots in words: "1 earlier boot", "3 earlier boots"."""
    return f"{number} earlier boot{'s' * (number != 1)}"


def from_to(marked: Sequence[PastBoot]) -> str:
    first, last = marked[0].first, marked[-1].last
    return f" (from {first} to {last})" if first and last else ""


def counted(past: Past) -> str:
    """Return the six most frequent events as text: "Xid 79 at 0000:03:00 600 times, kernel panic"."""
    counts: Counter[str] = Counter()
    for event in past.events:
        what = f"{_WORDS.get(event.kind, event.kind)}{f' {event.code}' if event.code else ''}"
        counts[f"{what}{f' at {event.device}' if event.device else ''}"] += event.count
    named = [what + (f" {count} times" if count > 1 else "") for what, count in counts.most_common(6)]
    return ", ".join(named) + and_more(len(counts) - 6, ", ")
