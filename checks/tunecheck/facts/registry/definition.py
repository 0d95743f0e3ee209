"""What a drift fact is: a name, how it is read out of a snapshot, and what a change of it means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal

from ...util.at_first_use import dataclass

if TYPE_CHECKING:
    from ...model.absence import Reason
    from ...model.fact import Fact
    from ..snapshot_file import Stored

__all__ = ["Entry", "Fix", "Flat", "Kind", "Severity"]

#: config is compared and kept as history; identity is kept, must be unique, and no majority votes on it; a figure is
#: kept as history and compared with the box's own past alone; of a gauge, a counter and a time only the newest value is
#: kept; a secret is kept as a keyed digest.
Kind = Literal["config", "identity", "figure", "gauge", "counter", "time", "secret"]
#: What it takes to put a value back.
Fix = Literal["none", "reload", "reboot", "firmware", "hands-on"]
Severity = Literal["low", "medium", "high"]


@dataclass(frozen=True)
class Entry:
    """One drift fact or family of them. ``name`` is one fact, or, ending in a dot, a family: then ``select`` gives a
    mapping from the rest of the name to the value. A value is plain JSON, normalised: equal states are equal values,
    sets are sorted, values of several GPUs are counted ({"595.58.03": 8}). None is "does not exist there", which is an
    answer."""

    name: str
    kind: Kind
    severity: Severity
    fix: Fix
    summary: str
    select: Callable[[Stored], Fact[Any]]
    unit: str = ""
    #: One of the pins that `tunecheck pins` prints.
    pin: bool = False
    #: Of what takes a reboot: the value is of this boot alone, so that a reboot brings the earlier one back by itself.
    of_boot: bool = False

    @property
    def family(self) -> bool:
        return self.name.endswith(".")


@dataclass(frozen=True)
class Flat:
    """The drift facts of one snapshot. ``unknown`` maps a name, or a family's beginning, to the reason: of those the
    snapshot says nothing, neither a value nor its absence."""

    known: dict[str, Any] = field(default_factory=dict)
    unknown: dict[str, Reason] = field(default_factory=dict)

    def why(self, name: str) -> Reason | None:
        """Return why nothing is known of the fact. None where it is known, or is one of a family that was read."""
        if name in self.known:
            return None
        return self.unknown.get(name) or next((reason for start, reason in self.unknown.items()
                                               if start.endswith(".") and name.startswith(start)), None)
