"""Masks passwords, tokens and keys in whatever is written down. No secret is left in to keep a text readable.

Applied to everything that a recording keeps, whether its names are replaced (redact.py) or not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Tuple

from ...util.at_first_use import regex

__all__ = ["MASK", "arguments", "environ", "mask", "masked_words"]

MASK = "masked"

#: What of a process' environment may be kept at all: it decides how NCCL, CUDA and the serving engines run.
_KEPT = re.compile(rb"(?:NCCL|CUDA|NVIDIA|VLLM|SGLANG|TORCH|PYTORCH|UCX)_\w{1,80}=|LD_(?:LIBRARY_PATH|PRELOAD)=")

# "tokens" and "tokenizer" are words of every serving engine: --max-num-batched-tokens 8192.
_WORDS = (r"(?:[Pp]ass(?:w(?:or)?d|phrase)|PASS(?:W(?:OR)?D|PHRASE)|[Ss]ecret|SECRET|[Tt]oken|TOKEN|[Cc]redential"
          r"|CREDENTIAL|[Aa][Pp][Ii][-_]?[Kk][Ee][Yy]|(?:[Aa]ccess|ACCESS|[Pp]rivate|PRIVATE|[Aa]uth|AUTH|[Ll]icen[cs]e|LICEN[CS]E)"
          r"[-_]?(?:[Kk]ey|KEY))(?![Ss](?![A-Za-z])|[Ii][Zz])")
_NAME = r"[\w.-]{0,60}?" + _WORDS + r"[\w.-]{0,60}"
_ASSIGNED = regex(r"(?<![\w.-])(" + _NAME + r")=(?!%s)(\"[^\"\n\0]*\"|'[^'\n\0]*'|[^\s\0\"']+)" % MASK)
_IN_JSON = regex(r"(\"" + _NAME + r"\"\s{0,8}:\s{0,8}\")([^\"\n]+)")
_OPTION = regex(r"(?<![\w-])(--?" + _NAME + r")([ \0])(?!-)([^\s\0]+)")
#: Tokens by their own look: Hugging Face, OpenAI, GitHub, NVIDIA, AWS, Slack, GitLab, JSON web tokens.
_LOOKS = regex(r"(?<![\w-])(?:hf_[A-Za-z0-9]{16,}|sk-[\w-]{16,}|gh[oprsu]_\w{20,}|github_pat_\w{20,}"
               r"|nvapi-[\w-]{16,}|AKIA[0-9A-Z]{16}|xox[abprs]-[\w-]{10,}|glpat-[\w-]{16,}|eyJ[\w-]{10,}\.[\w-]{4,}\.[\w-]{4,})")
_IN_URL = regex(r"(?<=://)[^\s/@:\0]{1,200}:[^\s/@\0]{1,200}(?=@)")
_PEM = regex(r"(-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----).{1,20000}?(?=-----END|\Z)", re.DOTALL)
_RANDOM = regex(r"(?=[^\0]*[A-Z])(?=[^\0]*[a-z])(?=[^\0]*\d)[A-Za-z0-9+_=-]{32,}")


def mask(text: str) -> str:
    """Return the text with a mask in place of what stands behind a name of a secret, and of tokens of known looks."""
    text = _ASSIGNED.sub(rf"\1={MASK}", text)
    text = _LOOKS.sub(MASK, text)
    if '"' in text:
        text = _IN_JSON.sub(rf"\g<1>{MASK}", text)
    if "--" in text:
        text = _PEM.sub(rf"\1 {MASK} ", _OPTION.sub(rf"\1\2{MASK}", text))
    return _IN_URL.sub(MASK, text) if "://" in text else text


def arguments(data: bytes) -> bytes:
    """Return /proc/<pid>/cmdline with secrets masked."""
    return mask(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def environ(data: bytes) -> bytes:
    """Return /proc/<pid>/environ with only the variables that decide how the GPUs are used. A value that looks random
    is masked."""
    kept = []
    for entry in data.split(b"\0"):
        if _KEPT.match(entry):
            name, _, value = arguments(entry).decode("utf-8", "surrogateescape").partition("=")
            value = MASK if any(_RANDOM.fullmatch(part) for part in re.split(r"[:,/]", value)) else value
            kept.append(f"{name}={value}".encode("utf-8", "surrogateescape"))
    return b"".join(entry + b"\0" for entry in kept)


def masked_words(words: Sequence[object], most: int = 256) -> Tuple[str, ...]:
    """Return a command line's words with secrets masked: what stands behind ``--api-key`` is another word than that."""
    texts = [word[:1000].replace("\0", "?") for word in words[:most] if isinstance(word, str)]
    return tuple(mask("\0".join(texts)).split("\0")) if texts else ()
