"""Environment variables as grep prints them out of unit files, environment files and /proc/<pid>/environ.

Only names with the prefixes of parsers/nvidia/nccl_env.py are asked for and only the matching part is printed: the same
files hold tokens and keys, which must not even reach a recording. A comment prints as its mark alone."""

from __future__ import annotations

import re
from dataclasses import field
from typing import Dict, List, Set

from ...util.at_first_use import dataclass, regex
from ..nvidia.nccl_env import PREFIXES

__all__ = ["ASSIGNED", "IN_PROCESS", "IN_UNIT", "Variables", "files_named", "variables"]

_NAMES = "(" + "|".join(PREFIXES) + ")_[A-Z0-9_]+="
#: Patterns for `grep -E -o`; a value ends at white space or a quote.
ASSIGNED = r"^[[:space:]]*[#;]|\<" + _NAMES + "[\"']?[^[:space:]\"']*"
IN_UNIT = ASSIGNED + r"|^EnvironmentFile=-?/[^[:space:]]*|--env-file[= ]/[^[:space:]]*|--enable-[a-z-]*allreduce\>"
IN_PROCESS = "^" + _NAMES + ".*"

_HIT = regex(r"^(/[^\0\n]{1,400}?):(\d{1,9}):(.*)$")
_VARIABLE = regex(r"^((?:%s)_[A-Z0-9_]{1,100})=[\"']?(.*)$" % "|".join(PREFIXES), re.DOTALL)
_FILE = regex(r"^(?:EnvironmentFile=-?|--env-file[= ])(/(?!dev/|proc/|sys/)[\w@%+=:,./-]{1,400})$")
_MOST = 20000


@dataclass
class Variables:
    """What one file or process says: variables (the last value of each) and the command-line switches beside them."""

    values: Dict[str, str] = field(default_factory=dict)
    options: Set[str] = field(default_factory=set)


def variables(text: str, separator: str = "\n") -> Dict[str, Variables]:
    """Parse the output of grep, ``/path:12:NCCL_X=1`` lines, by path. The entries of a process have no line number and
    end in a null byte: ``separator`` is "\\0" for them."""
    found: Dict[str, Variables] = {}
    commented = ("", "")
    for line in text.split(separator)[:_MOST]:
        hit = _HIT.match(line) if separator == "\n" else re.match(r"^(/proc/\d{1,10}/environ)():(.*)$", line, re.DOTALL)
        if hit is None:
            continue
        path, number, what = hit.groups()
        if what.strip() in ("#", ";"):
            commented = (path, number)
        if number and commented == (path, number):
            continue
        variable = _VARIABLE.match(what)
        if variable is not None:
            value = variable.group(2)[:400]
            found.setdefault(path, Variables()).values[variable.group(1)] = value.rstrip("\"'")
        elif what.startswith("--enable-"):
            found.setdefault(path, Variables()).options.add(what[:80])
    return found


def files_named(text: str) -> List[str]:
    """Return the environment files that units and `docker run` lines name. None of them is below /dev, /proc and
    /sys."""
    found: Dict[str, None] = {}
    for line in text.splitlines()[:_MOST]:
        hit = _HIT.match(line)
        named = _FILE.match(hit.group(3)) if hit else None
        if named and "%" not in named.group(1) and "/../" not in named.group(1):
            found[named.group(1)] = None
    return list(found)[:64]
