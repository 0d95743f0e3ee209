"""Sorts the kernel logs of an import: which lines are of the boot that is judged, and which of earlier ones."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from ....parsers.kernel.fragment import tells
from ....parsers.kernel.log_boots import BootLines, boots
from ....parsers.kernel.log_forms import CRASH, plain
from ....parsers.text.log_lines import NAMED, line, lines
from ....parsers.text.repeats import shortened
from ....util.at_first_use import regex
from ...prefetch import PAST
from .dates import older, parted
from .jumps import jumps

if TYPE_CHECKING:
    from ..texts import Texts

__all__ = ["add", "doubt", "history", "strays"]

_DMESG = ("dmesg",)
_VERSION = regex(r"Linux version \d")
_EARLIER = regex(r"(?:-b|--boot)[ =]?-([1-9]\d?)\b")
_SCANNED = "Scanning kernel log files"
#: In what a bug report greps: "  journalctl -b -2:", "  /var/log/messages:".
_PART = regex(r"^ {0,4}((?:journalctl|/var/log/)[^\n:]{0,100}):[ \t]*$", re.MULTILINE)
_SET = regex(r"setting system clock to ([0-9T: -]{19}) UTC")
_SECONDS = regex(r"\d{1,9}\.\d{1,9}")
_DRIVER = ("NVRM: ", "nvidia-nvswitch", "Kernel panic")
_LINES = 10_000
_XID = "NVRM: Xid ("
_LONGEST = 4000
_MOST = 4 << 20     # characters of history kept of an import


def add(texts: Texts, text: str, title: str) -> None:
    """Keep a kernel log in ``texts``. ``title`` is the command above it, or its file's name."""
    if title.startswith(_SCANNED):
        heads = list(_PART.finditer(text))
        for head, following in zip(heads, [*heads[1:], None], strict=False):
            part = text[head.end():following.start() if following else len(text)]
            _lines(texts, part, head[1], filtered=True)
    else:
        _lines(texts, shortened(plain(text)), title, filtered=title.startswith("/var/log/"))


def strays(text: str) -> str:
    """Return the lines with an Xid in a text that is no kernel log: they stand behind what nobody knows, and are not
    quoted."""
    found, place = list[str](), text.find(_XID)
    while place >= 0 and len(found) < _LINES:
        begin, end = text.rfind("\n", 0, place) + 1, text.find("\n", place)
        end = len(text) if end < 0 else end
        raw = text[begin:min(end, begin + _LONGEST)]
        found += [raw] if NAMED.match(line(raw).text) else []
        place = text.find(_XID, end)
    return "".join(f"{raw}\n" for raw in found)


def _lines(texts: Texts, text: str, title: str, filtered: bool = False) -> None:
    """Keep the lines of one log. ``filtered``: it holds only lines with the driver's name. Nobody knows of which boot
    the lines of a syslog file are."""
    earlier = CRASH.search(text) is not None or _EARLIER.search(title) is not None
    unknown = filtered and not title.startswith("journalctl")
    found = _joined(boots(text))
    mixed = () if texts.reported else filter(None, (jumps(boot.text) for boot in found))
    texts.mixed += [f"in {title} lines without the start of a boot between them are dated {dates}" for dates in mixed]
    last = None if earlier or unknown or not found else found.pop()
    # Of lines in another order than that of time the last boot need not be the last in the text.
    for at, boot in enumerate(found if last else ()):
        if last and older(boot.text, last.text):
            found[at], last = last, boot
    for boot in found:
        _remember(texts, " in ".join(part for part in (boot.name, title) if part) or "an earlier boot", boot.text)
    if last is None:
        return
    known, new = texts.runs.get(_DMESG, ""), last.text.lstrip("\n")
    before, new = parted(new, known)
    if before:
        _remember(texts, f"an earlier boot in {title}", before)
    if (last.start, len(new)) > (_VERSION.search(known) is not None, len(known)):
        known, new = new, known
    if known and new and older(new, known):
        known, new = new, known
    texts.runs[_DMESG] = known
    if new and older(known, new):
        _remember(texts, f"an earlier boot in {title}", new)
    elif new and _clock(new) != _clock(known) and _clock(new) and _clock(known):
        _remember(texts, f"another boot in {title}", new)
    elif new:
        texts.runs[_DMESG] = _with_more(known, new)


def _joined(found: list[BootLines]) -> list[BootLines]:
    """Return the boots without those that are only lines of the one before or after them, pasted once more."""
    result: list[BootLines] = []
    for boot in found:
        before = result[-1] if result else None
        if before and _repeats(boot, before):
            result[-1] = replace(before, text=_with_more(before.text, boot.text))
        elif before and _repeats(before, boot):
            result[-1] = replace(boot, text=_with_more(boot.text, before.text))
        else:
            result.append(boot)
    return result


def _repeats(few: BootLines, whole: BootLines) -> bool:
    """Return whether lines that nothing names are of the boot ``whole``: one of the driver's, or all of them, stand in
    it too, with the same time."""
    if few.start or few.name:
        return False
    raws = [raw.strip() for raw in islice(few.text.splitlines(), _LINES) if raw.strip()]
    told = {raw.strip() for raw in whole.text.splitlines()}
    common = [each for raw in raws if raw in told and (each := line(raw)).when]
    return len(common) == len(raws) or any(each.text.startswith(_DRIVER) for each in common)


def _with_more(log: str, other: str) -> str:
    """Return ``log`` with those messages of the driver, and those that a check reads, that only another text of the
    same boot holds."""
    told = {each.text for each in lines(log)}
    more = [each for each in islice(lines(other), _LINES) if each.text not in told
            and (each.text.startswith(_DRIVER) or tells(each.text))]
    if not more:
        return log
    return "\n".join([log.rstrip("\n"), *(f"[{each.when}] {each.text}" if _SECONDS.fullmatch(each.when) else each.text
                                          for each in more)]) + "\n"


def _clock(log: str) -> str:
    """Return when the kernel set its clock, which it says once in a boot. "" where the log does not say it."""
    found = _SET.search(log)
    return found[1] if found else ""


def _remember(texts: Texts, name: str, text: str) -> None:
    if sum(len(kept) for _, kept in texts.past) + len(text) <= _MOST:
        texts.past.append((re.sub(r"[^\w./@: =-]", "?", name)[:120], text))


def history(texts: Texts) -> None:
    """Write the earlier boots into ``texts`` as the answer to the question for them."""
    texts.runs[PAST] = "".join(f"-- Boot {name} --\n{text.strip()}\n" for name, text in texts.past)


def doubt(texts: Texts) -> str:
    """Return why a log that somebody gave as text is no proof that something did not happen."""
    taken = f"; the rest is of {texts.taken}" if texts.taken else ""
    return f"a text does not tell whether lines are missing or came after its last one{taken}"
