"""Kernel logs with dates: lines from before the boot are of an earlier one."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.imports.test_import import folder

from tunecheck.host.imported.logs.dates import older, parted
from tunecheck.host.imported.machine import load_import
from tunecheck.host.prefetch import PAST

_XID = "NVRM: Xid (PCI:0000:2b:00): 79, GPU has fallen off the bus."
_NOW = "Sep 19 16:18:02 bubz kernel: [68183.615790] pcieport 0000:00:03.1: AER: Corrected error received\n"
_ISO = "2025-09-19T16:18:02+0000 bubz kernel: [68183.615790] pcieport 0000:00:03.1: AER: Corrected error received\n"


@pytest.mark.parametrize("log", [_NOW, _ISO])
@pytest.mark.parametrize(("date", "is_older"), [
    ("May 18 19:02:39", True), ("Sep 15 10:00:00", True), ("2025-05-18T19:02:39+0000", True),
    # The same boot, one that began at another time zone's midnight, and a day that is as far ahead as behind.
    ("Sep 19 10:00:00", False), ("Sep 17 22:00:00", False), ("Nov  1 10:00:00", False), ("Mar 10 10:00:00", False),
])
def test_lines_from_before_the_boot_are_older(log: str, date: str, is_older: bool) -> None:
    assert older(log, f"{date} box kernel: {_XID}\n") == is_older
    assert not older(f"{date} box kernel: {_XID}\n", log), "without the seconds since boot nothing is told"


def test_new_year_is_no_half_year() -> None:
    january = "Jan  3 00:00:10 bubz kernel: [500000.000000] usb 1-1: new device\n"
    assert not older(january, f"Dec 30 10:00:00 bubz kernel: {_XID}\n")
    assert older(january, f"Dec  3 10:00:00 bubz kernel: {_XID}\n")


@pytest.mark.parametrize("first", [0, 1])
def test_an_xid_of_an_earlier_boot_is_named_as_one(tmp_path: Path, first: int) -> None:
    texts = [f"May 18 19:02:39 bubz kernel: {_XID}\n", _NOW]
    door = load_import(folder(tmp_path, texts[first], texts[1 - first]))
    assert _XID in door.run(PAST).stdout and _XID not in door.run(("dmesg",)).stdout


_FORMS = {
    "journal": "{month} {day:2} 10:00:{at:02} bubz kernel: {text}\n",
    "syslog": "{month} {day:2} 10:00:{at:02} bubz kernel: [{seconds:12.6f}] {text}\n",
    "iso": "2025-{number:02}-{day:02}T10:00:{at:02}+00:00 bubz kernel: [{seconds:12.6f}] {text}\n",
    "short-iso": "2025-{number:02}-{day:02}T10:00:{at:02}+0000 bubz kernel: {text}\n",
    "dmesg -T": "[Fri {month} {day:2} 10:00:{at:02} 2025] {text}\n",
}
_MONTHS = ("", "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep")
_AER = "pcieport 0000:00:03.1: AER: Corrected error received: 0000:00:03.1"
_START = "Linux version 6.12.48 (debian-kernel@lists.debian.org)"


def _line(form: str, month: int, day: int, seconds: float, text: str, at: int = 0) -> str:
    return _FORMS[form].format(month=_MONTHS[month], number=month, day=day, seconds=seconds, text=text, at=at)


@pytest.mark.parametrize("last_first", [False, True])
@pytest.mark.parametrize("form", _FORMS)
@pytest.mark.parametrize("whole", [False, True])
def test_an_xid_of_an_earlier_boot_in_the_same_text_is_named_as_one(tmp_path: Path, form: str, whole: bool,
                                                                  last_first: bool) -> None:
    """Also where the seconds since boot go on as if it were one boot, and where the later lines stand first."""
    early = [_line(form, 5, 18, 100, _XID), "  a line without a date\n"]
    # What has no seconds tells when its boot began by the kernel's first line alone.
    start = [_line(form, 9, 18, 0, _START)] if whole or "seconds" not in _FORMS[form] else []
    late = [*start, _line(form, 9, 19, 86400, _AER, 2)]
    door = load_import(folder(tmp_path, "".join([*late, *early] if last_first else [*early, *late])))
    now, past = door.run(("dmesg",)).stdout, door.run(PAST).stdout
    assert _XID in past and _XID not in now
    assert _AER in now and _AER not in past


@pytest.mark.parametrize("form", _FORMS)
def test_lines_of_one_boot_stay_together(tmp_path: Path, form: str) -> None:
    """However long it runs, and where the clock was set right soon after the start."""
    for number, (begun, text) in enumerate([(17, _AER), (1, _AER)]):
        lines = [_line(form, 9, begun, 0, _START), _line(form, 9, begun, 5, _XID, 5), _line(form, 9, 17, 30, text, 30),
                 _line(form, 9, 19, 2 * 86400, text, 40)]
        (tmp_path / str(number)).mkdir()
        door = load_import(folder(tmp_path / str(number), "".join(lines)))
        assert _XID in door.run(("dmesg",)).stdout and _XID not in door.run(PAST).stdout


@pytest.mark.parametrize("form", ["journal", "short-iso"])
def test_another_text_tells_when_the_boot_began(tmp_path: Path, form: str) -> None:
    """And a part of a text is of it, another part is not."""
    mixed = _line(form, 5, 18, 0, _XID) + _line(form, 9, 19, 0, _XID.replace("2b", "3c"))
    door = load_import(folder(tmp_path, _NOW, mixed))
    now, past = door.run(("dmesg",)).stdout, door.run(PAST).stdout
    assert "2b:00" in past and "2b:00" not in now and "3c:00" in now


def test_many_lines_take_no_time() -> None:
    import time

    log = "".join(_line("syslog", 9, 19, number, _AER) for number in range(50_000))
    begin = time.process_time()
    assert parted(log) == ("", log)
    assert time.process_time() - begin < 2
