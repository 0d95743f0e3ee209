"""A storm of PCIe errors is the log of a sick box: it is judged whole, whatever its size, and every message counts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from tunecheck.facts.snapshot import gather
from tunecheck.host.imported.machine import load_import
from tunecheck.parsers.kernel.kernel_log import KernelEvents, parse
from tunecheck.parsers.kernel.log_boots import boots
from tunecheck.parsers.text.repeats import counted, shortened
from tunecheck.rules import judge
from tunecheck.rules.context import Case

FRONTS = {
    "dmesg": "[%12.6f] ", "caller": "[%12.6f][   T99] ", "level": "<4>[%12.6f] ", "journal": "[%12.6f] box1 kernel: ",
    "syslog": "Nov 24 03:12:01 box1 kernel: [%12.6f] ", "-x": "kern  :warn  : [%12.6f] ",
    "iso": "2025-11-24T03:12:01,123456+01:00 box1 kernel: [%12.6f] ",
}
BUSES = ("21", "61", "c1")


def storm(front: str = FRONTS["dmesg"]) -> Iterator[str]:
    """Storms of three devices; now and then another kind of error, an Xid and a stuck task."""
    when = 10.0
    for number in range(10 ** 9):
        when += 0.0113
        bus, begin = BUSES[number % 3], front % when
        group = (f"{begin}pcieport 0000:{bus[0]}0:01.1: AER: Corrected error message received from 0000:{bus}:00.0\n"
                 f"{begin}nvidia 0000:{bus}:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, "
                 "(Receiver ID)\n"
                 f"{begin}nvidia 0000:{bus}:00.0:   device [10de:2bb1] error status/mask="
                 f"{'00001000' if number % 997 == 5 else '00000001'}/0000a000\n"
                 f"{begin}nvidia 0000:{bus}:00.0:    [ 0] RxErr                  (First)\n")
        if number % 701 == 0:
            group += f"{begin}NVRM: Xid (PCI:0000:{bus}:00): 31, pid=77, name=python, MMU Fault\n"
        if number % 1500 == 3:
            group += (f"{begin}INFO: task python:{number} blocked for more than 120 seconds.\n{begin}Call Trace:\n"
                      f"{begin} nv_open+0x1/0x2 [nvidia]\n")
        yield group


def log(front: str = FRONTS["dmesg"], groups: int = 2100) -> str:
    return f"{front % 0.0}Linux version 6.8.0\n" + "".join(islice(storm(front), groups))


def told(events: KernelEvents) -> KernelEvents:
    """Without the numbers of lines."""
    return replace(events, xids=tuple(replace(each, order=0) for each in events.xids))


@pytest.mark.parametrize("front", FRONTS.values(), ids=FRONTS)
def test_nothing_is_lost(front: str) -> None:
    whole = log(front)
    short = shortened(whole)
    assert len(short) < len(whole) / 20
    assert told(parse(short)) == told(parse(whole))
    assert len(boots(short)) == len(boots(whole)) == 1
    assert sum(error.count for error in parse(short).pcie) == 2100 and all(
        error.names == ("RxErr", "Timeout") for error in parse(short).pcie)
    assert all(task.in_driver for task in parse(short).hung)


def test_two_boots_stay_apart() -> None:
    one = log(groups=900)
    for parted in (one + one, one + one.partition("\n")[2]):
        short = shortened(parted)
        assert told(parse(short)) == told(parse(parted)) and short.count("RxErr                  (First)") >= 12
    loaded = one + "[  900.000000] nvidia-nvlink: Nvlink Core is being initialized, major device number 1\n" + one
    assert told(parse(shortened(loaded))) == told(parse(loaded))


def test_what_is_no_log_of_devices_stays() -> None:
    text = "".join(f"0000:{number % 250:02x}:00.0 3D controller: X\n\tLnkSta: Speed 32GT/s\n" for number in range(9000))
    assert len(text) > 300_000 and shortened(text) == text
    few = "".join(islice(storm(), 20))
    assert shortened(few) == few


@pytest.mark.parametrize(("text", "expected"), [
    ("a [tunecheck: 12 more]", ("a", 13)), ("a [tunecheck: x more]", ("a [tunecheck: x more]", 1)),
    ("[tunecheck: 3 more]", ("[tunecheck: 3 more]", 1)), ("a more]", ("a more]", 1)),
    (f"a [tunecheck: {'9' * 30} more]", (f"a [tunecheck: {'9' * 30} more]", 1)), ("", ("", 1))])
def test_the_count(text: str, expected: tuple[str, int]) -> None:
    assert counted(text) == expected


def test_megabytes_are_judged_in_a_moment(tmp_path: Path) -> None:
    """50 MB have to fit into the 4 s of processor time that a paste gets; four times as much is allowed here, for a
    machine that is busy."""
    text = log(groups=12_000)
    (tmp_path / "dmesg.txt").write_text(text)
    begin = time.process_time()
    host = load_import(str(tmp_path / "dmesg.txt"))
    found = judge(Case(gather(host, None, True), None, False, None, None), "preflight")
    used = time.process_time() - begin
    assert [each.observed for each in found if each.id == "aer-events"] and used < 2 + 0.32 * len(text) / 1e6, used
    assert {each.message.partition(": ")[2].partition(" correctable")[0] for each in found
            if each.id == "aer-events"} == {f"0000:{bus}:00.0: 4000" for bus in BUSES}
