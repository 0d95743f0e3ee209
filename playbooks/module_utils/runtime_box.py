"""Packages of the container runtime: the engine, and NVIDIA's container toolkit at one exact version, held.

Built on the package managers of driver_box; the toolkit has files of its own, so neither role writes the other's."""

from __future__ import annotations

import glob
import os
import platform
import re
import shutil
from dataclasses import replace

from ansible.module_utils import gpu_containers
from ansible.module_utils.box_io import read_text, remove, write_text
from ansible.module_utils.driver_box import DriverError, NoDriver, manager_for, refuse
from ansible.module_utils.driver_box.apt import Apt
from ansible.module_utils.driver_box.dnf import Dnf
from ansible.module_utils.driver_box.keys import key_material, same_key
from ansible.module_utils.driver_box.reads import os_release
from ansible.module_utils.receipt import load, now, remember, save
from ansible.module_utils.refusal import Refusal
from ansible.module_utils.tunecheck.parsers.packages import package_pins
from ansible.module_utils.tunecheck.parsers.packages.apt_output import objections
from ansible.module_utils.tunecheck.parsers.packages.driver_set import Box, Exact, Plan, toolkit_names, toolkit_plan

__all__ = ["absent", "needed", "present", "runtime_manager", "urls"]

_GLOBS = ("nvidia-container*", "libnvidia-container*")
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#: Packages of an engine, by package manager. apt: what podman and docker only recommend, and do not work well without:
#: an init for --init, nft for networks, the client (Debian 13's control files, read 2026-11-21).
_ENGINES = {
    ("apt", "podman"): ("podman", "catatonit", "nftables", "ca-certificates"),
    ("apt", "docker"): ("docker.io", "docker-cli", "ca-certificates"),
    ("dnf", "podman"): ("podman",),
    ("dnf", "docker"): (),
}
_OPTIONAL = {"docker-cli"}    # of its own since Debian 13; before, it is in docker.io
_PROGRAM = {"podman": "podman", "docker": "dockerd"}
#: Without root: (programs of which one must be there, packages of which the first that is offered brings one).
_ROOTLESS = {
    "apt": ((("newuidmap",), ("uidmap",)), (("pasta", "slirp4netns"), ("passt", "slirp4netns"))),
    "dnf": ((("newuidmap",), ("shadow-utils",)), (("pasta", "slirp4netns"), ("passt", "slirp4netns"))),
}


class _Apt(Apt):
    key_path = "/usr/share/keyrings/tunecheck-toolkit.asc"
    source_path = "/etc/apt/sources.list.d/tunecheck-toolkit.sources"
    pin_path = "/etc/apt/preferences.d/tunecheck-toolkit.pref"
    blacklist_path = "/etc/apt/apt.conf.d/52tunecheck-unattended-toolkit"

    def files(self, plan):
        source = ""
        if plan.repository is not None:
            fields = package_pins.deb822(plan.repository, self.key_path)
            source = "# Written by tunecheck (role container_runtime).\n" + "".join(
                "%s: %s\n" % pair for pair in fields.items())
        return {**super().files(plan), self.source_path: source}


class _Dnf(Dnf):
    key_path = "/etc/pki/rpm-gpg/RPM-GPG-KEY-tunecheck-toolkit"
    source_path = "/etc/yum.repos.d/tunecheck-toolkit.repo"

    def files(self, plan):
        return {self.source_path: package_pins.yum_repo(plan.repository, self.key_path, "tunecheck-toolkit")
                if plan.repository else ""}

    def refresh(self, _ours_only):
        super().refresh(False)


def runtime_manager(module):
    """Return the box's package manager, with the toolkit's own files."""
    return (_Apt if manager_for(module).name == "apt" else _Dnf)(module)


def urls(text):
    """Return the repository addresses in a file of apt's sources, one line or deb822, without their last slash.
    Pure."""
    text = re.sub(r"(?m)^\s*#.*$", "", text).replace("$(ARCH)", {"x86_64": "amd64", "aarch64": "arm64"}.get(
        platform.machine(), platform.machine()))
    if re.search(r"(?mi)^Enabled:\s*(?:no|false|0)\s*$", text):
        return set()
    found = re.findall(r"(?m)^deb\s+(?:\[[^\]]*\]\s+)?(\S+)", text)
    for line in re.findall(r"(?mi)^URIs:\s*(.+)$", text):
        found += line.split()
    return {each.rstrip("/") for each in found}


def _listed_already(manager, address):
    """Return (whether the driver role's file names this repository, other files that do). apt refuses two keys for
    one."""
    paths = ["/etc/apt/sources.list", *sorted(glob.glob("/etc/apt/sources.list.d/*.list")
             + glob.glob("/etc/apt/sources.list.d/*.sources"))] if manager.name == "apt" else []
    naming = [path for path in paths if path != manager.source_path and address.rstrip("/") in urls(read_text(path))]
    return Apt.source_path in naming, [path for path in naming if path != Apt.source_path]


