"""Owned tokens where the boot loader keeps one shared line: our own list beside it says which are ours."""

from __future__ import annotations

import json

from ansible.module_utils.box_io import read_text, remove, write_text
from ansible.module_utils.tunecheck.parsers.kernel import cmdline

from .base import Bootloader, BootloaderError, Placed, foreign_of, places
from .why import Why

__all__ = ["OWNED", "OwnedLine", "replaced"]

OWNED = "/etc/tunecheck/kernel_cmdline.json"
TRIAL_CONF = "tunecheck-trial.conf"


class OwnedLine(Bootloader):
    """A boot loader whose list of owned tokens is one JSON file: shared by grubby and systemd-boot."""

    config_path = OWNED

    def lines(self):
        """Return the command lines that make up the one to come, each a list of tokens; ours go behind the last one."""
        return [self.generated()]

    def sources(self):
        """Return the files in which somebody may have set a parameter."""
        raise NotImplementedError

    def placed(self, tokens):
        ours, sources, foreign = [*self.configured(), *self.retired()], self.sources(), []
        for line in self.lines():
            foreign += [token for token in foreign_of(line, ours) if token not in foreign]
        return [*(Placed(token, places(token, sources) or "the default boot entry") for token in foreign),
                *(Placed(token, "") for token in tokens)]

    def give_up(self):
        self._disarm()

    def remove(self):
        self.commit([], [])
        self._keep([], [])

    def _disarm(self):
        """Take the trial entry and the order to boot it away."""
        raise NotImplementedError

    def _owned(self):
        text = read_text(OWNED)
        if not text:
            return {"tokens": [], "retired": []}
        try:
            return json.loads(text)
        except ValueError as error:
            raise BootloaderError(
                Why.BAD_LIST,
                "%s is not JSON (%s); expected the list of kernel parameters that tunecheck set. "
                "Restore it, or remove it and take tunecheck's parameters out by hand."
                % (OWNED, error)) from error

    def configured(self):
        return list(self._owned()["tokens"])

    def retired(self):
        return list(self._owned()["retired"])

    def rendered(self, tokens, retired):
        if not tokens and not retired:
            return ""
        return json.dumps({"retired": list(retired), "tokens": list(tokens)}, indent=2, sort_keys=True) + "\n"

    def _keep(self, tokens, retired):
        self._keep_text(self.rendered(tokens, retired))

    @staticmethod
    def _keep_text(text):
        if text:
            write_text(OWNED, text)
        else:
            remove(OWNED)

    def _assert_generated(self, tokens, by):
        lost = cmdline.missing(tokens, self.generated())
        if lost:
            raise BootloaderError(
                Why.NOT_IN_DEFAULT,
                "%s reported success, but the default boot entry lacks %s. Look at that entry and at "
                "what else writes it." % (by, " ".join(lost)))


def replaced(tokens, remove_tokens, add):
    """Return ``tokens`` without one of each of ``remove_tokens`` (from the right), and with ``add`` behind."""
    return foreign_of(tokens, remove_tokens) + list(add)
