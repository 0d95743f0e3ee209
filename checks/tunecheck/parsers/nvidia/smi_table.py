"""The plain table that ``nvidia-smi`` prints, and the list of ``nvidia-smi -L``: as the NVML document (host/base.py)
has them. Written against the tables of drivers 450 to 610. What a cut table does not show is missing, never a value."""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, List, Optional, Tuple

from ...util.at_first_use import regex
from .nvml_keys import KEYS
from .smi_failure import failures
from .smi_merge import ONLY_ON_HOST
from .smi_tree import address

__all__ = ["TABLE", "listed", "listed_whole", "parse_table"]

#: Its first line. Driver 610 calls the driver's version "KMD Version".
TABLE = regex(r"^\|? ?NVIDIA-SMI +(\d{3}\.\d{1,3}(?:\.\d{1,3})?|N/A) +(?:Driver|KMD) Version: +"
              r"(\d{3}\.\d{1,3}(?:\.\d{1,3})?)(?: +CUDA (?:UMD )?Version: +(\S{1,10}))?", re.MULTILINE)
#: The three cells of a GPU's first row: number, name and persistence mode; address and display; errors.
_BOARD = regex(r"^ +(\d{1,3}) +(?:(\S.{0,60}?) +(\S+)|(\S+!|N/A)) *$")
_PLACE = regex(r"^ *([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]) +\S+ *$")
_TOKEN = regex(r"N/A|[^\s/]+|/")
#: A process; before driver 450 without the columns of MIG.
_PROCESS = regex(r"^\| +(\d{1,3}) +(?:\S+ +\S+ +)?(\d{1,9}) +[CGM+]{1,3} +.*? +(\d{1,9}MiB|N/A|\S+) +\|$")
#: A row of a GPU, be it readable or not.
_ROW = regex(r"^\|.{0,120}\b[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]\b")
#: Errors of several words, as one word. nvidia-smi itself has "ERR!" for all of them in most columns.
_SENTENCES = tuple((regex(r"\[?\b%s\b\]?" % words, re.IGNORECASE), short) for words, short in (
    ("GPU is lost", "LOST!"), ("GPU requires reset", "RESET!"), ("Unknown Error", "UNKNOWN!"),
    ("Insufficient Permissions?", "PERMISSION!"), ("Time(?:d )?out", "TIMEOUT!"),
    ("Not (?:Supported|Available)", "N/A")))
_NAMES = {"N/A": "NOT_SUPPORTED", "LOST!": "GPU_IS_LOST", "RESET!": "RESET_REQUIRED", "PERMISSION!": "NO_PERMISSION",
          "TIMEOUT!": "TIMEOUT"}
#: What says of the whole GPU that it does not answer, in whichever cell it stands; the first counts.
_OF_GPU = ("LOST!", "RESET!", "UNKNOWN!")
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
    boards: Dict[str, str] = {}         # those whose address is refused, too
    lines = text[head.start():].split("\n", 6000)[:6000]
    ended, unread = False, 0
    for number, line in enumerate(lines):
        if "Processes:" in line[:400]:
            ended = True
            _add_processes(gpus, lines[number + 1:])
            break
        if gpus and _ends(lines, number):
            ended = True
        cells = _cells(line)
        place = _PLACE.match(cells[1]) if len(cells) == 3 else None
        board = _BOARD.match(cells[0]) if len(cells) == 3 else None
        if place and (board or _in_place(cells[0])):
            if len(gpus) < _MOST:
                gpus.append(_gpu(place.group(1), len(gpus), [cells, *map(_cells, lines[number + 1:number + 3])]))
        elif board and _refusals(cells[1]) and len(boards) < _MOST:
            boards["gpu " + board.group(1)] = _error(_refusals(cells[1])[0])
        elif board or _ROW.match(line[:400]):
            unread += 1
    shown = {gpu["bdf"] for gpu in gpus}
    for failure in failures(text):
        bdf = address(failure.gpu) if ":" in failure.gpu else None
        if bdf is not None and bdf not in shown and len(gpus) < _MOST:
            shown.add(bdf)
            error = "GPU_IS_LOST" if failure.kind == "lost" else "UNKNOWN"
            gpus.append({"bdf": bdf, "index": len(gpus), "values": {}, "errors": dict.fromkeys(KEYS, error)})
    errors = {"library": ONLY_ON_HOST, **boards}
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


