#!/usr/bin/python
"""Ansible module: this project's tokens on the kernel command line, booted on trial first."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kernel_cmdline
short_description: Own a set of kernel parameters, with a one-shot trial boot
description:
  - Owns tokens, not the line. Parameters that somebody else set are never changed.
  - What has to be done is read from the generated boot configuration and from /proc/cmdline on every run, so a step
    that failed or was interrupted is taken up again.
options:
  state:
    description:
      - C(staged) makes the parameters ready for the next boot, as a trial where I(trial) is set.
      - C(noted) keeps the sums of the kernel and initrd that a staged trial will boot; right before the reboot.
      - C(committed) makes them the default entry's; the running kernel must have them, and must be the one that the
        default entry boots, with the kernel and initrd files that this boot began with.
      - C(given_up) takes a staged trial away and leaves the default entry alone. A trial boot that runs keeps running
        until its guard ends it.
      - C(held) puts the deadline of the trial boot that runs off, once, while a play works on the box.
      - C(absent) takes every trace away.
    type: str
    choices: [staged, noted, committed, given_up, held, absent]
    required: true
  tokens: {description: The parameters to own., type: list, elements: str, default: []}
  modules:
    description:
      - C({module: {parameter: value}}), module parameters that a trial boot proves. They ride on the trial entry's
        command line, and where the initramfs must hold them, the trial loads one of its own. The commit writes
        modprobe.d and puts that initramfs in the place of the default entry's.
    type: dict
    default: {}
  trial: {description: Boot a change once before it becomes the default., type: bool, default: true}
  panic_seconds: {description: Reboot after a panic of the trial boot in this many seconds., type: int, default: 30}
  confirm_seconds:
    description: A trial boot that is not committed within this many seconds of its start reboots into the old entry.
    type: int
    default: 1200
  reason:
    description: With C(given_up), how the trial ended; kept for the reports of the next boots.
    type: str
    choices: [not_proven, did_not_come_up]
    default: did_not_come_up
attributes:
  check_mode: {support: full}
  diff_mode: {support: full}
author: [tunecheck]
"""
RETURN = r"""
phase:
  description: What this box is in. C(settled), C(staged) (a trial waits for the reboot), C(trial) (a trial is
    running and waits for its verdict), C(pending) (the default entry has it, the running kernel does not).
  type: str
  returned: always
pending_reboot: {description: Whether only a reboot is missing., type: bool, returned: always}
trial_id: {description: Id of the trial that is staged or running., type: str, returned: always}
tokens: {description: The owned tokens, merged., type: list, returned: always}
trial_parameters: {description: Module parameters that only the trial's line has., type: list, returned: always}
bootloader: {description: The boot loader driven., type: str, returned: always}
watchdog:
  description: >-
    The hardware watchdog that ends a hang of the trial, as {code, device, identity}; code is usable, in_use, software,
    none or unknown.
  type: dict
  returned: always
returns_in:
  description: Seconds after which this trial boot ends by itself unless it is committed; -1 where nothing ends it.
  type: int
  returned: always
left: {description: "What a commit leaves as it is until the next boot, as sentences.", type: list, returned: always}
"""

import hashlib
import os

from ansible.module_utils import module_options, trial_guard, trial_hang, trial_initrd
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.bootloader import BootloaderError, detect, proof
from ansible.module_utils.box_io import BoxIOError, read_text
from ansible.module_utils.receipt import now as clock
from ansible.module_utils.tunecheck.parsers.kernel import bls, cmdline, modprobe
from ansible.module_utils.tunecheck.parsers.kernel.param_conflicts import conflicts

REFUSED = ("a trial boot is not possible here: %s. %s, or set "
           "box_spec.boot.trial: false knowingly (a bad command line then needs a console to undo). Nothing was "
           "written.")

CONTRADICTED = ("the next boot's command line would hold what contradicts box_spec: %s. Remove it there%s, or state "
                "what you want in box_spec, then run the play again. Nothing was written.")

#: BOOT_IMAGE=... and what trial_hang.tokens() adds to the tokens counted here.
ROOM_FOR_TRIAL = 320


class Situation:
    """The facts on which the decision depends, read from the box."""

    def __init__(self, loader, tokens, confirm_seconds=1200, panic_seconds=30, options=None):
        self.running = cmdline.tokenize(read_text("/proc/cmdline"))
        self.tokens = cmdline.merge(tokens)
        self.configured = loader.configured()
        self.generated = loader.generated()
        self.staged = loader.staged()
        self.running_trial = cmdline.trial_id(self.running)
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
        self.unproven = proof.unproven(loader.kernel(), loader.initrds(), loader.root(), None, None, self.own,
                                       self.riding) if self.effective and not self.committed else ""
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
                                and not trial_guard.confirmed())


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
             and (not now.trial_parameters or not now.options.rebuild or trial_initrd.usable(_image(now.options))))
    return "staged", None if ready else "stage"


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


