"""Where hosts were not reached, or not read, the next step begins with them, and reads nothing on a silent one."""

from __future__ import annotations

from itertools import product

import pytest
from tests.unit.fleet.reports import WHEN, cause, head, play, report, row

from tunecheck.report.style import Style
from tunecheck_fleet.fleet_report import FleetReport
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
