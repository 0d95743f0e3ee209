"""`tunecheck audit --from`: who is missing from the folder, what in it is not read, and what is too old."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.cli.carried import Fleet, box

from tunecheck_fleet.folder import Folder
from tunecheck_fleet.store import open_store


def one_line(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    fleet = Fleet(tmp_path)
    for number in (1, 2, 3):
        fleet.put(number)
    return fleet


def test_a_host_of_the_last_audit_without_a_file_is_missing_until_it_is_said_to_be_gone(fleet: Fleet) -> None:
    assert fleet.audit()[0] == 0
    for number in (2, 3):
        (fleet.files / f"gpu{number}.json").unlink()
    for _ in range(2):      # it does not become normal
        code, out, _ = fleet.run("audit", "--from", "boxes/")
        said = one_line(out)
        assert code == 3 and "3 hosts: 1 ok, 2 unreachable" in said
        assert "2 hosts of the last audit are not in boxes/: gpu2, gpu3; counted as missing" in said
    fleet.put(3)
    code, out, _ = fleet.audit("--gone", "gpu2")
    assert code == 0 and "2 hosts: 2 ok" in out
    assert fleet.audit()[0] == 0
    code, _, err = fleet.audit("-i", "gpu1,", "--gone", "gpu2")
    assert code == 2 and "--gone is for --from FOLDER alone" in one_line(err)


def test_with_an_inventory_its_hosts_are_asked_and_files_of_others_are_named(fleet: Fleet) -> None:
    (fleet.folder / "hosts.json").write_text(json.dumps({"h200": {"hosts": {"gpu1": {}, "gpu8": {}}}}))
    code, out, _ = fleet.audit("-i", "hosts.json")
    said = one_line(out)
    assert code == 3 and "2 hosts: 1 ok, 1 unreachable" in said and "no file gpu8.json in boxes" in said
    assert "boxes holds files of 2 hosts that the inventory has not, which are left out: gpu2, gpu3" in said


def test_files_that_are_not_read_are_named(fleet: Fleet) -> None:
    deep = fleet.files / "dc1/rack1"
    deep.mkdir(parents=True)
    for name in ("gpu7.json.gz", "gpu8", "gpu9.tar.zst", "dc1/rack1/gpu6.json", ".hidden"):
        (fleet.files / name).write_text("x")
    code, out, _ = fleet.audit()
    said = one_line(out)
    assert code == 0 and "4 files in boxes are not read: gpu7.json.gz, gpu8, gpu9.tar.zst, dc1/rack1/gpu6.json" in said
    assert ".hidden" not in said


def test_an_old_snapshot_is_incomplete_and_its_age_is_said(fleet: Fleet) -> None:
    fleet.put(2, created=1577836800.0)
    fleet.put(3, created=time.time() + 3 * 86400)
    code, out, _ = fleet.audit()
    said = one_line(out)
    assert code == 3 and "3 hosts: 1 ok, 2 partial" in said
    assert "snapshot of 2020-01-01: " in said and " years old" in said
    assert "3 days ahead of this machine's clock" in said
    assert "3 hosts: 3 partial" in one_line(fleet.audit("--max-age", "20m")[1])
    fleet.put(3)
    assert fleet.audit("--max-age", "5000w")[0] == 0


@pytest.mark.parametrize(("created", "said"), [
    (..., "age unknown: it does not say when it was made (created, as 2026-11-21T18:00:00Z)"),
    (None, "age unknown: it does not say"), ("", "age unknown: it does not say"), (5, "age unknown: created is 5, "),
    ("yesterday", "age unknown: created is 'yesterday', expected a time as 2026-11-21T18:00:00Z"),
    ({"x": 1}, "age unknown: created is {'x': 1}")])
def test_a_snapshot_of_unknown_age_is_incomplete(fleet: Fleet, created: Any, said: str) -> None:
    file = fleet.files / "gpu2.json"
    document = json.loads(file.read_bytes())
    document["created"] = created
    if created is ...:
        del document["created"]
    file.write_text(json.dumps(document))
    code, out, _ = fleet.audit()
    assert code == 3 and "3 hosts: 2 ok, 1 partial" in one_line(out) and said in one_line(out)


def test_a_file_that_is_older_than_what_the_history_has_is_left_out(fleet: Fleet) -> None:
    now = int(time.time())
    fleet.put(2, hmm="0", created=now - 60)
    fleet.audit()
    fleet.put(2, created=now - 7200)
    for _ in range(2):
        code, out, _ = fleet.audit("--json")
        row = next(row for row in json.loads(out)["hosts"] if row["host"] == "gpu2")
        assert code == 3 and row["status"] == "unreachable" and not json.loads(out)["causes"]
        when = [time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(now - ago)) for ago in (7200, 60)]
        assert row["reason"] == f"its file is of {when[0]}, older than the snapshot of {when[1]} that the " \
                                "history has of it; left out"
    fleet.put(2, created=now - 30)
    code, out, _ = fleet.audit()
    assert code == 0 and "uvm_disable_hmm: 0 -> 1" in one_line(out)


def test_a_clock_that_was_ahead_does_not_keep_the_right_time_out(fleet: Fleet) -> None:
    fleet.put(2, created=time.time() + 30 * 86400)
    assert fleet.audit()[0] == 3
    fleet.put(2)
    assert fleet.audit()[0] == 0


def audits(fleet: Fleet) -> int:
    with open_store(str(fleet.store), create=False) as store:
        return len(store.audits())


def test_a_mistaken_gone_is_refused_before_anything_is_recorded(fleet: Fleet) -> None:
    code, _, err = fleet.audit("--gone", "gpu9")
    assert code == 2 and "--gone gpu9: boxes was not audited yet, so that no host of it is known" in one_line(err)
    fleet.audit()
    (fleet.files / "gpu2.json").unlink()
    code, _, err = fleet.audit("--gone", "gpu22")
    assert code == 2 and "the last audit of boxes (#1) has no such host; did you mean gpu2" in one_line(err)
    code, _, err = fleet.audit("--gone", "gpu1")
    assert code == 2 and "--gone gpu1: its file is there (boxes/gpu1.json)" in one_line(err)
    assert audits(fleet) == 1 and fleet.audit("--gone", "gpu2")[0] == 0
    code, _, err = fleet.audit("--gone", "gpu2")
    assert code == 2 and "(#2) has no such host; where it is gone already, leave --gone out" in one_line(err)


def test_a_mistaken_baseline_is_refused_before_the_night_is_recorded(fleet: Fleet) -> None:
    fleet.audit()
    fleet.put(2, hmm="0")
    for baseline, said in (("host:gpu33", "not one of the 3 that are asked; did you mean gpu3"),
                           ("audit:99", "--baseline audit:99: this history has no such audit; expected #1 to #1"),
                           ("audit:0", "has no such audit")):
        code, _, err = fleet.audit("--baseline", baseline)
        assert code == 2 and said in one_line(err), err
    assert audits(fleet) == 1
    code, out, _ = fleet.audit("--baseline", "audit:1", "--fail-on", "drift")
    assert code == 1 and "uvm_disable_hmm: 1 -> 0" in one_line(out)
    assert fleet.audit("--baseline", "host:gpu3", "--fail-on", "drift")[0] == 1


def test_a_baseline_is_before_the_audit_that_is_taken_up(fleet: Fleet) -> None:
    with open_store(str(fleet.store)) as store:
        store.begin(f"files of {fleet.files}", [(f"gpu{number}", "ungrouped") for number in (1, 2, 3)])
    with open_store(str(fleet.store)) as store:
        store.begin("another", [("gpu8", "ungrouped")])
        store.finish(2)
    code, _, err = fleet.audit("--baseline", "audit:2")
    assert code == 2 and "it has none to compare with, before #1 that is taken up" in one_line(err)
    assert fleet.audit()[0] == 0 and audits(fleet) == 2


def test_options_that_say_nothing_or_nonsense_are_usage_errors(fleet: Fleet) -> None:
    for given, said in ((("--source", "timer"), "--source is about boxes that are asked, and with --from none is"),
                        (("--source", "live"), "--source is about boxes that are asked"),
                        (("--forks", "3"), "--forks is about boxes that are asked"),
                        (("--link", "foo"), "--link foo: not an address; expected https://host/path"),
                        (("--link", "javascript://x/y"), "not an address"), (("--link", "https://"), "not an address"),
                        (("--max-age", "1"), "--max-age 1: expected a number with s, m, h, d or w, as in")):
        code, out, err = fleet.audit(*given)
        assert code == 2 and said in one_line(err) and not out, err
    assert not fleet.store.exists()
    assert fleet.audit("--source", "auto", "--link", "http://fleet.example.org/fleet.html", "--max-age", "90d")[0] == 0


def test_an_accepted_state_is_for_good_in_every_output(fleet: Fleet) -> None:
    fleet.audit()
    fleet.put(2, hmm="0")
    fact = "module.parameter.nvidia-uvm.uvm_disable_hmm"
    _, out, _ = fleet.run("waive", fact, "--host", "gpu2", "--until", "never", "--reason", "so it is")
    assert "for good" in out
    fleet.audit("--junit", "a.xml", "--html", "a.html", "--json", "a.json")
    _, out, _ = fleet.run("fleet")
    page, junit = (fleet.folder / "a.html").read_text(), (fleet.folder / "a.xml").read_text()
    assert "waiver 1 for good by" in one_line(out) and "waiver 1 for good by" in page
    assert 'message="waived for good: so it is"' in junit and "9999" not in out + page + junit
    assert "1 host: gpu2" in junit and "1 hosts" not in junit


def test_a_folder_is_the_same_one_however_it_is_spelled(fleet: Fleet) -> None:
    fleet.audit()
    (fleet.files / "gpu2.json").unlink()
    for spelled in ("./boxes", "boxes/", str(fleet.files), f"../{fleet.folder.name}/boxes"):
        code, out, _ = fleet.run("audit", "--from", spelled)
        said = one_line(out)
        assert code == 3 and "3 hosts: 2 ok, 1 unreachable" in said, spelled
        assert f"1 host of the last audit is not in {spelled}: gpu2" in said
    (fleet.folder / "hosts.json").write_text(json.dumps({"h200": {"hosts": {"gpu1": {}}}}))
    scopes = {json.loads(fleet.audit("-i", spelled, "--json")[1])["audit"]["scope"]
              for spelled in ("hosts.json", "./hosts.json", str(fleet.folder / "hosts.json"))}
    assert scopes == {f"{fleet.folder}/hosts.json, files of {fleet.files}"}


def test_a_link_that_leads_elsewhere_every_night_is_one_place(fleet: Fleet) -> None:
    latest = fleet.folder / "latest"
    latest.symlink_to("boxes")
    assert fleet.run("audit", "--from", "latest")[0] == 0
    later = fleet.files.rename(fleet.folder / "2026-11-22")
    latest.unlink()
    latest.symlink_to(later)
    (later / "gpu2.json").unlink()
    code, out, _ = fleet.run("audit", "--from", "latest")
    assert code == 3 and "1 host of the last audit is not in latest: gpu2" in one_line(out)


def test_two_folders_of_one_name_are_two(fleet: Fleet) -> None:
    fleet.audit()
    other = fleet.folder / "elsewhere/boxes"
    other.mkdir(parents=True)
    (fleet.files / "gpu3.json").rename(other / "gpu3.json")
    fleet.folder = other.parent
    code, out, _ = fleet.audit()
    said = one_line(out)
    assert code == 0 and "1 host: 1 ok" in said
    assert f"first audit of files of {other}: who is missing there cannot be told; the last one of a folder was #1, " \
           f"files of {fleet.files}" in said


@pytest.fixture
def nobody() -> Iterator[Fleet]:
    """The fleet of a user who may not read everything. In a folder of its own: pytest's are for their owner alone."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("needs root, to be another user, and setpriv")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)
        fleet = Fleet(Path(folder))
        for number in (1, 2, 3):
            fleet.put(number)
        os.chown(fleet.store.parent, 65534, 65534)
        try:
            started = as_nobody(fleet, "--version")[0] == 0
        except PermissionError:
            started = False
        if not started:
            pytest.skip("another user may not start this Python")
        yield fleet


