"""The settings of container engines: docker's daemon.json, podman's containers.conf, the toolkit's config.toml.

Pure: texts in, values out, for any text."""

from __future__ import annotations

import json
import re
from typing import Dict, Iterable, Optional, Tuple

from ...util.at_first_use import dataclass

__all__ = ["Docker", "Podman", "docker", "podman", "size", "toml_text"]

_UNITS = {"": 1, "b": 1, "k": 1 << 10, "kb": 1 << 10, "m": 1 << 20, "mb": 1 << 20, "g": 1 << 30, "gb": 1 << 30}


@dataclass(frozen=True)
class Docker:
    """Docker's settings. ``log_bytes`` and ``log_files`` are the options max-size and max-file. ``log_bytes`` is None
    where max-size is not set or no size; ``log_files`` is 1 where max-file is not set. ``cdi`` is the feature of that
    name, None where it is not stated. ``cgroups`` is systemd or cgroupfs, empty where docker chooses. ``nvidia``: a
    runtime of the container toolkit is registered."""

    log_driver: str
    log_bytes: Optional[int]
    log_files: int
    cdi: Optional[bool]
    cgroups: str
    nvidia: bool
    root: str


@dataclass(frozen=True)
class Podman:
    """Podman's settings. ``log_bytes`` is None where there is no limit (podman writes -1)."""

    log_driver: str
    log_bytes: Optional[int]
    cgroups: str


def docker(text: str) -> Docker:
    """Parse docker's daemon.json. An empty text is a daemon with its defaults. ValueError where the text is no JSON
    object."""
    try:
        data = json.loads(text) if text.strip() else {}
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(data, dict):
        raise ValueError("not an object")
    options, features, runtimes = (part if isinstance(part, dict) else {} for part in (
        data.get("log-opts"), data.get("features"), data.get("runtimes")))
    said = data.get("exec-opts")
    cgroups = [str(word).partition("=")[2] for word in (said if isinstance(said, list) else [])
               if str(word).startswith("native.cgroupdriver=")]
    files = str(options.get("max-file", "1"))
    return Docker(str(data.get("log-driver") or "json-file")[:40], size(str(options.get("max-size", ""))),
                  int(files) if re.match(r"^[1-9][0-9]{0,3}$", files) else 1,
                  features.get("cdi") if isinstance(features.get("cdi"), bool) else None,
                  cgroups[-1][:40] if cgroups else "",
                  any("nvidia" in str(name) for name in runtimes), str(data.get("data-root") or "")[:400])


def podman(texts: Iterable[str]) -> Podman:
    """Parse containers.conf and the files that podman reads after it. Later files win."""
    said: Dict[Tuple[str, str], str] = {}
    for text in texts:
        said.update(_settings(text))
    limit = said.get(("containers", "log_size_max"), "")
    return Podman(said.get(("containers", "log_driver"), "")[:40],
                  int(limit) if re.match(r"^[1-9][0-9]{0,17}$", limit) else None,
                  said.get(("engine", "cgroup_manager"), "")[:40])


def toml_text(text: str, section: str, key: str) -> str:
    """Return one plain value of a TOML file, or "" where it is not there."""
    return _settings(text).get((section, key), "")


def _settings(text: str) -> Dict[Tuple[str, str], str]:
    """Return the plain values of a TOML text by section and key. Only values on one line are read, no arrays and no
    texts of several lines."""
    found, section = {}, ""
    for line in text.splitlines()[:10_000]:
        line = line.strip()[:1000]
        if line.startswith("["):
            section = line.strip("[] \t")
            continue
        match = re.match(r"""^([A-Za-z0-9_-]{1,80})\s*=\s*(?:"([^"]*)"|'([^']*)'|([^#\s]+))""", line)
        if match:
            found[(section, match.group(1))] = next(part for part in match.groups()[1:] if part is not None)
    return found


def size(text: str) -> Optional[int]:
    """Return docker's ``10m`` in bytes. None where the text is no size, or 0."""
    match = re.match(r"^\s*(\d{1,12})\s*([kmg]?b?)\s*$", text.lower())
    return int(match.group(1)) * _UNITS[match.group(2)] if match and int(match.group(1)) else None
