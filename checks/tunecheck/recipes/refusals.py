"""Say what is wrong with a recipe file: the field, what was expected, how to fix it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from . import engines
from .lock import pin_again
from .rules import RULES

if TYPE_CHECKING:
    from pydantic import ValidationError

    from .lock import Lock
    from .model import Source

__all__ = ["Clash", "Refusal", "clashes", "of_model"]


class Clash(StrEnum):
    """Which fields contradict each other, or their lock."""

    OTHER_NAME = "other-name"
    NO_SUCH_RULE = "no-such-rule"
    NOT_OVERRIDABLE = "not-overridable"
    DERIVED = "derived"
    VERSION_TWICE = "version-twice"
    NOT_COPIED = "not-copied"
    OTHER_LOCK = "other-lock"


@dataclass(frozen=True)
class Refusal:
    """``code``: a Clash, or pydantic's name of what is wrong with one field: missing, extra_forbidden, ..."""

    code: str
    text: str

_WORDS = {
    "string_type": "text in quotes", "int_type": "a whole number without quotes", "float_type": "a number",
    "bool_type": "true or false, without quotes", "list_type": "a list", "dict_type": "a mapping",
    "model_type": "a mapping",
}
_BOUNDS = {
    "greater_than": "more than {}", "greater_than_equal": "at least {}", "less_than": "less than {}",
    "less_than_equal": "at most {}", "string_too_short": "a text of at least {} characters",
    "string_too_long": "a text of at most {} characters", "too_short": "a list of at least {}",
}
_PATTERNS = {
    "digest": 'a complete digest, "sha256:" and 64 hex digits', "image_id": 'an image id, "sha256:" and 64 hex digits',
    "revision": "a commit of 40 hex digits; a branch moves: leave it null and run {pin}",
    "versions": 'bounds like ">=0.17.0,<0.28.0"', "fork": "owner/repository or owner/repository@branch",
    "ref": "registry/path:tag or registry/path@sha256:..., with a tag or a digest",
}


def of_model(error: ValidationError, which: str) -> list[Refusal]:
    """Return each field that pydantic refused; of a union's alternatives the first. ``which``: how a command names the
    recipe."""
    found: dict[str, Refusal] = {}
    for detail in error.errors(include_url=False):
        place = [str(part) for part in detail["loc"] if part != "[key]"]
        path, kind, value = ".".join(place), detail["type"], detail["input"]
        if kind == "missing":
            text = "is missing; state it, or null where no source says it"
        elif kind == "extra_forbidden":
            text = "is an unknown key; docs/recipes.md lists the fields"
        else:
            expected = _expected(kind, place, detail.get("ctx", {}), which)
            text = f"is {json.dumps(value, default=str)[:80]}; expected {expected}"
        found.setdefault(path, Refusal(kind, f"{path} {text}"))
    return list(found.values())


def _expected(kind: str, place: list[str], context: dict[str, object], which: str) -> str:
    if kind == "literal_error":
        return f"one of {context['expected']}"
    if kind == "string_pattern_mismatch":
        return _PATTERNS.get(place[-1], f"a text like {context['pattern']}").replace("{pin}", pin_again(which))
    bounds = {"greater_than": "gt", "greater_than_equal": "ge", "less_than": "lt", "less_than_equal": "le",
              "string_too_short": "min_length", "string_too_long": "max_length", "too_short": "min_length"}
    if kind in bounds:
        return _BOUNDS[kind].format(context[bounds[kind]])
    return _WORDS.get(kind, kind.replace("_", " "))


def clashes(source: Source, lock: Lock | None, which: str) -> list[Refusal]:
    """Return each contradiction between fields that are valid by themselves. ``which``: how a command names the
    recipe."""
    found = [Refusal(Clash.NO_SUCH_RULE, f"overrides.{rule}: no such rule; known are {', '.join(RULES)}")
             for rule in source.overrides if rule not in RULES]
    found += [Refusal(Clash.NOT_OVERRIDABLE, f"overrides.{rule}: this rule cannot be overridden; remove it")
              for rule in source.overrides if rule in RULES and not RULES[rule].overridable]
    if source.serve.command is None or source.serve.command:
        found += [Refusal(Clash.DERIVED, f"serve.args: {word} is derived from {field}; remove it") for word, field in
                  engines.repeated(source.engine.name, source.serve.args or ())]
    if source.engine.version is not None and source.engine.versions is not None:
        text = (f"engine.versions is {source.engine.versions}, engine.version {source.engine.version}: the version "
                "says it already; remove the bounds")
        found.append(Refusal(Clash.VERSION_TWICE, text))
    globs, entry = source.model.include, source.model.entry
    if globs is not None and entry is not None and not any(fnmatchcase(entry, glob) for glob in globs):
        text = f"model.entry {entry} is not among model.include {', '.join(globs)}: it would not be copied"
        found.append(Refusal(Clash.NOT_COPIED, text))
    if lock is None:
        return found
    stated = [("image.digest", source.image.digest, lock.image.digest),
              ("image.image_id", source.image.image_id, lock.image.image_id),
              ("model.revision", source.model.revision, lock.model.revision),
              ("model.id", source.model.id, lock.model.id),
              ("speculative.drafter", source.speculative.drafter, lock.drafter.id if lock.drafter else None)]
    again = f"run: {pin_again(which)}"
    for field, here, there in stated:
        if here != there and (here is not None or field == "speculative.drafter"):
            found.append(Refusal(Clash.OTHER_LOCK, f"{field} is {here}, its lock says {there}; {again}"))
    if source.image.ref is not None and source.image.ref != lock.image.asked:
        text = f"image.ref is {source.image.ref}, its lock resolved {lock.image.asked}; {again}"
        found.append(Refusal(Clash.OTHER_LOCK, text))
    return found
