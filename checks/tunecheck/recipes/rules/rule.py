"""What a compatibility rule is, and the questions that several of them ask of a recipe."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..box import Box
from ..frozen import Engine, Recipe
from .bounds import ENDED, UNSHOWN, Bounds

__all__ = ["Rule", "Unknown", "Verdict", "has", "names", "value", "workstation_blackwell"]


class Unknown(str):
    """The text of a rule for which the box did not tell enough: no evidence, so neither good nor bad."""


@dataclass(frozen=True)
class Rule:
    """A compatibility rule. ``severity``: reject or warn. ``violation``: what is wrong with the recipe (on that box),
    or None. ``asks_box``: it speaks only where a box is given. ``bounds``: the releases that it is true of, or
    ``unbounded``: why it is true of all. ``way_out``: what to do, given how a command names the recipe; None where
    ``violation`` says it."""

    id: str
    severity: str
    reason: str
    source: str
    violation: Callable[[Recipe, Box | None], str | None]
    overridable: bool = True
    asks_box: bool = False
    bounds: Bounds | None = None
    unbounded: str = ""
    way_out: Callable[[Recipe, str | None], str] | None = None

    def weighed(self, engine: Engine, text: str) -> tuple[str, str] | None:
        """Return the outcome and what is said of this engine's release; None where the rule is true no more."""
        bounds = self.bounds
        if bounds is None:
            return self.severity, text
        place = bounds.place(engine)
        if place == ENDED:
            return None
        if place == UNSHOWN:
            release = f"{engine.name} {engine.version or engine.versions or ''}".strip()
            return "warn", f"{text}; shown for {bounds}, nobody has looked at {release}"
        if engine.version is None and engine.versions is None:
            return self.severity, f"{text}; true of {bounds}: if the image has another release, state engine.version"
        return self.severity, text


@dataclass(frozen=True)
class Verdict:
    """What a rule says of a recipe. ``outcome``: reject, warn, unknown, or overridden with the recipe's ``why``."""

    rule: Rule
    outcome: str
    text: str
    why: str = ""

    @property
    def message(self) -> str:
        """The verdict in one line: what is so, why it matters, who says so."""
        end = f"; overridden: {self.why}" if self.why else ""
        return f"{self.rule.id}: {self.text}; {self.rule.reason} [{self.rule.source}]{end}"


    @property
    def lines(self) -> list[str]:
        """The verdict as lines for a terminal: what is so and what to do, why it matters, who says so."""
        return [f"{self.rule.id}: {self.text}", f"why: {self.rule.reason}", f"source: {self.rule.source}",
                *([f"overridden: {self.why}"] if self.why else [])]


def has(recipe: Recipe, *options: str) -> bool:
    """Return whether one of these options stands in the engine's words, with or without a value."""
    return any(word.partition("=")[0] in options for word in recipe.serve.args)


def value(recipe: Recipe, *options: str) -> str | None:
    """Return the word behind an option, or behind its "="; the last one counts, as for the engines. None without the
    option, "" without a word."""
    found, args = None, recipe.serve.args
    for index, word in enumerate(args):
        name, equals, rest = word.partition("=")
        if name in options:
            found = rest if equals else args[index + 1] if index + 1 < len(args) else ""
    return found


def workstation_blackwell(recipe: Recipe) -> bool:
    """Return whether the recipe is for compute capability 12.x: RTX PRO and GeForce, whose FP4 kernels are not those of
    B200 (10.0)."""
    return any(sm.startswith("12.") for sm in recipe.requires.sm)


def names(box: Box) -> str:
    """Return the boards of a box as text: ``2 x NVIDIA RTX PRO 6000 (12.0)``; where they are not known, why."""
    if box.boards.value is None:
        return box.boards.why()
    counted: dict[str, int] = {}
    for board in box.boards.value:
        shown = f"{board.name or 'GPU of a model that is not told'} ({board.sm or 'capability unknown'})"
        counted[shown] = counted.get(shown, 0) + 1
    return ", ".join(f"{count} x {name}" for name, count in counted.items()) or "no GPUs"
