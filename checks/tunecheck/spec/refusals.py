"""Says what is wrong with a specification: the variable, what was expected, how to fix it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from tunecheck.parsers.pci.topology import RELATIONS, within
from tunecheck.spec import cross_field, kernel_params, nvidia_modules
from tunecheck.spec.contradiction import Contradiction
from tunecheck.spec.frozen import Spec, declared_tokens
from tunecheck.spec.merge import module_name

from ..util.suggestions import did_you_mean, nearest

__all__ = ["contradictions", "of_model", "of_template", "of_tokens", "of_values"]

_LATEST = re.compile(r"(?<![a-z0-9])latest(?![a-z0-9])", re.IGNORECASE)
_TEMPLATE = re.compile(r"\{\{|\{%")
_PATTERNS = {
    "pci_ids": 'vendor:device in lower-case hex, for example "10de:2bb1" (lspci -nn prints it in brackets)',
    "version": 'one exact driver release, for example "595.71.05"; a branch or a range is not reproducible',
    "modules": "letters, digits, dash and underscore; text values without spaces, quotes, '#' and backslash",
    "mirror": "https://host/folder, or file:///folder on the box; no user, password, query or space",
    "mirror_fingerprint": "40 hex digits in capitals without spaces (gpg --show-keys --with-fingerprint prints them)",
    "toolkit": 'one exact release of nvidia-container-toolkit, for example "1.18.1"',
    "user": "the name of a user of the box: lower-case letters, digits, dash and underscore, at most 32",
    "storage": "an absolute folder without spaces, for example /srv/containers",
    "clocks_mhz": "two whole numbers, [lowest, highest], each 100 to 5000 MHz",
}


def of_values(value: object, path: str) -> list[tuple[str, str]]:
    """Return ``(dotted path, sentence)`` for what no layer may hold, whatever the field: ``latest``, unrendered Jinja,
    keys that are not words."""
    if isinstance(value, Mapping):
        found = [
            (path, f"the key {key!r} is not a word (YAML reads unquoted on/off/yes/no as true/false); quote it")
            for key in value
            if not isinstance(key, str)
        ]
        return (
            found
            + _spelled_twice(value, path)
            + [each for key, item in value.items() for each in of_values(item, f"{path}.{key}")]
        )
    if isinstance(value, list | tuple):
        return [each for i, item in enumerate(value) for each in of_values(item, f"{path}[{i}]")]
    if isinstance(value, str) and _LATEST.search(value):
        return [(path, f"{value!r} says 'latest', which means another thing tomorrow; state an exact value")]
    template = of_template(value)
    return [(path, template)] if template else []


def of_template(value: object) -> str:
    """Return a sentence about a text that Jinja should have made another one; "" where it is none."""
    return f"{value!r} is a template that was not rendered; write the final value" \
        if isinstance(value, str) and _TEMPLATE.search(value) else ""


def _spelled_twice(value: Mapping[Any, Any], path: str) -> list[tuple[str, str]]:
    if not path.endswith(".modules"):
        return []
    names = [module_name(key) for key in value if isinstance(key, str)]
    twice = sorted({name for name in names if names.count(name) > 1})
    return [(f"{path}.{name}", "written twice, with dash and underscore; modprobe sees one module") for name in twice]


def of_model(error: ValidationError) -> list[tuple[str, str]]:
    """Return ``(dotted path, sentence)`` for each field that pydantic refused. A union's alternatives count once."""
    found: dict[str, str] = {}
    for detail in error.errors(include_url=False):
        location = list(detail["loc"])
        if location and location[0] == "modules":
            location = [part for part in location[:3] if part != "[key]"]
        path = _dotted(location)
        if path not in found or detail["type"] == "string_pattern_mismatch":
            found[path] = _sentence(detail, location)
    return list(found.items())


def _dotted(location: list[Any]) -> str:
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.lstrip(".")


