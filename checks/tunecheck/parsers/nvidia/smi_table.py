"""The plain table that ``nvidia-smi`` prints, and the list of ``nvidia-smi -L``: as the NVML document (host/base.py)
has them. Written against the tables of drivers 450 to 610. What a cut table does not show is missing, never a value."""

from __future__ import annotations

import re
from typing import Any, Dict, List, Optional, Tuple

from ...util.at_first_use import regex
from .nvml_keys import KEYS
from .smi_failure import failures
from .smi_merge import ONLY_ON_HOST
from .smi_tree import address

__all__ = ["TABLE", "listed", "listed_whole", "parse_table"]

#: Its first line. Driver 610 calls the driver's version "KMD Version".
TABLE = regex(r"^\|? ?NVIDIA-SMI +(\d{3}\.\d{1,3}(?:\.\d{1,3})?|N/A) +(?:Driver|KMD) Version: +"
              r"(\d{3}\.\d{1,3}(?:\.\d{1,3})?)(?: +CUDA (?:UMD )?Version: +(\S{1,10}))?", re.MULTILINE)
_FIRST = regex(r"^\| +(\d{1,3}) +(\S.{0,60}?) +(\S+) +\| +([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]) +"
               r"\S+ +\| +(\S+) +\|")
_SECOND = regex(r"^\| {0,4}\S+ +(\S+) +(\S+) +(\S+) ?/ *(\S+) +\| +(\S+) ?/ *(\S+) +\| +(\S+) +(\S.*?) +\|")
_THIRD = regex(r"^\| +\| +\| +(Enabled|Disabled|N/A|\S+!)(\*?) +\|")
_FAN_REFUSED = regex(r"^\| {0,4}\S+! +\S+ +\S+ ")
#: A process; before driver 450 without the columns of MIG.
_PROCESS = regex(r"^\| +(\d{1,3}) +(?:\S+ +\S+ +)?(\d{1,9}) +[CGM+]{1,3} +.*? +(\d{1,9}MiB|N/A|\S+) +\|$")
#: A row of a GPU, be it readable or not.
_ROW = regex(r"^\|.{0,120}\b[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]\b")
#: Errors of several words, as one word. nvidia-smi itself has "ERR!" for all of them in most columns.
_ERRORS = ((regex(r"\[?GPU is lost\]?", re.IGNORECASE), "LOST!"),
           (regex(r"\[?GPU requires reset\]?", re.IGNORECASE), "RESET!"),
           (regex(r"\[?Unknown Error\]?", re.IGNORECASE), "ERR!"))
_NAMES = {"N/A": "NOT_SUPPORTED", "LOST!": "GPU_IS_LOST", "RESET!": "RESET_REQUIRED"}
_LISTED = regex(r"^GPU (\d{1,3}): (\S.{0,80}?) \(UUID: (GPU-[0-9a-fA-F-]{8,40}|N/A)\)[ \t]*$", re.MULTILINE)
_BORDER = regex(r"^\+-{20,60}\+-{10,40}\+-{10,40}\+\s*$")
_MODES = {"Default": "default", "E. Process": "exclusive_process", "Prohibited": "prohibited"}
_MOST = 512


def parse_table(text: str) -> Optional[Dict[str, Any]]:
    """Return the document, with the driver's version. None where the text has no such table."""
    head = TABLE.search(text)
    if head is None:
        return None
    gpus: List[Dict[str, Any]] = []
    lines = text[head.start():].split("\n", 6000)[:6000]
    ended, unread = False, 0
    for number, line in enumerate(lines):
        if "Processes:" in line[:400]:
            ended = True
            _add_processes(gpus, lines[number + 1:])
            break
        if gpus and _ends(lines, number):
            ended = True
        first = _FIRST.match(_plain(line))
        if first and len(gpus) < _MOST:
            gpus.append(_gpu(first, [_plain(each) for each in lines[number + 1:number + 3]]))
        elif first is None and _ROW.match(line[:400]):
            unread += 1
    shown = {gpu["bdf"] for gpu in gpus}
    for failure in failures(text):
        bdf = address(failure.gpu) if ":" in failure.gpu else None
        if bdf is not None and bdf not in shown and len(gpus) < _MOST:
            shown.add(bdf)
            error = "GPU_IS_LOST" if failure.kind == "lost" else "UNKNOWN"
            gpus.append({"bdf": bdf, "index": len(gpus), "values": {}, "errors": dict.fromkeys(KEYS, error)})
    errors = {"library": ONLY_ON_HOST}
    if not ended:
        errors["gpus"] = "cut short: the table of nvidia-smi has no end, its list of processes is not there"
    elif unread:
        errors["gpus"] = f"not understood: {unread} of the table's rows"
    order = sorted(gpus, key=lambda gpu: str(gpu["bdf"]))
    return {"driver": head.group(2), "library": None, "errors": errors, "pairs": [], "gpus": order}