def needed(manager, engine, user, offered):
    """Return (names to install, problems). ``offered``: {name: versions}. Reads which programs are there."""
    names, problems = [], []
    if shutil.which(_PROGRAM[engine], path=_PATH) is None:
        wanted = _ENGINES[manager.name, engine]
        if not wanted:
            problems.append(Refusal(
                NoDriver.NO_PACKAGE,
                "Enterprise Linux has no docker package; expected dockerd to be there. Install docker-ce from docker's "
                "own repository, or set box_spec.runtime.engine: podman"))
        names += [name for name in wanted if name in offered or name not in _OPTIONAL]
    for programs, packages in _ROOTLESS[manager.name] if user else ():
        if not any(shutil.which(program, path=_PATH) for program in programs):
            names.append(next((name for name in packages if name in offered), packages[0]))
    lost = [name for name in names if name not in offered]
    if lost:
        problems.append(Refusal(
            NoDriver.NOT_OFFERED,
            "%s: not offered by this box's repositories; expected the distribution's own. Look at "
            "/etc/apt/sources.list.d or `dnf repolist`, or install %s by hand"
            % (", ".join(lost), "it" if len(lost) == 1 else "them")))
    return names, problems


def _candidates(manager):
    names = [name for (kind, _engine), packages in _ENGINES.items() if kind == manager.name for name in packages]
    return [*names, *(name for _programs, packages in _ROOTLESS[manager.name] for name in packages)]


class _Decision:
    """What is to be done: ``plan`` of the toolkit, ``extra`` packages of the engine, ``files``, ``key``, ``look``.
    ``problems``: nothing may be written; ``unsimulated``: why the package manager cannot simulate the whole."""

    def __init__(self, found):
        self.plan, self.problems, self.files, self.key, self.look = found, [], {}, None, None
        self.unsimulated = ""
        self.extra, self.hold, self.write = [], [], []

    @property
    def change(self):
        return bool(self.plan.missing or self.extra)

    @property
    def exact(self):
        return [*self.extra, *self.plan.install]


def _bare_box():
    release = os_release(read_text("/etc/os-release"))
    return Box(distribution=release.get("ID", ""), release=release.get("VERSION_ID", ""), arch=platform.machine(),
               kernel=platform.release(), next_kernel=platform.release())


def _planned(params, box):
    return toolkit_plan(box, params["toolkit"], params["source"], mirror=params["mirror"] or None,
                        mirror_fingerprint=params["mirror_fingerprint"] or None) if params["toolkit"] else Plan()


def _plan(manager, params, box, look):
    asked = toolkit_names(box) if params["toolkit"] else ()
    offered = dict(manager.available(asked, look))
    for name in asked:
        have = box.installed.get(name)
        if have:
            offered[name] = tuple(dict.fromkeys((*offered.get(name, ()), have)))
    return _planned(params, replace(box, available=offered))


def _decide(module, manager, folder):
    params, box = module.params, _bare_box()
    repository, shared = _planned(params, box).repository, False
    result = _Decision(Plan())
    if repository is not None:
        shared, rivals = _listed_already(manager, repository.url)
        if rivals:      # with both, apt answers nothing at all any more
            result.problems = ["%s names %s with a key of its own, and apt refuses two keys for one repository. "
                               "Expected only ours; move %s away and run the play again"
                               % (rivals[0], repository.url, rivals[0])]
            return result
    box = replace(box, installed=manager.installed(_GLOBS), held=tuple(manager.held()))
    found = _plan(manager, params, box, None)
    if found.repository is not None and not shared:
        result.key, problem = key_material(module, found.repository, params["key"], manager.key_path,
                                           "container_runtime_key_file")
        if problem:
            result.problems = [problem]
            return result
    repository = None if shared else found.repository
    files = _files(manager, found, shared)
    available = manager.available(_candidates(manager))
    extra, lacking = needed(manager, params["engine"], params["user"], available)
    differ = any(read_text(path) != text for path, text in files.items())
    if found.problems or found.missing or lacking or (differ and repository) or (
            result.key is not None and not same_key(manager.key_path, result.key)):
        os.makedirs(folder, exist_ok=True)
        result.look = manager.look(os.path.join(folder, "look"), files, result.key, None if lacking else repository)
        found = _plan(manager, params, box, result.look)
        files = _files(manager, found, shared)
        manager.stage_pins(result.look, files)
        extra, lacking = needed(manager, params["engine"], params["user"],
                                manager.available(_candidates(manager), result.look))
        if result.look.problem and (found.problems or found.missing or lacking):
            result.problems = [result.look.problem + ". Expected the repositories to answer"]
            return result
    result.plan, result.files, result.extra = found, files, [Exact(name, "") for name in extra]
    result.problems = [*found.problems, *lacking]
    result.hold = [name for name in found.hold if name not in box.held or found.missing]
    result.write = [path for path, text in files.items() if read_text(path) != text]
    if result.key is not None and not same_key(manager.key_path, result.key):
        result.write.append(manager.key_path)
    if result.change and not result.problems:
        result.unsimulated, result.problems = _simulated(manager, result, result.look)
    return result


def _files(manager, found, shared):
    files = manager.files(found)
    return {**files, manager.source_path: ""} if shared else files


