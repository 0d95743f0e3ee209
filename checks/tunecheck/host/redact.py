"""Decides what a recording keeps of the answers of a host: never a secret, and by default nothing that names it."""

from __future__ import annotations

import dataclasses
import json
import posixpath
import re
from collections.abc import Callable
from typing import Any

from ..errors import SpecError
from ..model.absence import Absence, Reason
from ..parsers.pci.config_space import without_serial_number
from ..parsers.text import secrets
from ..parsers.text.redact import Redactor, serials_in
from ..util.at_first_use import regex
from .answers import Answers
from .base import Completed

__all__ = ["redacted", "without_secrets"]

_SPEC = "/etc/tunecheck/spec.json"
_RECIPE = "/etc/tunecheck/recipe.json"
_HOSTNAMES = ("/proc/sys/kernel/hostname", "/etc/hostname")
_BOOT_ID = "/proc/sys/kernel/random/boot_id"
_LEFT_OUT = Absence.LEFT_OUT.because("left out of a redacted recording: not a text")
#: Files that hold nothing but such a number.
_SERIAL_FILE = regex(r"/(?:serial(?:_number)?|(?:board|chassis|product)_serial|wwid|unique_id)$")
#: Programs that print package versions of four numbers, which look like addresses.
_VERSIONS = ("dpkg-query", "dpkg", "rpm", "apt-mark", "apt-cache", "apt", "dnf", "pacman", "modinfo", "pip")
_PLAIN_KEYS = ("driver", "library", "vbios", "ids", "bdf", "a", "b")


def without_secrets(answers: Answers) -> Answers:
    """Return the answers as they may be kept at all: of environments only what concerns the GPUs, nothing of
    secrets."""
    return dataclasses.replace(
        answers, reads={path: _masked(path, data) for path, data in answers.reads.items()},
        runs={argv: done if isinstance(done, Reason) else dataclasses.replace(
            done, stdout=secrets.mask(done.stdout), stderr=secrets.mask(done.stderr))
            for argv, done in answers.runs.items()})


def _masked(path: str, data: bytes) -> bytes:
    if path.startswith("/proc/") and path.endswith("/environ"):
        return secrets.environ(data)
    if path.startswith("/proc/") and path.endswith("/cmdline"):
        return secrets.arguments(data)
    text = _text(path, data)
    if text is None:
        return data
    text = _recipe(text) if path == _RECIPE else text
    masked = secrets.mask(text)
    if masked != text and path == _SPEC:
        return _spec(data, secrets.mask, str)
    return masked.encode("utf-8", "surrogateescape")


def _recipe(text: str) -> str:
    """Return a served recipe with the secrets in the engine's words masked. In the recipe each word is a text of its
    own; they are masked together, as one command line."""
    try:
        document = json.loads(text)
        words = document["recipe"]["serve"]["args"]
        masked = list(secrets.masked_words(words))
        if masked == words:
            return text
        document["recipe"]["serve"]["args"] = masked
    except (ValueError, TypeError, LookupError, RecursionError):
        return text
    return json.dumps(document, indent=2, sort_keys=True) + "\n"


def redacted(answers: Answers) -> Answers:
    """Return the answers without the machine's names, serial numbers and addresses. It is judged as before, with other
    names."""
    redactor = _redactor(answers)
    result = Answers(
        lists={redactor.text(path): [_name(redactor, path, name) for name in names]
               for path, names in sorted(answers.lists.items())},
        realpaths={redactor.text(path): redactor.text(target) for path, target in sorted(answers.realpaths.items())},
        errors={redactor.text(what): why.absence.because(redactor.text(why))
                for what, why in sorted(answers.errors.items())},
        runs={argv: _run(redactor, done) for argv, done in sorted(answers.runs.items())},
        nvml=_plain(redactor, answers.nvml, ""))
    for path, data in sorted(answers.reads.items()):
        kept = _read(redactor, path, data)
        if kept is None:
            result.errors[f"read {redactor.text(path)}"] = _LEFT_OUT
        else:
            result.reads[redactor.text(path)] = kept
    return result


