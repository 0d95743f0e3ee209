"""p2p-flows: several transfers at once do not collapse."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Remedy
from ..check import P2P, Check, Family, Heading
from ..codes import NOT_MEASURED, OK
from ..context import Case
from .pair_figures import chosen, measured, middle, one_way, unmeasured
from .short_of import figure_below

CHECK = Check(
    "p2p-flows", "several transfers at once do not collapse",
    Heading.P2P, 110, Family.MEASURED, P2P,
)
_ID = CHECK.id
CODES = {
    "one-pair": "With two GPUs there is one pair: its figure in both directions says it.",
    "collapse": "Several transfers at once carry less than half of one alone.",
    "share-a-link": "Several transfers at once carry little more than one alone.",
}
#: Sum over all flows beside one alone. Posted-write collapse: 36.8 to 2.7 GB/s. All pairs of eight boards: 52 GB/s with
#: it (0.98 of one), 162 to 196 without. Flows over one uplink ("collapse") get no more than one alone when healthy.
_COLLAPSE, _LITTLE = 0.5, 1.25
_FIX = Remedy("known of Broadcom PEX890xx under two root ports: keep tensor parallel groups below one switch")


def judge(case: Case) -> Iterator[Finding]:
    unjudged = unmeasured(case, _ID)
    flows = measured(case).find("flows")
    few, quick = len(chosen(case)) == 2, measured(case).notes.get("quick")
    if unjudged or not flows:
        code, outcome = ("one-pair" if few else NOT_MEASURED), ("skip" if few or quick else "unknown")
        yield unjudged or Finding(_ID, code, "flows", outcome, "behaviour", "two GPUs: their "
                               "both-ways figure says it (p2p-duplex)" if few else "left out of the quick measurement; "
                               "preflight --full has it" if quick else "several flows at once were not measured")
        return
    alone = middle([each for each, _ in one_way(case)])
    for each in flows:
        share = each.value / alone if alone else 0.0
        little = share < _LITTLE and each.what != "collapse"
        code, outcome = ("collapse", "fail") if share < _COLLAPSE else \
            ("share-a-link", "warn") if little else (OK, "pass")
        least = _COLLAPSE if each.what == "collapse" else _LITTLE
        shown = f"{share:.2f}" if outcome == "pass" else figure_below(share, least)
        yield Finding(_ID, code, each.what, outcome, "behaviour",
                      f"{each.what}: {each.value:.1f} GB/s in sum over {each.more.get('flows', 0):.0f} flows, "
                      f"{shown} x one alone{': posted writes collapse' if outcome == 'fail' else ''}",
                      shown, f"{least} x or more", (each.method,),
                      None if outcome == "pass" else _FIX)
