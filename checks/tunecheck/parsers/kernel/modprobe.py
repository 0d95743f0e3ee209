"""modprobe.d: ``options`` lines, and how the kernel prints a parameter back."""

from __future__ import annotations

import re
from typing import Iterable, Mapping, Optional

from ...util.at_first_use import regex

__all__ = ["CONF", "NOUVEAU_CONF", "NVIDIA_PARAMS", "against", "blacklisted", "file_names", "normalise_module",
           "nvidia_shows", "parse_options", "render_blacklist", "render_options", "same_value", "tokens"]

#: Sorts after what distributions and drivers install; a later value of the same parameter wins.
CONF = "/etc/modprobe.d/zz-tunecheck.conf"
NOUVEAU_CONF = "/etc/modprobe.d/zz-tunecheck-nouveau.conf"

#: nvidia.ko's parameters have no permission in sysfs (nv-linux.h: module_param(x, int, 0)); this is its own list.
NVIDIA_PARAMS = "/proc/driver/nvidia/params"

#: The one parameter that the list has by another name (..._ENTRY_CUSTOM_NAME in nv-reg.h, 595.45.04, read 2026-11-21).
_SHOWN_AS = {"RestrictProfilingToAdminUsers": "RmProfilingAdminOnly"}
_NUMBER = regex(r"[+-]?(?:0[xX][0-9a-fA-F]+|[0-9]+)\Z")
_TRUE = {"1", "y", "Y"}
_FALSE = {"0", "n", "N"}


def normalise_module(name: str) -> str:
    """Return a module's name as the kernel writes it: with ``_`` where modprobe.d and file names may write ``-``."""
    return name.replace("-", "_")


def parse_options(text: str) -> dict[str, dict[str, str]]:
    """Return the ``options`` lines as {module: {parameter: value}}. A bare parameter has the value "1"."""
    result: dict[str, dict[str, str]] = {}
    for line in text.replace("\\\n", " ").splitlines():
        fields = line.split("#", 1)[0].split()
        if len(fields) < 3 or fields[0] != "options":
            continue
        values = result.setdefault(normalise_module(fields[1]), {})
        for field in fields[2:]:
            name, mark, value = field.partition("=")
            values[normalise_module(name)] = value.strip('"') if mark else "1"
    return result


def render_options(modules: dict[str, dict[str, object]]) -> str:
    """Return the text of the whole file for {module: {parameter: value}}, in stable order."""
    lines = ["# Written by tunecheck (role kernel_modules). Change box_spec.modules in the inventory, not this file."]
    for module in sorted(modules):
        values = " ".join("%s=%s" % (name, modules[module][name]) for name in sorted(modules[module]))
        if values:
            lines.append("options %s %s" % (module, values))
    return "\n".join(lines) + "\n"


def tokens(modules: Mapping[str, Mapping[str, object]]) -> list[str]:
    """Return {module: {parameter: value}} as words of a kernel command line, in stable order. modprobe and udev read
    them there behind modprobe.d (libkmod-config.c, kmod_config_parse_kcmdline()), the kernel those of what is built
    in."""
    return ["%s.%s=%s" % (normalise_module(module), name, modules[module][name])
            for module in sorted(modules) for name in sorted(modules[module])]


def against(modules: Mapping[str, Mapping[str, object]], token: str) -> str:
    """Return the word of ``modules`` that ``token``, of somebody's command line, sets to another value. "" where there
    is none. The kernel takes ``-`` and ``_`` for the same."""
    name, _, value = token.partition("=")
    for word in tokens(modules):
        ours, _, wanted = word.partition("=")
        if normalise_module(ours) == normalise_module(name) and not same_value(wanted, value or "1"):
            return word
    return ""


def render_blacklist(modules: Iterable[str]) -> str:
    """Return the text of a file that keeps modules from loading by themselves. An alias cannot bring them either."""
    lines = ["# Written by tunecheck (role nvidia_driver): these would take the GPUs before the driver does."]
    return "\n".join([*lines, *("blacklist %s" % name for name in sorted(modules))]) + "\n"


def blacklisted(text: str) -> set[str]:
    """Return the module names in ``blacklist`` lines, normalised."""
    rows = (line.split("#", 1)[0].split() for line in text.splitlines())
    return {normalise_module(row[1]) for row in rows if len(row) == 2 and row[0] == "blacklist"}


def same_value(declared: object, live: str) -> bool:
    """Return whether sysfs shows the declared value. A bool parameter is set as 1 and read back as Y."""
    want, have = str(declared).strip(), live.strip()
    if want == have:
        return True
    if want in _TRUE | _FALSE and have in {"Y", "N"}:
        return (want in _TRUE) == (have == "Y")
    if not (_NUMBER.match(want) and _NUMBER.match(have)):
        return False
    # The kernel prints an int as unsigned where the driver does: -1 is 4294967295.
    return (_number(want) - _number(have)) % (1 << 32) == 0


def _number(text: str) -> int:
    digits = text.lstrip("+-")
    octal = digits.startswith("0") and digits.isdigit() and not set(digits) & {"8", "9"}
    value = int(digits, 8) if octal else int(digits, 16) if digits[:2] in ("0x", "0X") else int(digits)
    return -value if text.startswith("-") else value


def nvidia_shows(listing: str, parameter: str) -> Optional[str]:
    """Return the value of ``NVreg_...`` in the text of NVIDIA_PARAMS, without quotes. None where it does not list
    it."""
    name = parameter[len("NVreg_"):] if parameter.startswith("NVreg_") else parameter
    found = re.search(r"^%s:[ \t]*(.*)$" % re.escape(_SHOWN_AS.get(name, name)), listing, re.MULTILINE)
    return found.group(1).strip().strip('"') if found else None


def file_names(name: str) -> tuple[str, ...]:
    """Return the names that a module's file may have. Debian's packages have nvidia-current-open-uvm.ko (and without
    "open") for nvidia-uvm, which an install line of modprobe.d knows and modinfo does not."""
    start, line, rest = name.replace("_", "-").partition("-")
    if start != "nvidia":
        return (name,)
    return (name, "nvidia-current-open" + line + rest, "nvidia-current" + line + rest)
