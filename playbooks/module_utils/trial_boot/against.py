"""What somebody else set on the command line against what is asked for."""

from __future__ import annotations

from typing import NamedTuple

from ansible.module_utils.tunecheck.parsers.kernel import modprobe
from ansible.module_utils.tunecheck.parsers.kernel.param_conflicts import conflicts

__all__ = ["CONTRADICTED", "Against", "against_modules", "contradictions"]

CONTRADICTED = ("the next boot's command line would hold what contradicts box_spec: %s. Remove it there%s, or state "
                "what you want in box_spec, then run the play again. Nothing was written.")


class Against(NamedTuple):
    """A token of somebody else's that contradicts ``declared``, a word of ours; ``where``: "file:line", "" where it is
    of the specification itself. ``text`` says it to people."""

    token: str
    where: str
    declared: str
    text: str


def contradictions(placed, tokens, harmless):
    """Return what others set against ``tokens``, each an Against. ``harmless``: also what the kernel would not obey."""
    told = {}
    for found in conflicts(tokens, [each.token for each in placed]):
        if found.wins or harmless:
            told.setdefault((placed[found.index].token, placed[found.index].where), found)
    return [Against(token, where, found.declared, "%s (%s) against %s: %s" % (
        token, where or "box_spec itself", found.declared, found.why)) for (token, where), found in told.items()]


def against_modules(placed, options):
    """Return the words of somebody else's command line that set a parameter of ``options`` to another value, each an
    Against. After the commit, without the trial's command line, they would win."""
    found = [(each, modprobe.against(options.modules, each.token)) for each in placed if each.where] if options else []
    return [Against(each.token, each.where, word, "%s (%s) against %s of box_spec.modules: modprobe reads the command "
                    "line behind modprobe.d" % (each.token, each.where, word)) for each, word in found if word]
