"""PCIe errors in kernel log messages: AER of every era, DPC, errors that the firmware passes on (GHES), AER ownership.

Texts of drivers/pci/pcie/{aer,err,dpc}.c and drivers/firmware/efi/cper.c; who handles them is in osc.py.
"""

from __future__ import annotations

import re
from dataclasses import field, replace

from ...util.at_first_use import dataclass, regex
from ..text.log_lines import Line
from .aer_names import CORRECTABLE, UNCORRECTABLE
from .osc import Negotiations

__all__ = ["PcieError", "PcieErrors"]

_BDF = r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]"
_DEVICE = regex(rf"(?:(\S+) )?({_BDF}): *(?:AER: |DPC: )?(.*)", re.IGNORECASE)
# "Corrected error received: id=0010" (4.x), "Uncorrected (Fatal) error received: 0000:00:03.0" (5.x), "Correctable
# error message received from 0000:01:00.0" (6.x).
_RECEIVED = regex(rf"(?:Multiple )?((?:Unc|C)orrect[a-z]+(?: \([A-Za-z-]+\))?) error (?:message )?received"
                  rf"(?::| from) ?(?:id=([0-9a-f]{{4}})|({_BDF}))", re.IGNORECASE)
_REPORTED = regex(r"PCIe Bus Error: severity=((?:Unc|C)orrect[a-z]+(?: \([A-Za-z-]+\))?), type=([A-Za-z ]+)")
_STATUS = regex(r" *device \[([0-9a-f:]+)\] error status/mask=([0-9a-f]{8})/([0-9a-f]{8})")
#: drivers/pci/pcie/err.c says how it ended at the port above the device, or at the device; what has no handler itself.
_RECOVERY = regex(r"(?i:device recovery (failed|successful))|can't recover")
_CONTAINED = regex(r"containment event, status:(0x[0-9a-f]+)")
#: drivers/pci/hotplug/pciehp_ctrl.c: the device is gone from the slot below this port, or is there again. One event
#: gives both lines, the link's first, where link and card go together.
_SLOT = regex(r"pciehp: Slot\([^)\n]{1,40}\): (Link Down|Card not present|Link Up|Card present)")
_CPER = regex(r"\{\d+\}\[Hardware Error\]: *(?:Error \d+, type|event severity|device_id): (\S+)")
_CPER_WORDS = {"corrected": "correctable", "recoverable": "non-fatal", "fatal": "fatal"}

#: Name of each bit of the AER status registers, in the kernel's spelling.
_CORRECTABLE = {error.bit: error.name for error in CORRECTABLE}
_UNCORRECTABLE = {error.bit: error.name for error in UNCORRECTABLE}

#: One error of a message, by the number of its bit: "   [ 6] BadTLP   (First)".
_BIT = regex(r"\s*\[ ?(\d{1,2})\] [A-Za-z]")
#: More devices than any box has: a log full of invented ones must not fill the memory.
_MOST = 512


@dataclass(frozen=True)
class PcieError:
    """All errors of one ``severity`` ("correctable", "non-fatal", "fatal", "contained" by DPC, "link-down" of a
    hot-plug port, "uncorrectable" where only the failed recovery is told) at one device. ``names`` are the kernel's
    words (RxErr, SDES, ...); ``unrecovered``: the kernel could not bring it back. ``driver`` and ``ids`` ("10de:2b85")
    are those of the device, "" where no line tells them."""

    bdf: str
    severity: str
    count: int
    first: str
    last: str
    names: tuple[str, ...] = ()
    unrecovered: bool = False
    driver: str = ""
    ids: str = ""


