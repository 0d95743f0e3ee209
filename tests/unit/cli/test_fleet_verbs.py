"""The verbs of the fleet, as an operator runs them: processes, a real history (SQLite), snapshots of a real box."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from fcntl import ioctl
from pathlib import Path
from typing import Any

import pytest
from tests.unit.cli.carried import Fleet

from tunecheck_fleet.store import open_store

#: What is changed by hand on gpu3: fact -> before, after. The held package has a check that judges it.
FACTS = {"kernel.cmdline.iommu": ("pt", None), "module.parameter.nvidia-uvm.uvm_disable_hmm": ("1", "0"),
         "held.nvidia-driver-580": ("held", "no")}


def one_line(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    return Fleet(tmp_path)


@pytest.fixture(scope="module")
def drifted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """Audit #1: six boxes alike. Then gpu3 is changed by hand: #2."""
    fleet = Fleet(tmp_path_factory.mktemp("drifted"))
    for number in range(1, 7):
        fleet.put(number)
    code, out, _ = fleet.audit("--fail-on", "drift")
    assert code == 0 and "CLEAN" in out, out
    fleet.put(3, iommu=None, hmm="0", held=False)
    code, out, err = fleet.audit("--fail-on", "drift")
    assert code == 1, out + err
    yield fleet


def test_an_audit_names_host_fact_before_after_and_since(drifted: Fleet) -> None:
    code, out, _ = drifted.run("drift", "--host", "gpu3", "--json")
    document = json.loads(out)
    assert code == 0 and document["schema"] == "tunecheck/fleet/1" and document["audit"]["id"] == 2
    causes = {cause["fact"]: cause for cause in document["causes"]}
    assert causes.keys() == {"driver-held", *FACTS} - {"held.nvidia-driver-580"}
    for fact, cause in causes.items():
        if fact in FACTS:
            assert (cause["before"], cause["value"]) == FACTS[fact]
        since = cause["since"]
        assert (cause["hosts"], since["after"], since["seen"], cause["state"]) == (["gpu3"], 1, 2, "new")
    assert causes["kernel.cmdline.iommu"]["fix"] == "reboot"


def test_drift_of_one_fact_and_of_a_family(drifted: Fleet) -> None:
    for wanted in ("kernel.cmdline.iommu", "kernel.cmdline."):
        _, out, _ = drifted.run("drift", "--fact", wanted, "--json")
        assert {cause["fact"] for cause in json.loads(out)["causes"]} == {"kernel.cmdline.iommu"}
    code, out, _ = drifted.run("drift", "--host", "gpu1")
    assert code == 0 and "CLEAN" in out


def test_blame_says_between_which_audits_and_that_nobody_of_ours_did_it(drifted: Fleet) -> None:
    code, out, _ = drifted.run("blame", "kernel.cmdline.iommu", "--host", "gpu3")
    assert code == 0
    text = one_line(out)
    assert "#1..#2" in text and "out of band" in text and text.index("#1..#2") < text.rindex("pt")
    _, out, _ = drifted.run("blame", "kernel.cmdline.iommu", "--host", "gpu3", "--json")
    document = json.loads(out)
    assert document["schema"] == "tunecheck/fleet-list/1" and document["about"]["host"] == "gpu3"
    newest, oldest = document["rows"]
    assert (newest["before"], newest["value"], newest["change"]) == ("pt", None, None)
    assert (newest["since"]["after"], newest["since"]["seen"], oldest["since"]["after"]) == (1, 2, None)


def test_blame_of_a_family_names_the_fact_of_each_row(drifted: Fleet) -> None:
    _, out, _ = drifted.run("blame", "kernel.cmdline.", "--host", "gpu3")
    assert "kernel.cmdline.iommu: pt -> (absent)" in one_line(out)
    _, out, _ = drifted.run("blame", "kernel.cmdline.", "--host", "gpu3", "--json")
    assert json.loads(out)["rows"][0]["fact"] == "kernel.cmdline.iommu"


