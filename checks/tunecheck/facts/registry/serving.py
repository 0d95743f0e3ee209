"""What the box is to serve: recipe, image, model, and the engine's words."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .definition import Entry, Fix
from .selectors import of_host, through

if TYPE_CHECKING:
    from ...model.fact import Fact
    from ..runtime.serving import Serving

__all__ = ["ENTRIES"]


def _recipe(select: Callable[[Serving], Any]) -> Callable[[Any], Fact[Any]]:
    return of_host(lambda host: through(host.serving, select))


def _pin(name: str, summary: str, select: Callable[[Serving], Any], fix: Fix = "reload") -> Entry:
    return Entry(f"serving.{name}", "config", "high", fix, summary, _recipe(select), pin=True)


def _flags(serving: Serving) -> dict[str, Any]:
    """Return the engine's arguments as a mapping: ``--tp 8 --flag`` is {"--tp": "8", "--flag": true}. The last one
    wins, as the engines have it. Words before the first flag are under "words"."""
    found: dict[str, Any] = {}
    name = ""
    for word in serving.args:
        if word.startswith("-") and not word[1:2].isdigit():
            name, mark, value = word.partition("=")
            found[name] = value if mark else True
        elif name:
            found[name] = word if found[name] is True else f"{found[name]} {word}"
        else:
            found["words"] = f"{found['words']} {word}" if "words" in found else word
    return found


ENTRIES = (
    _pin("recipe", "the recipe that the roles left", lambda serving: serving.recipe),
    _pin("digest", "digest of that recipe", lambda serving: serving.digest),
    _pin("engine", "engine and its version",
         lambda serving: " ".join(filter(None, [serving.engine, serving.engine_version]))),
    _pin("image_id", "id of the image, which survives archives", lambda serving: serving.image_id),
    _pin("image_digest", "digest of the image's manifest, good for a pull", lambda serving: serving.image_digest),
    _pin("model", "model", lambda serving: serving.model),
    _pin("revision", "revision of the model", lambda serving: serving.revision),
    _pin("drafter", "second model, for speculation", lambda serving: serving.drafter),
    _pin("drafter_revision", "its revision", lambda serving: serving.drafter_revision),
    Entry("serving.status", "config", "medium", "reload", "draft, pinned or golden",
          _recipe(lambda serving: serving.status)),
    Entry("serving.port", "config", "medium", "reload", "port that the engine is reached at",
          _recipe(lambda serving: serving.port)),
    Entry("serving.max_context", "config", "medium", "reload", "longest context",
          _recipe(lambda serving: serving.max_context), unit="tokens"),
    Entry("serving.parallel.", "config", "high", "reload", "how the model is spread: tp, pp, dp, ep",
          _recipe(lambda serving: serving.parallel)),
    Entry("serving.flag.", "config", "high", "reload", "a word of the recipe for the engine, secrets masked",
          _recipe(_flags)),
    Entry("serving.env.", "config", "high", "reload", "a variable of the recipe that decides how the GPUs are used",
          _recipe(lambda serving: serving.env)),
)
