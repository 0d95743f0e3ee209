"""How words get onto the kernel command line by hand, for each boot loader: one text for all pages that ask for it."""

from __future__ import annotations

from .document_words import LOADER_WORDS

__all__ = ["LINK", "NAMES", "by_loader", "command_line"]

#: What a page says where it asks for an edit of the command line; check_pages.page() then puts by_loader() behind it.
LINK = '`tunecheck explain "command line"`'
#: What a reader may call it.
NAMES = ("COMMAND LINE", "KERNEL COMMAND LINE", "CMDLINE")


def command_line(name: str) -> str:
    """Return the page about it, under the name that it was asked for."""
    return (f"# {name}: the words that the boot loader hands to the kernel; they have an effect from the next boot on"
            f"\n\n{by_loader()}\nRead on: `tunecheck explain cmdline-token`\n")


def by_loader() -> str:
    """Return the section that says for each boot loader where the words stand, and what makes the next boot have
    them."""
    from ...facts.kernel.boot import Loader
    from ...rules.remedies.loader_edit import made_by, place_of

    items = []
    for loader in Loader:
        if loader is Loader.NOT_KNOWN:
            continue
        who = LOADER_WORDS[loader.value].rstrip(".")
        if loader is Loader.GRUBBY:
            how = ("to put words there, run `sudo grubby --update-kernel=ALL --args=WORDS`; to take words away, run "
                   f"`sudo grubby --update-kernel=ALL --remove-args=WORDS`; both edit {place_of(loader)}. Several "
                   "words are one argument: `'--args=iommu=pt pci=realloc'`")
        else:
            how = f"edit {place_of(loader)}, then run `{made_by(loader, None).shown}`"
        if loader is Loader.SYSTEMD_BOOT:
            how += " (systemd 255 or later); before: `sudo kernel-install add RELEASE /boot/vmlinuz-RELEASE`, with " \
                   "the kernel's release as `uname -r` shows it"
        items.append(f"- {who}: {how}.\n")
    return ("## The command line by boot loader\nReboot afterwards; `cat /proc/cmdline` shows what runs. A finding "
            f"about the command line names the way of the host's own boot loader.\n\n{''.join(items)}")
