"""How an operator puts words on the kernel command line by hand, and takes them off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...facts.kernel.boot import Loader
from ...model.command import Command, host, run, typed
from ...model.finding import Edit, Place, Remedy
from ...parsers.kernel.cmdline import count, missing, words
from ...parsers.kernel.kernel_params import INEFFECTIVE
from ...parsers.kernel.param_conflicts import split
from ...spec.frozen import Spec, declared_tokens
from ..context import Case
from ..running_words import against, runs
from .loader_edit import place, sources, taken

__all__ = ["add", "against", "commit", "holding", "is_the_plays", "keep", "lacking", "leave", "leave_unset",
           "or_boot_with", "remove", "runs", "taken_off", "without_effect", "written"]


def lacking(case: Case, spec: Spec | None = None) -> list[str]:
    """Return the declared parameters that the running command line or the boot loader's entry lacks, but for those
    that no kernel takes. All of them are one edit of one line, and one reboot. What a trial boot runs is committed, not
    edited. ``spec``: another one than the host's, which a fix asks for."""
    if not case.snapshot.host or case.host.kernel.cmdline.value is None:
        return []
    running = case.host.kernel.cmdline.value
    generated = None if case.trial or case.open_trial else case.host.boot.generated.value
    return [token for token in declared_tokens(spec or case.spec) if not set(words([token])) <= INEFFECTIVE.keys()
            and (missing([token], running) or (generated is not None and missing([token], generated)))]


def holding(case: Case, unwanted: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the running tokens that hold one of these words, and the other words of those that are a list: pci=nocrs
    in pci=nocrs,noaer leaves pci=noaer."""
    running = case.host.kernel.cmdline.value or () if case.snapshot.host else ()
    tokens = [token for token in dict.fromkeys(running) if set(split(token)) & set(unwanted)]
    rest = [word for token in tokens for word in split(token) if word not in unwanted]
    return tokens, list(dict.fromkeys(rest))


def is_the_plays(case: Case, word: str) -> bool:
    """Whether a running word is known to be the play's own, which it takes away itself once it is not declared: it
    stands in tunecheck's file for GRUB, and no more often on the command line. Of other boot loaders that is not known,
    and a person may have written the same word."""
    configured = case.host.boot.configured.value if case.host.boot.loader is Loader.GRUB else None
    return configured is not None and word in declared_tokens(case.spec) and \
        count(word, case.host.kernel.cmdline.value or ()) <= count(word, configured)


def without_effect(case: Case, word: str, look: str) -> Remedy | None:
    """Return the remedy for a word that runs already and whose effect is not there; None where it does not run.
    ``look``: what tells why."""
    if not runs(case, word):
        return None
    return Remedy.of(*typed("{word} is on the running command line and did not act, or a later word or something else "
                            "undid it: another boot with it changes nothing; see `sudo dmesg`: " + look, word=word))


def or_boot_with(case: Case, first: str, word: str, look: str) -> Remedy:
    """Return ``first``, or else a boot with the word; where the word runs already ``first`` is all that is left. The
    words that contradict it, it replaces. ``look``: what tells what became of the word."""
    rivals = against(case, [word])
    if runs(case, word) and not rivals:
        return Remedy.of(*typed("{word} runs already and did not act here (" + look + "): " + first, word=word),
                         needs_reboot=True, place=Place.FIRMWARE)
    instead = f" in place of {' '.join(rivals)}" if rivals else ""
    return Remedy.of(*typed(first + ", or boot with {word}{instead}", word=word, instead=instead),
                     Edit("", [word], rivals), needs_reboot=True, place=Place.FIRMWARE)


def add(case: Case, words: Sequence[str], away: Sequence[str] = ()) -> Remedy:
    """Return how to put the words on the command line, as the specification has them; ``away``: the running tokens in
    whose place they come."""
    instead = f" in place of {' '.join(away)}" if away else ""
    return Remedy.of(*typed("put {words} into {place}{instead}", words=" ".join(words), place=place(case),
                            instead=instead), *written(case, words, away), needs_reboot=True)


def commit(case: Case, tag: str) -> Remedy:
    """Return how the words of the trial boot that runs now get into the default entry: never by hand."""
    play = run("ansible-playbook site.yml -i inventory/NAME --tags", tag, "-l",
               host(case.frozen.host if case.frozen else None), where="control")
    text = "the play proves this trial boot and commits it: "
    return replace(Remedy.of(text, play, ansible_tags=(tag,)), play_text=text + play.shown)


def keep(case: Case, word: str) -> Remedy:
    """Return how to keep the word, which runs now, for the next boots."""
    return Remedy.of(*typed("if {word} is wanted, put it into {place}", word=word, place=place(case)),
                     *written(case, [word], reboot=False))


def leave(word: str) -> Remedy:
    """Return the one answer of every check about a word that no kernel takes and that profiles set all the same
    (INEFFECTIVE)."""
    return Remedy(f"leave {word} as found: the word does no harm, and tunecheck's own profiles set it")


def leave_unset(word: str) -> Remedy:
    """Return the same of such a word that is declared and does not run."""
    return Remedy(f"nothing has to be done: {word} is not on the running command line, and would change nothing there; "
                  f"to be told no more, take {word} out of box_spec.kernel.cmdline")


def remove(case: Case, words: Sequence[str]) -> Remedy:
    """Return how to take the words off the command line, whoever put them there."""
    return Remedy.of(*typed("take {words} out of {place}", words=" ".join(words), place=place(case)),
                     *written(case, [], words), needs_reboot=True)


def taken_off(case: Case, words: Sequence[str]) -> tuple[str | Command, ...]:
    """Return how words that somebody else set get off the command line: where they stand is not known."""
    running = case.host.kernel.cmdline.value or ()
    # grubby takes whole tokens away: iommu=off is a part of iommu=off,pt.
    whole = words if all(word in running for word in words) else []
    named = " and ".join(part for part in (", ".join(words[:-1]), words[-1]) if part)
    return (*typed("remove {words} from the boot configuration that sets " + ("it" if len(words) == 1 else "them") +
                   " (look in {sources})", words=named, sources=sources(case)),
            *written(case, [], whole, reboot=False))


def written(case: Case, put: Sequence[str], away: Sequence[str] = (), reboot: bool = True) -> tuple[str | Command, ...]:
    """Return the end of a sentence that says how the edited words reach the boot loader."""
    return (*taken(case, put, away), *([", then reboot"] if reboot else []))