def test_history_shows_what_changed(drifted: Fleet) -> None:
    code, out, _ = drifted.run("history", "--host", "gpu3")
    assert code == 0 and all(fact in out for fact in FACTS) and "gpu.vbios" not in out
    _, out, _ = drifted.run("history", "--host", "gpu3", "--all", "--json")
    assert "gpu.vbios" in {row["fact"] for row in json.loads(out)["rows"]}
    _, out, _ = drifted.run("history", "--host", "gpu1")
    assert "nothing changed" in out


def test_the_report_comes_again_from_the_history(drifted: Fleet) -> None:
    code, out, _ = drifted.run("fleet", "--fail-on", "drift", "--html", "fleet.html", "--junit", "fleet.xml",
                               "--prometheus", "fleet.prom", "--json", "fleet.json")
    assert code == 1 and "DRIFT" in out and "gpu3" in out
    for name in ("fleet.html", "fleet.xml", "fleet.json"):
        assert (drifted.folder / name).stat().st_mode & 0o777 == 0o600
    assert (drifted.folder / "fleet.prom").stat().st_mode & 0o777 == 0o644
    assert "HTML: fleet.html" in out
    code, out, _ = drifted.run("fleet", "--audit", "1", "--fail-on", "drift")
    assert code == 0 and "CLEAN" in out and "audit #1" in out


def test_the_fleets_own_verbs(drifted: Fleet) -> None:
    code, out, _ = drifted.run("fleet", "hosts")
    assert code == 0 and out.count("gpu") >= 6
    code, out, _ = drifted.run("fleet", "baseline", "--from-majority")
    assert code == 0 and '"kernel.cmdline.iommu": "pt"  # 5 of 6' in out and "machine" not in out
    code, out, _ = drifted.run("fleet", "volatility", "--json")
    assert code == 0 and json.loads(out)["schema"] == "tunecheck/fleet-list/1"
    code, out, _ = drifted.run("fleet", "doctor")
    assert code == 0 and out.strip()
    code, out, _ = drifted.run("fleet", "prune", "--keep", "30d")
    assert code == 0 and out.startswith("forgot 0 values")


def test_export_is_read_by_others(drifted: Fleet) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    code, out, err = drifted.run("export", "--parquet", "out")
    assert code == 0, err
    assert len(out.splitlines()) >= 5 and (drifted.folder / "out").stat().st_mode & 0o777 == 0o700
    assert parquet.read_table(drifted.folder / "out/audits.parquet").num_rows == 2


def test_waived_is_shown_and_not_counted_and_repaired_is_resolved(fleet: Fleet) -> None:
    for number in range(1, 7):
        fleet.put(number)
    fleet.audit()
    fleet.put(2, iommu=None)
    assert fleet.audit("--fail-on", "drift")[0] == 1
    code, out, err = fleet.run("waive", "kernel.cmdline.iommu", "--host", "gpu2", "--until", "30d", "--reason",
                               "board is being replaced", "--author", "kim")
    assert code == 0 and "1: kernel.cmdline.iommu on host gpu2" in out, err
    code, out, _ = fleet.run("fleet", "--fail-on", "drift")
    assert code == 0 and "WAIVED" in out and "board is being replaced" in out and "kim" in out
    assert "last matched in #2" in fleet.run("waive", "--list")[1]
    assert json.loads(fleet.run("waive", "--list", "--json")[1])["rows"][0]["author"] == "kim"
    assert fleet.run("waive", "--end", "1")[1].startswith("ended: 1:")
    assert fleet.run("fleet", "--fail-on", "drift")[0] == 1
    code, _, err = fleet.run("waive", "--end", "1")
    assert code == 2 and "1" in err
    fleet.put(2)
    code, out, _ = fleet.audit("--fail-on", "drift")
    assert code == 0 and "RESOLVED" in out
    values = [row["value"] for row in json.loads(fleet.run("blame", "kernel.cmdline.iommu", "--host", "gpu2",
                                                           "--json")[1])["rows"]]
    assert values == ["pt", None, "pt"]