def _sentence(detail: ErrorDetails, location: list[Any]) -> str:
    kind, value, context = detail["type"], detail["input"], detail.get("ctx", {})
    name = str(location[-1]) if location else ""
    if kind == "missing":
        return "is missing; state it"
    if kind == "extra_forbidden":
        return _unknown(name, location)
    if isinstance(value, bool) and kind != "bool_type":
        return _yaml_bool(value, kind, context, location)
    if value is None:
        return f"is empty (null); expected {_expected(kind, context, location)}, or remove the line"
    return f"got {json.dumps(value, default=str)}; expected {_expected(kind, context, location)}"


def _yaml_bool(value: bool, kind: str, context: dict[str, Any], location: list[Any]) -> str:
    """Return a sentence about a bare word that YAML made true or false. Quotes are advised only where the quoted word
    is a value."""
    if location[:1] == ["modules"] and len(location) == 3:
        return f"got {json.dumps(value)}; expected a number or text, for example {int(value)} instead of a yes/no word"
    words, word = ("on, yes or true", "on") if value else ("off, no or false", "off")
    read = f"YAML read the unquoted word {words} as {value}"
    allowed = str(context.get("expected", ""))
    if kind == "literal_error" and f"'{word}'" in allowed:
        return f'{read}; write it in quotes, {location[-1]}: "{word}"; allowed: {allowed}'
    if kind == "string_type" and location[:2] == ["kernel", "cmdline"]:     # any word, the kernel's business
        return f'{read}; write it in quotes, - "{word}"'
    kind = "string_pattern_mismatch" if kind == "string_type" and _shape(location) else kind
    return f"{read}; expected {_expected(kind, context, location)}"


def _shape(location: list[Any]) -> str | None:
    return next((text for key, text in _PATTERNS.items() if key in location), None)


def _expected(kind: str, context: dict[str, Any], location: list[Any]) -> str:
    if kind == "literal_error":
        return f"one of {context['expected']}"
    if kind == "string_pattern_mismatch":
        return _shape(location) or str(context.get("pattern"))
    for key in ("version", "toolkit", "clocks_mhz"):     # 595.71 and 1.18 are numbers in YAML
        if key in location:
            return _PATTERNS[key]
    if location and location[0] == "modules" and len(location) == 3:
        return "a number or text"
    words = {
        "string_type": "text in quotes",
        "int_type": "a whole number without quotes",
        "bool_type": "true or false, without quotes",
        "list_type": "a list",
        "dict_type": "a mapping",
        "model_type": "a mapping",
        "greater_than_equal": f"at least {context.get('ge')}",
        "less_than_equal": f"at most {context.get('le')}",
    }
    return words.get(kind, kind.replace("_", " "))


def _unknown(name: str, location: list[Any]) -> str:
    here = Spec()
    for part in location[:-1]:
        here = getattr(here, str(part))
    known = sorted({*vars(here), *(["profile"] if len(location) == 1 else [])})
    guess = did_you_mean(nearest(name, known))
    return f"unknown key; {guess}{' ' * bool(guess)}Known keys here: {', '.join(known)}"


def of_tokens(cmdline: object) -> list[tuple[str, str]]:
    """Return what is wrong with each kernel parameter by itself. Entries that are not text are the model's to
    refuse."""
    return [
        (f"kernel.cmdline[{index}]", text)
        for index, token in enumerate(cmdline if isinstance(cmdline, list | tuple) else ())
        if isinstance(token, str)
        for text in kernel_params.problems(token)
    ]


