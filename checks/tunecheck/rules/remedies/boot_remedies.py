"""How an operator puts words on the kernel command line by hand, and takes them off."""

from __future__ import annotations

from dataclasses import replace

from ...model.command import Command, host, run, typed
from ...model.finding import Remedy
from ...util.at_first_use import regex
from ..context import Case

__all__ = ["add", "commit", "keep", "remove", "written"]

#: Words that a shell takes as they are. The words on a host's command line may be anything.
_PLAIN = regex(r"[A-Za-z0-9@%+=:,./_-]{1,1000}")


def add(words: str) -> Remedy:
    """Return how to put the words on the command line, as the specification has them."""
    return Remedy.of(*typed("put {words} into GRUB_CMDLINE_LINUX_DEFAULT in /etc/default/grub and ", words=words),
                     *written(words), needs_reboot=True)


def commit(case: Case, tag: str) -> Remedy:
    """Return how the words of the trial boot that runs now get into the default entry: never by hand."""
    play = run("ansible-playbook site.yml -i inventory/NAME --tags", tag, "-l",
               host(case.frozen.host if case.frozen else None), where="control")
    text = "the play proves this trial boot and commits it: "
    return replace(Remedy.of(text, play, ansible_tags=(tag,)), play_text=text + play.shown)


def keep(words: str) -> Remedy:
    """Return how to keep the words, which run now, for the next boots."""
    return Remedy.of(*typed("if {words} is wanted, put it into GRUB_CMDLINE_LINUX_DEFAULT in /etc/default/grub and ",
                            words=words), *written(words, reboot=False))


def remove(words: str) -> Remedy:
    """Return how to take the words off the command line, whoever put them there."""
    return Remedy.of(*typed("take {words} out of GRUB_CMDLINE_LINUX_DEFAULT in /etc/default/grub and ", words=words),
                     *written("", words), needs_reboot=True)


def written(put: str, away: str = "", reboot: bool = True) -> tuple[str | Command, ...]:
    """Return the end of a sentence that says how the edited words reach the boot loader. Fedora and Rocky have grubby,
    which edits and writes in one step: grubby(8), --args and --remove-args. Where one of the words needs quoting in a
    shell, no grubby command is given."""
    words = [*put.split(), *away.split()]
    grubby: tuple[str | Command, ...] = ()
    if words and all(_PLAIN.fullmatch(word) for word in words):
        options = [f"--remove-args={away}"] if away else []
        options += [f"--args={put}"] if put else []
        grubby = (" (Fedora and Rocky, in place of both: ", run("sudo grubby --update-kernel=ALL", *options), ")")
    return ("run: ", run("sudo update-grub"), *grubby, *([", then reboot"] if reboot else []))
