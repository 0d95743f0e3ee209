"""What each pair's way can carry, equal pairs on one line."""

from __future__ import annotations

from ..facts.peer_paths import PairPath
from ..rules.context import Case
from ..rules.pcie.peer_ways import ways
from ..util.text import some

__all__ = ["path_lines", "short_path_lines"]

_SHOWN = 4
#: Of the short form: kinds of path, and how many pairs are named rather than counted.
_KINDS, _FEW = 5, 2


def path_lines(case: Case) -> list[str]:
    """Return one line for all pairs of the same kind: ``GPU0-GPU1 PIX: crosses 2 ports below 0000:01:00.0, x16 Gen5,
    MPS 256: predicted 57.6 GB/s one way, 115.2 both ways``. Ports are those of bridges that the traffic goes through,
    up from the one GPU and down to the other; a switch on the way is two of them, one in, one out. Why there is no
    figure for both ways together has a line of its own."""
    return [line for group in _groups(case) for line in (
        f"{_names(group)} {_line(group)}", *([f"  {group[0].unseen}"] if group[0].unseen else []))]


def short_path_lines(case: Case) -> list[str]:
    """Return the lines of `path_lines` in short, and of the prediction the figures alone: ``PIX (4 pairs): 2 ports, x16
    Gen5: 57.6 GB/s one way, 115.2 both ways``. First what is slower than it could be, then the most frequent kinds.
    Kinds that are left out are counted."""
    groups = _groups(case)
    best: dict[str | None, float] = {}
    for (path, *_) in groups:
        best[path.pair.relation.value] = max(best.get(path.pair.relation.value, 0.0), path.one_way or 0.0)
    groups.sort(key=lambda group: (not _is_slow(group[0], best[group[0].pair.relation.value]), -len(group)))
    kept = groups if len(groups) <= _KINDS else groups[:_KINDS - 1]
    rest = groups[len(kept):]
    more = [f"{sum(map(len, rest))} more pairs on {len(rest)} other kinds of path (-v shows them)"] if rest else []
    return [*(_short(group) for group in kept), *more]


def _is_slow(path: PairPath, best: float) -> bool:
    """Whether the way is slower than it could be: redirected, below its speed, or below ``best`` of its relation."""
    return bool((path.redirectors and path.pair.relation.value in ("PIX", "PXB")) or path.slow_now
                or (path.one_way is not None and path.one_way < best))


def _groups(case: Case) -> list[list[PairPath]]:
    groups: dict[tuple[object, ...], list[PairPath]] = {}
    for path in ways(case):
        # Why there is no prediction may name each pair's own hop: the first stands for all.
        why = path.reason if path.one_way is not None else None
        link = path.slowest.text if path.slowest else None
        kind = (path.pair.relation.value, len(path.hops), link, path.mps, path.one_way, path.two_way,
                path.latency_class, why, path.unseen, path.only)
        groups.setdefault(kind, []).append(path)
    return list(groups.values())


def _short(group: list[PairPath]) -> str:
    path = group[0]
    labels = ", ".join(each.pair.label for each in group)
    start = f"{path.pair.relation.value or '?'} ({f'{len(group)} pairs' if len(group) > _FEW else labels})"
    if path.latency_class == "nvlink":
        return f"{start}: {path.reason}"
    if _not_known(path):
        return f"{start}: the way is not known: {path.reason}"
    start += f": {_ports(len(path.hops) - 2)}"
    if path.one_way is None:
        return f"{start}, no prediction: {path.reason}"
    link = path.slowest.text if path.slowest else "?"
    hairpin = ", ACS redirects" if path.redirectors and path.pair.relation.value in ("PIX", "PXB") else ""
    now = "".join(f"; {words}" for words in (path.slow_now, path.only) if words)
    # Published for boards below different host bridges: 41 to 53 GB/s where the links would carry 57 (smi_table).
    if path.latency_class in ("root-complex", "cross-socket"):
        return f"{start}, {link}{hairpin}: below {path.one_way:.1f} GB/s, as it goes through the CPU{now}"
    # Both ways have a figure only where the ACS of every port is known.
    both = f", {path.two_way:.1f} both ways" if path.two_way is not None else " if no port redirects (ACS is not known)"
    return f"{start}, {link}{hairpin}: {path.one_way:.1f} GB/s one way{both}{now}"


def _names(group: list[PairPath]) -> str:
    labels = [path.pair.label for path in group]
    return some(labels, _SHOWN if len(labels) > _SHOWN + 1 else len(labels))


def _line(group: list[PairPath]) -> str:
    path = group[0]
    if path.latency_class == "nvlink":
        return str(path.reason)
    if _not_known(path):
        return f"{path.pair.relation.value or '?'}: the way is not known: {path.reason}"
    common = {each.pair.common for each in group}
    below = f" below {path.pair.common}" if len(common) == 1 and path.pair.common else ""
    start = f"{path.pair.relation.value or '?'}: crosses {_ports(len(path.hops) - 2)}{below}"
    if path.one_way is None:
        return f"{start}, no prediction: {path.reason}"
    link = path.slowest.text if path.slowest else "?"
    both = f", {path.two_way:.1f} both ways" if path.two_way is not None else ""
    words = "; ".join(filter(None, (path.reason, path.only)))
    tail = f" ({words})" if words else ""
    return f"{start}, {link}, MPS {path.mps}: predicted {path.one_way:.1f} GB/s one way{both}{tail}"


def _not_known(path: PairPath) -> bool:
    """Whether no port was seen because nothing tells of ports. Without a port are also GPUs of one host bridge."""
    return path.one_way is None and path.pair.relation.value is None and len(path.hops) <= 2


def _ports(count: int) -> str:
    return f"{count} port{'' if count == 1 else 's'}"