def contradictions(spec: Spec) -> list[Contradiction]:
    """Return what is wrong between fields that are each right by themselves, and kernel parameters that cannot work."""
    found = _cmdline(spec)
    ids = spec.accelerators.pci_ids
    if not ids:
        found.append(Contradiction("accelerators.pci_ids", "is empty; list the accelerators' ids (lspci -nn -d 10de:)"))
    if len(set(ids)) != len(ids):
        found.append(Contradiction("accelerators.pci_ids", "lists an id twice; keep one"))
    found += _groups(spec)
    if spec.boot.timeout_seconds <= spec.boot.panic_seconds:
        found.append(Contradiction("boot.timeout_seconds", (
            f"is {spec.boot.timeout_seconds}, not more than boot.panic_seconds {spec.boot.panic_seconds}: the play "
            "would give up before a panicked trial reboots; raise it"
        ), ("boot.panic_seconds",)))  # fmt: skip
    if spec.boot.confirm_seconds is not None and spec.boot.confirm_seconds <= spec.boot.timeout_seconds:
        found.append(Contradiction("boot.confirm_seconds", (
            f"is {spec.boot.confirm_seconds}, not more than boot.timeout_seconds {spec.boot.timeout_seconds}: the box "
            "would return to its old boot entry while the play still waits for it; raise it, or leave it out for "
            "timeout_seconds and 300 more"
        ), ("boot.timeout_seconds",)))  # fmt: skip
    return found + cross_field.problems(spec) + list(nvidia_modules.problems(spec))


def _groups(spec: Spec) -> list[Contradiction]:
    want, groups = spec.accelerators, spec.accelerators.groups
    found = []
    if groups.inside is None:
        return [Contradiction(f"accelerators.groups.{name}", (
            "is stated, but accelerators.groups.inside is not: nothing says what a group is; state inside, for example "
            "PIX for the accelerators below one switch"), ("accelerators.groups.inside",))
                for name in ("size", "across") if getattr(groups, name) is not None]
    if want.relation is not None:
        found.append(Contradiction("accelerators.relation", (
            f"is {want.relation} for every pair, and accelerators.groups tells pairs inside a group from pairs across; "
            "keep one of them: the other one's keys are null"
        ), tuple(f"accelerators.groups.{name}" for name in ("size", "inside", "across"))))  # fmt: skip
    if groups.across is not None and within(groups.across, groups.inside):
        found.append(Contradiction("accelerators.groups.across", (
            f"is {groups.across}, not worse than inside ({groups.inside}): such accelerators would be one group; "
            f"expected worse than {groups.inside} ({' < '.join(RELATIONS)})"
        ), ("accelerators.groups.inside",)))  # fmt: skip
    if want.count and groups.size and want.count % groups.size:
        found.append(Contradiction("accelerators.groups.size", (
            f"is {groups.size}, and accelerators.count {want.count} is no multiple of it; state the size that every "
            "group has, or null where they differ"
        ), ("accelerators.count",)))  # fmt: skip
    return found


def _cmdline(spec: Spec) -> list[Contradiction]:
    at = "kernel.cmdline[{}]".format
    cmdline = spec.kernel.cmdline
    found = [Contradiction(*each) for each in of_tokens(cmdline)]
    if found:
        return found
    policy = tuple(token for token in declared_tokens(spec)[:1] if spec.iommu in ("pt", "off"))
    offset = len(policy)
    among = {index for index, _ in kernel_params.conflicts(cmdline)}
    for index, text in kernel_params.conflicts((*policy, *cmdline)):
        others = () if index - offset in among else ("iommu",)
        if offset and kernel_params.name_of(cmdline[index - offset]) == "iommu":
            text += f' (box_spec.iommu: "{spec.iommu}" sets {policy[0]})'
        found.append(Contradiction(at(index - offset), text, others))
    if spec.acs.peer_redirect == "off" and spec.acs.mechanism != "setpci":
        found += [
            Contradiction(at(i), f"pci={word} is what box_spec.acs sets, and the kernel keeps only the last one; "
                          'remove it, or set box_spec.acs.peer_redirect: "leave"', ("acs.peer_redirect",))
            for i, token in enumerate(cmdline) if kernel_params.name_of(token) == "pci"
            for word in token.partition("=")[2].split(",")
            if word.startswith(("disable_acs_redir=", "config_acs="))
        ]  # fmt: skip
    return found
