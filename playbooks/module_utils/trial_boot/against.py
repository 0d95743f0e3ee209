"""What somebody else set on the command line against what is asked for."""

from __future__ import annotations

from ansible.module_utils.tunecheck.parsers.kernel import modprobe
from ansible.module_utils.tunecheck.parsers.kernel.param_conflicts import conflicts

__all__ = ["CONTRADICTED", "against_modules", "contradictions"]

CONTRADICTED = ("the next boot's command line would hold what contradicts box_spec: %s. Remove it there%s, or state "
                "what you want in box_spec, then run the play again. Nothing was written.")


def contradictions(placed, tokens, harmless):
    """Return sentences on what others set against ``tokens``. ``harmless``: also what the kernel would not obey."""
    told = {}
    for found in conflicts(tokens, [each.token for each in placed]):
        if found.wins or harmless:
            told.setdefault((placed[found.index].token, placed[found.index].where), found)
    return ["%s (%s) against %s: %s" % (token, where or "box_spec itself", found.declared, found.why)
            for (token, where), found in told.items()]


def against_modules(placed, options):
    """Return sentences on words of somebody else's command line that set a parameter of ``options`` to another value.
    After the commit, without the trial's command line, they would win."""
    found = [(each, modprobe.against(options.modules, each.token)) for each in placed if each.where] if options else []
    return ["%s (%s) against %s of box_spec.modules: modprobe reads the command line behind modprobe.d"
            % (each.token, each.where, word) for each, word in found if word]
