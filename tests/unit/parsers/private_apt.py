"""apt on folders of its own: nothing of this machine is read or changed but its keyrings."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
PRESENT = shutil.which("apt-get") is not None and shutil.which("apt-cache") is not None


class PrivateApt:
    """``sources``: text of a sources.list; ``status``: what dpkg would say is installed."""

    def __init__(self, folder: Path, sources: str, preferences: str = "", status: str = "") -> None:
        for name in ("lists/partial", "cache/archives/partial", "none.d"):
            (folder / name).mkdir(parents=True)
        for name, text in (("sources.list", sources), ("pins.pref", preferences), ("status", status)):
            (folder / name).write_text(text)
        options = {
            "Dir::State": folder, "Dir::State::lists": folder / "lists", "Dir::State::status": folder / "status",
            "Dir::Cache": folder / "cache", "Dir::Etc::sourcelist": folder / "sources.list",
            "Dir::Etc::sourceparts": folder / "none.d", "Dir::Etc::preferences": folder / "pins.pref",
            "Dir::Etc::preferencesparts": folder / "none.d", "APT::Architecture": "amd64",
            "APT::Architectures": "amd64", "Acquire::Languages": "none", "Acquire::http::Timeout": "15",
            "Debug::NoLocking": "1", "APT::Sandbox::User": "root", "Acquire::Retries": "1",
        }  # fmt: skip
        self._options = [part for key, value in options.items() for part in ("-o", f"{key}={value}")]

    def ask(self, *argv: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run apt-get or apt-cache on the folders."""
        # A mirror may be behind a proxy that the environment names.
        env = {**{key: value for key, value in os.environ.items() if key.endswith("_proxy")}, "LC_ALL": "C",
               "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
        return subprocess.run([argv[0], *self._options, *argv[1:]], capture_output=True, text=True, timeout=180,
                              check=check, env=env)


def mirror() -> str | None:
    """The Debian mirror that the lab is told of, else the one this machine installs from; None for neither."""
    if told := os.environ.get("LAB_MIRROR"):
        return told.rstrip("/")
    texts = [path.read_text() for folder in ("/etc/apt/sources.list.d", "/etc/apt")
             for path in sorted(Path(folder).glob("*.sources")) + sorted(Path(folder).glob("*.list"))]
    found = re.search(r"(?m)^(?:URIs:|deb(?: \[[^\]]*\])?)\s+(\S+/debian)/?(?:\s|$)", "\n".join(texts))
    return found.group(1) if found else None
