"""What an acceptance leaves on the box for whoever watches what was accepted: how fast it was, for which run of the
unit, and a question that it answered right. It lies in /run: another boot is another acceptance."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from ..errors import Misuse, UsageError
from ..util import safe_files
from ..util.at_first_use import dataclass

__all__ = ["GPUS", "MOST_TEXT", "PATH", "SCHEMA", "Accepted", "Question", "addresses", "parsed", "read", "write"]

PATH = "/run/tunecheck/accepted.json"
SCHEMA = "tunecheck/accepted/1"
#: A folder for each GPU that the NVIDIA driver holds, by its address. Reading it asks no GPU.
GPUS = "/proc/driver/nvidia/gpus"
_MOST = 1 << 16
#: Bytes of a text: a question is handed on by a pipe, and nobody waits for who reads it. Tokens of its answer.
MOST_TEXT, _MOST_TOKENS = 2048, 256
#: Tokens a second that a stream may have given. A floor of more is an alarm for ever, one of less is none.
_LEAST_SPEED, _MOST_SPEED, _MOST_PROMPT_SPEED = 0.01, 1e5, 1e8
_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


@dataclass(frozen=True)
class Question:
    """A question that was answered right. ``expect`` must occur in the answer, ``tokens`` is the limit that the request
    names."""

    prompt: str
    expect: str
    tokens: int


@dataclass(frozen=True)
class Accepted:
    """What an acceptance leaves on the box. ``invocation``: systemd's id of the run of the unit, "" for a server that
    no unit runs. ``recipe``: digest of the recipe; ``image``: its image's id; ``gpus``: addresses. ``tok_s``: of one
    stream, wall time; ``prompt_tok_s``: of a long prompt to its first token, None where none was measured. ``model``
    and ``api``: how the server was asked."""

    boot_id: str
    invocation: str
    recipe: str
    image: str
    gpus: tuple[str, ...]
    tok_s: float
    prompt_tok_s: float | None
    model: str
    api: str
    question: Question | None = None

    def holds(self, boot_id: str, invocation: str | None, gpus: Sequence[str]) -> bool:
        """Return whether this acceptance is of what runs now: same boot, same GPUs, same run of the unit.
        ``invocation``: None where no unit is watched."""
        return (self.boot_id == boot_id and self.gpus == tuple(sorted(gpus))
                and (invocation is None or (self.invocation == invocation and invocation != "")))


def parsed(content: bytes) -> Accepted:
    """Return the acceptance that this JSON holds. ValueError for what no acceptance wrote."""
    try:
        said = json.loads(content[:_MOST + 1])
        if said["schema"] != SCHEMA:
            raise ValueError("another schema")
        texts = [said[name] for name in ("boot_id", "invocation", "recipe", "image", "model", "api")]
        gpus, asked = said["gpus"], said["question"]
        if not all(isinstance(each, str) and len(each.encode()) <= MOST_TEXT for each in (*texts, *gpus)) or not \
                isinstance(gpus, list):
            raise ValueError("a text is none")
        if said["api"] not in ("chat", "completions"):
            raise ValueError("another API")
        speed = _speed(said["tok_s"], _MOST_SPEED)
        if speed is None:
            raise ValueError("no speed")
        return Accepted(texts[0], texts[1], texts[2], texts[3], tuple(gpus), speed,
                        _speed(said["prompt_tok_s"], _MOST_PROMPT_SPEED), texts[4], texts[5],
                        None if asked is None else _question(asked))
    except (TypeError, LookupError, RecursionError, OverflowError) as error:
        raise ValueError(f"is no {SCHEMA}: {error}") from None


def _speed(value: Any, most: float) -> float | None:
    if value is None:
        return None
    if type(value) not in (int, float) or not _LEAST_SPEED <= value <= most:
        raise ValueError("a speed is none")
    return float(value)


def _question(asked: Any) -> Question:
    texts, tokens = [asked["prompt"], asked["expect"]], asked["tokens"]
    if not all(isinstance(each, str) and 0 < len(each.encode()) <= MOST_TEXT for each in texts):
        raise ValueError("a text of the question is none")
    if type(tokens) is not int or tokens <= 0:
        raise ValueError("the limit of the question is none")
    return Question(texts[0], texts[1], min(_MOST_TOKENS, tokens))


def read(path: str) -> Accepted:
    """Return the acceptance in this file. UsageError says why it cannot be used."""
    try:
        return parsed(safe_files.read(path, _MOST))
    except OSError as error:
        why = error.strerror or "cannot be read"
    except ValueError as error:
        why = str(error)
    raise UsageError(f"{path}: {why}; expected what tunecheck accept --keep left", Misuse.MALFORMED)


def write(path: str, found: Accepted) -> None:
    """Write the acceptance to this path. OSError where it cannot be written."""
    asked = found.question
    text = json.dumps({
        "schema": SCHEMA, "boot_id": found.boot_id, "invocation": found.invocation, "recipe": found.recipe,
        "image": found.image, "gpus": list(found.gpus), "tok_s": found.tok_s, "prompt_tok_s": found.prompt_tok_s,
        "model": found.model, "api": found.api, "question": None if asked is None else {
            "prompt": asked.prompt, "expect": asked.expect, "tokens": asked.tokens}}, sort_keys=True)
    safe_files.replace(path, text.encode() + b"\n", 0o644)


def addresses(names: Sequence[str]) -> tuple[str, ...]:
    """Return those of the folder's names that are PCI addresses, in order."""
    return tuple(sorted(each for each in names if _ADDRESS.fullmatch(each)))
