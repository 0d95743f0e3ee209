"""The verbs of the fleet, as an operator runs them: a real history (SQLite), snapshots of a real box."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest
from tests.unit.cli.carried import Fleet, naming, one_line


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    return Fleet(tmp_path)


#: What is changed by hand on gpu3: fact -> before, after. The held package has a check that judges it.
FACTS = {"kernel.cmdline.iommu": ("pt", None), "module.parameter.nvidia-uvm.uvm_disable_hmm": ("1", "0"),
         "held.nvidia-driver-580": ("held", "no")}


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


def test_the_first_audit_says_where_its_history_is_kept(fleet: Fleet) -> None:
    fleet.put(1)
    said = [one_line(fleet.run("audit", "--from", str(fleet.files))[2]) for _ in range(2)]
    assert [str(fleet.store) in each for each in said] == [True, False]


def test_drift_of_one_fact_and_of_a_family(drifted: Fleet) -> None:
    for wanted in ("kernel.cmdline.iommu", "kernel.cmdline."):
        _, out, _ = drifted.run("drift", "--fact", wanted, "--json")
        assert {cause["fact"] for cause in json.loads(out)["causes"]} == {"kernel.cmdline.iommu"}
    code, out, _ = drifted.run("drift", "--host", "gpu1", "--json")
    assert code == 0 and json.loads(out)["summary"]["outcome"] == "clean"


def test_blame_says_between_which_audits_and_that_nobody_of_ours_did_it(drifted: Fleet) -> None:
    code, out, _ = drifted.run("blame", "kernel.cmdline.iommu", "--host", "gpu3")
    assert code == 0
    assert naming([one_line(out)], "#1..#2", "pt")
    _, out, _ = drifted.run("blame", "kernel.cmdline.iommu", "--host", "gpu3", "--json")
    document = json.loads(out)
    assert document["schema"] == "tunecheck/fleet-list/1" and document["about"]["host"] == "gpu3"
    newest, oldest = document["rows"]
    assert (newest["before"], newest["value"], newest["change"]) == ("pt", None, None), "no run of our own roles"
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
    _, out, _ = drifted.run("history", "--host", "gpu1", "--json")
    assert json.loads(out)["rows"] == []


def test_the_report_comes_again_from_the_history(drifted: Fleet) -> None:
    code, out, _ = drifted.run("fleet", "--fail-on", "drift", "--html", "fleet.html", "--junit", "fleet.xml",
                               "--prometheus", "fleet.prom", "--json", "fleet.json")
    assert code == 1 and "DRIFT" in out and "gpu3" in out
    for name in ("fleet.html", "fleet.xml", "fleet.json"):
        assert (drifted.folder / name).stat().st_mode & 0o777 == 0o600
    assert (drifted.folder / "fleet.prom").stat().st_mode & 0o777 == 0o644
    assert "HTML: fleet.html" in out
    code, out, _ = drifted.run("fleet", "--audit", "1", "--fail-on", "drift")
    assert code == 0 and "CLEAN" in out and "#1" in out


def test_an_older_audit_shown_again_says_that_a_newer_one_is_there(drifted: Fleet) -> None:
    def said(*words: str) -> list[str]:
        return [note for note in json.loads(drifted.run("fleet", *words, "--json")[1])["notes"] if "newest" in note]

    assert not said() and not said("--audit", "2")
    older, = said("--audit", "1")
    assert "tunecheck fleet --audit 2" in older


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
    assert code == 0 and re.findall(r"\d+", out)[0] == "0"


def test_export_is_read_by_others(drifted: Fleet) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    code, out, err = drifted.run("export", "--parquet", "out")
    assert code == 0, err
    assert len(out.splitlines()) >= 5 and (drifted.folder / "out").stat().st_mode & 0o777 == 0o700
    assert parquet.read_table(drifted.folder / "out/audits.parquet").num_rows == 2


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
    assert "run 7" in one_line(fleet.run("blame", "kernel.cmdline.iommu", "--host", "gpu1")[1])
    for host, run in (("gpu1", "run 7"), ("gpu2", None)):
        newest = json.loads(fleet.run("blame", "kernel.cmdline.iommu", "--host", host, "--json")[1])["rows"][0]
        assert (newest["change"] or {}).get("run") == run, newest


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
    assert code == 2 and "box_spec.profile" in err and "--desired box" in err


def test_who_may_push_when_nobody_may(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path)
    code, out, _ = fleet.run("ingest", "--state", str(tmp_path), "hosts")
    assert code == 0 and "\t" not in out, "no table"
    fleet.run("ingest", "--state", str(tmp_path), "token", "gpu1", "--group", "a")
    code, out, _ = fleet.run("ingest", "--state", str(tmp_path), "hosts")
    assert code == 0 and out.splitlines()[0] == "host\tgroup\ttokens\tlast change" and "gpu1\ta\t1" in out


def test_a_fact_is_explained_from_the_registry(fleet: Fleet) -> None:
    for name in ("gpu.count", "kernel.cmdline.iommu", "host.key"):
        code, out, _ = fleet.run("explain", name)
        assert code == 0 and out.startswith(f"{name}: ") and "docs/" in out
