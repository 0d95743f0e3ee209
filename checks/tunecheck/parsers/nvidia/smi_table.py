"""The plain table that ``nvidia-smi`` prints, and the list of ``nvidia-smi -L``: as the NVML document (host/base.py)
has them. Written against the tables of drivers 450 to 610. What a cut table does not show is missing, never a value."""

from __future__ import annotations

import re
from typing import Any, Dict, List, Optional, Tuple

from ...util.at_first_use import regex
from .nvml_keys import KEYS

__all__ = ["TABLE", "listed", "listed_whole", "parse_table"]

#: Its first line. Driver 610 calls the driver's version "KMD Version".
TABLE = regex(r"^\|? ?NVIDIA-SMI +(\d{3}\.\d{1,3}(?:\.\d{1,3})?|N/A) +(?:Driver|KMD) Version: +"
              r"(\d{3}\.\d{1,3}(?:\.\d{1,3})?)(?: +CUDA (?:UMD )?Version: +(\S{1,10}))?", re.MULTILINE)
_FIRST = regex(r"^\| +(\d{1,3}) +(\S.{0,60}?) +(On|Off|N/A) +\| +([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}"
               r"\.[0-7]) +(?:On|Off|N/A) +\| +(\S+) +\|")
_SECOND = regex(r"^\| ?(?:\S+) +(\d{1,3}C|N/A|ERR!) +(P\d{1,2}|N/A|ERR!) +(\S+) ?/ *"
                r"(\S+) +\| +(\d{1,9})MiB ?/ *(\d{1,9})MiB +\| +(\d{1,3}%|N/A|ERR!) +(\S.*?) +\|")
_THIRD = regex(r"^\| +\| +\| +(Enabled|Disabled|N/A)(\*?) +\|")
_LISTED = regex(r"^GPU (\d{1,3}): (\S.{0,80}?) \(UUID: (GPU-[0-9a-fA-F-]{8,40}|N/A)\)[ \t]*$", re.MULTILINE)
_MODES = {"Default": "default", "E. Process": "exclusive_process", "Prohibited": "prohibited"}
_MOST = 512


def parse_table(text: str) -> Optional[Dict[str, Any]]:
    """Return the document, with the driver's version. None where the text has no such table."""
    head = TABLE.search(text)
    if head is None:
        return None
    gpus: List[Dict[str, Any]] = []
    lines = text[head.start():].split("\n", 6000)[:6000]
    ended = False
    for number, line in enumerate(lines):
        line = line.rstrip("\r")[:400]
        if "Processes:" in line:
            ended = True
            break
        first = _FIRST.match(line)
        if first and len(gpus) < _MOST:
            following = [each.rstrip("\r")[:400] for each in lines[number + 1:number + 3]]
            gpus.append(_gpu(first, following))
    errors = {"library": "not in the table of nvidia-smi"}
    if not ended:
        errors["gpus"] = "cut short: the table of nvidia-smi has no end"
    order = sorted(gpus, key=lambda gpu: str(gpu["bdf"]))
    return {"driver": head.group(2), "library": None, "errors": errors, "pairs": [], "gpus": order}


def _gpu(first: "re.Match[str]", following: List[str]) -> Dict[str, Any]:
    values: Dict[str, Any] = {}
    errors: Dict[str, str] = {}
    # A name that does not fit ends in "...": it is none then.
    if not first.group(2).endswith("..."):
        values["name"] = first.group(2)
    _keep(values, errors, "persistence", {"On": True, "Off": False}.get(first.group(3)), first.group(3))
    faults = first.group(5)
    if re.match(r"^\d{1,12}$", faults):
        values["ecc_mode"], values["ecc_volatile_uncorrected"] = "enabled", int(faults)
    else:
        _keep(values, errors, "ecc_mode", "disabled" if faults == "Off" else None, faults)
    second = _SECOND.match(following[0]) if following else None
    if second:
        heat, state, draw, limit, used, total, busy, mode = second.groups()
        _keep(values, errors, "temperature_c", _number(heat, "C"), heat)
        _keep(values, errors, "pstate", _number(state.replace("P", "", 1), "") if state[0] == "P" else None, state)
        _keep(values, errors, "power_draw_mw", _watts(draw), draw)
        _keep(values, errors, "power_limit_mw", _watts(limit), limit)
        values["memory_used_mib"], values["memory_total_mib"] = int(used), int(total)
        _keep(values, errors, "utilization_gpu", _number(busy, "%"), busy)
        _keep(values, errors, "compute_mode", _MODES.get(mode), mode)
    third = _THIRD.match(following[1]) if len(following) > 1 else None
    if third:
        mode = third.group(1)
        _keep(values, errors, "mig_mode", mode.lower() if mode != "N/A" else None, mode)
        # An asterisk: the next reset brings the other mode. Which of the two is shown then no source says.
        _keep(values, errors, "mig_pending", mode.lower() if mode != "N/A" and not third.group(2) else None, mode)
    for key in KEYS:
        if key not in values:
            errors.setdefault(key, "not in the import; add: nvidia-smi -q")
    domain, rest = first.group(4).lower().split(":", 1)
    return {"bdf": "%04x:%s" % (int(domain, 16), rest), "index": int(first.group(1)), "values": values,
            "errors": errors}


def _keep(values: Dict[str, Any], errors: Dict[str, str], key: str, value: Any, shown: str) -> None:
    if value is not None:
        values[key] = value
    else:
        errors[key] = "NOT_SUPPORTED" if shown == "N/A" else "UNKNOWN"


def _number(shown: str, unit: str) -> Optional[int]:
    found = re.match(r"^(\d{1,4})%s$" % unit, shown)
    return int(found.group(1)) if found else None


def _watts(shown: str) -> Optional[int]:
    found = _number(shown, "W")
    return None if found is None else found * 1000


def listed(text: str) -> "Tuple[Tuple[int, str], ...]":
    """Return number and name of every GPU that ``nvidia-smi -L`` lists."""
    found = {int(number): name for number, name, _ in _LISTED.findall(text[:1 << 20])[:_MOST]}
    return tuple(sorted(found.items()))


def listed_whole(text: str) -> "Tuple[Tuple[int, Tuple[str, str]], ...]":
    """Return number, name and UUID of every GPU that ``nvidia-smi -L`` lists."""
    return tuple((int(number), (name, uuid)) for number, name, uuid in _LISTED.findall(text[:1 << 20])[:_MOST])