def test_boxes_that_say_nothing_are_never_clean(fleet: Fleet) -> None:
    fleet.put(1)
    fleet.put(2)
    (fleet.files / "gpu3.json").write_text("")
    (fleet.files / "gpu4.json").write_text('{"schema": "tunecheck/snapshot/1", "\x1b[2J": 1}')
    code, out, _ = fleet.audit()
    assert code == 3 and "2 garbled" in out and "\x1b" not in out
    assert fleet.audit("--max-missing", "2")[0] == 0
    assert fleet.audit("--max-missing", "2", "--fail-on", "coverage")[0] == 0
    assert fleet.audit("--max-missing", "49%", "--fail-on", "coverage")[0] == 1
    for number in (1, 2):
        (fleet.files / f"gpu{number}.json").write_text("no")
    code, out, _ = fleet.audit("--fail-on", "drift")
    assert code == 2 and "UNKNOWN" in out


#: tunecheck where one file lies on a disk that does not answer.
DEAF = """
import sys, time
from pathlib import Path
from tunecheck_fleet import folder
read = folder._content
def content(file):
    if file.name == "gpu5.json":
        Path("waits").touch()
        time.sleep(600)
    return read(file)
folder._content = content
sys.argv[0] = "tunecheck"
from tunecheck.__main__ import main
main()
"""


@contextlib.contextmanager
def waiting(fleet: Fleet) -> Iterator[subprocess.Popen[str]]:
    """An audit whose fifth box does not come. The four that came are in the history while it waits for that one."""
    for number in range(1, 6):
        fleet.put(number)
    process, end = fleet.popen("audit", "--from", "boxes", "--json", "-", program=DEAF), time.monotonic() + 60
    try:
        while not (fleet.folder / "waits").exists():
            assert process.poll() is None and time.monotonic() < end, process.communicate()
            time.sleep(0.02)
        with open_store(str(fleet.store)) as store:
            while [host for host, _ in store.pending(1)] != ["gpu5"]:
                assert process.poll() is None and time.monotonic() < end, process.communicate()
                time.sleep(0.02)
        yield process
    finally:
        process.kill()
        process.communicate(timeout=60)


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_what_arrived_is_kept_and_the_next_run_asks_the_rest(fleet: Fleet, end: signal.Signals) -> None:
    with waiting(fleet) as process:
        process.send_signal(end)
        out, err = process.communicate(timeout=60)
    if end != signal.SIGKILL:
        assert process.returncode == {signal.SIGINT: 130, signal.SIGTERM: 143}[end] and out == ""
        assert "4 of 5 hosts are kept in audit #1" in one_line(err)
    (fleet.files / "gpu1.json").write_text("not asked again")
    code, out, err = fleet.audit()
    assert code == 0 and "audit #1" in out and "5 ok" in out, out + err
    assert "audit #1 was cut off: 4 of 5 hosts are in, asking the other 1" in err


def test_new_begins_anew(fleet: Fleet) -> None:
    with waiting(fleet) as process:
        process.kill()
    (fleet.files / "gpu5.json").unlink()
    code, out, _ = fleet.audit("--new")
    assert code == 0 and "audit #2" in out and "4 ok" in out


def test_files_of_an_inventorys_hosts_judged_with_its_spec(fleet: Fleet) -> None:
    fleet.put(9)        # not in the inventory
    hosts = {f"gpu{number}": {} for number in (1, 2, 3)}
    inventory = fleet.folder / "hosts.json"
    for number in (1, 2):
        fleet.put(number, spec={"profile": "lab"})
    spec = {"profile": "lab", "kernel": {"cmdline": ["pci=noacs", "hugepages=64"]}}
    inventory.write_text(json.dumps({"all": {"children": {"h200": {"hosts": hosts, "vars": {"box_spec": spec}}}}}))
    code, out, err = fleet.audit("-i", "hosts.json", "--fail-on", "fail", "--json")
    document = json.loads(out)
    assert code == 1, err
    assert {row["host"]: (row["group"], row["status"]) for row in document["hosts"]} == {
        "gpu1": ("h200", "ok"), "gpu2": ("h200", "ok"), "gpu3": ("h200", "unreachable")}
    causes = [cause for cause in document["causes"] if cause["authority"] == "desired"]
    assert any(cause["fact"] == "cmdline-token" and "hugepages=64" in json.dumps(cause) and
               cause["hosts"] == ["gpu1", "gpu2"] for cause in causes)
    _, out, _ = fleet.audit("-i", "hosts.json", "--desired", "box", "--limit", "gpu1,gpu2", "--json")
    document = json.loads(out)
    assert document["summary"]["hosts"]["ok"] == 2
    assert {cause["state"] for cause in document["causes"] if "hugepages=64" in json.dumps(cause)} == {"resolved"}
    inventory.write_text(inventory.read_text().replace('"lab"', '"lob"'))
    code, _, err = fleet.audit("-i", "hosts.json")
    assert code == 2 and "box_spec.profile" in err and "--desired box" in err and "Traceback" not in err


