"""The roles' dry run as a second witness, by a real ansible-runner over local connections."""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.refusing import refused

from tunecheck.errors import Misuse
from tunecheck_fleet import check_diff
from tunecheck_fleet.check_diff_tasks import roles_by_tag
from tunecheck_fleet.fleet_report import Cause, FleetReport, HostRow
from tunecheck_fleet.judge.roles import roles
from tunecheck_fleet.judge.view import View
from tunecheck_fleet.judge.view_rows import Host
from tunecheck_fleet.model import AuditHead, Claim, Problem

ROOT = Path(__file__).parents[3]

PLAY = """
- hosts: all
  gather_facts: false
  tasks:
    - name: Take the lock
      ansible.builtin.debug: {msg: held}
      tags: [always]
    - name: Keep the file
      ansible.builtin.import_role: {name: keeper}
      tags: [keep]
    - name: Write the other
      ansible.builtin.import_role: {name: writer}
      tags: [write]
    - name: Run a program
      ansible.builtin.command: /bin/true
      tags: [program]
    - name: Hang
      ansible.builtin.command: sleep 300
      check_mode: false
      tags: [hang]
    - name: Refuse
      ansible.builtin.fail: {msg: "cannot\\e[2J do it"}
      tags: [refuse]
"""
ROLES = {
    "keeper": "- name: It is there\n  ansible.builtin.file: {path: '{{ there }}', state: touch, "
              "modification_time: preserve, access_time: preserve}\n"
              "- name: Say so\n  ansible.builtin.debug: {msg: kept}\n",
    "writer": "- name: Write it\n  ansible.builtin.copy: {content: new, dest: '{{ there }}'}\n",
}


@pytest.fixture(name="tree")
def _tree(tmp_path: Path) -> Path:
    (tmp_path / "playbooks").mkdir()
    (tmp_path / "playbooks/provision.yml").write_text(PLAY)
    for name, tasks in ROLES.items():
        folder = tmp_path / "roles" / name / "tasks"
        folder.mkdir(parents=True)
        (folder / "main.yml").write_text(tasks)
    (tmp_path / "ansible.cfg").write_text("[defaults]\nroles_path = ./roles\n")
    (tmp_path / "there").write_text("as it was")
    (tmp_path / "hosts.ini").write_text("".join(
        f"box{number} ansible_connection=local ansible_python_interpreter={sys.executable} there={tmp_path}/there\n"
        for number in (1, 2)))
    return tmp_path


def _problem(check: str, *tags: str) -> Problem:
    return Problem(check, "it", "fail", "it is not", tags=tags)


def test_a_role_that_would_change_nothing_while_its_check_fails_is_accused(tree: Path,
                                                                        monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "hunter2")
    problems = (_problem("kept", "keep"), _problem("written", "write"), _problem("ran", "program"))
    found = check_diff.ask(tree / "hosts.ini", {"box1": problems}, tree / "playbooks/provision.yml")
    by_check = {claim.check: claim for claim in found}
    assert by_check["kept"] == Claim("box1", "kept", "same", ("keeper : It is there",))
    assert by_check["written"].verdict == "change" and by_check["written"].tasks == ("writer : Write it",)
    # Ansible skips commands in check mode: that says nothing.
    assert by_check["ran"].verdict == "silent"
    assert (tree / "there").read_text() == "as it was", "a dry run changed the box"
    view = View(AuditHead(1, 0.0, "all", 1, "1", 1, 1.0), None, 1.0, (Host("box1", "g", problems=problems),))
    [row] = roles(view, found)
    assert (row.authority, row.fact, row.host) == ("role", "kept", "box1") and by_check["kept"].tasks[0] in row.text


