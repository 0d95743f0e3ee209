"""Everything that is decided before the first write: the plan, and all reasons not to follow it."""

from __future__ import annotations

import os
from dataclasses import replace

from ansible.module_utils.box_io import read_text
from ansible.module_utils.tunecheck.parsers.packages.apt_output import objections
from ansible.module_utils.tunecheck.parsers.packages.driver_set import names, plan

from .kernels import module_version
from .keys import key_material, same_key

__all__ = ["Decision", "decide", "simulated"]


class Decision:
    """What is to be done. ``plan``; ``files`` {path: text} and ``key`` of the repository; ``problems`` (nothing may be
    written) and ``simulation``, those of the package manager's own simulation; and the work: ``prerequisites``,
    ``change`` (packages move), ``build`` (kernels without the module), ``hold``, ``unhold``, ``write`` (paths)."""

    def __init__(self, found, box):
        self.plan, self.box = found, box
        self.problems, self.simulation = list(found.problems), []
        self.files, self.key, self.look = {}, None, None
        self.prerequisites, self.build = [], []
        self.hold, self.unhold, self.write = [], [], []

    @property
    def change(self):
        return bool(self.plan.missing or self.plan.remove)

    @property
    def settled(self):
        return not (self.change or self.build or self.hold or self.unhold or self.write)


def _offered(manager, wanted, box, look=None):
    """Return the versions that can be had, by name: what is offered, and what is installed already."""
    offered = {name: tuple(versions) for name, versions in manager.available(wanted, look).items()}
    for name in wanted:
        have = box.installed.get(name)
        if have and have not in offered.get(name, ()):
            offered[name] = (*offered.get(name, ()), have)
    return offered


def decide(module, manager, box, want, folder, shipped_key, held_by_us):
    """Return the Decision. ``held_by_us``: names that the receipt says we hold."""
    wanted = names(box, want)
    idle = replace(box, gpu_users=(), available=_offered(manager, wanted, box))
    found = plan(idle, want)
    result = Decision(found, idle)
    files = manager.files(found)
    key_problem = ""
    if found.repository is not None:
        result.key, key_problem = key_material(module, found.repository, shipped_key, manager.key_path)
    differ = any(read_text(path) != text for path, text in files.items())
    new_key = result.key is not None and not same_key(manager.key_path, result.key)
    if key_problem:
        # Without the key nothing of the repository can be known: what the plan misses would only be noise.
        result.problems = [key_problem]
        return result
    if found.problems or found.missing or differ or new_key:
        result.look = manager.look(os.path.join(folder, "look"), files, result.key, found.repository)
        idle = replace(idle, available=_offered(manager, wanted, idle, result.look))
        found = plan(idle, want)
        files = manager.files(found)
        manager.stage_pins(result.look, files)
        if result.look.problem and (found.problems or found.missing):
            result.problems = [result.look.problem + ". Expected every repository to answer; nothing was written."]
            return result
    if found.missing or found.remove:
        # Only a change of packages needs idle GPUs. Draining stops the unit, whose processes are not among these users.
        found = plan(replace(idle, gpu_users=box.gpu_users), replace(want, drain=False))
    result.plan, result.box, result.problems, result.files = found, idle, list(found.problems), files
    if result.problems:
        return result
    result.prerequisites = [each for each in found.prerequisites
                            if (box.installed.get(each.name) != each.version if each.version
                                else each.name not in box.installed)]
    kernels = dict.fromkeys((box.kernel, box.next_kernel))
    result.build = [release for release in kernels if want.modules == "dkms"
                    and module_version(module, release) != found.version]
    locked = [*found.hold, *found.kernel_hold]
    result.hold = [name for name in locked if name not in box.held or result.change]
    result.unhold = [name for name in box.held if name not in locked and (name in held_by_us or name in found.remove)]
    result.write = [path for path, text in files.items() if read_text(path) != text]
    if result.key is not None and not same_key(manager.key_path, result.key):
        result.write.append(manager.key_path)
    if result.change or result.prerequisites:
        result.simulation = simulated(manager, result)
    return result


def simulated(manager, decision, look=True):
    """Return sentences on why the package manager's own simulation refuses the whole; empty where it does not."""
    found = decision.plan
    exact = [*decision.prerequisites, *(found.install if decision.change else ())]
    what, refusal = manager.simulate(exact, found.remove, decision.look if look else None)
    if refusal:
        return [refusal + ". Expected a set that can be installed together."]
    explicit = {each.name: each.version for each in exact}
    return ["the transaction is refused: %s. Expected only the driver's packages to move" % each
            for each in objections(what, explicit, found.remove, found.version)]