def _redactor(answers: Answers) -> Redactor:
    hosts = [answers.reads.get(path, b"").decode("utf-8", "replace").strip() for path in _HOSTNAMES]
    hosts.append(_declared_host(answers.reads.get(_SPEC, b"")))
    texts = [text for path, data in answers.reads.items() if (text := _text(path, data)) is not None]
    texts += [done.stdout for done in answers.runs.values() if isinstance(done, Completed)]
    texts.append(json.dumps(answers.nvml, indent=1) if answers.nvml else "")
    serials = {serial for text in texts for serial in serials_in(text)}
    serials |= {data.decode("utf-8", "replace").strip() for path, data in answers.reads.items()
                if _SERIAL_FILE.search(path)}
    asked = [path for path in (*answers.reads, *answers.lists, *answers.realpaths)
             if path.startswith(("/sys/", "/proc/"))] + [" ".join(argv) for argv in answers.runs]
    vocabulary = {word for path in asked for word in re.findall(r"[a-z0-9]+", path.lower())}
    return Redactor(hosts, serials, answers.reads.get(_BOOT_ID, b"").decode("utf-8", "replace"), vocabulary)


def _declared_host(spec: bytes) -> str:
    try:
        document = json.loads(spec)
    except (ValueError, RecursionError):
        return ""
    host = document.get("host") if isinstance(document, dict) else None
    return host if isinstance(host, str) else ""


def _text(path: str, data: bytes) -> str | None:
    """Return a file as text, or None where it is none. Environments and command lines of processes are texts with
    zeros."""
    zeros = path.startswith("/proc/") and path.endswith(("/environ", "/cmdline"))
    if _is_config(path) or (b"\0" in data and not zeros):
        return None
    return data.decode("utf-8", "surrogateescape")


def _is_config(path: str) -> bool:
    return path.startswith("/sys/") and path.endswith("/config")


def _read(redactor: Redactor, path: str, data: bytes) -> bytes | None:
    if path in _HOSTNAMES:
        return f"{redactor.host(data.decode('utf-8', 'replace').strip())}\n".encode()
    if _is_config(path):
        return without_serial_number(data)
    if path.startswith("/sys/firmware/efi/efivars/Loader"):     # UTF-16: the name of the boot loader
        return data
    text = _text(path, data)
    if text is None:
        return None
    if _SERIAL_FILE.search(path):
        return redactor.serial(text.strip()).encode("utf-8", "surrogateescape")
    if path == _SPEC:
        return _spec(data, redactor.text, redactor.host)
    return redactor.text(text, path.endswith("version")).encode("utf-8", "surrogateescape")


def _spec(data: bytes, change: Callable[[str], str], rename: Callable[[str], str]) -> bytes:
    """Return a spec whose texts ``change`` has changed, with the digest of what it holds then. One that was not usable
    is not usable afterwards either."""
    from ..spec.frozen import Frozen, from_plain, load_frozen

    try:
        frozen = load_frozen(data)
        plain = json.loads(change(json.dumps(frozen.to_plain())))
        return Frozen(rename(frozen.host), plain["profile"], from_plain(plain["spec"]),
                      plain["sources"]).to_json().encode()
    except (SpecError, ValueError, KeyError, TypeError):
        return change(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def _run(redactor: Redactor, done: Completed | Reason) -> Completed | Reason:
    if isinstance(done, Reason):
        return done.absence.because(redactor.text(done))
    versions = posixpath.basename(done.argv[0]) in _VERSIONS
    return dataclasses.replace(done, stdout=redactor.text(done.stdout, versions),
                               stderr=redactor.text(done.stderr, versions))


def _name(redactor: Redactor, folder: str, name: str) -> str:
    return redactor.user(name) if folder in ("/home", "/Users") else redactor.text(name)


def _plain(redactor: Redactor, value: Any, key: str) -> Any:
    """Return any JSON value with its names, serial numbers and addresses replaced."""
    if isinstance(value, dict):
        # "errors" of an NVML document say why there is no serial number, by its name: nothing to hide.
        return {name: item if name == "errors" else _plain(redactor, item, str(name)) for name, item in value.items()}
    if isinstance(value, list):
        return [_plain(redactor, item, key) for item in value]
    if not isinstance(value, str) or key in _PLAIN_KEYS:
        return value
    return redactor.serial(value) if "serial" in key else redactor.text(value, "version" in key)


