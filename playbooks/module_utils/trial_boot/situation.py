"""The facts on which a change of the kernel command line depends, and the one step that follows from them."""

from __future__ import annotations

import hashlib
import os

from ansible.module_utils import initramfs, trial_confirmation, trial_hang, trial_initrd
from ansible.module_utils.bootloader import boot_next, proof
from ansible.module_utils.box_io import read_text
from ansible.module_utils.tunecheck.parsers.kernel import cmdline

__all__ = ["Situation", "decide", "image"]


class Situation:
    """The facts on which the decision depends, read from the box."""

    def __init__(self, loader, tokens, confirm_seconds=1200, panic_seconds=30, options=None):
        self.running = cmdline.tokenize(read_text("/proc/cmdline"))
        self.tokens = cmdline.merge(tokens)
        self.configured = loader.configured()
        self.generated = loader.generated()
        self.staged = loader.staged()
        self.running_trial = cmdline.trial_id(self.running)
        self.by_kexec = cmdline.by_kexec(self.running)
        # Words that were ours and no longer are.
        self.dropped = [word for word in cmdline.words([*self.configured, *loader.retired()])
                        if cmdline.missing([word], self.tokens)]
        stale = cmdline.present(self.dropped, self.running)
        # Somebody else sets it too: the default entry has it more often than our file explains.
        foreign = [word for word in stale
                   if cmdline.count(word, self.generated) > cmdline.count(word, self.configured)]
        self.retired = [word for word in stale if word not in foreign]
        # Module parameters that modprobe.d or the initramfs lacks: they ride on the trial's command line.
        self.options = options if options is not None and options.differs else None
        self.trial_parameters = _trial_parameters(self.options)
        ridden = cmdline.trial_parameters(self.running)
        self.riding = self.options is not None and not cmdline.missing(self.trial_parameters, ridden)
        self.own = trial_initrd.OWN if any(word.startswith(cmdline.INITRD_KEY + "=") for word in ridden) else ""
        in_effect = not cmdline.missing(self.tokens, self.running) and stale == foreign
        settles = (self.configured == self.tokens and not cmdline.missing(self.tokens, self.generated)
                          and not (set(loader.retired()) & set(cmdline.words(self.generated))))
        # Options that no boot has to prove are written without one, beside words that are in place already.
        self.only_options = bool(settles and self.options and not self.riding and not self.options.needs_boot())
        self.committed = settles and not self.options
        self.effective = in_effect and (not self.options or self.riding or not self.options.needs_boot())
        # Of a boot that has the words: whether it also ran the kernel and initrd that the default entry boots.
        self.unproven = "" if self.committed or not self.effective else proof.unproven(
            loader.kernel(), loader.initrds(), loader.root(), None, None, self.own, self.riding,
            boot_next.ran(self.running) or self.by_kexec)
        only_trial = ["-", *self.trial_parameters] if self.trial_parameters else []
        owed = " ".join([*self.tokens, "-", *self.dropped, *only_trial])
        self.trial_id = hashlib.sha256(owed.encode()).hexdigest()[:12]
        line = [*cmdline.without_trial(self.generated), *self.tokens]
        mark, *rest = trial_hang.tokens(line, self.trial_id, confirm_seconds, panic_seconds)
        self.trial_tokens = [mark, *self.trial_parameters, *rest]
        # Behind BOOT_IMAGE= and initrd=, which the boot loader adds.
        ran = {word for word in cmdline.words(cmdline.without_trial(self.running))
               if not word.startswith(("BOOT_IMAGE=", "initrd="))}
        boots = {word for word in cmdline.words(self.generated) if not word.startswith(("BOOT_IMAGE=", "initrd="))}
        # This boot is a trial, and its words are those of the default entry: a commit was written and not confirmed.
        self.unconfirmed = bool(self.running_trial and self.committed and self.effective and ran == boots
                                and not trial_confirmation.confirmed())


def _trial_parameters(options):
    """Return the words between the trial's mark and its deadline: whether it loads an initramfs of its own, and the
    module parameters."""
    if options is None:
        return []
    own = [cmdline.INITRD_KEY + "=" + os.path.basename(trial_initrd.OWN)] if options.rebuild else []
    return [*own, *options.tokens]


def decide(now, trial):
    """Return the phase of this box and the one step that leads on: (phase, step). Pure; step is None when there is
    nothing to do."""
    if now.committed or now.only_options:
        step = "options" if now.only_options else "confirm" if now.unconfirmed else "give_up" if now.staged else None
        return ("settled" if now.effective else "pending"), step
    if now.effective and not now.unproven:
        # Running already: either our trial boot, or somebody set the same words. No reboot is needed to prove it.
        return "trial", None
    if not trial:
        return "pending", "commit"
    # An entry that an earlier version staged has no deadline: it is staged again.
    ready = (now.staged is not None and now.staged.armed and not cmdline.missing(now.trial_tokens, now.staged.tokens)
             and cmdline.trial_parameters(now.staged.tokens) == now.trial_parameters
             and (not now.trial_parameters or not now.options.rebuild or trial_initrd.usable(image(now.options))))
    return "staged", None if ready else "stage"


def image(options):
    """Return the path of the initramfs of the default entry's kernel."""
    return initramfs.tools(options.release).image
