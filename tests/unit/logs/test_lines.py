"""The lines of a kernel log that are worth a look are found wherever they stand in it."""

from __future__ import annotations

import itertools

import pytest

from tunecheck.parsers.text.log_lines import KEY, lines

MESSAGES = ["NVRM: Xid (PCI:0000:01:00): 79, pid=1, GPU has fallen off the bus.", "EDAC MC0: 1 CE on unknown memory",
            "INFO: task python:77 blocked for more than 120 seconds.", "rcu: 4-...!: (1 GPs behind) idle=1",
            "pcieport 0000:00:01.0: BAR 14: no space for [mem size 0x1]", "x: rcu detected stalls on CPUs/tasks",
            "pci 0000:01:00.0: [10de:2bb1] type 00", "rcu: (t=21000 jiffies g=1)", "task:a state:D stack:0"]
OTHERS = ["usb 1-1: new device: (none)", "BAR x of nothing at all", "detected nothing of interest", "a task: none here"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("front", ["", "[    1.000001] "])
def test_every_one_is_found_in_every_place(end: str, front: str) -> None:
    for order in itertools.permutations(MESSAGES[:4]):
        mixed = [each for pair in zip(order, OTHERS, strict=True) for each in pair]
        found = list(lines(end.join(front + each for each in mixed)))
        assert [each.text for each in found] == list(order)
        assert [each.number for each in found] == [0, 2, 4, 6]
    for message in MESSAGES:
        assert KEY.search(message), message
        assert [each.text for each in lines(end.join((front + message, front + OTHERS[0]) * 3))] == [message] * 3


def test_the_rest_is_passed_over() -> None:
    assert list(lines("\n".join(OTHERS * 3))) == []
    assert list(lines("")) == [] and list(lines("AER")) == [] and list(lines("AER\r\n" * 5)) == []
