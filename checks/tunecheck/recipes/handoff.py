"""What a box needs to serve a recipe, for the role inference: `python -m tunecheck.recipes.handoff`. Control node only.

Reads one JSON object (recipe, lock, engine, models, bind) and prints one: texts and words, nothing of the box."""

from __future__ import annotations

import ipaddress
import json
import sys
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from ..errors import SpecError, UsageError
from .frozen import Recipe

__all__ = ["ID_FILE", "NAME", "Unserved", "exec_line", "hand_off", "main", "servable"]

NAME = "tunecheck-inference"
#: The container's id, kept while the unit runs (its RuntimeDirectory): podman finds it by that, renamed or not.
ID_FILE = f"/run/{NAME}/container.id"
_CACHE = "tunecheck/jit"
#: Beyond what the engine may take to be ready: the first sums of a model (hundreds of GB at 1 GB/s) and the acceptance.
_MORE_SECONDS = 1800


class Unserved(StrEnum):
    """Why a recipe is not handed to a box."""

    DRAFT = "draft"
    RULE = "rule"
    #: Where it is to be served: no IPv4 address, no absolute path to the models.
    ADDRESS = "address"
    MODELS = "models"
    #: No engine has a command for it, or systemd could not carry the command.
    NO_COMMAND = "no-command"
    CONTROL_CHARACTER = "control-character"


def servable(which: str, lock: str | None) -> Recipe:
    """Return the frozen recipe. UsageError for a draft, and for what a rule rejects."""
    from .load import load
    from .rules import judge
    from .to_pin import to_pin

    found = load(which, lock)
    frozen = found.frozen
    if frozen.status == "draft" or found.source.serve.args is None:
        raise UsageError(f"{which}: is a draft, and a draft is never served; {to_pin(frozen, which)}",
                         Unserved.DRAFT)
    for each in judge(frozen, None, which):
        if each.outcome == "reject":
            reason = f", or state overrides.{each.rule.id} with a reason" if each.rule.overridable else ""
            raise UsageError(f"{which}: {each.message}; correct it{reason}", Unserved.RULE)
    return frozen


def hand_off(which: str, lock: str | None, engine: str, models: str, bind: str) -> dict[str, Any]:
    """Return what the role needs, as plain data. ``engine``: podman or docker. ``models``: an absolute path. ``bind``:
    the IPv4 address that the port is published on. UsageError where one of them is no such thing."""
    from .command import Paths, argv, secret
    from .stored import digest_of, to_json

    try:
        ipaddress.IPv4Address(bind)
    except ValueError:
        raise UsageError(f"inference_bind {bind}: expected an IPv4 address, as 127.0.0.1", Unserved.ADDRESS) from None
    if not models.startswith("/"):
        raise UsageError(f"inference_models_dir {models}: expected an absolute path", Unserved.MODELS)
    frozen = servable(which, lock)
    try:
        words = argv(frozen, engine, Paths(models=models, cache=f"/var/cache/{_CACHE}", name=NAME, bind=bind))
        file, line = secret(frozen, "{key}")
    except ValueError as error:
        raise UsageError(f"{which}: {error}", Unserved.NO_COMMAND) from None
    if engine == "podman":
        words[words.index("run") + 1:words.index("run") + 1] = [f"--cidfile={ID_FILE}"]
    image = frozen.image
    assert image.image_id is not None       # argv refuses otherwise
    here = "127.0.0.1" if bind == "0.0.0.0" else bind
    return {
        "id": frozen.id, "status": frozen.status, "digest": digest_of(frozen), "recipe": to_json(frozen),
        "engine": engine, "id_file": ID_FILE, "exec": exec_line([f"/usr/bin/{words[0]}", *words[1:]]),
        "models": exec_line([models]), "image_id": image.image_id, "pull": _pulled(image.ref, image.digest),
        "secret": {"file": file, "line": line}, "cache": f"{_CACHE}/{image.image_id.removeprefix('sha256:')}",
        "base": f"http://{here}:{frozen.serve.port}", "seconds": frozen.serve.ready_seconds + _MORE_SECONDS,
    }


def _pulled(ref: str | None, digest: str | None) -> str:
    """Return the image's name by digest; "" where no registry has it."""
    if not ref or not digest or ref.startswith("localhost/"):
        return ""
    head, slash, last = ref.partition("@")[0].rpartition("/")
    name = f"{head}{slash}{last.partition(':')[0]}"
    first = name.partition("/")[0]
    # docker's rule for what names a registry; podman asks nobody about a short name.
    if "/" not in name or not ("." in first or ":" in first):
        name = f"docker.io/{name if '/' in name else 'library/' + name}"
    return f"{name}@{digest}"


def exec_line(words: Sequence[str]) -> str:
    """Return a command as systemd reads it in ExecStart= (systemd.service(5), "Command lines"). Its specifiers,
    variables and escapes have no effect in the result. UsageError for control characters."""
    return " ".join(map(_word, words))


def _word(word: str) -> str:
    if any(ord(char) < 32 or ord(char) == 127 for char in word):
        raise UsageError(f"{word!r}: has a control character; a unit cannot carry it", Unserved.CONTROL_CHARACTER)
    plain = word.replace("%", "%%").replace("$", "$$")
    if plain and not set(plain) & set(" '\"\\;"):
        return plain
    escaped = plain.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def main() -> int:
    """Answer one request. Exit code 2 with one line where the recipe cannot be served."""
    try:
        asked = json.load(sys.stdin)
        found = hand_off(asked["recipe"], asked["lock"] or None, asked["engine"], asked["models"], asked["bind"])
    except SpecError as error:
        print("; ".join(error.problems), file=sys.stderr)
        return 2
    except UsageError as error:
        print(error, file=sys.stderr)
        return 2
    json.dump(found, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
