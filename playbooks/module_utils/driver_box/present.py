"""The driver of one exact version: read, decide, refuse everything at once, change, prove."""

from __future__ import annotations

import os

from ansible.module_utils.box_io import read_text
from ansible.module_utils.receipt import load, now, remember, save
from ansible.module_utils.tunecheck.parsers.packages.driver_set import INSTALLED_GLOBS, Want

from . import apply, pending
from .base import DriverError, refuse
from .decide import decide
from .prove import shortfalls
from .reads import read_box
from .rollback import driver_packages, listing
from .why import NoDriver

__all__ = ["present"]

_DGX_OS = "/etc/dgx-release"
_NOTHING = "Nothing was written."


def _remember(box, found):
    """Write the receipt before the first write: an interrupted run must not take its own half state for what was
    found."""
    receipt = load()
    boot_id = read_text("/proc/sys/kernel/random/boot_id").strip()
    mine = driver_packages(box.installed)
    receipt = remember(receipt, "driver", {"packages": mine, "held": [name for name in box.held if name in mine]},
                       boot_id, now())
    there = receipt["before"]["driver"]["packages"]
    old = receipt.get("driver") or {}
    added = {each.name for each in found.install if each.name not in there} | set(old.get("installed", []))
    receipt["driver"] = {"version": found.version, "installed": sorted(added),
                         "held": sorted({*old.get("held", []), *found.hold, *found.kernel_hold})}
    save(receipt)


def present(module, manager, folder):
    """Bring the box to the wanted driver, and return the module's result. DriverError before any write where something
    speaks against it."""
    params = module.params
    want = Want(version=params["version"] or None, source=params["source"], modules=params["modules"],
                hold=params["hold"], mirror=params["mirror"] or None,
                mirror_fingerprint=params["mirror_fingerprint"] or None, drain=params["drain"])
    if os.path.exists(_DGX_OS):
        raise DriverError(
            NoDriver.DGX_OS,
            "this is DGX OS (%s): its driver, fabric manager and NVSwitch packages are tested together, and DGX OS "
            "upgrades them itself; set box_spec.driver.source: leave. %s" % (_DGX_OS, _NOTHING))
    box = read_box(module, manager, params["drain"])
    broken = manager.half_done()
    ours = (load().get("driver") or {}).get("held", [])
    decision = decide(module, manager, box, want, folder, params["key"], ours)
    # What stands half done cannot be simulated truthfully; all else can be refused.
    refuse(decision.problems if broken else [*decision.problems, *decision.simulation], _NOTHING)
    before = listing(box.installed, box.held, decision.plan)
    tried = bool(decision.change and not decision.prerequisites and not broken)
    if tried:
        apply.trial(module, manager, decision, folder)
    actions = _actions(decision, broken)
    written = {path: (read_text(path), decision.files.get(path, "(the repository's key)\n")) for path in decision.write}
    changed = bool(broken) or not decision.settled
    if changed and not module.check_mode:
        _remember(box, decision.plan)
        if broken:
            manager.heal()
            box = read_box(module, manager, params["drain"])
            decision = decide(module, manager, box, want, folder + "/healed", params["key"], ours)
            refuse([*decision.problems, *decision.simulation],
                   "What a former run left half done was ended; nothing else was written.")
        _change(module, manager, decision, folder, tried)
    installed = box.installed if module.check_mode else manager.installed(INSTALLED_GLOBS)
    held = box.held if module.check_mode else manager.held()
    if not (module.check_mode and changed):
        _prove(module, decision, installed)
    after = listing(installed, held, decision.plan)
    if module.check_mode:
        after = listing({**installed, **{each.name: each.version for each in decision.plan.install}},
                        {*held, *decision.hold} - set(decision.unhold), decision.plan, decision.plan.remove)
    return _result(module, decision, changed, actions, before, after, written)


def _change(module, manager, decision, folder, tried):
    if decision.change:
        apply.packages_change(module, manager, decision, folder, tried, module.params["drain"])
    else:
        apply.write_files(manager, decision)
        if decision.prerequisites and decision.build:
            manager.install(decision.prerequisites, ())
        manager.unhold(decision.unhold)
    apply.missing_builds(module, manager, decision)
    manager.hold(decision.hold)


def _prove(module, decision, installed):
    found = decision.plan
    said = shortfalls(module, installed, found.install, found.version,
                      dict.fromkeys((decision.box.kernel, decision.box.next_kernel)))
    if said:
        raise DriverError(
            NoDriver.NOT_WHOLE,
            "the driver %s is not whole: %s. Expected package, module, firmware and library of one "
            "version; repair the named layer (apt-get install --reinstall, dkms autoinstall) and run the "
            "play again."
            % (found.version, "; ".join(said)))


def _actions(decision, broken):
    """Return what is done, or would be, in order."""
    found = decision.plan
    steps = ["end what a former run left half done: " + ", ".join(broken[:5])] if broken else []
    steps += ["write " + path for path in decision.write]
    if decision.change:
        if decision.prerequisites:
            steps.append("install first: " + ", ".join(each.apt for each in decision.prerequisites))
        steps.append("install in one transaction: " + ", ".join(each.apt for each in found.install))
        steps += ["remove in the same transaction: " + ", ".join(found.remove)] if found.remove else []
    elif decision.build:
        steps.append("build for: " + ", ".join(decision.build))
    if decision.unhold:
        steps.append("unhold: " + ", ".join(decision.unhold))
    if decision.hold:
        steps.append("hold: " + ", ".join(decision.hold))
    return steps


def _result(module, decision, changed, actions, before, after, written):
    found, box = decision.plan, decision.box
    kernels = list(dict.fromkeys((box.kernel, box.next_kernel)))
    waits = pending.waiting(module, box.kernel, found.version, module.check_mode and decision.change)
    diffs = [{"before_header": "driver packages", "after_header": "driver packages", "before": before, "after": after}]
    diffs += [{"before_header": path, "after_header": path, "before": old, "after": new}
              for path, (old, new) in written.items()]
    return {"changed": changed, "version": found.version, "actions": actions, "notes": list(found.notes),
            "kernels": kernels, "nouveau": pending.nouveau_there(module, kernels),
            "pending": waits, "pending_reboot": bool(waits),
            "diff": [each for each in diffs if each["before"] != each["after"]]}
