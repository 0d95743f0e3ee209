"""Where hosts were not reached, or not read, the next step begins with them, and reads nothing on a silent one."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from tests.unit.fleet.reports import WHEN, cause, head, play, report, row
from tests.unit.fleet.rows import view

from tunecheck.report.style import Style
from tunecheck_fleet.fleet_report import FleetReport
from tunecheck_fleet.judge import JudgeOptions, judge
from tunecheck_fleet.judge.view import Claim
from tunecheck_fleet.judge.view_rows import Host
from tunecheck_fleet.outputs.terminal import terminal

SILENT = ("unreachable", "refused", "timeout", "missing", "garbled")
#: What an audit asked -> what is to be typed first about gpu001.
SCOPES = {
    "/srv/fleet": "ansible gpu001 -i /srv/fleet ",
    "/srv/a b, limit gpu*": "ansible gpu001 -i '/srv/a b' ",
    "/srv/fleet, files of /tmp/night2": "sudo tunecheck snapshot --json gpu001.json",
    "files of /tmp/night2": "sudo tunecheck snapshot --json gpu001.json",
    "gpu001,gpu002": "ansible gpu001 -i gpu001, ",
}


def _next(made: FleetReport) -> str:
    text = terminal(made, Style(100), now=WHEN)
    return " ".join(text.partition("\nNEXT")[2].partition("\n\n")[0].split())


def _report(status: str, scope: str, causes: tuple[dict[str, object], ...], silent: int) -> FleetReport:
    hosts = tuple(row(f"gpu00{number}", **({"status": status, "reason": "why"} if number <= silent else {}))
                  for number in range(1, 4))
    return report(audit=head(asked=3, scope=scope), hosts=hosts, causes=tuple(
        cause(id=f"{at:08x}", **given) for at, given in enumerate(causes, 1)))


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("status", SILENT)
def test_who_is_silent_is_first(status: str, scope: str) -> None:
    for silent, hosts in ((1, ("gpu001",)), (1, ("gpu001", "gpu002")), (1, ("gpu003",)), (3, ("gpu001",))):
        said = _next(_report(status, scope, ({"hosts": hosts},), silent))
        assert said.startswith("first gpu001") and f"({status})" in said, said
        if status in ("missing", "garbled") and "files" not in scope:
            assert "on gpu001: sudo tunecheck snapshot --json gpu001.json" in said
        else:
            assert SCOPES[scope] in said or silent == 3, said
        assert ("then: " in said) == (silent == 1 and hosts != ("gpu001",)), said


@pytest.mark.parametrize(("authority", "outcome", "state"), [
    *product(("desired",), ("fail", "warn", "unknown"), ("new", "known")), ("majority", "", "new"),
    ("previous", "", "known"), ("identity", "", "new")])
def test_nothing_is_read_on_a_host_that_is_silent(authority: str, outcome: str, state: str) -> None:
    """Neither as the host to look at, nor as one on which a fix is done."""
    about = {"authority": authority, "outcome": outcome, "state": state}
    for hosts in (("gpu001",), ("gpu001", "gpu003"), ("gpu003",)):
        for more in ({}, play("acs", ",".join(hosts)), {"remedy": "run: grep -H . /sys/devices"}):
            said = _next(_report("unreachable", "/srv/fleet", ({**about, **more, "hosts": hosts},), 1))
            reach, _, rest = said.partition("; then: ")
            assert reach.startswith("first gpu001") and "gpu001" not in rest, said
            assert bool(rest) == (hosts != ("gpu001",)), said


def test_a_file_with_a_wrong_name_says_how_it_has_to_be_called() -> None:
    wrong = row("gpu 4 (copy)", status="garbled", reason="rename the file to HOST.json")
    said = _next(report(audit=head(asked=1, scope="files of /tmp/n"), hosts=(wrong,)))
    assert said.endswith("rename the file to HOST.json")


def test_who_answered_or_is_still_asked_is_not_first() -> None:
    waits = row("gpu001", status="unreachable", waits=True)
    assert "first" not in _next(report(hosts=(waits, row("gpu002")), causes=(cause(id="1" * 8, hosts=("gpu002",)),)))
    assert "first" not in _next(report(causes=(cause(id="1" * 8),)))


@pytest.mark.parametrize("status", SILENT)
@pytest.mark.parametrize("scope", ["files of /tmp/n", "/srv/fleet, files of /tmp/n"])
def test_a_carried_file_goes_where_its_group_lies(scope: str, status: str) -> None:
    """The folder in which it lies is its group; of an inventory's hosts it is not."""
    groups = {"gpu001": "rack1", "gpu002": "rack1", "gpu003": "rack2", "gpu004": "ungrouped"}
    for names in (("gpu001",), ("gpu004",), ("gpu001", "gpu002"), ("gpu001", "gpu003"), tuple(groups)):
        rows = tuple(row(name, group=groups[name], status=status if name in names else "ok", reason="why")
                     for name in groups)
        said = _next(report(audit=head(asked=4, scope=scope), hosts=rows))
        places = {groups[name] for name in names} - {"ungrouped"} if not scope.startswith("/") else set()
        assert {each for each in ("rack1", "rack2") if f"/tmp/n/{each}" in said} == places, said
        if len(places) > 1:
            assert "/tmp/n/rack2 (gpu003)" in said


@pytest.mark.parametrize(("scope", "trigger", "how"), [
    ("files of /tmp/n", "pull", "tunecheck audit --from /tmp/n --gone gpu001"),
    ("pushed", "push", "tunecheck ingest revoke gpu001"),
    ("/srv/fleet", "pull", "take it out of the inventory")])
def test_a_machine_that_answers_under_another_name_is_not_to_be_reached(scope: str, trigger: str, how: str) -> None:
    """The next step goes by the note, which is the first of all notes."""
    claim = Claim("gpu003", "key", "gpu001", None, asked=True)
    hosts = (Host("gpu001", "g", status="unreachable", last_ok=4), Host("gpu002", "g"), Host("gpu003", "g"))
    seen = view({}, hosts=hosts, claims=(claim,), audit=head(5, scope=scope, trigger=trigger))
    made = judge(seen, JudgeOptions())[0]
    made = replace(made, notes=(*(f"note {number}" for number in range(50)), *made.notes))
    text = terminal(made, Style(100), now=WHEN)
    notes = text.index("NOTE")
    assert "gpu001 is called gpu003 now" in " ".join(text[notes:text.index("NOTE", notes + 1)].split())
    said = _next(made)
    assert said.startswith("first gpu001 (unreachable), most likely called gpu003 now") and said.endswith(how), said
    # Others that are silent are to be reached all the same.
    more = tuple(Host(f"gpu00{number}", "g", status="unreachable", last_ok=4) for number in (4, 5))
    said = _next(judge(replace(seen, hosts=(*hosts, *more)), JudgeOptions())[0])
    assert said.startswith("first gpu004, gpu005") and "gpu001" not in said, said
