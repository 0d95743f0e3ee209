"""What the next boot will do: our drop-in (configured), the boot loader's default entry (generated), a staged trial.

Three loaders: GRUB with a generated grub.cfg (Debian, Ubuntu), GRUB with Boot Loader Specification entries
(Enterprise Linux), systemd-boot. Only the first has a drop-in; systemd-boot has /etc/kernel/cmdline, and on Enterprise
Linux the entry itself is the configuration. Where proxmox-boot-tool keeps the entries, proxmox.py tells of them.
"""

from __future__ import annotations

import re
from enum import Enum

from ...host import Host, Unreadable
from ...model.fact import Absence, Fact, absent, absent_as, known, parsed
from ...parsers.kernel import bls, grub, trial
from ...parsers.kernel.cmdline import tokenize
from ...parsers.text.bounds import release_of
from ...util.at_first_use import dataclass, regex
from ..file_text import text
from . import proxmox

__all__ = ["Boot", "Loader", "boot"]

_DROPINS = "/etc/default/grub.d"
_ENTRIES = ("/boot/loader/entries", "/efi/loader/entries", "/boot/efi/loader/entries")
_TRIAL = "tunecheck-trial.conf"
_KERNEL_CMDLINE = "/etc/kernel/cmdline"
_LOADER_INFO = "/sys/firmware/efi/efivars/LoaderInfo-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"
_ASSIGNS = regex(r"^[ \t]*GRUB_CMDLINE_LINUX_DEFAULT=(.*)$", re.MULTILINE)
_KEEPS = regex(r"\$\{?GRUB_CMDLINE_LINUX_DEFAULT\b")


class Loader(Enum):
    """The boot loaders, as an operator edits their command line."""

    #: With update-grub, on Debian and Ubuntu.
    GRUB = "grub"
    #: With entries and grubby, on Enterprise Linux.
    GRUBBY = "grubby"
    #: With kernel-install.
    SYSTEMD_BOOT = "systemd-boot"
    PROXMOX_BOOT = "proxmox-boot"
    PROXMOX_GRUB = "proxmox-grub"
    NOT_KNOWN = "not-known"


@dataclass(frozen=True)
class Boot:
    """What the next boot will do. ``configured`` and ``generated`` are command line tokens. ``overwriters`` are files
    sourced after our drop-in that throw away what it set; ``staged`` says whether a trial boot waits. ``release`` is
    the kernel that the default entry starts, empty where its file's name holds no version. ``loader`` is what booted
    this host, as far as its files tell."""

    configured: Fact[tuple[str, ...]]
    generated: Fact[tuple[str, ...]]
    overwriters: tuple[str, ...]
    staged: Fact[bool]
    release: Fact[str]
    loader: Loader = Loader.NOT_KNOWN


def boot(host: Host, release: str) -> Boot:
    """Read the loader that booted this host. ``release`` picks among entries where no default is recorded."""
    waits = _waits(host)
    by_systemd_boot = _by_systemd_boot(host)
    if proxmox.in_use(host):
        return Boot(proxmox.written_line(host), proxmox.next_line(host, by_systemd_boot), (), waits,
                    proxmox.next_release(host, release),
                    Loader.PROXMOX_BOOT if by_systemd_boot else Loader.PROXMOX_GRUB)
    cfg = text(host, grub.GRUB_CFG)
    # A machine moved to systemd-boot often keeps its old grub.cfg, which then boots nothing.
    if not cfg.missing and not by_systemd_boot:
        entry = _grub_default(host, cfg)
        return Boot(_dropin(host), parsed(entry, lambda found: found.tokens), _overwriters(host), waits,
                    parsed(entry, lambda found: release_of(bls.release(found.kernel))),
                    Loader.GRUB if cfg.known else Loader.NOT_KNOWN)
    chosen = _bls_entry(host, release)
    if chosen is not None:
        content, tokens, waits = chosen
        line = text(host, _KERNEL_CMDLINE)
        return Boot(tokens if line.missing else parsed(line, lambda found: _tokens(bls.line(found))), tokens, (), waits,
                    parsed(content, lambda found: release_of(bls.release(bls.kernel(found)))),
                    Loader.SYSTEMD_BOOT if by_systemd_boot else Loader.GRUBBY)
    nothing: Fact[tuple[str, ...]] = absent(f"{grub.GRUB_CFG}, {', '.join(_ENTRIES)}", Absence.NO_BOOT_LOADER)
    return Boot(nothing, nothing, (), waits, absent_as(nothing))


def _waits(host: Host) -> Fact[bool]:
    """Return whether a trial waits: by GRUB's entry; or by the firmware's BootNext, of which the note tells that was
    made in this boot."""
    staged = text(host, grub.TRIAL_SCRIPT)
    if not staged.missing:
        return known(True, staged.source) if staged.known else absent_as(staged)
    noted, here = text(host, trial.MEMORY), text(host, trial.BOOT_ID)
    if not noted.known or not here.known:       # an older snapshot has none
        return known(False, staged.source)
    return parsed(noted, lambda content: trial.parse_noted(content).boot_id == (here.value or "").strip())


def _by_systemd_boot(host: Host) -> bool:
    try:
        # An EFI variable: four bytes of attributes, then UTF-16.
        return host.read_bytes(_LOADER_INFO)[4:].decode("utf-16-le", "replace").startswith("systemd-boot")
    except Unreadable:
        return False


def _tokens(line: str) -> tuple[str, ...]:
    return tuple(tokenize(line))


def _dropin(host: Host) -> Fact[tuple[str, ...]]:
    content = text(host, grub.DROPIN)
    return known((), grub.DROPIN) if content.missing else parsed(content, grub.parse_dropin)


def _grub_default(host: Host, cfg: Fact[str]) -> Fact[grub.Entry]:
    environment = grub.parse_grubenv(text(host, "/boot/grub/grubenv").value or "")

    def default(content: str) -> grub.Entry:
        entry = grub.default_entry(content, environment.get("saved_entry", ""))
        if entry is None:
            raise ValueError("no default menu entry")
        return entry

    return parsed(cfg, default)


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


def _bls_entry(host: Host, release: str) -> tuple[Fact[str], Fact[tuple[str, ...]], Fact[bool]] | None:
    """Return the content and the command line of the default entry, and whether a trial's entry is beside it. None
    where there is no entry."""
    environment = grub.parse_grubenv(text(host, "/boot/grub2/grubenv").value or "")
    for folder in _ENTRIES:
        try:
            names = [name for name in host.list(folder) if name.endswith(".conf")]
        except Unreadable as error:
            if error.absence is not Absence.NOT_PRESENT:
                return absent(folder, error.reason), absent(folder, error.reason), absent(folder, error.reason)
            continue
        # The recorded default, else the running kernel's entry.
        chosen = ([name for name in names if name == environment.get("saved_entry", "") + ".conf"]
                  or [name for name in names if release and name.endswith(f"-{release}.conf")])
        if chosen:
            # Enterprise Linux keeps shared parameters in grubenv and names them in the entry: $kernelopts.
            content = text(host, f"{folder}/{chosen[-1]}")
            return content, parsed(content, lambda entry: _tokens(re.sub(
                r"\$(\w+)", lambda found: environment.get(found.group(1), ""), bls.options(entry)))), \
                known(_TRIAL in names, folder)
    return None
