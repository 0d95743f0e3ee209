"""How an operator puts words on the kernel command line by hand, and takes them off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...model.command import Command, host, run, typed
from ...model.finding import Remedy
from ...parsers.kernel.cmdline import acts, missing, words
from ...parsers.kernel.kernel_params import INEFFECTIVE
from ...parsers.kernel.param_conflicts import conflicts
from ...spec.frozen import declared_tokens
from ..context import Case
from .loader_edit import place, sources, taken

__all__ = ["add", "commit", "keep", "lacking", "leave", "leave_unset", "remove", "rivals", "runs", "taken_off",
           "without_effect", "written"]


def lacking(case: Case) -> list[str]:
    """Return the declared parameters that the running command line or the boot loader's entry lacks, but for those
    that no kernel takes. All of them are one edit of one line, and one reboot. What a trial boot runs is committed, not
    edited."""
    if not case.snapshot.host or case.host.kernel.cmdline.value is None:
        return []
    running = case.host.kernel.cmdline.value
    generated = None if case.trial or case.open_trial else case.host.boot.generated.value
    return [token for token in declared_tokens(case.spec) if not set(words([token])) <= INEFFECTIVE.keys()
            and (missing([token], running) or (generated is not None and missing([token], generated)))]


def rivals(case: Case) -> list[str]:
    """Return the running words that contradict declared parameters. All of them are one edit, and one reboot."""
    running = case.host.kernel.cmdline.value if case.snapshot.host else None
    return list(dict.fromkeys(each.rival for each in conflicts(declared_tokens(case.spec), running or ())))


def runs(case: Case, word: str) -> bool:
    """Whether the word acts on the running command line, and the next boot is not known to lack it: no remedy asks for
    it again."""
    running = case.host.kernel.cmdline.value if case.snapshot.host else None
    if running is None or not acts(word, running):
        return False
    generated = None if case.trial or case.open_trial else case.host.boot.generated.value
    return generated is None or not missing([word], generated)


def without_effect(case: Case, word: str, look: str) -> Remedy | None:
    """Return the remedy for a word that runs already and whose effect is not there; None where it does not run.
    ``look``: what tells why."""
    if not runs(case, word):
        return None
    return Remedy.of(*typed("{word} is on the running command line and did not act, or a later word or something else "
                            "undid it: another boot with it changes nothing; see `sudo dmesg`: " + look, word=word))


def add(case: Case, words: Sequence[str]) -> Remedy:
    """Return how to put the words on the command line, as the specification has them."""
    return Remedy.of(*typed("put {words} into {place}", words=" ".join(words), place=place(case)),
                     *written(case, words), needs_reboot=True)


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