def _simulated(manager, decision, look):
    """Return (why it cannot be simulated, or ""), and sentences on what the simulated transaction must not do."""
    what, refusal = manager.simulate(decision.exact, (), look)
    if refusal:
        return Refusal(NoDriver.NOT_INSTALLABLE,
                       refusal + ". Expected a set that can be installed together"), []
    explicit = {each.name: each.version for each in decision.exact}
    told = "the transaction is refused: %s. Expected only the container runtime's packages to move"
    return "", [Refusal(NoDriver.NOT_INSTALLABLE, told % each) for each in objections(what, explicit, (), None)]


def _guard(module):
    """Return why no package may be installed now, or "". Packages with units make systemd read all units again
    (deb-systemd-invoke, the toolkit's own postinst)."""
    if os.path.isdir("/run/systemd/system"):
        return gpu_containers.refusal(gpu_containers.running(), gpu_containers.active_units(module))
    return ""


def present(module, manager, folder):
    """Bring the box to the wanted packages, and return the module's result. DriverError before any write where
    something speaks against it."""
    broken = manager.half_done()
    decision = _decide(module, manager, folder)
    if decision.unsimulated and not broken:     # what stands half done cannot be simulated truthfully
        decision.problems.append(decision.unsimulated)
    if decision.change or broken:
        refused = _guard(module)
        if refused:
            decision.problems.append(Refusal(
                NoDriver.RELOAD,
                "installing packages lets systemd read its units again, and that is refused: " + refused))
    refuse(decision.problems, "Nothing was written.")
    actions = ["end what a former run left half done: " + ", ".join(broken[:5])] if broken else []
    actions += ["write " + path for path in decision.write]
    if decision.change:
        actions.append("install in one transaction: " + ", ".join(each.apt for each in decision.exact))
    actions += ["hold: " + ", ".join(decision.hold)] if decision.hold else []
    written = [(path, read_text(path), decision.files.get(path, "(the repository's key)\n")) for path in decision.write]
    before = _listing(manager)
    if actions and not module.check_mode:
        _apply(module, manager, decision, folder, broken)
    after = _listing(manager) if not module.check_mode else "".join(
        "%s %s held\n" % each for each in sorted(decision.plan.install)) or before
    diff = [("container toolkit", before, after), *written]
    return {"changed": bool(actions), "actions": actions, "notes": list(decision.plan.notes), "diff": [
        {"before_header": name, "after_header": name, "before": old, "after": new}
        for name, old, new in diff if old != new]}


def _listing(manager):
    held = manager.held()
    return "".join("%s %s%s\n" % (name, version, " held" if name in held else "")
                   for name, version in sorted(manager.installed(_GLOBS).items()))


def _apply(module, manager, decision, folder, broken):
    receipt, mine = load(), manager.installed(_GLOBS)
    there = {"packages": mine, "held": [name for name in manager.held() if name in mine]}
    receipt = remember(receipt, "toolkit", there, read_text("/proc/sys/kernel/random/boot_id").strip(), now())
    receipt["toolkit"] = {"version": decision.plan.version, "held": sorted(decision.plan.hold)}
    save(receipt)
    if broken:
        manager.heal()
        decision = _decide(module, manager, folder + "/healed")
        refuse([*decision.problems, *filter(None, (decision.unsimulated,))],
               "What a former run left half done was ended; nothing else was written.")
    for path in decision.write:
        if path == manager.key_path:
            write_text(path, decision.key.decode("utf-8", "surrogateescape"))
        elif decision.files[path]:
            write_text(path, decision.files[path])
        else:
            remove(path)
    if decision.change:
        manager.refresh(decision.plan.repository is not None and not decision.extra)
        manager.unhold([name for name in decision.plan.hold if name in manager.held()])
        manager.install(decision.exact, ())
    manager.hold([name for name in decision.plan.hold if name not in manager.held()])
    wrong = ["%s %s" % (each.name, manager.installed([each.name]).get(each.name, "is not installed"))
             for each in decision.plan.install if manager.installed([each.name]).get(each.name) != each.version]
    if wrong:
        raise DriverError(
            NoDriver.NOT_WHOLE,
            "after the transaction: %s; expected the container toolkit %s. Look at the package manager's "
            "log and run the play again." % (", ".join(wrong), decision.plan.version))


def absent(module, manager):
    """Take our files away and release our holds; return the module's result. The packages stay: containers may need
    them."""
    receipt = load()
    ours = (receipt.get("toolkit") or {}).get("held", [])
    theirs = ((receipt.get("before") or {}).get("toolkit") or {}).get("held", [])
    unhold = [name for name in manager.held() if name in ours and name not in theirs]
    files = [path for path in manager.own_files() if read_text(path)]
    if not module.check_mode:
        manager.unhold(unhold)
        for path in files:
            remove(path)
        if "toolkit" in receipt:
            receipt.pop("toolkit")
            save(receipt)
    actions = ["unhold " + name for name in unhold] + ["remove " + path for path in files]
    return {"changed": bool(actions), "actions": actions, "notes": [], "diff": []}