def _gpu(place: str, position: int, rows: List[List[str]]) -> Dict[str, Any]:
    """Return one GPU of its rows of closed cells. Each cell is read by itself: one without its usual form loses
    nothing of the others."""
    values: Dict[str, Any] = {}
    errors: Dict[str, str] = {}
    board = _BOARD.match(rows[0][0])
    index = int(board.group(1)) if board else position
    alone = board.group(4) if board else _in_place(rows[0][0])
    name, persistence = (alone or "", alone or "") if board is None or alone else (board.group(2), board.group(3))
    # A name that does not fit ends in "...": only its beginning is known then.
    if name.endswith("!") or name == "N/A":
        _keep(values, errors, "name", None, name)
    elif name.endswith("..."):
        values["name_begin"] = name[:-3]
    else:
        values["name"] = name
    _keep(values, errors, "persistence", {"On": True, "Off": False}.get(persistence), persistence)
    _faults(values, errors, rows[0][2].strip())
    second, third = _below(rows[1:])
    if second:
        _sensors(values, errors, second[0])
    if len(second) > 1:
        shown = _spread([each for each in _TOKEN.findall(second[1]) if each != "/"], (r"\d+MiB", r"\d+MiB"))
        _keep_shown(values, errors, "memory_used_mib", shown[0], lambda each: _number(each, "MiB"))
        _keep_shown(values, errors, "memory_total_mib", shown[1], lambda each: _number(each, "MiB"))
    if len(second) > 2:
        shown = _spread(second[2].split(None, 1), (r"\d+%", "|".join(map(re.escape, _MODES))))
        _keep_shown(values, errors, "utilization_gpu", shown[0], lambda each: _number(each, "%"))
        _keep_shown(values, errors, "compute_mode", shown[1], _MODES.get)
    if len(third) > 2 and third[2].strip():
        mode = third[2].strip()
        _keep(values, errors, "mig_mode", _switch(mode.rstrip("*")), mode)
        # An asterisk: the next reset brings the other mode. Which of the two is shown then no source says.
        _keep(values, errors, "mig_pending", _switch(mode), mode)
    told = [word for row in (rows[0], second, third) for cell in row for word in cell.split()]
    for word in _OF_GPU:
        if word in told:
            errors.setdefault("board", _error(word))
    for key in KEYS:
        if key not in values:
            errors.setdefault(key, "not in the import; add: nvidia-smi -q")
    domain, rest = place.lower().split(":", 1)
    return {"bdf": "%04x:%s" % (int(domain, 16), rest), "index": index, "values": values, "errors": errors}


def _below(rows: List[List[str]]) -> Tuple[List[str], List[str]]:
    """Return the second and the third row of a GPU. The first cell of the third one is empty; a border ends both."""
    own: List[List[str]] = []
    for cells in rows:
        if not cells or (len(cells) > 1 and _PLACE.match(cells[1])):
            break
        own.append(cells)
    if own and not own[0][0].strip():
        own.insert(0, [])
    own += [[], []]
    return own[0], own[1]


def _faults(values: Dict[str, Any], errors: Dict[str, str], shown: str) -> None:
    if re.match(r"^\d{1,12}$", shown):
        values["ecc_mode"], values["ecc_volatile_uncorrected"] = "enabled", int(shown)
    elif shown:
        _keep(values, errors, "ecc_mode", "disabled" if shown == "Off" else None, shown)
        if shown.endswith("!"):
            _keep(values, errors, "ecc_volatile_uncorrected", None, shown)


def _sensors(values: Dict[str, Any], errors: Dict[str, str], cell: str) -> None:
    """Read fan, temperature, performance state, and watts of how many: ``N/A   34C    P8    34W /  600W``."""
    words = _TOKEN.findall(cell)
    at = words.index("/") if "/" in words else min(len(words), 4)
    power, before = words[at - 1:at] + words[at + 1:at + 2], words[:at - 1] if at else []
    if "/" not in words and at < 4:
        power, before = [word for word in words if word.endswith(("W", "!")) or len(words) == 1], words
    fan, heat, state = _spread(before, (r"\d+%", r"\d+C", r"P\d+"))
    draw, limit = _spread(power, (r"\d+W", r"\d+W"))
    if fan is not None and fan.endswith("!"):
        _keep(values, errors, "fan_percent", None, fan)
    _keep_shown(values, errors, "temperature_c", heat, lambda each: _number(each, "C"))
    _keep_shown(values, errors, "pstate", state, lambda each: _number(each[1:], "") if each[0] == "P" else None)
    _keep_shown(values, errors, "power_draw_mw", draw, _watts)
    _keep_shown(values, errors, "power_limit_mw", limit, _watts)


def _spread(words: List[str], forms: Tuple[str, ...]) -> List[Optional[str]]:
    """Return a word for each form: by its place where there are as many, else by its looks; where an error stands in
    place of several, that error. None where there is nothing for it."""
    if len(words) == len(forms):
        return list(words)
    left, found = list(words), []
    for form in forms:
        word = next((each for each in left if re.match("^(?:%s)$" % form, each)), None)
        if word is not None:
            left.remove(word)
        found.append(word)
    refused = [each for each in left if each.endswith("!")] or [each for each in left if each == "N/A"]
    return [each if each is not None else refused[0] if refused else None for each in found]


def _cells(line: str) -> List[str]:
    """Return the closed cells of a row, errors of several words as one word. None of a border or another line."""
    line = line.rstrip("\r")[:400]
    if not line.startswith("|") or line.startswith("|="):
        return []
    for words, short in _SENTENCES:
        line = words.sub(short, line)
    return line[1:].split("|")[:-1]


def _refusals(cell: str) -> List[str]:
    return [word for word in cell.split() if word.endswith("!")]


def _in_place(cell: str) -> Optional[str]:
    """Return the word that stands in place of a board's number, name and mode, if one does."""
    return "N/A" if cell.strip() == "N/A" else next(iter(_refusals(cell)), None)


def _error(shown: str) -> str:
    """Return NVML's name of what stands in place of a value."""
    return _NAMES.get(shown) or ("UNKNOWN" if shown.endswith("!") else "not understood: %r" % shown[:40])


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
        errors[key] = _error(shown)


def _keep_shown(values: Dict[str, Any], errors: Dict[str, str], key: str, shown: Optional[str],
                how: Callable[[str], Any]) -> None:
    if shown is not None:
        _keep(values, errors, key, how(shown.strip()), shown.strip())


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
