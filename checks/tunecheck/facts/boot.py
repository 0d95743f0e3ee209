"""What the next boot will do: our drop-in (configured), the boot loader's default entry (generated), a staged trial.

Three loaders: GRUB with a generated grub.cfg (Debian, Ubuntu), GRUB with Boot Loader Specification entries
(Enterprise Linux), systemd-boot. Only the first has a drop-in; on the others the entry itself is the configuration.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..formats import bls, grub
from ..formats.cmdline import tokenize
from ..host import Host, Unreadable
from .fact import Fact, absent, known, parsed, text

__all__ = ["Boot", "boot"]

_DROPINS = "/etc/default/grub.d"
_ENTRIES = ("/boot/loader/entries", "/efi/loader/entries", "/boot/efi/loader/entries")
_ASSIGNS = re.compile(r"^\s*GRUB_CMDLINE_LINUX_DEFAULT=(.*)$", re.MULTILINE)
_KEEPS = re.compile(r"\$\{?GRUB_CMDLINE_LINUX_DEFAULT\b")


@dataclass(frozen=True)
class Boot:
    """``configured`` and ``generated`` are command line tokens. ``overwriters`` are files sourced after our drop-in
    that throw away what it set; ``staged`` says whether a trial boot waits."""

    configured: Fact[tuple[str, ...]]
    generated: Fact[tuple[str, ...]]
    overwriters: tuple[str, ...]
    staged: Fact[bool]


def boot(host: Host, release: str) -> Boot:
    """Read the first loader that is there. ``release`` picks among entries of several kernels."""
    cfg = text(host, grub.GRUB_CFG)
    staged = text(host, grub.TRIAL_SCRIPT)
    waits = known(staged.known, staged.source) if staged.known or staged.missing else absent(
        staged.source, staged.reason or "")
    if not cfg.missing:
        return Boot(_dropin(host), _grub_default(host, cfg), _overwriters(host), waits)
    entry = _bls_entry(host, release)
    if entry is not None:
        return Boot(entry, entry, (), waits)
    nothing: Fact[tuple[str, ...]] = absent(f"{grub.GRUB_CFG}, {', '.join(_ENTRIES)}", "no boot loader found")
    return Boot(nothing, nothing, (), waits)


def _dropin(host: Host) -> Fact[tuple[str, ...]]:
    content = text(host, grub.DROPIN)
    return known((), grub.DROPIN) if content.missing else parsed(content, grub.parse_dropin)


def _grub_default(host: Host, cfg: Fact[str]) -> Fact[tuple[str, ...]]:
    environment = grub.parse_grubenv(text(host, "/boot/grub/grubenv").value or "")

    def tokens(content: str) -> tuple[str, ...]:
        entry = grub.default_entry(content, environment.get("saved_entry", ""))
        if entry is None:
            raise ValueError("no default menu entry")
        return entry.tokens

    return parsed(cfg, tokens)


def _overwriters(host: Host) -> tuple[str, ...]:
    try:
        names = host.list(_DROPINS)
    except Unreadable:
        return ()
    ours = grub.DROPIN.rpartition("/")[2]
    later = [f"{_DROPINS}/{name}" for name in names if name.endswith(".cfg") and name > ours]
    return tuple(path for path in later if _overwrites(text(host, path).value or ""))


def _overwrites(content: str) -> bool:
    return any(not _KEEPS.search(value) for value in _ASSIGNS.findall(content))


def _bls_entry(host: Host, release: str) -> Fact[tuple[str, ...]] | None:
    for folder in _ENTRIES:
        try:
            names = [name for name in host.list(folder) if name.endswith(".conf")]
        except Unreadable as error:
            if error.reason != "not present":
                return absent(folder, error.reason)
            continue
        # The running kernel's entry is the one whose parameters can be compared with the running ones.
        chosen = [name for name in names if release and name.endswith(f"-{release}.conf")]
        if chosen:
            return parsed(text(host, f"{folder}/{chosen[-1]}"), lambda content: tuple(tokenize(bls.options(content))))
    return None
