"""Each part of a fix says where it is run: on the hosts, or on the control node."""

from __future__ import annotations

import pytest
from tests.unit.fleet.reports import cause, report

from tunecheck.model.command import Command, run
from tunecheck.report.style import Style
from tunecheck_fleet.outputs.fix_words import placed
from tunecheck_fleet.outputs.terminal import terminal

_BOX, _PLAY = run("sudo update-grub"), run("ansible-playbook site.yml -l gpu001", where="control")


@pytest.mark.parametrize(("remedy", "commands", "told"), [
    (f"run: {_BOX.shown}", (_BOX,), f"on gpu001: run: {_BOX.shown}"),
    (f"run: {_PLAY.shown}", (_PLAY,), f"run: {_PLAY.shown}"),
    (f"edit it and run: {_BOX.shown}, then run: {_PLAY.shown}", (_BOX, _PLAY),
     f"on gpu001: edit it and run: {_BOX.shown}, then on the control node run: {_PLAY.shown}"),
    ("look at the seat", (), "look at the seat"), ("", (), "")])
@pytest.mark.parametrize("verbose", [True, False])
def test_each_part_says_where_it_is_run(remedy: str, commands: tuple[Command, ...], told: str, verbose: bool) -> None:
    found = cause(hosts=("gpu001",), outcome="fail", code="x", remedy=remedy, commands=commands, id="12345678")
    assert placed(found) == told
    text = " ".join(terminal(report(causes=(found,)), Style(False, 0), verbose).split())
    assert not told or f"fix: {told}" in text
