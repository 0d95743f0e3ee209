"""Kernel logs that are no lines of text yet: /dev/kmsg, dmesg's json and colours, journalctl's json, export, verbose.

Each becomes lines as a printer of logs would have made them, oldest first as they stand: "[   12.345678] text" for
/dev/kmsg, "2025-02-23T16:24:18.283302Z kernel: [   12.345678] text" for the journal, with "-- Boot <id> --" before each
boot. What a program wrote is left out: only the kernel's own messages count. Formats: Linux's
Documentation/ABI/testing/dev-kmsg, systemd's JOURNAL_EXPORT_FORMATS. Never fails; linear in the length of the text.
"""

from __future__ import annotations

import json
import re
import time
from typing import Any, Dict, Iterator, Optional

from ...util.at_first_use import regex
from ..text.log_lines import LEFT_OUT, without_middle

__all__ = ["CRASH", "is_log", "plain"]

_COLOUR = regex(r"\x1b\[[0-9;]{0,20}[mK]")
#: "6,1234,567890,-;text", "4,1,0,c,caller=T1;text": priority, number, microseconds, flags.
_KMSG = regex(r"(\d{1,5}),(\d{1,20}),(\d{1,20}),[-+c](?:,[^;\n]{0,200})?;(.*)")
_KMSG_LINE = regex(rf"^{_KMSG.pattern}$", re.MULTILINE)
_ESCAPED = regex(r"\\x([0-9a-f]{2})")
_JSON = regex(r'^(?:data: |\x1e)?\{"', re.MULTILINE)
_JSON_FIELD = regex(r'"(?:__REALTIME_TIMESTAMP|__CURSOR|_BOOT_ID)" ?:')
#: dmesg --json: {"pri": 5, "time": 0.000000, "msg": "..."}, fields on lines of their own.
_DMESG = regex(r'^\s{0,20}"dmesg"\s{0,4}:\s{0,4}\[', re.MULTILINE)
_DMESG_TIME = regex(r'\s{0,20}"time":\s{0,10}(\d{1,9}\.\d{1,9})')
_DMESG_TEXT = regex(r'\s{0,20}"msg":\s{0,4}(".{0,65536}")')
_PRETTY = regex(r'\s{1,8}"([A-Z_][A-Z0-9_]{1,63})" : (.{1,65536}?),?$')
_EXPORT = regex(r"^__CURSOR=s=[0-9a-f]{32};", re.MULTILINE)
_VERBOSE = regex(r"^[^\n\[]{8,60}\[s=[0-9a-f]{32};", re.MULTILINE)
_FIELD = regex(r"(?: {4})?([A-Z_][A-Z0-9_]{0,63})=(.*)")
_BOOT = regex(r"[0-9a-f-]{32,36}")
#: The head that pstore writes before what was left of the log when the machine stopped.
CRASH = regex(r"^(?:Panic|Oops|Emergency|Shutdown|Restart|Halt|Poweroff|Unknown)#\d{1,6} Part\d{1,6}\s*$",
              re.MULTILINE)
_LOOK = 65536


def is_log(text: str) -> bool:
    """Return whether the text is a kernel log or a journal in one of these forms."""
    head = text[:_LOOK]
    return (CRASH.search(head) is not None or _kind(head) != "text") and bool(plain(text[:_LOOK]).strip())


def plain(text: str) -> str:
    """Return the same log as lines of text. A text in none of these forms only loses its colours."""
    if "\x1b[" in text:
        text = _COLOUR.sub("", text)
    kind = _kind(text[:_LOOK])
    if kind == "text":
        return text
    short = without_middle(text)
    if kind in ("kmsg", "dmesg"):
        return "\n".join(_records(short) if kind == "kmsg" else _dmesg(short)) + "\n"
    entries = {"json": _objects, "pretty": _pretty, "fields": _blocks}[kind](short)
    return "\n".join(_printed(entries)) + "\n"


def _kind(head: str) -> str:
    if _KMSG_LINE.search(head):
        return "kmsg"
    if _DMESG.search(head):
        return "dmesg"
    if _EXPORT.search(head) or _VERBOSE.search(head):
        return "fields"
    if _JSON_FIELD.search(head):
        return "json" if _JSON.search(head) else "pretty"
    return "text"


def _records(text: str) -> Iterator[str]:
    """Yield the lines of /dev/kmsg. Where a number is left out records were lost, and a line says so."""
    before = None
    for raw in text.split("\n"):
        if raw == LEFT_OUT:
            before = None
            yield raw
            continue
        found = _KMSG.match(raw)
        if found is None:       # " SUBSYSTEM=pci": what belongs to the record before
            continue
        number = int(found[2])
        if before is not None and number > before + 1:
            yield LEFT_OUT
        before = number
        if int(found[1]) >> 3 == 0:       # its facility: 0 is the kernel, others write through /dev/kmsg
            message = _ESCAPED.sub(lambda byte: chr(int(byte[1], 16)), found[4]).replace("\n", " ")
            yield f"[{int(found[3]) // 1_000_000:5d}.{int(found[3]) % 1_000_000:06d}] {message}"