@dataclass
class PcieErrors:
    """Collects PCIe errors line by line. ``osc`` says per host bridge who handles AER."""

    osc: Negotiations = field(default_factory=Negotiations)
    _errors: dict[tuple[str, str], PcieError] = field(default_factory=dict)
    _received: dict[tuple[str, str], int] = field(default_factory=dict)
    _parents: dict[str, str] = field(default_factory=dict)
    _open: tuple[str, str] | None = None
    #: The errors that the kernel may be recovering from: the last one of each device and port, and of all.
    _recovering: dict[str, tuple[str, str]] = field(default_factory=dict)
    _latest: tuple[str, str] | None = None
    _cper: str = "non-fatal"
    #: The ports whose slot went down and did not come up since.
    _down: set[str] = field(default_factory=set)

    def feed(self, line: Line) -> None:
        """Take one message in."""
        if line.text.startswith("acpi "):
            self.osc.feed(line.text)
            return
        if line.text.startswith("{"):
            self._firmware(line)
            return
        found = _DEVICE.match(line.text)
        if found is None:
            return
        bdf, text = found[2].lower(), found[3]
        received, reported, status, contained = (
            _RECEIVED.match(text), _REPORTED.match(text), _STATUS.match(text), _CONTAINED.match(text))
        if received:
            source = _source(bdf, received)
            if source in self._parents or len(self._parents) < _MOST:
                self._parents[source] = bdf
            self._add(source, _severity(received[1]), line, counts=False)
        elif reported:
            self._add(bdf, _severity(reported[1]), line)
            self._name("device gone" if reported[2] == "Inaccessible" else "", driver=found[1] or "")
        elif status and self._open and self._open[0] == bdf:
            table = _CORRECTABLE if self._open[1] == "correctable" else _UNCORRECTABLE
            bits = int(status[2], 16) & ~int(status[3], 16) or int(status[2], 16)
            self._name(*(name for bit, name in table.items() if bits >> bit & 1), ids=status[1])
        elif (bit := _BIT.match(text)) and self._open and self._open[0] == bdf:
            # Also of a second message whose own lines the log lost: its bits stand behind those of the first.
            table = _CORRECTABLE if self._open[1] == "correctable" else _UNCORRECTABLE
            self._name(table.get(int(bit[1]), ""))
        elif contained:
            self._add(bdf, "contained", line)
            self._name(f"status {contained[1]}")
        elif slot := _SLOT.match(text):
            self._slot(bdf, slot[1], line)
        elif recovery := _RECOVERY.match(text):
            self._recovered(bdf, (recovery[1] or "").lower() == "successful", line, found[1] or "")

    def _slot(self, bdf: str, event: str, line: Line) -> None:
        """Take in what happened to the slot below a port."""
        if event in ("Link Up", "Card present"):
            self._down.discard(bdf)
        elif event == "Link Down" or bdf not in self._down:
            self._add(bdf, "link-down", line)
            if (bdf, "link-down") in self._errors:
                self._down.add(bdf)

    def result(self) -> tuple[PcieError, ...]:
        """Return one entry per device and severity, in the order of first appearance."""
        return tuple(replace(error, count=max(error.count, self._received.get(key, 0)))
                     for key, error in self._errors.items())

    def _recovered(self, bdf: str, success: bool, line: Line, driver: str) -> None:
        """Attach the end of a recovery to the error that it followed: the last uncorrectable one of this device, or of
        one below this port; where no line shows whose port it is (behind a switch the root port announces the error),
        the last one of all. A correctable error is corrected, and no recovery follows it."""
        key = self._recovering.get(bdf) or (self._latest if self._latest and _domain(self._latest[0]) == _domain(bdf)
                                            else None)
        if success:
            for place in {bdf, key[0], self._parents.get(key[0], bdf)} if key else ():
                if self._recovering.get(place) == key:
                    del self._recovering[place]
            self._latest = None if self._latest == key else self._latest
            return
        if key is None:     # the log lost the error itself
            self._add(bdf, "uncorrectable", line)
            key = (bdf, "uncorrectable")
        if key in self._errors:
            error = self._errors[key]
            self._errors[key] = replace(error, unrecovered=True,
                                        driver=error.driver or (driver if bdf == error.bdf else ""))

    def _add(self, bdf: str, severity: str, line: Line, counts: bool = True) -> None:
        """Count one message. The port's announcement and the device's own report are the same error: the larger count
        is taken. ``counts`` is False for an announcement."""
        key = (bdf, severity)
        known = self._errors.get(key)
        if known is None:
            if len(self._errors) >= _MOST:
                return
            known = PcieError(bdf, severity, 0, line.when, line.when)
        self._open = key
        if severity not in ("correctable", "link-down"):
            self._latest = self._recovering[bdf] = self._recovering[self._parents.get(bdf, bdf)] = key
        self._errors[key] = replace(known, count=known.count + line.count * counts, last=line.when)
        if not counts:
            self._received[key] = self._received.get(key, 0) + line.count

    def _name(self, *names: str, driver: str = "", ids: str = "") -> None:
        error = self._errors.get(self._open) if self._open else None
        if error:
            new = tuple(name for name in names if name and name not in error.names)
            self._errors[error.bdf, error.severity] = replace(
                error, names=(error.names + new)[:8], driver=driver or error.driver, ids=ids or error.ids)

    def _firmware(self, line: Line) -> None:
        """Take in one line of a Generic Hardware Error Source: the severity comes first, the device some lines
        later."""
        found = _CPER.match(line.text)
        if found and found[1] in _CPER_WORDS:
            self._cper = _CPER_WORDS[found[1]]
        elif found and re.fullmatch(_BDF, found[1], re.IGNORECASE):
            self._add(found[1].lower(), self._cper, line)
            self._name("reported by the firmware")


def _domain(bdf: str) -> str:
    return bdf.partition(":")[0]


def _severity(words: str) -> str:
    lower = words.lower()
    if lower.startswith("corr"):
        return "correctable"
    return "fatal" if "(fatal)" in lower else "non-fatal"


def _source(port: str, found: re.Match[str]) -> str:
    """Return the device that an error message came from. All zero means that the port could not tell, so the port
    itself is returned."""
    if found[2]:
        number = int(found[2], 16)
        bdf = f"{port.partition(':')[0]}:{number >> 8:02x}:{number >> 3 & 31:02x}.{number & 7}"
    else:
        bdf = found[3].lower()
    return port if bdf.endswith("00:00.0") and bdf.split(":")[1] == "00" else bdf