MISTAKES = [
    (("audit",), "-i INVENTORY, or --from FOLDER"),
    (("audit", "--from", "nowhere"), "is no folder"),
    (("audit", "--from", "state"), "holds no snapshot"),
    (("audit", "--from", "boxes", "--limit", "gpu1"), "--limit needs -i INVENTORY"),
    (("audit", "--from", "boxes", "--with-check-diff"), "--with-check-diff needs -i INVENTORY"),
    (("audit", "-i", "nowhere"), "'nowhere' does not exist"),
    (("audit", "-i", "localhost,", "--timeout", "soon"), "--timeout soon"),
    (("audit", "--from", "boxes", "--baseline", "best"), "is not one of previous, audit:N"),
    (("audit", "--from", "boxes", "--max-missing", "many"), "--max-missing 'many'"),
    (("audit", "--from", "boxes", "--json", "no/where.json"), "does not exist"),
    (("audit", "--from", "boxes", "--prometheus", "fleet.txt"), "call it fleet.txt.prom"),
    (("audit", "--from", "boxes", "--webhook", "http://example.org/"), "not encrypted"),
    (("audit", "--from", "boxes", "--store", "/proc/nothing/fleet.db"), "/proc/nothing"),
    (("drift", "--since", "yesterday"), "--since yesterday: expected 7d, 36h, 2026-11-01 or audit:12"),
    (("drift", "--since", "2999-01-01"), "lies in the future"),
    (("drift", "--since", "2026-02-30"), "--since 2026-02-30: expected"),
    (("drift", "--since", "audit:77"), "77"),
    (("drift", "--host", "gpu33"), "did you mean gpu3"),
    (("drift", "--fact", "kernel.cmdline.iomu"), "did you mean kernel.cmdline.iommu"),
    (("blame", "gpu.vbois", "--host", "gpu3"), "did you mean gpu.vbios"),
    (("blame", "gpu.vbios"), "--host"),
    (("history", "--host", "\x1b[31m"), "has no host"),
    (("fleet", "--audit", "99"), "99"),
    (("fleet", "--baseline", "host:gpu99"), "gpu99"),
    (("fleet", "baseline"), "--from-majority"),
    (("waive",), "expected one of: waive FACT"),
    (("waive", "gpu.vbios"), "a waiver needs --host or --group and --until and --reason"),
    (("waive", "gpu.vbios", "--host", "gpu1", "--until", "2020-01-01", "--reason", "x"), "has passed"),
    (("waive", "gpu.vbios", "--host", "gpu1", "--until", "1m", "--reason", "x"), "minutes, or months?"),
    (("waive", "gpu.vbios", "--host", "gpu9", "--until", "30d", "--reason", "x"), "has no host 'gpu9'"),
    (("waive", "gpu.vbios", "--group", "h300", "--until", "30d", "--reason", "x"), "no group 'h300'"),
    (("waive", "gpu.bios", "--host", "gpu1", "--until", "30d", "--reason", "x"), "has no fact 'gpu.bios'"),
    (("waive", "acs-redirct", "--host", "gpu1", "--until", "30d", "--reason", "x"), "did you mean acs-redirect"),
    (("waive", "library-mismach", "--host", "gpu1", "--until", "30d", "--reason", "x"),
     "did you mean nvml-answers/library-mismatch?"),
    (("waive", "gpu-ecc/no-such-code", "--host", "gpu1", "--until", "30d", "--reason", "x"),
     "gpu-ecc has no code 'no-such-code', and no open finding about that"),
    (("waive", "gpu-ec/x", "--host", "gpu1", "--until", "30d", "--reason", "x"),
     "no check is called 'gpu-ec'; did you mean gpu-ecc?"),
    (("waive", "--list", "--end", "1"), "expected one of"),
    (("approve",), "expected one of: approve ID"),
    (("approve", "--list", "12345678"), "expected one of: approve ID"),
    (("approve", "12345678"), "has no open finding '12345678'; `tunecheck fleet` shows them with their ids"),
    (("approve", "--end", "3"), "there is no decision 3 that holds"),
    (("acknowledge", "12345678", "--owner", "ann"), "has no open finding '12345678'"),
    (("history",), "expected one of --host HOST and --gpu SERIAL"),
    (("history", "--gpu", "1324", "--fact", "gpu.serials"), "--fact and --since are for --host"),
    (("fleet", "--webhook", "http://example.org/"), "not encrypted"),
    (("fleet", "--link", "fleet.html"), "not an address"),
    (("export", "--parquet", "/proc/nothing/out"), "/proc/nothing"),
    (("audt", "-i", "x"), "No such command 'audt'; did you mean audit"),
    (("explain", "gpu.cuont"), "no check or word is called"),
]


