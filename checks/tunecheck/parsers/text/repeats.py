"""Makes a kernel log short in which devices say the same thing again and again: a storm of PCIe errors is 50 MB of four
messages. The first and the last of equal messages stay, and the last one tells how many stood between them.

Only messages of PCI devices and Xids are counted so: what stands below another message, as a stack does, keeps its
place. Pure, never fails; one step for each line, and no pattern.
"""

from __future__ import annotations

from typing import Dict, Iterator, List, Tuple

__all__ = ["MORE", "counted", "shortened"]

#: What stands at the end of the last of equal messages: "[tunecheck: 2709 more]".
MORE = "[tunecheck: "
_END = " more]"
#: Shorter texts cost little.
_SHORT = 256 * 1024
_CHUNK = 1 << 20
#: A log of nothing but different messages of devices: those kept apart at a time.
_MOST = 20_000


def counted(text: str) -> Tuple[str, int]:
    """Return a message without what `shortened` put behind it, and for how many messages it stands."""
    if not text.endswith(_END):
        return text, 1
    front, _, number = text[:-len(_END)].rpartition(MORE)
    return (front.rstrip(), 1 + int(number)) if front and number.isdecimal() and len(number) < 10 else (text, 1)


def shortened(text: str) -> str:
    """Return the text with the equal messages of devices between their first and their last left out. A short text
    stays as it is."""
    if len(text) < _SHORT:
        return text
    found = _Shortened()
    for line in _lines(text):
        found.feed(line)
    return found.result()


def _lines(text: str) -> Iterator[str]:
    """Yield the lines; all at once they would take a multiple of the text's memory."""
    begin = 0
    while begin < len(text):
        end = text.find("\n", begin + _CHUNK)
        yield from text[begin:end if end >= 0 else len(text)].split("\n")
        begin = end + 1 if end >= 0 else len(text)


class _Shortened:
    """Takes the lines one by one."""

    def __init__(self) -> None:
        self._kept: List[str] = []
        self._seen: Dict[str, List[int]] = {}       # message -> how many were left out, where the last goes, its number
        self._last: Dict[str, str] = {}             # message -> its last line
        self._number = 0
        self._before = ""                           # the message before this line, where that was left out
        self._time = ""

    def feed(self, line: str) -> None:
        start = _message(line)
        if start == 0:
            if self._seen and _parts_boots(line):
                self._end()
            self._restore()
            self._kept.append(line)
            return
        time = line[max(0, start - 16):start]
        if time < self._time and _went_back(self._time, time):
            self._end()
        self._time = time
        key = line[start:]
        place = key.find("  TLP Header")    # the bytes behind it differ from packet to packet
        key = key if place < 0 else key[:place]
        known = self._seen.get(key)
        if known is None:
            self._restore()
            if len(self._seen) >= _MOST:
                self._end()
            self._seen[key] = [0, 0, 0]
            self._kept.append(line)
            return
        known[0] += 1
        known[1] = len(self._kept)
        known[2] = self._number = self._number + 1
        self._last[key] = line
        self._before = key

    def result(self) -> str:
        self._end()
        return "\n".join(self._kept)

    def _restore(self) -> None:
        """Keep the message before a new one, too: the new one may say more about it."""
        if self._before:
            known = self._seen[self._before]
            self._kept.append(_marked(self._last.pop(self._before), known[0]))
            known[0] = 0
            self._before = ""

    def _end(self) -> None:
        """Put the last of equal messages where they stood."""
        ends = sorted((known[1], known[2], key) for key, known in self._seen.items() if known[0])
        result: List[str] = []
        done = 0
        for place, _, key in ends:
            result += self._kept[done:place]
            result.append(_marked(self._last[key], self._seen[key][0]))
            done = place
        self._kept = result + self._kept[done:]
        self._seen.clear()
        self._last.clear()
        self._before = self._time = ""


def _marked(line: str, times: int) -> str:
    return f"{line} {MORE}{times - 1}{_END}" if times > 1 else line


def _parts_boots(line: str) -> bool:
    """Return whether messages above and below this line are of different boots, or loads of the driver."""
    return "Linux version " in line or "Nvlink Core" in line or line.startswith("-- ")


def _went_back(before: str, now: str) -> bool:
    """Return whether a time in brackets is more than 2 s before another. Messages of several processors come a little
    out of order."""
    try:
        return _seconds(now) < _seconds(before) - 2
    except ValueError:
        return False


def _seconds(front: str) -> float:
    return float(front.partition("[")[2].partition("]")[0].replace(",", "."))


def _message(line: str) -> int:
    """Return where the message of a PCI device, or an Xid, begins in a line of a kernel log. 0 for all other lines."""
    if line[:1] in "[<k":
        start = line.find("] ") + 2 if "[" in line[:16] else 0
        named = line.find(" kernel: ", start, start + 80)       # journalctl -o short-monotonic
        start = start if named < 0 else named + 9
    else:
        start = line.find(" kernel: ") + 9
        if start > 8 and line[start:start + 1] == "[":
            start = line.find("] ", start) + 2
        start = start if start > 8 else 0
    if start < 2:
        return 0
    if line.startswith("NVRM: Xid (", start):
        return start
    # "pcieport 0000:20:01.1: ": a name, and an address with a domain of four or five digits.
    name = line.find(" ", start, start + 34) + 1
    address = line[name:name + 15]
    if name and address[4:5] == ":":
        return start if address[7:8] == ":" and address[10:11] == "." and address[12:13] == ":" else 0
    return start if name and address[5:6] == ":" and address[8:9] == ":" and address[11:12] == "." else 0
