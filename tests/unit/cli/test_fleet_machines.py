"""Which machine a name is: boxes that were renamed, exchanged, replaced or cloned between two audits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.cli.carried import Fleet, box, naming, statuses

from tunecheck.errors import Misuse

#: Audits of boxes that were renamed or swapped may not fail the night.
DRIFT = ("--fail-on", "drift")


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    """Three boxes, and one audit of them."""
    fleet = Fleet(tmp_path)
    for number in (1, 2, 3):
        fleet.put(number)
    assert fleet.audit()[0] == 0
    return fleet


def keys(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The causes about who a box is."""
    return [cause for cause in document["causes"] if cause["authority"] == "identity"]


def renamed(fleet: Fleet, old: str, new: str) -> None:
    (fleet.files / f"{old}.json").rename(fleet.files / f"{new}.json")


def test_a_renamed_machine_is_incomplete_until_the_old_name_is_gone_and_never_drift(fleet: Fleet) -> None:
    renamed(fleet, "gpu2", "new2")
    for _ in range(2):
        code, document = fleet.seen(*DRIFT)
        assert code == 3 and not keys(document) and document["summary"]["drift"] == 0
        assert statuses(document) == {"gpu1": "ok", "gpu2": "unreachable", "gpu3": "ok", "new2": "ok"}
        assert naming(document["notes"], "gpu2", "new2", "--gone", "gpu2")
    code, document = fleet.seen(*DRIFT, "--gone", "gpu2")
    assert code == 0 and naming(document["notes"], "new2", "gpu2") and not keys(document)
    code, document = fleet.seen(*DRIFT)
    assert code == 0 and "gpu2" not in json.dumps(document) and not keys(document)
    rows = json.loads(fleet.run("blame", "kernel.cmdline.iommu", "--host", "new2", "--json")[1])["rows"]
    assert [row["since"]["seen"] for row in rows] == [1], "its history is that of the machine"


def test_an_old_name_that_answers_again_is_a_clone(fleet: Fleet) -> None:
    renamed(fleet, "gpu2", "new2")
    assert fleet.audit(*DRIFT)[0] == 3
    fleet.put(2)
    values = set()
    for state in ("new", "known", "known"):
        code, document = fleet.seen(*DRIFT)
        [cause] = keys(document)
        assert code == 1 and (cause["severity"], cause["hosts"], cause["state"]) == ("high", ["gpu2", "new2"], state)
        assert (cause["since"]["after"], cause["since"]["seen"]) == (2, 3)
        assert [each["argv"] for each in cause["commands"]] == [["rm", "/etc/machine-id"], ["systemd-machine-id-setup"]]
        values.add(cause["value"])
    assert len(values) == 1 and len(values.pop()) == 32, "always the key, never a name"
    fleet.run("waive", "host.key", "--host", "*2", "--until", "never", "--reason", "two names of one box")
    assert fleet.audit(*DRIFT)[0] == 0


def test_two_names_that_exchanged_their_machines_are_no_clones(fleet: Fleet) -> None:
    renamed(fleet, "gpu1", "x")
    renamed(fleet, "gpu2", "gpu1")
    renamed(fleet, "x", "gpu2")
    for night in range(3):
        code, document = fleet.seen(*DRIFT)
        told = [naming(document["notes"], *names) for names in (("gpu1", "gpu2"), ("gpu2", "gpu1"))]
        assert all(told) if not night else not any(told)
        [cause] = keys(document)        # open until it is approved; of no clone
        assert code == 1 and cause["hosts"] == ["gpu1", "gpu2"] and not cause["commands"]
        assert [(wave["since"]["after"], wave["since"]["seen"], wave["state"]) for wave in cause["waves"]] == [
            (1, 2, "known" if night else "new")]
    assert fleet.run("approve", cause["id"])[0] == 0 and fleet.audit(*DRIFT)[0] == 0


def exchanged(fleet: Fleet, one: str, other: str) -> None:
    for old, new in ((one, "x"), (other, one), ("x", other)):
        renamed(fleet, old, new)