def test_a_change_is_open_until_somebody_says_what_it_is(fleet: Fleet) -> None:
    """New, open, acknowledged, on more hosts, approved, taken back, waived, gone: each as drift or not, with its id."""
    for number in range(1, 7):
        fleet.put(number)
    fleet.audit()

    def night(*changed: int) -> dict[str, Any]:
        for number in range(1, 7):
            fleet.put(number, iommu=None if number in changed else "pt")
        code, out, _ = fleet.audit("--json", "--fail-on", "drift")
        return found(code, out)

    def found(code: int, out: str) -> dict[str, Any]:
        document = json.loads(out)
        open_ones = [each for each in document["causes"] if each["fact"] == "kernel.cmdline.iommu"]
        assert code == int(document["summary"]["outcome"] == "drift")
        return open_ones[0] if open_ones else {}

    def again() -> dict[str, Any]:
        code, out, _ = fleet.run("fleet", "--json", "--fail-on", "drift")
        return found(code, out)

    first = night(3)
    assert (first["kind"], first["hosts"]) == ("new", ["gpu3"])
    assert night(3)["kind"] == "known" and night(3)["id"] == first["id"]
    name = first["id"]
    code, out, _ = fleet.run("acknowledge", name, "--owner", "ann", "--link", "https://t.example/7", "--note", "cable",
                             "--author", "mk")
    assert code == 0 and f"1: {name} ungrouped kernel.cmdline.iommu acknowledged by mk as of #4" in one_line(out), out
    _, out, _ = fleet.run("fleet")
    assert "acknowledged" in out and "owner ann; https://t.example/7; cable" in one_line(out), out
    assert again()["kind"] == "acknowledged" and again()["counts"]
    grown = night(3, 4)
    assert (grown["kind"], grown["id"], grown["covered"]) == ("grown", name, ["gpu3"])
    assert [(each["state"], each["hosts"], each["since"]["seen"]) for each in grown["waves"]] == [
        ("known", ["gpu3"], 2), ("new", ["gpu4"], 5)]
    code, out, err = fleet.run("approve", name[:-1] + ("0" if name[-1] != "0" else "1"))
    assert code == 2 and f"did you mean {name}?" in one_line(err)
    code, out, _ = fleet.run("approve", name, "--note", "as ordered", "--json")
    row, = json.loads(out)["rows"]
    assert code == 0 and (row["kind"], row["note"], row["finding"]) == ("approve", "as ordered", name)
    assert again() == {} == night(3, 4), "two of six are no outliers, and their change is the baseline now"
    said = night(3)
    assert (said["kind"], said["counts"], said["approved"]["note"]) == ("approved", False, "as ordered")
    code, out, _ = fleet.run("approve", "--end", "2")
    assert code == 0 and "taken back" in out and again()["counts"]
    fleet.run("waive", "kernel.cmdline.iommu", "--host", "gpu*", "--until", "30d", "--reason", "lab")
    assert again()["kind"] == "waived"
    code, _, err = fleet.run("acknowledge", name)
    assert code == 2 and "is waived in audit #7" in one_line(err)
    assert night()["kind"] == "resolved"
    code, _, err = fleet.run("approve", name)
    assert code == 2 and "is resolved in audit #8" in one_line(err)
    code, out, _ = fleet.run("approve", "--list")
    assert code == 0 and out.count("\n") == 2 and "taken back" in out


