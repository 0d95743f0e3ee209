"""p2p-symmetry: a pair is as fast one way as the other, and pairs of one class are alike."""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.peer_paths import PairPath
from ...model.finding import Finding
from ...model.measurement import Measurement
from ..check import P2P, Check, Family, Heading
from ..context import Case
from .pair_expected import blame, remedy
from .pair_figures import class_of, listed, one_way, several, unmeasured

CHECK = Check(
    "p2p-symmetry", "pairs of one class are alike, both ways",
    Heading.P2P, 90, Family.MEASURED, P2P,
)
_ID = CHECK.id
CODES = {
    "apart": "Pairs of one class differ by more than healthy ones do.",
}
_APART = 0.05       # healthy pairs repeat within 0.2 % over NVLink, within 3 % on Gen5 switches (53.4 to 56.3)


def judge(case: Case) -> Iterator[Finding]:
    unjudged = unmeasured(case, _ID)
    if unjudged:
        yield unjudged
    classes: dict[str, list[tuple[Measurement, PairPath | None]]] = {}
    names = case.snapshot.topology.names
    for each, path in [] if unjudged else one_way(case):
        boards = sorted({name for number, name in enumerate(names) if number in (each.a, each.b)})
        classes.setdefault(f"{class_of(path)}, {' with '.join(boards)}", []).append((each, path))
    for name, rows in classes.items():
        # Against the best, not the middle: one slow board of four makes half of all directions slow.
        best = max(each.value for each, _ in rows)
        apart = [row for row in rows if row[0].value < (1 - _APART) * best]
        slow = [path for _, path in apart if path]
        shown = listed([each for each, _ in apart])
        text = f"beside the best with {best:.1f} GB/s: {shown}" + blame(
            slow, [path for row in rows if row not in apart and (path := row[1]) and path not in slow])
        yield Finding(_ID, "apart" if apart else "ok", name.partition(",")[0], "warn" if apart else "pass", "behaviour",
                      f"{name}: {text if apart else several([each for each, _ in rows], 'GB/s')}",
                      shown, "within 5 % of the best", (), remedy(apart[0][1]) if apart else None)
