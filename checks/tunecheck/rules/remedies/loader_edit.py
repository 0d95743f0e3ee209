"""Where this host's kernel command line is edited by hand, and what makes its boot loader take the edit."""

from __future__ import annotations

from collections.abc import Sequence

from ...facts.kernel.boot import Loader
from ...model.command import Command, run
from ...model.finding import Edit
from ...util.at_first_use import regex
from ..context import Case

__all__ = ["made_by", "place", "place_of", "sources", "taken", "tool"]

#: Words that a shell takes as they are. The words on a host's command line may be anything.
_PLAIN = regex(r"[A-Za-z0-9@%+=:,./_-]{1,1000}")
_GRUB = "GRUB_CMDLINE_LINUX_DEFAULT in /etc/default/grub"
_LINE = "/etc/kernel/cmdline"
_SOURCES = {Loader.GRUBBY: "/etc/default/grub and /boot/loader/entries", Loader.SYSTEMD_BOOT: _LINE,
            Loader.PROXMOX_BOOT: _LINE}
_PLACES = {Loader.GRUBBY: "the options of the entries in /boot/loader/entries", Loader.SYSTEMD_BOOT: _LINE,
           Loader.PROXMOX_BOOT: f"the first line of {_LINE}"}


def _loader(case: Case) -> Loader:
    return case.host.boot.loader if case.snapshot.host else Loader.NOT_KNOWN


def place(case: Case) -> str:
    """Return where the words of the command line stand."""
    return place_of(_loader(case))


def place_of(loader: Loader) -> str:
    """Return where the words of the command line stand, for this boot loader."""
    return _PLACES.get(loader, _GRUB)


def sources(case: Case) -> str:
    """Return where to look for a word whose place is not known."""
    return _SOURCES.get(_loader(case), "/etc/default/grub and /etc/default/grub.d")


def taken(case: Case, put: Sequence[str], away: Sequence[str]) -> tuple[str | Command, ...]:
    """Return what follows the edit in the place() in a sentence, with the command to type. ``put`` and ``away`` are the
    edited words: grubby edits and writes in one step (grubby(8), --args and --remove-args). Where one of them needs
    quoting in a shell, no such command is given."""
    loader = _loader(case)
    words = [*put, *away]
    grubby: tuple[Command, ...] = ()
    if words and all(_PLAIN.fullmatch(word) for word in words):
        options = [f"--remove-args={' '.join(away)}"] if away else []
        options += [f"--args={' '.join(put)}"] if put else []
        grubby = (run("sudo grubby --update-kernel=ALL", *options),)
    if loader is Loader.GRUBBY:
        return (Edit(": ", put, away), *grubby) if grubby else (
            Edit(" with grubby; what they are now: ", put, away), run("sudo grubby --info=ALL"))
    made = _made(case)
    edit = Edit(" and run: ", put, away)
    if loader is Loader.NOT_KNOWN and grubby:
        return (edit, made, " (on Fedora and Rocky one command does both steps: ", *grubby, ")")
    return edit, made


def tool(case: Case) -> str:
    """Return the name of the program that brings an edit to what boots."""
    return "grubby" if _loader(case) is Loader.GRUBBY else next(
        word for word in _made(case).argv if word != "sudo")


def _made(case: Case) -> Command:
    return made_by(_loader(case), case.host.kernel.release.value if case.snapshot.host else None)


def made_by(loader: Loader, release: str | None) -> Command:
    """Return the command that makes what boots of the place_of() this boot loader, but for grubby, which does both in
    one. ``release``: the kernel whose entry is to be made, None where it is not known."""
    if loader in (Loader.PROXMOX_BOOT, Loader.PROXMOX_GRUB):
        return run("sudo proxmox-boot-tool refresh")
    if loader is Loader.SYSTEMD_BOOT:
        # One kernel's entry; systemd 255 and later has add-all, Debian 12 does not.
        return run("sudo kernel-install add", release, f"/boot/vmlinuz-{release}") if release else run(
            "sudo kernel-install add-all")
    return run("sudo update-grub")
