"""What the box serves, or is to serve: the recipe that the role inference left, without anything secret in it."""

from __future__ import annotations

import json
from dataclasses import field
from typing import Any

from ...host import Host
from ...model.fact import Fact, parsed
from ...util.at_first_use import dataclass
from ..file_text import text

__all__ = ["PATH", "Serving", "serving"]

#: recipes/stored.py, which checks the whole of it; here a file that it would refuse is only not understood.
PATH = "/etc/tunecheck/recipe.json"
_SCHEMA = "tunecheck/recipe/1"
_MOST = 256


@dataclass(frozen=True)
class Serving:
    """The recipe that the box serves. ``digest`` is as the file states it; ``image_id`` and ``image_digest`` are
    "sha256:<64 hex>"; ``revision`` is of the model. ``args``: the recipe's own words for the engine, ``env`` the
    variables that decide how the GPUs are used, both with secrets masked. None: the recipe does not say."""

    recipe: str
    status: str
    digest: str | None
    engine: str
    engine_version: str | None
    image_id: str | None
    image_digest: str | None
    model: str
    revision: str | None
    drafter: str | None = None
    drafter_revision: str | None = None
    port: int | None = None
    max_context: int | None = None
    parallel: dict[str, int] = field(default_factory=dict)
    args: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)


def serving(host: Host) -> Fact[Serving]:
    """Read the recipe. The fact is "not present" where the roles put none there."""
    return parsed(text(host, PATH), _parse)


def _parse(content: str) -> Serving:
    try:
        document = json.loads(content)
        if document["schema"] != _SCHEMA:
            raise ValueError(f"not a {_SCHEMA}")
        return _made(document["recipe"], document.get("digest"))
    except (TypeError, LookupError, AttributeError, RecursionError):
        raise ValueError(f"not a {_SCHEMA}") from None


def _made(recipe: Any, digest: Any) -> Serving:
    engine, model, image = recipe["engine"], recipe["model"], recipe.get("image", {})
    serve, more, parallel = recipe.get("serve", {}), recipe.get("speculative", {}), recipe.get("parallel", {})
    return Serving(
        recipe=_word(recipe["id"]) or "", status=_word(recipe.get("status")) or "draft", digest=_sum(digest),
        engine=_word(engine["name"]) or "", engine_version=_word(engine.get("version")),
        image_id=_sum(image.get("image_id")), image_digest=_sum(image.get("digest")),
        model=_word(model["id"]) or "", revision=_word(model.get("revision")),
        drafter=_word(more.get("drafter")), drafter_revision=_word(more.get("drafter_revision")),
        port=_number(serve.get("port")), max_context=_number(recipe.get("max_context")),
        parallel={name: size for name in ("tp", "pp", "dp", "ep")
                  if (size := _number(parallel.get(name))) is not None},
        args=_arguments(serve.get("args", ())), env=_variables(recipe.get("env", {})))


def _word(value: object) -> str | None:
    return value[:200] if isinstance(value, str) else None


def _sum(value: object) -> str | None:
    good = isinstance(value, str) and len(value) == 71 and value.startswith("sha256:") and not value[7:].strip(
        "0123456789abcdef")
    return str(value) if good else None


def _number(value: object) -> int | None:
    return value if type(value) is int and 0 <= value < 1 << 53 else None


def _arguments(words: Any) -> tuple[str, ...]:
    # Compiling its patterns takes 8 ms; a box that serves nothing does not pay for them.
    from ...parsers.text import secrets

    return secrets.masked_words(words, _MOST)


def _variables(env: Any) -> dict[str, str]:
    from ...parsers.text import secrets

    packed = b"".join(f"{name}={value}".replace("\0", "?").encode("utf-8", "replace") + b"\0"
                      for name, value in sorted(env.items())[:_MOST] if isinstance(value, str))
    kept = secrets.environ(packed).decode("utf-8", "replace").split("\0")
    return {name: value for entry in kept if entry for name, _, value in [entry.partition("=")]}
