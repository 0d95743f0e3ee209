"""What a drafted inventory says of peer access between the boards, where the profile alone would ask for what the
driver of this box does not give, or would not know that its driver is changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..facts.snapshot import Snapshot

__all__ = ["add_peers"]

_KEY = "acs.peer_redirect"


def add_peers(snapshot: Snapshot, name: str, spec: dict[str, Any], change: dict[str, str], why: dict[str, str]) -> None:
    """Add to the draft ``spec`` what the checks would ask for on this box. ``change``: why an added value is a guess;
    ``why``: what it was read from, each by its path in the spec."""
    from ..rules.context import Case
    from ..rules.nvidia.peer_access import OWN_REFUSES, peers
    from ..rules.remedies.redirect_gain import no_gain

    case = Case(snapshot)
    known = peers(case)
    if known.patched and snapshot.topology.devices:
        spec["driver"] = {"flavour": "patched-p2p"}
        why["driver.flavour"] = f"the driver says OK, and {OWN_REFUSES}"
        return
    gain = no_gain(case)
    if gain is None or not known.pairs or not _asks(name, spec):
        return
    spec["acs"] = {"peer_redirect": "leave"}
    if gain.refused:
        later = "" if known.final(known.pairs) else '; "off" once p2p-capability passes'
        why[_KEY] = f"{gain.who}: clearing redirect would gain nothing{later}"
    else:
        change[_KEY] = ('keep "leave", unless a patched driver is loaded (nvidia-smi topo -p2p r says OK): then "off", '
                        f"and driver: {{flavour: patched-p2p}}; {gain.who}")


def _asks(name: str, spec: dict[str, Any]) -> bool:
    """Return whether the draft asks for ACS redirect to be off; where the profile is still to be chosen, it may."""
    from ..spec import build

    return spec["profile"] is None or build(name, spec).spec.acs.peer_redirect == "off"