def _ends(lines: List[str], number: int) -> bool:
    """Return whether a line is the last border of the GPUs: the line of spaces above the processes stands below it. The
    borders between two GPUs look the same, so that a text which ends at one may be cut there."""
    if not _BORDER.match(lines[number][:400]) or number + 1 == len(lines):
        return False
    return re.match(r"^ {40,}\s*$", lines[number + 1][:400]) is not None


def _gpu(first: "re.Match[str]", following: List[str]) -> Dict[str, Any]:
    values: Dict[str, Any] = {}
    errors: Dict[str, str] = {}
    # A name that does not fit ends in "...": only its beginning is known then.
    if first.group(2).endswith("!"):
        _keep(values, errors, "name", None, first.group(2))
    elif first.group(2).endswith("..."):
        values["name_begin"] = first.group(2)[:-3]
    else:
        values["name"] = first.group(2)
    _keep(values, errors, "persistence", {"On": True, "Off": False}.get(first.group(3)), first.group(3))
    faults = first.group(5)
    if re.match(r"^\d{1,12}$", faults):
        values["ecc_mode"], values["ecc_volatile_uncorrected"] = "enabled", int(faults)
    else:
        _keep(values, errors, "ecc_mode", "disabled" if faults == "Off" else None, faults)
        if faults.endswith("!"):
            _keep(values, errors, "ecc_volatile_uncorrected", None, faults)
    second = _SECOND.match(following[0]) if following else None
    if following and _FAN_REFUSED.match(following[0]):
        errors["fan_percent"] = "UNKNOWN"
    if second:
        heat, state, draw, limit, used, total, busy, mode = second.groups()
        _keep(values, errors, "temperature_c", _number(heat, "C"), heat)
        _keep(values, errors, "pstate", _number(state[1:], "") if state[0] == "P" else None, state)
        _keep(values, errors, "power_draw_mw", _watts(draw), draw)
        _keep(values, errors, "power_limit_mw", _watts(limit), limit)
        _keep(values, errors, "memory_used_mib", _number(used, "MiB"), used)
        _keep(values, errors, "memory_total_mib", _number(total, "MiB"), total)
        _keep(values, errors, "utilization_gpu", _number(busy, "%"), busy)
        _keep(values, errors, "compute_mode", _MODES.get(mode), mode)
    third = _THIRD.match(following[1]) if len(following) > 1 else None
    if third:
        mode = third.group(1)
        _keep(values, errors, "mig_mode", _switch(mode), mode)
        # An asterisk: the next reset brings the other mode. Which of the two is shown then no source says.
        _keep(values, errors, "mig_pending", None if third.group(2) else _switch(mode), mode)
    for key in KEYS:
        if key not in values:
            errors.setdefault(key, "not in the import; add: nvidia-smi -q")
    domain, rest = first.group(4).lower().split(":", 1)
    return {"bdf": "%04x:%s" % (int(domain, 16), rest), "index": int(first.group(1)), "values": values,
            "errors": errors}


def _add_processes(gpus: List[Dict[str, Any]], lines: List[str]) -> None:
    """Add the list of processes to every GPU: all of them below the table, to its end."""
    found: Dict[int, List[Dict[str, Any]]] = {}
    told = False
    for line in lines:
        line = line[:400].rstrip()
        row = _PROCESS.match(line)
        if row:
            used = row.group(3)
            found.setdefault(int(row.group(1)), []).append({"pid": int(row.group(2)), "used_mib": _number(used, "MiB")})
        elif "No running processes found" in line:
            told = True
        elif line.startswith("+-") and (found or told):
            for gpu in gpus:
                gpu["values"]["processes"] = found.get(gpu["index"], [])
                gpu["errors"].pop("processes", None)
            return


def _keep(values: Dict[str, Any], errors: Dict[str, str], key: str, value: Any, shown: str) -> None:
    if value is not None:
        values[key] = value
    else:
        errors[key] = _NAMES.get(shown, "UNKNOWN")


def _plain(line: str) -> str:
    line = line.rstrip("\r")[:400]
    for words, short in _ERRORS:
        line = words.sub(short, line)
    return line


def _switch(shown: str) -> Optional[str]:
    return shown.lower() if shown in ("Enabled", "Disabled") else None


def _number(shown: str, unit: str) -> Optional[int]:
    found = re.match(r"^(\d{1,9})%s$" % unit, shown)
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
