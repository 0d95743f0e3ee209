"""dnf and rpm: the same steps with dnf's arguments.

No Enterprise Linux mirror was reachable when this was written (2026-11-21): the arguments are tested as data only.
Options read in dnf(8) of dnf 4.14 and dnf-plugins-core's versionlock and download."""

from __future__ import annotations

import glob
import os

from ansible.module_utils.box_io import read_text
from ansible.module_utils.tunecheck.parsers.packages import dnf_output, package_lists, package_pins

from .base import DriverError, Look, Manager, shown, tail
from .why import NoDriver

__all__ = ["Dnf", "install_argv", "look_options", "versionlock_argv"]

_REPO = "tunecheck-nvidia"
_ROWS = r"%{NAME}\t%|EPOCH?{%{EPOCH}:}:{}|%{VERSION}-%{RELEASE}\n"
_AGAIN = "Mend the cause and run the play again: it picks up from what rpm says."
#: The kernel's own packages; kernel-devel, which DKMS needs, is none of them.
_KERNEL = "kernel,kernel-core,kernel-modules,kernel-modules-core,kernel-modules-extra"


def install_argv(exact, simulate=False, options=()):
    """Return the command of the one transaction. It may erase what it replaces; the simulation has shown before what
    that is."""
    return ["dnf", *options, "--assumeno" if simulate else "--assumeyes", "--setopt=install_weak_deps=False",
            "--disableexcludes=all", "--exclude=" + _KERNEL, "install", "--allowerasing",
            *(each.dnf for each in exact)]


def versionlock_argv(verb, entries):
    """Return the command of dnf's plugin versionlock. ``verb``: add or delete."""
    return ["dnf", "--assumeyes", "versionlock", verb, *entries]


def look_options(repository, key_path, cache):
    """Return the options with which one command reads the repository as it would be."""
    return ["--setopt=cachedir=" + cache, "--repofrompath=%s,%s" % (_REPO, repository.url),
            "--setopt=%s.gpgcheck=1" % _REPO, "--setopt=%s.gpgkey=file://%s" % (_REPO, key_path)]


class Dnf(Manager):
    """The package manager of Enterprise Linux 9 and 10."""

    name = "dnf"
    key_path = "/etc/pki/rpm-gpg/RPM-GPG-KEY-tunecheck-nvidia"
    source_path = "/etc/yum.repos.d/tunecheck-nvidia.repo"

    def own_files(self):
        return (self.source_path, self.key_path)

    def files(self, plan):
        return {self.source_path: package_pins.yum_repo(plan.repository, self.key_path) if plan.repository else ""}

    def installed(self, patterns):
        _code, out, _err = self.run(["rpm", "-qa", "--qf", _ROWS, *patterns])
        rows = (line.partition("\t") for line in out.splitlines())
        # gpg-pubkey is no package; a kernel is installed several times, the last one counts.
        return {name: version for name, mark, version in rows if mark and name != "gpg-pubkey"}

    def held(self):
        text = "".join(read_text(path) for path in ("/etc/dnf/plugins/versionlock.list", "/etc/dnf/versionlock.toml"))
        return dnf_output.locked_names(text)

    def half_done(self):
        _code, out, _err = self.run(["dnf", "--cacheonly", "check", "--duplicates"])
        return dnf_output.duplicates(out)

    def available(self, names, look=None):
        if not names:
            return {}
        code, out, _err = self.run(["dnf", *(look.options if look else []), "--quiet", "repoquery",
                                    "--qf", "%{name}\t%{evr}\n", *names])
        return package_lists.repoquery(out) if code == 0 else {}

    def look(self, folder, files, key, repository):
        os.makedirs(folder, exist_ok=True)
        options = []
        if repository is not None and key is not None:
            path = os.path.join(folder, "key.asc")
            with open(path, "wb") as handle:
                handle.write(key)
            options = look_options(repository, path, os.path.join(folder, "cache"))
        look = Look(folder, options)
        code, out, err = self.run(["dnf", *options, "--quiet", "makecache",
                                   *(["--repo=" + _REPO] if options else [])])
        if code != 0:
            look.problem = "dnf makecache failed (exit %d): %s" % (code, tail(err or out))
        return look

    def stage_pins(self, look, files):
        """Do nothing: dnf's locks bind the installed version."""

    def simulate(self, exact, remove, look=None):
        argv = install_argv(exact, True, look.options if look else ())
        code, out, err = self.run(argv)
        # --assumeno ends with 1 after it has shown the transaction.
        if code != 0 and "Transaction Summary" not in out:
            return None, "%s failed (exit %d): %s" % (shown(argv), code, tail(err or out))
        return dnf_output.simulation(out), ""

    def download(self, exact, folder, look=None):
        argv = ["dnf", *(look.options if look else []), "--assumeyes", "download", "--destdir=" + folder, exact.dnf]
        self.must(argv, "No driver package was touched.")
        tree = os.path.join(folder, "tree")
        os.makedirs(tree)
        for path in glob.glob(folder + "/*.rpm"):
            code, archive, err = self.module.run_command(["rpm2cpio", path], encoding=None)
            if code == 0:
                code, _out, err = self.module.run_command(["cpio", "-idm", "--quiet"], data=archive, binary_data=True,
                                                          cwd=tree)
            if code != 0:
                raise DriverError(
                    NoDriver.NOT_UNPACKED,
                    "%s could not be unpacked (exit %d): %s. No driver package was touched."
                    % (path, code, err))
        return tree

    def refresh(self, ours_only):
        self.must(["dnf", "--quiet", "makecache", *(["--repo=" + _REPO] if ours_only else [])],
                  "The repository's file is in place; no package was touched. %s" % _AGAIN)

    def heal(self):
        """Remove the older one of two versions of a package, which an interrupted transaction leaves."""
        self.run(["dnf", "--assumeyes", "remove", "--duplicates", "--exclude=" + _KERNEL])

    def enable_stream(self, stream):
        self.must(["dnf", "--assumeyes", "module", "reset", stream.partition(":")[0]], "No package was touched.")
        self.must(["dnf", "--assumeyes", "module", "enable", stream], "No package was touched. %s" % _AGAIN)

    def install(self, exact, remove, look=None):
        self.must(install_argv(exact, False, look.options if look else ()), "Packages may be half installed. " + _AGAIN)
        gone = [name for name in remove if name in self.installed([name])]
        if gone:
            self.must(["dnf", "--assumeyes", "--exclude=" + _KERNEL, "remove", *gone],
                      "The new packages are in. " + _AGAIN)

    def purge(self, names):
        self.must(["dnf", "--assumeyes", "--exclude=" + _KERNEL, "remove", *names], "Packages may be left. " + _AGAIN)

    def hold(self, names):
        if names:
            self.must(versionlock_argv("add", names), "The packages are installed and not locked. " + _AGAIN)

    def unhold(self, names):
        if names:
            self.must(versionlock_argv("delete", names), "No package was touched. " + _AGAIN)