def as_nobody(fleet: Fleet, *arguments: str) -> tuple[int, str, str]:
    done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", sys.executable, "-m",
                           "tunecheck", *arguments], cwd=fleet.folder, env={**fleet.env, "HOME": "/nonexistent"},
                          text=True, capture_output=True, timeout=120, check=False)
    return done.returncode, one_line(done.stdout), one_line(done.stderr)


def test_what_may_not_be_read_is_said_and_never_clean(nobody: Fleet) -> None:
    (nobody.files / "gpu3.json").chmod(0)
    code, out, err = as_nobody(nobody, "audit", "--from", "boxes")
    assert code == 3 and "3 hosts: 2 ok, 1 refused" in out, err
    assert "gpu3.json cannot be read (Permission denied)" in out


def test_a_group_folder_that_may_not_be_read_is_said_and_never_clean(nobody: Fleet) -> None:
    rack = nobody.files / "rack1"
    rack.mkdir(mode=0o700)
    (nobody.files / "lost+found").mkdir(mode=0o700)
    (nobody.files / "gpu3.json").rename(rack / "gpu3.json")
    for _ in range(2):      # no host of it is known by name
        code, out, _ = as_nobody(nobody, "audit", "--from", "boxes")
        assert code == 3 and "3 hosts: 2 ok, 1 refused" in out and "1 host: rack1/*" in out, out
        assert "1 folder in boxes cannot be read: rack1 (Permission denied)" in out and "lost+found" not in out
    rack.chmod(0o755)
    code, out, _ = as_nobody(nobody, "audit", "--from", "boxes")
    assert code == 0 and "3 hosts: 3 ok" in out and "rack1/*" not in out
    rack.chmod(0o700)
    for _ in range(2):
        code, out, _ = as_nobody(nobody, "audit", "--from", "boxes")
        assert code == 3 and "1 host: gpu3" in out and "boxes/rack1 cannot be read (Permission denied)" in out, out