def _image(options):
    """Return the path of the initramfs of the default entry's kernel."""
    return module_options.image_tools(options.release)[0]


def stage(module, loader, now):
    """Stage the trial in this order: the initramfs, which nothing loads yet, the entry that loads it, and the order to
    boot that. BootloaderError where the default entry does not load the initramfs from where it is expected."""
    initrd = None
    if now.options and now.options.rebuild:
        initrd = loader.own_initrd(_image(now.options), trial_initrd.OWN)
        if initrd is None:
            raise BootloaderError("the default boot entry does not load %s; expected that file, so that the trial can "
                                  "load another beside it. Nothing was written." % _image(now.options))
        trial_initrd.make(module, now.options.after, now.options.release)
    loader.stage(now.configured, [*now.tokens, *now.trial_tokens], initrd)
    if initrd is None:
        trial_initrd.forget()


def commit_options(module, loader, now):
    """Make the initramfs that this boot ran the default entry's, and write to modprobe.d what it was made with."""
    if now.own:
        loader.promote(_image(now.options), trial_initrd.OWN)
        trial_initrd.promote(module, _image(now.options), now.options.release, loader.runs_initramfs_hooks)
    trial_initrd.commit_options(now.options.after)


def run_staged(module, loader, now):
    phase, step = decide(now, module.params["trial"])
    placed = loader.placed(now.tokens)
    against = [*contradictions(placed, now.tokens, harmless=step in ("stage", "commit")),
               *against_modules(placed, now.options)]
    if against:
        module.fail_json(msg=CONTRADICTED % ("; ".join(against), loader.after_an_edit))
    if phase == "staged":
        refusal = loader.trial_refusal(_image(now.options) if now.options and now.options.rebuild else "")
        if refusal:
            module.fail_json(msg=REFUSED % (refusal, loader.way_out))
    length = len(" ".join([*now.generated, *now.tokens, *now.trial_parameters])) + ROOM_FOR_TRIAL
    if step in ("stage", "commit") and length >= cmdline.COMMAND_LINE_SIZE:
        module.fail_json(msg="the kernel command line would have %d characters and the kernel cuts it at %d; set "
                             "box_spec.acs.scope: all, or drop parameters. Nothing was written."
                             % (length, cmdline.COMMAND_LINE_SIZE))
    if step and not module.check_mode:
        if step == "stage":
            stage(module, loader, now)
            trial_guard.forget()
            note(loader, now)
        elif step == "commit":
            loader.commit(now.tokens, now.retired)
        elif step == "options":
            trial_initrd.commit_options(now.options.after)
        if now.staged and step in ("options", "confirm", "give_up"):
            loader.give_up()
            trial_initrd.forget()
        if step == "confirm":
            confirm(now)
        elif step == "give_up":
            proof.forget()
    elif not module.check_mode and not now.staged and not now.own:
        trial_initrd.forget()       # of a run that ended before its entry was written
    return phase, bool(step)


def note(loader, now):
    """Note what the next boot loads, as a proof for the commit. The sysctls of a trial boot are its own: what was noted
    before stays."""
    on_trial = now.running_trial and not trial_guard.confirmed()
    own = trial_initrd.OWN if now.options and now.options.rebuild else ""
    proof.note(loader.kernel(), loader.initrds(), loader.root(), now.trial_id,
               proof.kernel_before() if on_trial else trial_hang.live(), own)


def confirm(now):
    """Let this boot go on as an ordinary one after a commit. Return sentences about what stays until the next boot."""
    left = trial_hang.take_back(now.running, proof.kernel_before()) if now.running_trial else []
    if now.running_trial:
        trial_guard.confirm()
    trial_guard.forget()
    proof.forget()
    return left


def run_committed(module, loader, now):
    if now.committed and not now.staged and not now.unconfirmed:
        return ("settled" if now.effective else "pending"), False, []
    if not now.effective:
        module.fail_json(
            msg="the running kernel lacks %s; expected a trial boot that has them before they become the default. "
                "Run the play again to stage the trial."
                % " ".join(cmdline.missing([*now.tokens, *now.trial_parameters], now.running)))
    if now.unproven:
        module.fail_json(msg="%s. Nothing was committed." % now.unproven)
    if module.check_mode:
        return "settled", True, []
    # In this order: trial_guard says why. A box whose trial an earlier version staged has no guard to tell.
    if now.running_trial:
        trial_guard.hold()
    if now.options:
        commit_options(module, loader, now)
    loader.commit(now.tokens, now.retired)
    trial_initrd.forget()
    return "settled", True, confirm(now)