def test_names_that_are_put_back_end_the_finding_and_nothing_else_comes_or_goes(fleet: Fleet) -> None:
    fleet.put(2, gpus=1)
    assert fleet.audit()[0] == 0
    lost = {cause["id"] for cause in json.loads(fleet.run("fleet", "--json")[1])["causes"]}
    assert lost
    told = []
    for state in ("new", "resolved", "new", "resolved"):
        exchanged(fleet, "gpu1", "gpu2")
        document = fleet.seen()[1]
        [cause] = keys(document)
        assert (cause["state"], cause["severity"], cause["hosts"]) == (state, "medium", ["gpu1", "gpu2"])
        assert statuses(document) == {"gpu1": "ok", "gpu2": "ok", "gpu3": "ok"}
        others = {each["id"]: each["state"] for each in document["causes"] if each["authority"] != "identity"}
        assert others == dict.fromkeys(lost, "known"), "what was found of the machine goes with it"
        told.append(document["causes"])
    for number, causes in enumerate(told, 3):
        assert [(each["id"], each["state"], each["hosts"]) for each in json.loads(
            fleet.run("fleet", "--audit", str(number), "--json")[1])["causes"]] == [
            (each["id"], each["state"], each["hosts"]) for each in causes], f"an older audit: #{number}"


#: Verbs that name a next step.
_ASKED = (("fleet",), ("fleet", "-v"), ("drift",), ("drift", "-v"), *(
    ("drift", "--host", host, *more) for host in ("gpu1", "gpu2", "gpu3") for more in ((), ("-v",))),
          ("drift", "-v", "--host", "gpu1"), ("drift", "--since", "1", "-v", "--host", "gpu2"))


@pytest.mark.parametrize("case", ["none", "exchanged", "replaced", "cloned", "lost", "silent"])
def test_the_next_step_is_never_the_command_that_was_just_typed(fleet: Fleet, case: str) -> None:
    if case == "exchanged":
        exchanged(fleet, "gpu1", "gpu2")
    elif case == "replaced":
        (fleet.files / "gpu1.json").write_bytes(box(7))
    elif case == "cloned":
        (fleet.files / "gpu2.json").write_bytes(box(1))
    elif case == "lost":
        fleet.put(1, gpus=1)
    elif case == "silent":
        (fleet.files / "gpu1.json").unlink()
    fleet.audit()
    for given in _ASKED:
        step = " ".join(fleet.run(*given)[1].partition("\nNEXT")[2].partition("\n\n")[0].split())
        for same in (given, (given[0], *given[2:], "-v") if given[1:2] == ("-v",) and len(given) > 2 else given):
            assert not step.endswith(f"tunecheck {' '.join(same)}"), (given, step)


def test_a_replaced_machine_is_told_with_both_keys_and_its_interval(fleet: Fleet) -> None:
    (fleet.files / "gpu3.json").write_bytes(box(7))
    code, out, _ = fleet.audit(*DRIFT)
    assert code == 1
    [cause] = keys(json.loads(fleet.run("fleet", "--json")[1]))
    assert cause["hosts"] == ["gpu3"] and (cause["since"]["after"], cause["since"]["seen"]) == (1, 2)
    assert len(cause["before"]) == len(cause["value"]) == 32 and cause["before"] != cause["value"]
    assert f"host.key: {cause['before']} -> {cause['value']}" in " ".join(out.split())
    assert fleet.audit(*DRIFT)[0] == 0


def test_host_key_can_be_waived_and_blame_says_where_to_look(fleet: Fleet) -> None:
    for verb in ("blame", "history"):
        given = ("host.key",) if verb == "blame" else ("--fact", "host.key")
        code, out, _ = fleet.run(verb, *given, "--host", "gpu1")
        assert code == 0 and "tunecheck drift --host gpu1 --fact host.key" in " ".join(out.split())
    assert fleet.run("drift", "--host", "gpu1", "--fact", "host.key")[0] == 0
    code, out, err = fleet.run("waive", "host.key", "--host", "gpu3", "--until", "never", "--reason", "renamed",
                               "--json")
    assert code == 0, err
    [waiver] = json.loads(out)["rows"]
    assert (waiver["fact"], waiver["host"]) == ("host.key", "gpu3")
    (fleet.files / "gpu3.json").write_bytes(box(7))
    code, document = fleet.seen(*DRIFT)
    assert code == 0 and [cause["waived"]["reason"] for cause in keys(document)] == ["renamed"]
    flaw, said = fleet.refused("waive", "host.kye", "--host", "gpu3", "--until", "30d", "--reason", "x")
    assert flaw is Misuse.NO_SUCH and naming([said], "host.key")