def test_with_an_inventory_a_host_may_be_in_the_folder_that_may_not_be_read(fleet: Fleet) -> None:
    folder = replace(Folder.read(str(fleet.files)), closed={"rack1": PermissionError(13, "Permission denied")})
    said = {answer.host: (answer.status, answer.reason) for answer in folder.answers({"gpu1": "h200", "gpu9": "h200"})}
    assert said["gpu1"][0] == "ok" and said["gpu9"] == (
        "refused", f"no file gpu9.json in {fleet.files}, and {fleet.files}/rack1 cannot be read (Permission denied)")


def test_a_pipe_among_the_snapshots_spoils_only_its_own_row(fleet: Fleet) -> None:
    """It is not waited for, though nobody ever writes into it."""
    (fleet.files / "gpu3.json").unlink()
    os.mkfifo(fleet.files / "gpu3.json")
    (fleet.files / "gpu4.json").mkdir()
    answers = {answer.host: answer for answer in Folder.read(str(fleet.files)).answers(
        {f"gpu{number}": "ungrouped" for number in (1, 2, 3, 4)})}
    assert [answers[f"gpu{number}"].status for number in (1, 2, 3, 4)] == ["ok", "ok", "garbled", "garbled"]
    assert "gpu3.json: is no file but a folder, pipe or device" in answers["gpu3"].reason


