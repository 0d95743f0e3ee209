"""apt and dpkg: the repositories as they would be, one transaction, holds."""

from __future__ import annotations

import glob
import os
import shutil

from ansible.module_utils.tunecheck.parsers.packages import apt_output, package_lists, package_pins

from .base import DriverError, Look, Manager, shown, tail
from .why import NoDriver

__all__ = ["Apt", "install_argv"]

_SOURCES = "/etc/apt/sources.list.d"
_PREFERENCES = "/etc/apt/preferences.d"
_LISTS = "/var/lib/apt/lists"
_ROWS = "${Package}\\t${Version}\\t${db:Status-Want}\\t${db:Status-Status}\\n"
#: A configuration file that an administrator changed stays; a new one is put where none is.
_CONF = ["-o", "Dpkg::Options::=--force-confdef", "-o", "Dpkg::Options::=--force-confold"]
#: unattended-upgrades may hold the lock for a while.
_WAIT = ["-o", "DPkg::Lock::Timeout=300"]
#: A simulation would leave its plan in /var/log/apt.
_SILENT = ["-o", "Dir::Log::Planner=/dev/null", "-o", "Dir::Log::Solver=/dev/null"]
_AGAIN = "Mend the cause and run the play again: it picks up from what dpkg says."


def install_argv(exact, remove, simulate=False, options=()):
    """Return the command of the one transaction. ``exact`` are Exact, ``remove`` names that go in the same run."""
    return ["apt-get", *options, *(["-s", *_SILENT] if simulate else [*_CONF, *_WAIT]), "install", "-y",
            "--no-install-recommends", "--allow-change-held-packages", "--allow-downgrades",
            *(each.apt for each in exact),
            *("%s-" % name for name in remove)]


