"""A recording of a verb that reads little says so; and a recording of another machine is no earlier one of this."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from tests.unit.facts import trees

from tunecheck.facts.same_machine import other_machine
from tunecheck.facts.snapshot import gather
from tunecheck.host import Unreadable
from tunecheck.host.answers import Answers
from tunecheck.host.bundle import pack
from tunecheck.host.recording import load_recording
from tunecheck.model.absence import Absence
from tunecheck.model.fact import known


@pytest.mark.parametrize(("verb", "named"), [
    ("topo", ("`tunecheck topo`", "sudo tunecheck record")), ("", ("`tunecheck topo`", "sudo tunecheck record")),
    ("record", ())])
def test_what_is_not_recorded_says_how_to_get_it(verb: str, named: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(pack(Answers({"/proc/cmdline": b"ro"}), verb=verb))
    door = load_recording(str(tmp_path / "a"))
    with pytest.raises(Unreadable) as refused:
        door.read_bytes("/proc/swaps")
    assert refused.value.absence is Absence.NOT_RECORDED
    for words in ("`tunecheck topo`", "sudo tunecheck record"):
        assert (words in refused.value.reason) == (words in named)


def test_machines_are_told_apart() -> None:
    one, two = gather(trees.switch().host(), None, False), gather(trees.direct().host(), None, False)
    later = dataclasses.replace(one, boot_id=known("b", ""), hostname=known("host-1", ""))
    assert other_machine(one, later) == ""
    assert "0000:03:00.0 [" in other_machine(dataclasses.replace(
        gather(trees.cascaded().host(), None, False), boot_id=known("a", "")), two), "one of its accelerators"
    same = dataclasses.replace(two, boot_id=known("b", ""))
    assert other_machine(later, same) == ""         # one boot
    named = [dataclasses.replace(one, boot_id=known(name, ""), hostname=known(name, "")) for name in ("rig1", "rig2")]
    told = other_machine(*named)
    assert "'rig1'" in told and "'rig2'" in told