def test_a_top_folder_that_may_not_be_read_is_a_usage_error(nobody: Fleet) -> None:
    nobody.files.chmod(0o700)
    for folder in ("boxes", "boxes/deeper"):
        code, out, err = as_nobody(nobody, "audit", "--from", folder)
        assert code == 2 and f"--from {folder}: cannot be read (Permission denied)" in err and not out, err
    code, _, err = as_nobody(nobody, "audit", "-i", "boxes/inventory")
    assert code == 2 and "cannot be read (Permission denied)" in err and "Traceback" not in err


def test_a_clone_of_a_host_outside_the_limit_has_its_group(fleet: Fleet) -> None:
    (fleet.folder / "hosts.json").write_text(json.dumps({"h200": {"hosts": {"gpu1": {}, "gpu2": {}}}}))
    (fleet.files / "gpu2.json").write_bytes((fleet.files / "gpu1.json").read_bytes())
    fleet.audit("-i", "hosts.json")
    causes = json.loads(fleet.audit("-i", "hosts.json", "--limit", "gpu2", "--json")[1])["causes"]
    assert {cause["group"] for cause in causes if cause["fact"] == "host.key"} == {"h200"}


# -- which machine is it ----------------------------------------------------------------------------------------------

#: Audits of boxes that were renamed or swapped may not fail the night.
DRIFT = ("--fail-on", "drift")


def keys(fleet: Fleet) -> list[dict[str, Any]]:
    """The causes about who a box is."""
    causes = json.loads(fleet.run("fleet", "--json")[1])["causes"]
    return [cause for cause in causes if cause["authority"] == "identity"]


def renamed(fleet: Fleet, old: str, new: str) -> None:
    (fleet.files / f"{old}.json").rename(fleet.files / f"{new}.json")