class Apt(Manager):
    """The package manager of Debian and Ubuntu."""

    name = "apt"
    key_path = "/usr/share/keyrings/tunecheck-nvidia.asc"
    source_path = _SOURCES + "/tunecheck-nvidia.sources"
    pin_path = _PREFERENCES + "/tunecheck-nvidia.pref"
    blacklist_path = "/etc/apt/apt.conf.d/52tunecheck-unattended"
    # needrestart would restart services, and the inference unit is not ours to restart here.
    environment = (("DEBIAN_FRONTEND", "noninteractive"), ("NEEDRESTART_SUSPEND", "1"), ("NEEDRESTART_MODE", "l"),
                   ("APT_LISTCHANGES_FRONTEND", "none"), ("UCF_FORCE_CONFFOLD", "1"))

    def own_files(self):
        """Return every path of ours that a run may have written."""
        return (self.pin_path, self.blacklist_path, self.source_path, self.key_path)

    def files(self, plan):
        """Return {path: text} of ours for a plan; an empty text means that the file should not be there. The key is not
        among them."""
        source = ""
        if plan.repository is not None:
            fields = package_pins.deb822(plan.repository, self.key_path)
            source = "# Written by tunecheck (role nvidia_driver).\n" + "".join(
                "%s: %s\n" % pair for pair in fields.items())
        return {self.source_path: source, self.pin_path: package_pins.preferences(plan.pins),
                self.blacklist_path: package_pins.unattended(plan.blacklist)}

    # -- reads

    def rows(self, patterns):
        """Return dpkg's lines for names and globs. dpkg-query exits with 1 where one of them fits nothing."""
        code, out, err = self.run(["dpkg-query", "-W", "-f", _ROWS, *patterns])
        if code not in (0, 1):
            raise DriverError(
                NoDriver.COMMAND_FAILED,
                "dpkg-query failed (exit %d): %s. Nothing was written." % (code, tail(err)))
        return out

    def installed(self, patterns):
        """Return {name: version} of what is installed, also half."""
        return {name: version for name, version, _want, state in apt_output.listed(self.rows(patterns))
                if version and state not in ("config-files", "not-installed")}

    def held(self):
        return package_lists.showhold(self.must(["apt-mark", "showhold"], "Nothing was written."))

    def half_done(self):
        """Return the packages that a former run left half done, and "dpkg's own journal" where dpkg was killed while it
        wrote."""
        journal = ["dpkg's own journal"] if glob.glob("/var/lib/dpkg/updates/[0-9]*") else []
        return apt_output.half_done(self.rows([])) + journal

    def available(self, names, look=None):
        if not names:
            return {}
        code, out, err = self.run(["apt-cache", *(look.options if look else []), "madison", *names])
        if code != 0:
            # Mostly two files that name one repository with two keys: a cuda-keyring that was set up before.
            raise DriverError(
                NoDriver.REPOSITORIES,
                "apt refuses the repositories: %s. Expected one source for each; remove the other file "
                "in /etc/apt/sources.list.d. Nothing was written." % tail(err).replace(
                    look.folder if look else "/etc/apt", "/etc/apt"))
        return package_lists.madison(out)

    def look(self, folder, files, key, repository):
        """Return the repositories as they would be with ``files`` and ``key`` (bytes), in ``folder``; nothing else is
        written.

        Only our own ``repository`` is asked anew; all of them where there is none."""
        for name in ("lists/partial", "sources.d", "preferences.d"):
            os.makedirs(os.path.join(folder, name), exist_ok=True)
        # apt reads with the rights of _apt.
        os.chmod(folder, 0o755)
        for path in glob.glob(_LISTS + "/*_*"):
            os.symlink(path, os.path.join(folder, "lists", os.path.basename(path)))
        for source, kept in ((_SOURCES, "sources.d"), (_PREFERENCES, "preferences.d")):
            for path in glob.glob(source + "/*"):
                if path not in files and os.path.isfile(path):
                    shutil.copy(path, os.path.join(folder, kept))
        if key is not None:
            _write(os.path.join(folder, "key.asc"), key)
        ours = folder + "/sources.d/tunecheck-nvidia.sources"
        source = files[self.source_path].replace(self.key_path, folder + "/key.asc").encode()
        if source:
            _write(ours, source)
        options = ["Dir::State::lists=%s/lists" % folder, "Dir::Etc::sourceparts=%s/sources.d" % folder,
                   "Dir::Etc::preferencesparts=%s/preferences.d" % folder, "Dir::Cache::pkgcache=",
                   "Dir::Cache::srcpkgcache=", "Dir::Cache::archives=%s" % folder]
        look = Look(folder, [word for option in options for word in ("-o", option)])
        argv = ["apt-get", *look.options, *self._only(ours if repository else None), "update"]
        code, out, err = self.run(argv)
        if code != 0:
            look.problem = "apt-get update failed (exit %d): %s" % (code, tail(err or out))
        return look

    def stage_pins(self, look, files):
        """Let the look obey our pins too, which are known only after it."""
        _write(look.folder + "/preferences.d/tunecheck-nvidia.pref", files[self.pin_path].encode())

    @staticmethod
    def _only(source):
        """Return the options of an update: any failure is one; ``source``: only the sources in that file are asked."""
        only = ["-o", "Dir::Etc::sourcelist=" + source, "-o", "Dir::Etc::sourceparts=/dev/null"] if source else []
        return ["-o", "APT::Update::Error-Mode=any", "-o", "APT::Get::List-Cleanup=0", *only]

    def simulate(self, exact, remove, look=None):
        """Simulate the transaction. Return (Simulation, ""), or (None, why apt refuses)."""
        argv = install_argv(exact, remove, True, look.options if look else ())
        code, out, err = self.run(argv)
        if code != 0:
            unmet = [row.strip() for row in out.splitlines() if " Depends: " in row or " Conflicts: " in row
                     or " Breaks: " in row]
            return None, "%s failed (exit %d): %s" % (shown(argv), code, " | ".join([*unmet[:4], tail(err)]))
        return apt_output.simulation(out), ""

    def download(self, exact, folder, look=None):
        """Fetch and unpack one package into ``folder``; return its tree's root. DriverError where it cannot be had."""
        code, out, err = self.module.run_command(
            ["apt-get", *(look.options if look else []), "download", exact.apt], cwd=folder,
            environ_update={"LC_ALL": "C.UTF-8", **dict(self.environment)})
        found = glob.glob(folder + "/*.deb")
        if code != 0 or not found:
            raise DriverError(
                NoDriver.NOT_DOWNLOADED,
                "apt-get download %s failed (exit %d): %s. No driver package was touched."
                % (exact.apt, code, tail(err or out)))
        tree = os.path.join(folder, "tree")
        self.must(["dpkg-deb", "-x", found[0], tree], "No driver package was touched.")
        return tree

    # -- writes

    def refresh(self, ours_only):
        """Ask the repositories for their packages, after their files were written."""
        only = self.source_path if ours_only and os.path.exists(self.source_path) else None
        self.must(["apt-get", *self._only(only), "update"],
                  "The repository's files are in place; no package was touched. %s" % _AGAIN)

    def heal(self):
        """End what a former run began. What stays half done is left to the transaction, which may replace it."""
        self.run(["dpkg", "--force-confdef", "--force-confold", "--configure", "-a"])
        if self.half_done():
            self.run(["apt-get", *_CONF, *_WAIT, "install", "-f", "-y", "--no-remove", "--no-install-recommends"])

    def install(self, exact, remove, look=None):
        self.must(install_argv(exact, remove, False, look.options if look else ()),
                  "Packages may be half installed. %s" % _AGAIN)

    def purge(self, names):
        self.must(["apt-get", *_CONF, *_WAIT, "purge", "-y", "--allow-change-held-packages", *names],
                  "Packages may be half removed. %s" % _AGAIN)

    def hold(self, names):
        if names:
            self.must(["apt-mark", "hold", *names], "The packages are installed and not held. %s" % _AGAIN)

    def unhold(self, names):
        if names:
            self.must(["apt-mark", "unhold", *names], "No package was touched. %s" % _AGAIN)


def _write(path, content):
    with open(path, "wb") as handle:
        handle.write(content)
    os.chmod(path, 0o644)
