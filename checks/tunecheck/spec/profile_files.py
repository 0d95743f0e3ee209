"""The profiles: ``profiles/<name>.yml``, each value with the source it comes from."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tunecheck.errors import CONTROL_NODE, SpecError
from tunecheck.util.suggestions import did_you_mean, nearest

__all__ = ["Profile", "load", "names"]

_FOLDER = Path(__file__).parent / "profiles"


@dataclass(frozen=True)
class Profile:
    """One profile. ``values`` are in the shape of ``box_spec``; ``sources`` maps a dotted path to where and when the
    value was seen."""

    name: str
    values: dict[str, Any]
    sources: dict[str, str]
    #: What kind of box it is for, in some words: the first line of its file.
    summary: str = ""


def names() -> list[str]:
    """Return the names of the profiles that ship with this package."""
    return sorted(path.stem for path in _FOLDER.glob("*.yml"))


def load(name: object) -> Profile:
    """Return the profile ``name``. SpecError names the known ones where there is none of that name."""
    if not isinstance(name, str) or name not in names():
        meant = did_you_mean(nearest(str(name), names()))
        raise SpecError([f"unknown profile {name!r}; {meant}{' ' * bool(meant)}known profiles: {', '.join(names())}"])
    try:
        data = _data(name)
    except ImportError as error:
        raise SpecError(
            [f"profiles are read on the control node: PyYAML is missing here; {CONTROL_NODE}"]
        ) from error
    # Whoever lays an inventory over it may change what it got.
    return Profile(name, deepcopy(data["values"]), dict(data["sources"]), data["summary"])


@cache
def _data(name: str) -> dict[str, Any]:
    """Return what the file says. The hosts of a fleet share few profiles, and each is parsed once."""
    # PyYAML comes with ansible-core and is on the control node only.
    import yaml

    # libyaml's, where it was built in: the same values in a sixth of the time.
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    text = (_FOLDER / f"{name}.yml").read_text(encoding="utf-8")
    data: dict[str, Any] = yaml.load(text, loader)
    return {**data, "summary": text.partition("\n")[0].lstrip("# ").partition(": ")[0].rstrip(".")}
