"""The steps of a trial boot on the box: stage, note, commit, give up. Each decides by its Situation and writes in an
order in which a power cut leaves a box that boots."""

from __future__ import annotations

from ansible.module_utils import trial_confirmation, trial_hang, trial_initrd
from ansible.module_utils.bootloader import BootloaderError, Stopped, Why, proof
from ansible.module_utils.box_io import read_text
from ansible.module_utils.receipt import now as clock
from ansible.module_utils.refusal import Refusal, code_of
from ansible.module_utils.trial_hang import Stays
from ansible.module_utils.tunecheck.parsers.kernel import cmdline

from .against import CONTRADICTED, against_modules, contradictions
from .situation import decide, image

__all__ = ["ROOM_FOR_TRIAL", "confirm", "note", "note_again", "returns_in", "run_committed", "run_given_up",
           "run_staged"]

REFUSED = ("a trial boot is not possible here: %s. %s, or set "
           "box_spec.boot.trial: false knowingly (a bad command line then needs a console to undo). Nothing was "
           "written.")

#: BOOT_IMAGE=... and what trial_hang.tokens() adds to the tokens counted here.
ROOM_FOR_TRIAL = 320


def own_initrd(loader, now):
    """Return (the default entry's name of its initramfs, the trial's of its own), or None where the trial needs none.
    BootloaderError where the default entry does not load the initramfs from where it is expected."""
    if not now.options or not now.options.rebuild:
        return None
    initrd = loader.own_initrd(image(now.options), trial_initrd.OWN)
    if initrd is None:
        raise BootloaderError(
            Why.OTHER_INITRAMFS,
            "the default boot entry does not load %s; expected that file, so that the trial can load another beside "
            "it. Nothing was written." % image(now.options))
    return initrd


def stage(module, loader, now):
    """Stage the trial in this order: the initramfs, which nothing loads yet, the entry that loads it, and the order to
    boot that."""
    initrd = own_initrd(loader, now)
    if initrd:
        trial_initrd.make(module, now.options.after, now.options.release)
    loader.stage(now.configured, [*now.tokens, *now.trial_tokens], initrd)
    if initrd is None:
        trial_initrd.forget()


def commit_options(module, loader, now):
    """Make the initramfs that this boot ran the default entry's, and write to modprobe.d what it was made with."""
    if now.own:
        loader.promote(image(now.options), trial_initrd.OWN)
        trial_initrd.promote(module, image(now.options), now.options.release, loader.runs_initramfs_hooks)
    trial_initrd.commit_options(now.options.after)


def run_staged(module, loader, now):
    phase, step = decide(now, module.params["trial"])
    placed = loader.placed(now.tokens)
    against = [*contradictions(placed, now.tokens, harmless=step in ("stage", "commit")),
               *against_modules(placed, now.options)]
    if against:
        module.fail_json(msg=CONTRADICTED % ("; ".join(each.text for each in against), loader.after_an_edit),
                         code=Stopped.CONTRADICTED.value,
                         against=[{"token": each.token, "where": each.where, "declared": each.declared}
                                  for each in against])
    if phase == "staged":
        refusal = loader.trial_refusal(image(now.options) if now.options and now.options.rebuild else "")
        if refusal:
            module.fail_json(msg=REFUSED % (refusal, loader.way_out), code=code_of(refusal))
    length = len(" ".join([*now.generated, *now.tokens, *now.trial_parameters])) + ROOM_FOR_TRIAL
    if step in ("stage", "commit") and length >= cmdline.COMMAND_LINE_SIZE:
        module.fail_json(code=Stopped.TOO_LONG.value,
                         msg="the kernel command line would have %d characters and the kernel cuts it at %d; set "
                             "box_spec.acs.scope: all, or drop parameters. Nothing was written."
                             % (length, cmdline.COMMAND_LINE_SIZE))
    if step and not module.check_mode:
        if step == "stage":
            stage(module, loader, now)
            trial_confirmation.forget()
            # Where any other reboot forgets it, note_again() is the first: that one is no trial that did not come up.
            if not loader.one_shot().forgotten:
                note(loader, now)
            elif not now.running_trial:
                proof.forget()
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
    on_trial = now.running_trial and not trial_confirmation.confirmed()
    own = trial_initrd.OWN if now.options and now.options.rebuild else ""
    proof.note(loader.kernel(), loader.initrds(), loader.root(), now.trial_id,
               proof.kernel_before() if on_trial else trial_hang.live(), own)


def note_again(loader, now):
    """Right before the reboot: roles that ran since the trial was staged may have written what it boots."""
    initrd = own_initrd(loader, now)
    loader.refresh(initrd)
    note(loader, now)
    try:
        loader.load(initrd)
    except BaseException:
        proof.forget()      # nothing reboots now, and the next reboot is no trial that did not come up
        raise


def confirm(now):
    """Let this boot go on as an ordinary one after a commit. Return sentences about what stays until the next boot."""
    left = trial_hang.take_back(now.running, proof.kernel_before()) if now.running_trial else []
    if now.by_kexec:
        left.append(Refusal(
            Stays.NO_RESET,
            "this boot was started by kexec: firmware and boot loader had no part in it, and no device was reset, so a "
            "register may hold what the boot before it wrote (ACSCtl, for example). The next ordinary boot shows the "
            "settings without that, and the check trial-boot warns until then"))
    if now.running_trial:
        trial_confirmation.confirm()
    trial_confirmation.forget()
    proof.forget()
    return left


def run_committed(module, loader, now):
    if now.committed and not now.staged and not now.unconfirmed:
        return ("settled" if now.effective else "pending"), False, []
    if not now.effective:
        module.fail_json(
            code=Stopped.NOT_RUNNING.value,
            msg="the running kernel lacks %s; expected a trial boot that has them before they become the default. "
                "Run the play again to stage the trial."
                % " ".join(cmdline.missing([*now.tokens, *now.trial_parameters], now.running)))
    if now.unproven:
        module.fail_json(msg="%s. Nothing was committed." % now.unproven, code=code_of(now.unproven))
    if module.check_mode:
        return "settled", True, []
    # In this order: trial_confirmation says why. A box whose trial an earlier version staged has no guard to tell.
    if now.running_trial:
        trial_confirmation.hold()
    if now.options:
        commit_options(module, loader, now)
    loader.commit(now.tokens, now.retired)
    trial_initrd.forget()
    return "settled", True, confirm(now)


def run_given_up(module, loader, now):
    """Take the trial away and keep how it ended, unless its guard has recorded that already. Return whether there was a
    trial to take away."""
    boot_id = read_text("/proc/sys/kernel/random/boot_id").strip()
    trial_id = (cmdline.trial_id(now.staged.tokens) if now.staged else now.running_trial
                # By kexec nothing is left but the note of what was to boot.
                or trial_confirmation.ended(boot_id, now.running_trial).trial_id)
    if not module.check_mode and not trial_id:
        trial_initrd.forget()       # of a run that ended before its entry was written
    if module.check_mode or not trial_id:
        return now.staged is not None
    if trial_confirmation.recorded().trial_id != trial_id:
        trial_confirmation.note(trial_id, module.params["reason"], boot_id, clock())
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
    if not cmdline.trial_id(running) or not asked or not asked[-1].isdigit() or trial_confirmation.confirmed():
        return -1
    return trial_confirmation.seconds_left(int(asked[-1]))
