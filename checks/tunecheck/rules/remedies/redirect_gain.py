"""Whether anything is gained by keeping ACS redirect off. Redirect costs peer traffic alone, so every check that
advises because of it asks here first: where the driver refuses peer access there is no such traffic, and no fix asks
for an option or a reboot."""

from __future__ import annotations

from collections.abc import Iterable

from ...model.finding import Remedy
from ...util.at_first_use import dataclass
from ..context import Case
from ..nvidia.peer_access import FIND_OUT, NO_PEERS, OWN_REFUSES, Access, Pair, declared, peers

__all__ = ["DRIVER_NOT_TOLD", "REDIRECTS_NOTHING", "NoGain", "no_gain"]

REDIRECTS_NOTHING, DRIVER_NOT_TOLD = "redirects-nothing", "driver-not-told"

_NOTHING = Remedy("leave the ACS bits alone, as long as the driver refuses peer access (p2p-capability)")
#: Something else than their model keeps the boards apart, or a driver is declared that would allow it.
_LATER = Remedy("first what p2p-capability says: the redirect is to be cleared once the driver allows peer access, and "
                "not before")
_NOT_WANTED = ('as long as the driver refuses peer access (p2p-capability), leave the ACS bits alone: set '
               'box_spec.acs.peer_redirect: "leave" in the inventory')


@dataclass(frozen=True)
class NoGain:
    """Nothing is known to be gained. ``refused``: the driver refuses peer access; else NVIDIA's own driver would, and
    which one is loaded is not told. ``who``: a clause that says so. ``fix``: what to do in place of clearing the
    redirect; None where what the specification asks for is still to be done."""

    refused: bool
    who: str
    fix: Remedy | None

    @property
    def code(self) -> str:
        return REDIRECTS_NOTHING if self.refused else DRIVER_NOT_TOLD

    @property
    def why(self) -> str:
        unless = "" if self.refused else " unless a patched one is loaded"
        return f"{self.who}, so clearing the redirect gains nothing{unless}"

    @property
    def no_traffic(self) -> str:
        """Return the same as a sentence about the traffic between the boards."""
        return f"{'there is no' if self.refused else 'it is not known whether there is'} peer traffic: {self.who}"

    @property
    def told(self) -> str:
        """Return the same as a sentence about the redirect."""
        return f"{'there is no' if self.refused else 'it is not known whether there is'} peer traffic: {self.why}"


def no_gain(case: Case, pairs: Iterable[Pair] | None = None) -> NoGain | None:
    """Return why nothing is gained between these pairs of GPUs, or between all; None where peer traffic is to be
    expected. A specification that asks for the redirect to be off is judged all the same, but its fix is no reboot."""
    known = peers(case)
    among = known.pairs if pairs is None else list(pairs)
    access = known.whole if pairs is None else known.over(among)
    if access not in NO_PEERS:
        return None
    asked = case.frozen is not None and case.spec.acs.peer_redirect == "off"
    if access is Access.PATCHED_ONLY:
        return NoGain(False, OWN_REFUSES, None if asked else FIND_OUT)
    who = known.refusal(among)
    if not known.final(among):
        return NoGain(True, who, None if asked else _LATER)
    if declared(case):
        return NoGain(True, who, _LATER)
    if asked:
        # The declaration is of the whole box: other pairs may need it.
        return NoGain(True, who, case.play("acs", False, _NOT_WANTED) if known.whole is Access.REFUSED else None)
    return NoGain(True, who, _NOTHING)