def _dmesg(text: str) -> Iterator[str]:
    """Yield the lines of dmesg --json, of util-linux 2.38 and later."""
    when = ""
    for raw in text.split("\n"):
        at, said = _DMESG_TIME.match(raw), _DMESG_TEXT.match(raw)
        if raw == LEFT_OUT:
            yield raw
        elif at:
            when = f"[{at[1]:>12}] "
        elif said:
            yield f"{when}{_message(_value(said[1]))}"


def _objects(text: str) -> Iterator[Optional[Dict[str, Any]]]:
    for raw in text.split("\n"):
        raw = raw.strip("\x1e\r ").removeprefix("data: ")
        if raw == LEFT_OUT:
            yield None
        if raw[:1] == "{" and raw[-1:] == "}":
            entry = _value(raw)
            if isinstance(entry, dict):
                yield entry


def _pretty(text: str) -> Iterator[Optional[Dict[str, Any]]]:
    entry: Dict[str, Any] = {}
    for raw in text.split("\n"):
        found = _PRETTY.match(raw)
        if found:
            entry[found[1]] = _value(found[2])
        elif raw.startswith(("{", "}", LEFT_OUT)):
            if entry:
                yield entry
            entry = {}
            if raw == LEFT_OUT:
                yield None
    if entry:
        yield entry


def _blocks(text: str) -> Iterator[Optional[Dict[str, Any]]]:
    """Yield the entries of two forms of journalctl. In export an entry is the fields up to an empty line; in verbose it
    is the fields below a line with the entry's cursor. None stands where the middle was left out."""
    entry: Dict[str, Any] = {}
    binary = ""
    for raw in text.split("\n"):
        if not raw and not binary:
            if entry:
                yield entry
                entry = {}
            continue
        found = _FIELD.match(raw)
        if binary:      # eight bytes of length, then the value
            entry[binary], binary = raw[8:], ""
        elif found:
            entry.setdefault(found[1], found[2])
        elif re.fullmatch(r"[A-Z_][A-Z0-9_]{0,63}", raw):
            binary = raw
        else:
            if entry:
                yield entry
            # Verbose's head: "Sun 2025-02-23 16:24:18.283302 UTC [s=...;b=<boot>;m=<monotonic>;...]"
            entry = {"_WHEN": raw.partition(" [")[0]} if _VERBOSE.match(raw) else {}
            if raw == LEFT_OUT:
                yield None
    if entry:
        yield entry


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _printed(entries: Iterator[Optional[Dict[str, Any]]]) -> Iterator[str]:
    boot = ""
    for entry in entries:
        if entry is None:
            yield LEFT_OUT
            continue
        now = str(entry.get("_BOOT_ID") or "").lower()
        if _BOOT.fullmatch(now) and now != boot:
            boot = now
            yield f"-- Boot {boot} --"
        message = _message(entry.get("MESSAGE"))
        if message and _by_kernel(entry):
            yield f"{_when(entry)}kernel: {_monotonic(entry)}{message}"


def _by_kernel(entry: Dict[str, Any]) -> bool:
    # What a program writes to /dev/kmsg comes by the same way, with its own name (journald-kmsg.c of systemd 252).
    by_name = all(str(entry.get(key, "kernel")) == "kernel" for key in ("_TRANSPORT", "SYSLOG_IDENTIFIER"))
    return by_name and ("_TRANSPORT" in entry or not {"_PID", "_UID", "_COMM"} & set(entry))


def _message(value: Any) -> str:
    """Return a message as one line. It is given as a text, or as the list of its bytes where it is no UTF-8."""
    if isinstance(value, list):
        some = bytes(byte for byte in value[:4096] if isinstance(byte, int) and 0 <= byte < 256)
        value = some.decode("utf-8", "replace")
    return " ".join(value.splitlines()) if isinstance(value, str) else ""


def _when(entry: Dict[str, Any]) -> str:
    micro = _number(entry.get("__REALTIME_TIMESTAMP") or entry.get("_SOURCE_REALTIME_TIMESTAMP"))
    if micro is None:
        return f"{entry['_WHEN']} " if entry.get("_WHEN") else ""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(micro // 1_000_000)) + f".{micro % 1_000_000:06d}Z "


def _monotonic(entry: Dict[str, Any]) -> str:
    micro = _number(entry.get("_SOURCE_MONOTONIC_TIMESTAMP") or entry.get("__MONOTONIC_TIMESTAMP"))
    return "" if micro is None else f"[{micro // 1_000_000:5d}.{micro % 1_000_000:06d}] "


def _number(value: Any) -> Optional[int]:
    text = str(value)
    return int(text) if re.fullmatch(r"[0-9]{1,16}", text) else None