def run_given_up(module, loader, now):
    """Take the trial away and keep how it ended, unless its guard has recorded that already. Return whether there was a
    trial to take away."""
    trial_id = cmdline.trial_id(now.staged.tokens) if now.staged else now.running_trial
    if not module.check_mode and not trial_id:
        trial_initrd.forget()       # of a run that ended before its entry was written
    if module.check_mode or not trial_id:
        return now.staged is not None
    if trial_guard.recorded().trial_id != trial_id:
        trial_guard.note(trial_id, module.params["reason"],
                         read_text("/proc/sys/kernel/random/boot_id").strip(), clock())
    if now.staged:
        loader.give_up()
    trial_initrd.forget()
    if not now.running_trial:
        proof.forget()
    return now.staged is not None


def returns_in(running):
    """Return the seconds until the guard of this boot ends it; -1 where there is no guard or where it was told of a
    commit."""
    asked = [token.partition("=")[2] for token in running if token.startswith(cmdline.CONFIRM_KEY + "=")]
    if not cmdline.trial_id(running) or not asked or not asked[-1].isdigit() or trial_guard.confirmed():
        return -1
    return trial_guard.seconds_left(int(asked[-1]))


def main():
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "required": True,
                      "choices": ["staged", "noted", "committed", "given_up", "held", "absent"]},
            "tokens": {"type": "list", "elements": "str", "default": []},
            "modules": {"type": "dict", "default": {}},
            "trial": {"type": "bool", "default": True},
            "panic_seconds": {"type": "int", "default": 30},
            "confirm_seconds": {"type": "int", "default": 1200},
            "reason": {"type": "str", "choices": ["not_proven", "did_not_come_up"], "default": "did_not_come_up"},
        },
        supports_check_mode=True,
    )
    state, left = module.params["state"], []
    try:
        modules = module.params["modules"]
        asked = [] if state == "absent" else module.params["tokens"]
        try:
            loader = detect(module, asked)
        except BootloaderError:
            if asked or modules:
                raise
            # A container, or a box that boots from outside: nothing is asked of a boot loader, and nothing is there.
            module.exit_json(changed=False, phase="settled", pending_reboot=False, trial_id="", tokens=[],
                             trial_parameters=[], bootloader="none", watchdog=trial_hang.watchdog(), returns_in=-1,
                             left=[], diff=[])
        options = module_options.Options(module, modules, bls.release(loader.kernel())) if modules else None
        now = Situation(loader, asked,
                        module.params["confirm_seconds"], module.params["panic_seconds"], options)
        before = loader.rendered(now.configured, loader.retired()) if now.configured else ""
        after = loader.rendered(now.tokens, now.retired) if now.tokens or now.retired else ""
        if state == "staged":
            phase, changed = run_staged(module, loader, now)
        elif state == "committed":
            phase, changed, left = run_committed(module, loader, now)
        elif state == "noted":
            phase, changed, after = "staged" if now.staged else "settled", False, before
            if now.staged and not module.check_mode:
                note(loader, now)
        elif state == "held":
            phase, changed, after = "trial" if now.running_trial else "settled", False, before
            if now.running_trial and not module.check_mode:
                trial_guard.hold()
        elif state == "given_up":
            phase, changed, after = "settled", run_given_up(module, loader, now), before
        else:
            guarded = bool(now.running_trial and not trial_guard.confirmed())
            changed = bool(now.configured or loader.retired() or now.staged or guarded)
            phase = "settled" if now.effective else "pending"
            if changed and not module.check_mode:
                loader.remove()
                trial_initrd.forget()
                # The guard goes with everything else; whoever removes decides when the box reboots.
                left = confirm(now)
    except (BootloaderError, BoxIOError, OSError, ValueError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(
        changed=changed,
        phase=phase,
        pending_reboot=phase in ("staged", "pending"),
        trial_id=now.trial_id if phase == "staged" else (now.running_trial or ""),
        tokens=now.tokens,
        trial_parameters=now.trial_parameters,
        bootloader=loader.name,
        watchdog=trial_hang.watchdog(),
        returns_in=returns_in(now.running),
        left=left,
        diff=[{"before_header": loader.config_path, "after_header": loader.config_path,
               "before": before, "after": after if changed else before},
              *([{"before_header": modprobe.CONF, "after_header": modprobe.CONF, "before": now.options.before,
                  "after": now.options.after}] if now.options and changed else [])],
    )


if __name__ == "__main__":
    main()