def test_a_renamed_machine_is_incomplete_until_the_old_name_is_gone_and_never_drift(fleet: Fleet) -> None:
    fleet.audit()
    renamed(fleet, "gpu2", "new2")
    for _ in range(2):
        code, out, _ = fleet.audit(*DRIFT)
        said = one_line(out)
        assert code == 3 and "4 hosts: 3 ok, 1 unreachable" in said and "HIGH" not in out and not keys(fleet), out
        assert "most likely gpu2 is called new2 now" in said and "--gone gpu2" in said
    code, out, _ = fleet.audit(*DRIFT, "--gone", "gpu2")
    assert code == 0 and "new2 is the machine that was gpu2" in out and not keys(fleet), out
    code, out, _ = fleet.audit(*DRIFT)
    assert code == 0 and "gpu2" not in out and not keys(fleet), out
    rows = json.loads(fleet.run("blame", "kernel.cmdline.iommu", "--host", "new2", "--json")[1])["rows"]
    assert [row["since"]["seen"] for row in rows] == [1], "its history is that of the machine"


def test_an_old_name_that_answers_again_is_a_clone(fleet: Fleet) -> None:
    fleet.audit()
    renamed(fleet, "gpu2", "new2")
    assert fleet.audit(*DRIFT)[0] == 3
    fleet.put(2)
    values = set()
    for state in ("new", "known", "known"):
        code, out, _ = fleet.audit(*DRIFT)
        [cause] = keys(fleet)
        assert code == 1 and (cause["severity"], cause["hosts"], cause["state"]) == ("high", ["gpu2", "new2"], state)
        assert (cause["since"]["after"], cause["since"]["seen"]) == (2, 3)
        assert "fix: on the clone, as root: rm /etc/machine-id; then: systemd-machine-id-setup" in one_line(out)
        values.add(cause["value"])
    assert len(values) == 1 and len(values.pop()) == 32, "always the key, never a name"
    fleet.run("waive", "host.key", "--host", "*2", "--until", "never", "--reason", "two names of one box")
    assert fleet.audit(*DRIFT)[0] == 0


def test_two_names_that_exchanged_their_machines_are_no_clones(fleet: Fleet) -> None:
    fleet.audit()
    renamed(fleet, "gpu1", "x")
    renamed(fleet, "gpu2", "gpu1")
    renamed(fleet, "x", "gpu2")
    code, out, _ = fleet.audit(*DRIFT)
    assert "gpu1 is the machine that was gpu2" in out and "gpu2 is the machine that was gpu1" in out
    for night in range(3):
        if night:
            code, out, _ = fleet.audit(*DRIFT)
            assert " is the machine that was" not in out and "changed; since" not in out, out
        [cause] = keys(fleet)       # open until it is approved; of no clone
        assert code == 1 and cause["hosts"] == ["gpu1", "gpu2"] and "only one can have" not in cause["text"], out
        assert [(wave["since"]["after"], wave["since"]["seen"], wave["state"]) for wave in cause["waves"]] == [
            (1, 2, "known" if night else "new")]
    assert fleet.run("approve", cause["id"])[0] == 0 and fleet.audit(*DRIFT)[0] == 0


def test_a_replaced_machine_is_told_with_both_keys_and_its_interval(fleet: Fleet) -> None:
    fleet.audit()
    (fleet.files / "gpu3.json").write_bytes(box(7))
    code, out, _ = fleet.audit(*DRIFT)
    [cause] = keys(fleet)
    assert code == 1 and cause["hosts"] == ["gpu3"] and "since not known" not in out
    assert (cause["since"]["after"], cause["since"]["seen"]) == (1, 2)
    assert len(cause["before"]) == len(cause["value"]) == 32 and cause["before"] != cause["value"]
    assert f"host.key: {cause['before']} -> {cause['value']}" in one_line(out)
    assert fleet.audit(*DRIFT)[0] == 0


def test_host_key_can_be_waived_and_blame_says_where_to_look(fleet: Fleet) -> None:
    fleet.audit()
    for verb in ("blame", "history"):
        given = ("host.key",) if verb == "blame" else ("--fact", "host.key")
        code, out, _ = fleet.run(verb, *given, "--host", "gpu1")
        assert code == 0 and "says who the box is" in one_line(out)
        assert "tunecheck drift --host gpu1 --fact host.key" in one_line(out)
    assert fleet.run("drift", "--host", "gpu1", "--fact", "host.key")[0] == 0
    code, out, err = fleet.run("waive", "host.key", "--host", "gpu3", "--until", "never", "--reason", "renamed")
    assert code == 0 and "host.key on host gpu3" in out, err
    (fleet.files / "gpu3.json").write_bytes(box(7))
    code, out, _ = fleet.audit(*DRIFT)
    assert code == 0 and "WAIVED" in out and "renamed" in out
    code, _, err = fleet.run("waive", "host.kye", "--host", "gpu3", "--until", "30d", "--reason", "x")
    assert code == 2 and "did you mean host.key" in one_line(err)
