"""The plan of a play that makes a box what its variables say."""

from __future__ import annotations

from .command_line import given, undo
from .parts import some

__all__ = ["lines"]

#: So many addresses are named: most boxes have no more.
_GPUS = 8
#: By the code that kernel_cmdline returns. What the kernel's own detectors find ends in a panic and a reboot anyway.
_WATCHDOG = {
    "usable": "{identity} ({device}) restarts it",
    "in_use": "{identity} ({device}) is in use already and stays as it is",
    "unknown": "the kernel does not say what {device} is; only a hang that the kernel notices ends by itself",
    "software": "no hardware watchdog, only softdog; only a hang that the kernel notices ends by itself",
    "none": "no hardware watchdog; only a hang that the kernel notices ends by itself",
}


def lines(name, box, guesses=(), mistyped=()):
    """Return what the run would do to this box. ``guesses``: lines about an inventory that is not complete;
    ``mistyped``: tags of this run that no task has."""
    wanted, gpus = box.spec.get("accelerators", {}).get("count"), box.info.get("gpus")
    told = [f"plan for {name} (--check: nothing was written)"]
    only = sorted(given("tags") - {"all"})
    if only:
        wrong = f"; no task has {', '.join(mistyped)}" if mistyped else ""
        told.append(f"  only what has these tags: {', '.join(only)}{wrong}")
    # Without a count in the specification a box with no GPU at all is short, too.
    short = gpus is not None and ((not gpus and wanted != 0) or (wanted is not None and len(gpus) < wanted))
    if gpus is not None:
        told.append(f"  GPUs: {len(gpus)}{f' of {wanted}' if wanted is not None else ''} found"
                    + (f": {' '.join(gpus[:_GPUS])}{f' and {len(gpus) - _GPUS} more' * (len(gpus) > _GPUS)}" if gpus
                       else "")
                    + ("; the run would fail at its proof: look at slots and power, or correct "
                       "box_spec.accelerators" if short else ""))
    told.append(f"  would change: {'; '.join(box.changed) or ('not known' if box.refused else 'nothing')}")
    if box.locked != "none" and not box.refused:
        told.append(f"  kernel lockdown: {box.locked}; no PCI register is written, the command line alone keeps "
                    "ACS redirect off, without tunecheck-acs.service")
    if not box.refused:
        told += _reboots(box)
    else:
        # As a whole: the way out stands at its end.
        told.append(f"  refused: {' '.join(box.refused.split())}")
    told += [f"  undo it later: {undo(name)}", *guesses]
    told.append("  next: " + ("mend what is refused, then run this again" if box.refused else
                              "mend the number of GPUs as said above, then run this again" if short else
                              "the same command without --check"))
    return told


def _reboots(box):
    told = [f"  would reboot: {_reboot(box)}"]
    if box.trial.get("boot_trial_on_trial") and box.by_kexec:
        told.append("  not in that trial: firmware, boot loader and a reset of the devices")
    if box.trial.get("boot_trial_on_trial") and box.watchdog.get("code") in _WATCHDOG:
        told.append(f"  if the trial hangs: {_WATCHDOG[box.watchdog['code']].format(**box.watchdog)}")
    if box.bmc:
        told.append(f"  if it does not come back: {_bmc(box.bmc)}")
    return told


def _reboot(box):
    boot = box.spec.get("boot", {})
    if not box.trial.get("boot_trial_needs_reboot"):
        return "no"
    if boot.get("reboot") == "never":
        return "no, box_spec.boot.reboot is never; a reboot would stay pending"
    busy = box.info.get("busy") or []
    if busy and not boot.get("reboot_when_busy"):
        return f"no, while it is in use ({some(busy, 3)}); the run would stop there"
    on_trial = box.trial.get("boot_trial_on_trial")
    by = f" by {box.one_shot}" if box.one_shot else ""
    return f"once, on trial{by}: the old entry stays the default until the box is proven" if on_trial else "once"


def _bmc(bmc):
    if not bmc.get("usable"):
        return (f"its BMC is not usable ({bmc.get('code')}): {bmc.get('sentence')}"
                + ("" if bmc.get("policy") == "never" else " The run would stop before the reboot"))
    done = {"auto": "the run power-cycles it", "confirm": "the run asks you, then power-cycles it"}
    return (f"{done.get(bmc.get('policy'), 'the run says the command for a power cycle')} through its BMC "
            f"{bmc.get('address')} (usable, system {bmc.get('identity')})")
