"""p2p-staged: peer copies are faster than through the host. As fast means that P2P is silently not used."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding
from ..check import P2P, Check, Family, Heading
from ..context import Case
from ..pcie.p2p_letters import unused
from .pair_figures import DIRECT, ENGINE, class_of, figure, label, listed, one_way, unmeasured

CHECK = Check(
    "p2p-staged", "peer copies are faster than through the host",
    Heading.P2P, 70, Family.MEASURED, P2P,
)
_ID = CHECK.id
CODES = {
    "unused": "Peer copies are no faster than copies through the host: peer-to-peer is not used.",
    "no-control": "No copy through the host was measured beside a pair, so there is nothing to compare with.",
}
#: Copies without peer access do not fail, they go through the host: 37 to 39, not 396 GB/s on H200; 23, not 52 on PIX.
_STAGED = 1.15
_LOAD_NS = 5000     # through the CPU both may be alike (26.6 and 24.0 on Gen4); a load takes to 1.5 us, staged 14


def judge(case: Case) -> Iterator[Finding]:
    unjudged = unmeasured(case, _ID)
    if unjudged:
        yield unjudged
    rows = [(each, path, figure(case, "control", ENGINE, each)) for each, path in ([] if unjudged else one_way(case))]
    alone = [label(each) for each, _, control in rows if control is None]
    if alone:
        yield Finding(_ID, "no-control", "control", "unknown", "behaviour",
                      f"no control arm beside {', '.join(alone[:4])}")
    known = [(each.value / control, each, path) for each, path, control in rows if control]
    bad = [row for row in known if row[0] <= _STAGED and not (
        class_of(row[2]) not in DIRECT and (figure(case, "latency", "pointer chase", row[1]) or _LOAD_NS) < _LOAD_NS)]
    if bad:
        worst = min(ratio for ratio, _, _ in bad)
        yield Finding(_ID, "unused", "pairs", "fail", "behaviour",
                      f"P2P silently unused: down to {worst:.2f} x of a copy through the "
                      f"host (GB/s): {listed([row[1] for row in bad])}", f"{worst:.2f}",
                      f"more than {_STAGED} x", (), unused(case, any(class_of(row[2]) in DIRECT for row in bad)))
    if known and not bad:
        least, each, _ = min(known, key=lambda row: row[0])
        tail = "; loads from the peer are direct all the same" if least <= _STAGED else ""
        yield Finding(_ID, "ok", "pairs", "pass", "behaviour",
                      f"peer copies are {least:.2f} x as fast as through the host "
                      f"or more, least {label(each)}{tail}")
