"""Make values of the options that say how a server is reached: headers, request fields, deadlines, the key."""

from __future__ import annotations

import json
import os
import re
import urllib.parse
from collections.abc import Sequence
from typing import Any

from ..errors import Misuse, UsageError
from ..host.http_page import own_address
from ..util.durations import seconds

__all__ = ["KEY", "address", "fields", "headers", "key", "limits", "own_machine", "with_scheme", "without_v1"]

KEY = "TUNECHECK_API_KEY"
#: What the measurement stands on, and no option may change.
_OURS = ("messages", "prompt", "model", "stream", "stream_options", "max_tokens", "temperature", "logprobs",
         "ignore_eos", "n", "tools")
_SECRET = re.compile(r"(?i)authorization|cookie|api[-_]?key|token|secret")
_CARRIERS = ("host", "content-length", "content-type", "accept-encoding", "transfer-encoding", "connection")


def address(base: str) -> str:
    """Return the address as it was given: ``http://host:port``, with a path where the server has one. UsageError for
    any other text."""
    with_scheme(base)
    if not re.fullmatch(r"https?://[^\s/@?#]+(/[^\s@?#]*)?", base):
        raise UsageError(f"--url {_shown(base)}: expected an address without a key or a question mark, as "
                         "http://127.0.0.1:30000 or https://host/openai/v1", Misuse.MALFORMED)
    return base


def with_scheme(url: str) -> None:
    """Raise UsageError for an address without http:// or https://."""
    if "://" not in url:
        raise UsageError(f"--url {_shown(url)}: the scheme is missing; expected http:// or https:// "
                         "in front of it, as in --url http://127.0.0.1:30000", Misuse.MALFORMED)


def _shown(url: str) -> str:
    """What stands before an @, or behind a question mark, may be a password or a key."""
    scheme, mark, rest = url.rpartition("://")
    return f"{scheme}{mark}{re.split('[?#]', rest.rpartition('@')[2])[0]}"[:100]


def without_v1(path: str) -> str:
    """Return the path of an address, or the address, without the /v1 of the OpenAI API at its end: a server is meant,
    and both are written for one."""
    return path.rstrip("/").removesuffix("/v1")


def own_machine(base: str) -> bool:
    """Return whether the server of this address is on this machine: what is sent to it passes no network."""
    try:
        host = urllib.parse.urlsplit(base).hostname or ""
    except ValueError:
        return False
    return own_address(host)


def headers(given: Sequence[str]) -> dict[str, str]:
    """Return the headers of options ``Name: value``. UsageError for one that is none, is the connection's own, or holds
    a secret."""
    found = {}
    for each in given:
        match = re.fullmatch(r"([A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}):[ \t]*([\x20-\x7e]{0,4000})", each)
        if not match or match[1].lower() in _CARRIERS:
            raise UsageError(f"--header {each[:60]}: expected \"Name: value\" of a header that is not the connection's "
                             "own", Misuse.MALFORMED)
        if _SECRET.search(match[1]):
            raise UsageError(f"--header {match[1]}: a command line is in every process list; give a key with "
                             f"--api-key-file, or set {KEY}", Misuse.DOES_NOT_BELONG)
        found[match[1]] = match[2]
    return found


def fields(given: Sequence[str]) -> dict[str, Any]:
    """Return the request fields of options ``name=JSON``, as ``chat_template_kwargs={"enable_thinking": false}``.
    UsageError for one that is none, or that the measurement sets."""
    found: dict[str, Any] = {}
    for each in given:
        name, equals, text = each.partition("=")
        if not equals or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.-]{0,99}", name):
            raise UsageError(f"--field {each[:60]}: expected NAME=JSON, as in "
                             "'chat_template_kwargs={\"enable_thinking\": false}'", Misuse.MALFORMED)
        if name in _OURS:
            raise UsageError(f"--field {name}: the measurement sets it; leave it out", Misuse.DOES_NOT_BELONG)
        try:
            found[name] = json.loads(text)
        except (ValueError, RecursionError):
            raise UsageError(f"--field {name}: {text[:60]} is not JSON; text needs quotes, as in '{name}=\"low\"'",
                             Misuse.MALFORMED) from None
    return found


def limits(given: Sequence[str]) -> dict[str, float]:
    """Return the deadlines in seconds of options ``NAME=TIME``. UsageError for one that is none."""
    found = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not (equals and value) or name not in ("connect", "first", "between", "whole"):
            raise UsageError(f"--deadline {each}: expected connect, first, between or whole, as in first=5m",
                             Misuse.MALFORMED)
        found[name] = seconds(f"--deadline {name}", value)
        if not found[name]:
            raise UsageError(f"--deadline {each}: expected more than 0 s", Misuse.MALFORMED)
    return found


def key(path: str | None) -> str:
    """Return the key of the file or the environment, "" for none. It is never of the command line, which anybody on the
    box can read. UsageError where the file cannot be used."""
    found = os.environ.get(KEY, "")
    if path is not None:
        from ..util import safe_files

        try:
            found = safe_files.read(path, 4096).decode("ascii").strip()
        except (OSError, ValueError) as error:
            raise UsageError(f"--api-key-file {path}: cannot be read ({getattr(error, 'strerror', 'not ASCII')}); "
                             "expected a file with one key", Misuse.UNREADABLE) from None
        if not found:
            raise UsageError(f"--api-key-file {path}: is empty; expected one key", Misuse.EMPTY)
    if not re.fullmatch(r"[\x21-\x7e]*", found):
        raise UsageError("the API key holds blanks or other characters that no header may hold; expected one word",
                         Misuse.MALFORMED)
    return found