@pytest.mark.parametrize(("arguments", "says"), MISTAKES, ids=lambda each: " ".join(each)[:50] if each else "")
def test_a_mistake_is_a_sentence_and_exit_code_2(drifted: Fleet, arguments: tuple[str, ...], says: str) -> None:
    code, _, err = drifted.run(*arguments)
    assert code == 2 and says in one_line(err), err
    with open_store(str(drifted.store)) as store:
        assert [audit.id for audit in store.audits()] == [1, 2], "none was begun"


def test_what_an_operator_typed_reaches_the_terminal_unharmed(drifted: Fleet) -> None:
    code, _, err = drifted.process("history", "--host", "\x1b[31mgpu")
    assert code == 2 and "\x1b" not in err and "Traceback" not in err


@pytest.mark.parametrize("arguments", [("drift",), ("fleet",), ("fleet", "hosts"), ("blame", "x", "--host", "y"),
                                       ("history", "--host", "y"), ("waive", "--list"), ("export", "--parquet", "out")])
def test_without_a_history_it_says_to_run_an_audit(fleet: Fleet, arguments: tuple[str, ...]) -> None:
    code, _, err = fleet.run(*arguments)
    assert code == 2 and "tunecheck audit" in one_line(err), err
    assert not fleet.store.exists()


def test_a_history_that_is_none(fleet: Fleet) -> None:
    fleet.put(1)
    fleet.store.write_bytes(b"not a database, and longer than a header" * 100)
    for arguments in (("audit", "--from", "boxes"),):
        code, _, err = fleet.process(*arguments)
        assert code == 2 and "fleet.db" in err and "Traceback" not in err, err


def test_a_small_terminal_gets_short_lines(drifted: Fleet) -> None:
    outer, inner = pty.openpty()
    ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 40, 0, 0))
    with drifted.popen("fleet", "-v", stdout=inner, env={"TERM": "xterm"}) as process:
        os.close(inner)
        said = b""
        while True:
            try:
                part = os.read(outer, 65536)
            except OSError:
                break
            if not part:
                break
            said += part
        process.wait(60)
    os.close(outer)
    lines = re.sub(r"\x1b\[[0-9;]*m", "", said.decode()).splitlines()
    assert process.returncode == 0 and len(lines) > 10, lines
    assert max(len(line) for line in lines if " " in line.strip()) <= 40


def test_a_reader_that_goes_away_and_a_closed_output(drifted: Fleet) -> None:
    read, write = os.pipe()
    os.close(read)
    with drifted.popen("fleet", "--fail-on", "drift", stdout=write) as process:
        os.close(write)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 1 and err == ""
    done = subprocess.run(["/bin/sh", "-c", f"exec {sys.executable} -m tunecheck fleet >&-"], capture_output=True,
                          text=True, timeout=60, cwd=drifted.folder, env=drifted.env, check=False)
    assert done.returncode == 2 and "standard output is closed" in done.stderr


def test_the_history_is_for_its_owner_alone_and_holds_no_secret(fleet: Fleet) -> None:
    """A word of the command line that looks like a token: its change shows, the word is nowhere."""
    fleet.put(1, word="sk-token=hunter2hunter2")
    fleet.audit()
    fleet.put(1, word="sk-token=hunter3hunter3")
    _, out, _ = fleet.audit("--html", "fleet.html", "--json", "fleet.json")
    assert "kernel.secret." in out
    for path in (*fleet.store.parent.iterdir(), fleet.folder / "fleet.html", fleet.folder / "fleet.json"):
        assert path.stat().st_mode & 0o777 == 0o600 and b"hunter" not in path.read_bytes(), path
    assert {path.name for path in fleet.store.parent.iterdir()} >= {"fleet.db", "fleet.key"}


