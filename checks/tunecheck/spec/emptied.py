"""An empty mapping in the inventory: it merges to nothing, so what lies below it stays. Who writes one means to be
without that, and is told how."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from ..errors import SpecError
from ..util.text import some
from . import profile_files
from .frozen import Spec
from .merge import Layer, Merged, leaves, merge, module_name

__all__ = ["GROUP", "HOST", "way_without", "without_effect"]

GROUP, HOST = "box_spec", "box_spec_host"
#: A box without these is none that a specification is about.
_NEEDED = ("accelerators.pci_ids",)


def without_effect(box_spec: object, box_spec_host: object | None) -> list[str]:
    """Return a sentence for each empty mapping of the two variables below which a profile, or ``box_spec``, states
    values that stay. Empty where the variables are refused for something else."""
    group, own = (value if isinstance(value, Mapping) else {} for value in (box_spec, box_spec_host))
    try:
        profile = profile_files.load(own.get("profile", group.get("profile")))
    except SpecError:
        return []
    layers, found = [Layer(profile.name, profile.values), Layer(GROUP, group), Layer(HOST, own)], []
    for at, layer in enumerate(layers[1:], 1):
        if empty := list(_empty(layer.values)):
            lower, whole = merge(*layers[:at]), merge(*layers)
            found += [f"{layer.origin}.{path}: {{}} changes nothing; {way}" for path in empty
                      if (way := way_without(path, lower, layer.origin, whole))]
    return found


def _empty(values: Mapping[Any, Any], at: str = "") -> Iterator[str]:
    for key, value in values.items():
        name = module_name(str(key)) if at == "modules." else str(key)
        if isinstance(value, Mapping) and value:
            yield from _empty(value, f"{at}{name}.")
        elif isinstance(value, Mapping):
            yield f"{at}{name}"


def way_without(path: str, lower: Merged, variable: str, whole: Merged | None = None) -> str:
    """Return what is to be written in ``variable`` to be without the values that the layers ``lower`` state below the
    mapping ``path``. "" where there are none. ``whole``: all layers; a value that one above replaces is none that
    stays."""
    at: object = lower.values
    for part in path.split("."):
        at = at.get(part) if isinstance(at, Mapping) else None
    neutral = dict(leaves(asdict(Spec())))
    kept = [name for name, value in leaves(at, path) if isinstance(at, Mapping) and at and name not in _NEEDED
            and _plain(value) != _plain(neutral.get(name))
            and (whole is None or whole.origins.get(name) == lower.origins.get(name))]
    if not kept:
        return ""
    origins = list(dict.fromkeys(lower.origin(name, "") for name in kept))
    whose = " and ".join(each if each == GROUP else f"profile {each}" for each in origins)
    above, _, name = path.rpartition(".")
    return (f"to be without {some(kept, 6)} of {whose}, write `{name}: {_off(path, kept, neutral)}` below "
            f"{f'{variable}.{above}' if above else variable}")


def _off(path: str, kept: list[str], neutral: Mapping[str, Any]) -> str:
    """Return as YAML what takes these values away: null for a module, and else what a box without a profile has."""
    if path.startswith("modules."):
        return "null"
    if path == "modules":
        return "{" + ", ".join(f"{name}: null" for name in dict.fromkeys(each.split(".")[1] for each in kept)) + "}"
    parts: dict[str, list[str]] = {}
    for each in kept:
        below, _, name = each.removeprefix(f"{path}.").rpartition(".")
        parts.setdefault(below, []).append(f"{name}: {json.dumps(neutral.get(each))}")
    return "{" + ", ".join(f"{below}: {{{', '.join(each)}}}" if below else ", ".join(each)
                           for below, each in parts.items()) + "}"


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value
