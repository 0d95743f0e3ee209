"""What contradicts what in a specification, and where each of the two values comes from: a reader sees those that the
inventory writes, and not those that the profile brings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, get_args

from .merge import Merged
from .models import Spec as Model
from .profile_files import Profile

__all__ = ["Contradiction", "two_sources", "way_out"]


class Contradiction(NamedTuple):
    """``path``: the field that is told; ``others``: the fields whose values contradict it, by their dotted paths."""

    path: str
    text: str
    others: tuple[str, ...] = ()


def two_sources(found: Contradiction, merged: Merged, profile: Profile,
                instead: Callable[[Sequence[str]], Sequence[Profile]]) -> str:
    """Return what is to be added about a value of the profile; "" where it takes no part. ``instead``: the profiles
    that state these fields and contradict nothing that the inventory writes."""
    origins = {path: merged.origin(path, "") for path in dict.fromkeys(map(_plain, (found.path, *found.others)))}
    brought = [path for path, origin in origins.items()
               if origin == profile.name and _value(path, merged.values) is not None]
    written = {path: origin for path, origin in origins.items() if origin not in ("", profile.name)}
    if not brought:
        return ""
    if not written:
        field = "" if _plain(found.path) in brought else f"{_and(brought)}: "
        return f" ({field}value of profile {profile.name})"
    variable = max(written.values(), key=len)      # box_spec_host lies over box_spec
    also = [f"choose profile {each.name} ({each.summary})" for each in instead(list(written))]
    known = [f"{_and(paths)} {_are(paths)} {'null' if null else 'written'} in {origin}" for (origin, null), paths
             in _by((path, (origin, _value(path, merged.values) is None)) for path, origin in written.items()).items()]
    return (f"; {_and(brought)} {_are(brought)} of profile {profile.name} ({profile.summary}), {_and(known)}; to keep "
            f"what the inventory writes: {', or '.join([*also, way_out(brought, variable)])}")


def way_out(paths: Sequence[str], variable: str) -> str:
    """Return what is to be written below ``variable`` to be without the profile's values: null where the field takes
    it."""
    places = _by((path.rpartition(".")[2], (f"{variable}.{path}".rpartition(".")[0], _takes_null(path)))
                 for path in paths)
    return ", and ".join(
        f"write {_and([f'`{name}: null`' for name in names])} below {parent}" if null else
        f"state {_and([f'`{name}`' for name in names])} below {parent} (it replaces the profile's)"
        for (parent, null), names in places.items())


def _and(names: Sequence[str]) -> str:
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)


def _are(paths: Sequence[str]) -> str:
    return "is" if len(paths) == 1 else "are"


def _by(pairs: Iterable[tuple[str, tuple[str, bool]]]) -> dict[tuple[str, bool], list[str]]:
    found: dict[tuple[str, bool], list[str]] = {}
    for name, key in pairs:
        found.setdefault(key, []).append(name)
    return found


def _plain(path: str) -> str:
    return path.partition("[")[0]


def _value(path: str, values: Mapping[str, Any]) -> object:
    at: object = values
    for part in _plain(path).split("."):
        at = at.get(part) if isinstance(at, Mapping) else None
    return at


def _takes_null(path: str) -> bool:
    """Return whether the field may be null; a parameter of a module always may."""
    if path.startswith("modules."):
        return True
    model: Any = Model
    *above, name = path.split(".")
    for part in above:
        model = model.model_fields[part].annotation
    return type(None) in get_args(model.model_fields[name].annotation)