def test_our_own_run_is_told_from_a_change_by_hand(fleet: Fleet) -> None:
    fleet.put(1)
    fleet.put(2)
    fleet.audit()
    fleet.put(1, iommu="off", run=time.time())
    fleet.put(2, iommu="on")
    code, out, _ = fleet.audit("--fail-on", "drift", "--json")
    causes = {cause["hosts"][0]: cause for cause in json.loads(out)["causes"]
              if cause["fact"] == "kernel.cmdline.iommu"}
    assert code == 1 and causes["gpu1"]["intended"] and not causes["gpu2"]["intended"]
    assert "our own roles: run run 7" in one_line(fleet.run("blame", "kernel.cmdline.iommu", "--host", "gpu1")[1])
    assert "out of band" in fleet.run("blame", "kernel.cmdline.iommu", "--host", "gpu2")[1]


def test_a_host_that_a_later_audit_has_heard_is_asked_again_and_never_lost(fleet: Fleet) -> None:
    """Cut off with nothing; one host under --limit; the whole again: nobody is missing, and nobody is left unsaid."""
    inventory = fleet.folder / "hosts.json"
    inventory.write_text(json.dumps({"h200": {"hosts": {f"gpu{number}": {} for number in (1, 2, 3)}}}))
    for number in (1, 2, 3):
        fleet.put(number)
    asked = [(f"gpu{number}", "h200") for number in (1, 2, 3)]
    with open_store(str(fleet.store)) as store:
        store.begin(f"{inventory}, files of {fleet.files}", asked)        # Ctrl-C before anybody answered
    assert fleet.audit("-i", "hosts.json", "--limit", "gpu1")[0] == 0
    code, out, err = fleet.audit("-i", "hosts.json", "--json")
    assert code == 0 and "cut off" not in err, err
    assert {row["host"]: row["status"] for row in json.loads(out)["hosts"]} == dict.fromkeys(
        ("gpu1", "gpu2", "gpu3"), "ok")
    code, out, _ = fleet.run("fleet", "--audit", "1")
    assert "gpu1..gpu3 (3)" in out and "3 unreachable" in one_line(out)


def test_a_host_whose_answer_was_not_kept_counts_as_missing(fleet: Fleet) -> None:
    """A second audit of the same host at the same time (a push) was faster: the first one has no row of it."""
    for number in (1, 2):
        fleet.put(number)
    fleet.audit()
    with open_store(str(fleet.store)) as store:
        store.begin("x", [("gpu1", "ungrouped"), ("gpu2", "ungrouped")])
        store.finish(2)
    code, out, _ = fleet.run("fleet", "--audit", "2", "--max-missing", "1", "--json")
    assert code == 2 and [row["status"] for row in json.loads(out)["hosts"]] == ["unreachable"] * 2
    assert "nothing of it was kept" in out


def test_while_an_audit_runs_the_others_are_not_called_unreachable_for_good(fleet: Fleet) -> None:
    with waiting(fleet) as process:
        _, out, _ = fleet.run("fleet")
        process.kill()
    assert "not asked yet (the audit is running since 20" in one_line(out) and "ended before" not in out
    assert "the audit ended before it was asked" in one_line(fleet.run("fleet")[1])


def test_who_may_push_when_nobody_may(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path)
    assert "no host has a token yet" in fleet.run("ingest", "--state", str(tmp_path), "hosts")[1]
    fleet.run("ingest", "--state", str(tmp_path), "token", "gpu1", "--group", "a")
    code, out, _ = fleet.run("ingest", "--state", str(tmp_path), "hosts")
    assert code == 0 and out.splitlines()[0] == "host\tgroup\ttokens\tlast change" and "gpu1\ta\t1" in out


def test_a_fact_is_explained_from_the_registry(fleet: Fleet) -> None:
    for name in ("gpu.count", "kernel.cmdline.iommu", "host.key"):
        code, out, _ = fleet.run("explain", name)
        assert code == 0 and out.startswith(f"{name}: a fact") and "docs/" in out


def test_a_waiver_that_is_over_is_said_before_what_is_restless(fleet: Fleet) -> None:
    fleet.put(1)
    fleet.audit()
    with open_store(str(fleet.store)) as store:
        store.waive("gpu.vbios", reason="r", author="kim", until=time.time() + 1, host="gpu1")
    time.sleep(1.1)
    (fleet.files / "gpu2.json").write_text("no")
    notes = json.loads(fleet.audit("--json")[1])["notes"]
    assert "expired" in notes[0], notes
