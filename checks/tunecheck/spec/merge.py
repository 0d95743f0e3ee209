"""Lays the inventory's variables over a profile, and remembers where each value came from.

Mappings merge, everything else (lists too) replaces. Ansible itself replaces whole dictionaries of group_vars by those
of host_vars; that is why ``box_spec_host`` exists and is merged here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Layer", "Merged", "leaves", "merge", "module_name"]


@dataclass(frozen=True)
class Layer:
    """One set of values and the name of the variable (or profile) that holds it."""

    origin: str
    values: Mapping[str, Any]


@dataclass(frozen=True)
class Merged:
    """The merged values and, per dotted path of a leaf, its layer's origin."""

    values: dict[str, Any]
    origins: dict[str, str] = field(default_factory=dict)

    def origin(self, path: str, fallback: str) -> str:
        """Return the origin of the value at ``path``, or of any value below it or above it. ``fallback`` where none is
        known."""
        if path in self.origins:
            return self.origins[path]
        for known, origin in self.origins.items():
            if known == path or known.startswith(path + ".") or path.startswith((known + ".", known + "[")):
                return origin
        return fallback


def module_name(name: str) -> str:
    """Return a module's name with dashes, as the spec spells it: ``nvidia_uvm`` and ``nvidia-uvm`` are one module to
    modprobe."""
    return name.replace("_", "-")


def merge(*layers: Layer) -> Merged:
    """Merge layers, later ones winning. A null module or module parameter drops what an earlier layer set."""
    merged = Merged({})
    for layer in layers:
        values = dict(layer.values)
        if isinstance(values.get("modules"), Mapping):
            values["modules"] = {
                module_name(key) if isinstance(key, str) else key: item for key, item in values["modules"].items()
            }
        _lay(merged.values, values, layer.origin, merged.origins, "")
    _drop_nulls(merged)
    return merged


def _lay(base: dict[str, Any], over: Mapping[Any, Any], origin: str, origins: dict[str, str], at: str) -> None:
    for key, value in over.items():
        path = f"{at}.{key}" if at else str(key)
        if isinstance(value, Mapping):
            if not isinstance(base.get(key), dict):
                base[key] = {}
                origins.pop(path, None)
            _lay(base[key], value, origin, origins, path)
            if not value:
                origins.setdefault(path, origin)
        else:
            base[key] = list(value) if isinstance(value, list | tuple) else value
            for known in [known for known in origins if known.startswith(path + ".")]:
                del origins[known]
            origins[path] = origin


def _drop_nulls(merged: Merged) -> None:
    modules = merged.values.get("modules")
    if not isinstance(modules, dict):
        return
    for name, parameters in list(modules.items()):
        if isinstance(parameters, dict):
            for key in [key for key, value in parameters.items() if value is None]:
                del parameters[key]
                merged.origins.pop(f"modules.{name}.{key}", None)
        if not parameters and parameters in (None, {}):
            del modules[name]
            merged.origins.pop(f"modules.{name}", None)


def leaves(value: object, path: str = "") -> list[tuple[str, Any]]:
    """Return every value that is not a mapping, with its dotted path. A list is one leaf."""
    if isinstance(value, Mapping) and value:
        return [leaf for key, item in value.items() for leaf in leaves(item, f"{path}.{key}" if path else str(key))]
    return [(path, value)]
