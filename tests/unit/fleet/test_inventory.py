"""An audit that knows its inventory says it in every play that it names, so that each can be pasted."""

from __future__ import annotations

import pytest
from tests.unit.fleet.rows import head, view

from tunecheck.model.command import run
from tunecheck.report.style import Style
from tunecheck_fleet.fleet_report import FleetReport
from tunecheck_fleet.judge.options import JudgeOptions
from tunecheck_fleet.judge.verdict import judge
from tunecheck_fleet.judge.view_rows import Host
from tunecheck_fleet.model import Problem
from tunecheck_fleet.outputs.html import html
from tunecheck_fleet.outputs.terminal import terminal
from tunecheck_fleet.run import Source
from tunecheck_fleet.scope import inventory_of

PLAY = run("ansible-playbook site.yml -i inventory/NAME --tags acs -l", "box1", where="control")


@pytest.mark.parametrize(("source", "path"), [
    (Source("/srv/inv"), "/srv/inv"), (Source("/srv/my inv/", "gpu*"), "/srv/my inv"),
    (Source("box1,box2"), ""), (Source("box1,", "box1"), "")])
def test_the_inventory_of_a_scope(source: Source, path: str) -> None:
    assert inventory_of(source.scope) == path


@pytest.mark.parametrize("scope", ["push", "files of /srv/carried", "all"])
def test_a_scope_that_names_no_inventory(scope: str) -> None:
    assert inventory_of(scope) == ""


def _report(scope: str) -> FleetReport:
    problem = Problem("acs-redirect", "port", "fail", "it redirects", remedy=f"run: {PLAY.shown}", commands=(PLAY,))
    hosts = (Host("box1", "g", "hw", problems=(problem,), last_ok=5, last_ok_at=1.0),)
    return judge(view({"box1": {}}, hosts=hosts, audit=head(5, scope=scope)), JudgeOptions())[0]


@pytest.mark.parametrize(("scope", "given"), [
    ("/srv/inv, limit gpu*", "/srv/inv"), ("/srv/my inv", "'/srv/my inv'"),
    ("files of /srv/carried", "inventory/NAME")])
def test_plays_name_the_inventory_where_it_is_known(scope: str, given: str) -> None:
    found = _report(scope)
    shown = f"ansible-playbook site.yml -i {given} --tags acs -l box1"
    known = given != "inventory/NAME"
    for told in (*found.causes, *(problem for row in found.hosts for problem in row.problems)):
        assert told.remedy == f"run: {shown}" and [each.shown for each in told.commands] == [shown]
        assert told.commands[0].fill_in == (() if known else ("NAME",))
    assert found.causes and any(line.strip().endswith(shown) for line in terminal(found, Style(80)).splitlines())
    assert ("inventory/NAME" in html(found)) is not known
