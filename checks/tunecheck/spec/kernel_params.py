"""Checks what a spec may ask of the kernel command line. What the kernel parses is in parsers/kernel/kernel_params.py.

Standard library only: the box imports this.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..parsers.kernel.cmdline import CONFIRM_KEY, INITRD_KEY, TRIAL_KEY
from ..parsers.kernel.kernel_params import (
    INEFFECTIVE,
    MULTI_VALUE,
    PCI_WORDS,
    VALUES,
    hint,
    name_of,
    rejected_values,
    unparsed,
)
from ..parsers.kernel.param_conflicts import clash, split

__all__ = ["INEFFECTIVE", "MULTI_VALUE", "PCI_WORDS", "VALUES", "conflicts", "name_of", "problems"]

# /etc/default/grub.d/*.cfg is sourced by a shell, so these would not arrive as written.
_SHELL = re.compile(r"[$`\\]")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\[\]:-]*\Z")
_BDF = re.compile(r"(?:[0-9a-f]{4,}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\Z", re.IGNORECASE)


def problems(token: str) -> list[str]:
    """Return why the kernel (or GRUB's shell) would not take ``token`` as one parameter. The list is empty where it
    would."""
    shape = _shape(token)
    if shape:
        return [shape]
    name, equals, value = token.partition("=")
    if not _NAME.match(name):
        return [f"{token!r} does not begin with a parameter name; expected name or name=value"]
    key = name_of(token)
    if key in (TRIAL_KEY, CONFIRM_KEY, INITRD_KEY):
        return [f"{key}= is reserved: the trial boot sets it; remove it"]
    if key == "pci":
        return _pci(value) if equals else ["pci needs a value, for example pci=realloc"]
    if key in VALUES:
        return _listed(key, value)
    # A kernel that is patched for it does something with the override; nobody is kept from it.
    advice = "" if key == "pcie_acs_override" else unparsed(token)
    return [f"{token}: {advice}"] if advice else []


def _shape(token: str) -> str | None:
    if not token:
        return "is empty; remove the entry"
    if token.count('"') % 2 or token.count("'") % 2:
        return f"{token!r} has unbalanced quotes; write the parameter without quotes of its own"
    if re.search(r"\s", token):
        return f"{token!r} holds a space, which ends a kernel parameter; write one list entry per parameter"
    if not token.isascii() or not token.isprintable():
        return f"{token!r} holds a character that is not printable ASCII; retype it"
    shell = _SHELL.search(token)
    if shell:
        return f"{token!r} holds {shell.group()!r}, which the shell that reads GRUB's settings would expand"
    return None


def _pci(value: str) -> list[str]:
    return [text for word in value.split(",") if (text := _pci_word(word))]


def _pci_word(word: str) -> str | None:
    key, equals, _ = word.partition("=")
    if f"pci={word}" in INEFFECTIVE or key + equals in PCI_WORDS:
        return None
    if _BDF.match(word):
        return f"a comma ends a pci= word, so the kernel reads {word!r} as an option; join devices with ';'"
    if key + "=" in PCI_WORDS:
        return f"pci={key} needs a value: pci={key}=..."
    if key in PCI_WORDS:
        return f"pci={key} takes no value; write pci={key}"
    return (
        f'pci={word} is unknown to the kernel, which would log "PCI: Unknown option `{word}\'" and ignore '
        f"it; known words: {', '.join(sorted(PCI_WORDS))}"
    )


def _listed(name: str, value: str) -> list[str]:
    found = []
    for word in rejected_values(name, value):
        more = ', which box_spec.iommu: "pt" sets' if hint(name, word).endswith("`iommu=pt`") else ""
        found.append(f"{name}={word} is not a value the kernel knows, so it would have no effect; "
                     f"{hint(name, word)}{more}")
    return found


def conflicts(tokens: Iterable[str]) -> list[tuple[int, str]]:
    """Return the tokens that contradict an earlier one: ``(index, sentence)``, with what the kernel makes of the
    two."""
    earlier: list[str] = []
    found = []
    for index, token in enumerate(tokens):
        words = split(token)
        clashes = ((word, before, why) for word in words for before in earlier if (why := clash(before, word)))
        word, before, why = next(clashes, ("", "", ""))
        if why:
            found.append((index, f"{word} contradicts {before} ({why}); keep one of them"))
        earlier += words
    return found
