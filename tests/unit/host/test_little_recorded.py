"""A recording of a verb that reads little says so; and a recording of another machine is no earlier one of this."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from tests.unit.facts import trees

from tunecheck.facts.same_machine import other_machine
from tunecheck.facts.snapshot import gather
from tunecheck.host import Unreadable
from tunecheck.host.bundle import pack
from tunecheck.host.recording import Answers, load_recording
from tunecheck.model.fact import known


@pytest.mark.parametrize(("verb", "says"), [
    ("topo", "not recorded by `tunecheck topo`, which reads less; make one with: sudo tunecheck record"),
    ("", "not recorded; an older tunecheck made the recording, or `tunecheck topo`"),
    ("record", "not recorded: by an older tunecheck")])
def test_what_is_not_recorded_says_how_to_get_it(verb: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(pack(Answers({"/proc/cmdline": b"ro"}), verb=verb))
    door = load_recording(str(tmp_path / "a"))
    with pytest.raises(Unreadable) as refused:
        door.read_bytes("/proc/swaps")
    assert refused.value.reason.startswith(says)


def test_machines_are_told_apart() -> None:
    one, two = gather(trees.switch().host(), None, False), gather(trees.direct().host(), None, False)
    later = dataclasses.replace(one, boot_id=known("b", ""), hostname=known("host-1", ""))
    assert other_machine(one, later) == ""
    assert "its accelerators are 0000:03:00.0 [" in other_machine(dataclasses.replace(
        gather(trees.cascaded().host(), None, False), boot_id=known("a", "")), two)
    same = dataclasses.replace(two, boot_id=known("b", ""))
    assert other_machine(later, same) == ""         # one boot
    named = [dataclasses.replace(one, boot_id=known(name, ""), hostname=known(name, "")) for name in ("rig1", "rig2")]
    assert other_machine(*named) == "it is of 'rig1', this is 'rig2'"