@pytest.fixture
def own_tmp(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Nothing is left in it. As short as an operator's: there are sockets in it."""
    with tempfile.TemporaryDirectory(prefix="w-") as name:
        monkeypatch.setenv("TMPDIR", name)
        monkeypatch.setattr(tempfile, "tempdir", name)
        yield Path(name)
        assert not [*Path(name).iterdir()]


def test_a_host_that_hangs_or_refuses_ends_in_time_and_stops_no_other(tree: Path, own_tmp: Path) -> None:
    play, began = tree / "playbooks/provision.yml", time.monotonic()
    [hung] = check_diff.ask(tree / "hosts.ini", {"box1": (_problem("hung", "hang"),)}, play, deadline=4)
    assert hung.verdict == "timeout" and time.monotonic() - began < 60
    assert not _left(own_tmp), "a process of the dry run is left"
    failing = {"box1": (_problem("no", "refuse"), _problem("kept", "keep")), "box2": (_problem("kept", "keep"),)}
    refused, kept, other = sorted(check_diff.ask(tree / "hosts.ini", failing, play),
                                  key=lambda claim: (claim.host, -len(claim.verdict), claim.check == "kept"))
    assert refused.verdict == "failed" and "\x1b" not in refused.reason and "do it" in refused.reason
    assert kept.verdict == "failed", "a run that did not come to its end is no witness"
    assert other.verdict == "same"


def _left(folder: Path) -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and f"{folder}/tunecheck-witness-".encode() in (entry / "environ").read_bytes():
                found.append(entry.name)
        except OSError:
            continue
    return found


def test_what_cannot_be_asked_is_said_before_anything_runs(tree: Path) -> None:
    failing = {"box1": (_problem("kept", "keep"),)}
    with refused(Misuse.NOT_THERE, "nowhere.yml"):
        check_diff.ask(tree / "hosts.ini", failing, tree / "nowhere.yml")
    with refused(Misuse.NOT_THERE, "nohosts.ini"):
        check_diff.ask(tree / "nohosts.ini", failing, tree / "playbooks/provision.yml")
    (tree / "playbooks/broken.yml").write_text("- hosts: all\n  tasks: {not: a list}\n")
    with refused(Misuse.UNREADABLE, "broken.yml"):
        check_diff.ask(tree / "hosts.ini", failing, tree / "playbooks/broken.yml")
    with refused(Misuse.MALFORMED, "--limit"):
        check_diff.ask(tree / "hosts.ini", {"a:b*": failing["box1"]}, tree / "playbooks/provision.yml")
    assert check_diff.ask(tree / "hosts.ini", {}, tree / "playbooks/provision.yml") == ()


def test_the_tags_that_our_checks_name_are_those_of_our_play() -> None:
    env = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG")}
    tagged = roles_by_tag(str(ROOT / "playbooks/provision.yml"), str(ROOT / "inventory/box1"), env)
    assert "pcie_acs : *" in tagged["acs"] and "gpu_settings : *" in tagged["gpu"]
    others = {tag: names for tag, names in tagged.items() if tag != "preflight"}
    assert not [name for names in others.values() for name in names if name.startswith("preflight : ")]
    named = {tag for file in (ROOT / "checks/tunecheck/rules").rglob("*.py")
             for tag in re.findall(r"""case\.play\("([a-z]+)\"""", file.read_text())}
    assert len(named) > 4 and not named - set(tagged), "a remedy names a tag that no task has"


def test_a_sample_of_each_cause_is_asked_and_only_what_a_role_cares_for() -> None:
    rows = tuple(HostRow(f"h{number}", "g", "", "ok" if number else "unreachable", problems=(
        _problem("acs-redirect", "acs"), _problem("gpu-temperature"))) for number in range(9))
    cause = Cause("desired", "high", "acs-redirect", "g", tuple(row.host for row in rows), None, None, "", "reload",
                  None, "new", outcome="fail")
    report = FleetReport(AuditHead(1, 0.0, "all", 9, "1", 1, 1.0), None, rows, (cause, cause))
    assert check_diff.targets(report, per_cause=3) == {
        name: (_problem("acs-redirect", "acs"),) for name in ("h1", "h2", "h3")}
    assert [*check_diff.targets(report, most=1)] == ["h1"]
