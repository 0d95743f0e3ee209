"""One host's answer, read: facts by class, findings by family, runs of our roles, and nothing that breaks it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.facts import trees
from tests.unit.facts.test_identity import machine
from tests.unit.facts.trees import Machine, frozen, full, switch

from tunecheck import __version__
from tunecheck.facts.snapshot import gather
from tunecheck.facts.snapshot_file import Stored, packed
from tunecheck.host.absence_of_text import reason_of_text
from tunecheck.host.prefetch import DPKG
from tunecheck.model.absence import Absence, Reason
from tunecheck.model.finding import OUTCOMES
from tunecheck.rules import judge
from tunecheck.rules.codes import LOG_INCOMPLETE, LOG_UNREAD
from tunecheck.rules.context import Case
from tunecheck.rules.index import CHECKS
from tunecheck.spec.frozen import Accelerators, Cpu, Driver, Frozen, Runtime
from tunecheck_fleet.families import FAMILIES, family_of
from tunecheck_fleet.model import Answer, Change, Seen
from tunecheck_fleet.read import seen

RECEIPT = "/var/lib/tunecheck/receipt.json"


def answer(found: Machine, spec: Frozen | None = None, **more: Any) -> Answer:
    spec = spec or frozen()
    content = packed(Stored(gather(found.host(), spec.spec, True), spec), created=0)
    return Answer("gpu01", "h100", "ok", **{"content": content, **more})


def box() -> Machine:
    return trees.driver(machine())


def test_an_answer() -> None:
    found = seen(answer(box()))
    assert (found.host, found.group, found.tunecheck, found.spec) == ("gpu01", "h100", __version__, frozen().digest)
    assert found.boot_id == "11111111-2222-3333-4444-555555555555" and found.key and len(found.key) == 32
    assert found.hardware.startswith("SYS-521GE-TNRT, AMD EPYC 9575F") and "2 x RTX PRO 6000" in found.hardware
    assert found.known["driver.loaded"] == "595.71.05" and found.known["package.nvidia-container-toolkit"] == "1.18.0-1"
    assert found.known["identity.hostname"] == "box1"
    assert found.volatile["boot.id"] == found.boot_id and "events.xids" in found.volatile
    assert not set(found.known) & set(found.volatile)
    assert "acs-redirect" in {each.check for each in found.problems} and found.outcomes["acs"] == "fail"
    problem = next(each for each in found.problems if each.check == "acs-redirect")
    assert problem.outcome == "fail" and problem.tags == ("acs",) and "ansible-playbook" in problem.remedy


def test_the_findings_are_those_of_the_rules() -> None:
    given = answer(box())
    found = seen(given)
    facts = Stored(gather(box().host(), frozen().spec, True), frozen())
    every = judge(Case(facts.snapshot, facts.frozen), "preflight")
    assert [(each.check, each.subject, each.outcome) for each in found.problems] == [
        (each.id, each.subject, each.outcome) for each in every if each.outcome in ("fail", "warn", "unknown")]
    for family, outcome in found.outcomes.items():
        own = {each.outcome for each in every if family_of(each.id) == family}
        assert outcome == min(own, key=OUTCOMES.index)


def test_every_check_has_a_family() -> None:
    families = {check.id: family_of(check.id) for check in CHECKS}
    assert set(families.values()) == set(FAMILIES)
    wrong = {check for check, family in families.items() if family == "errors"} - {
        "link-errors", "gpu-fallen-off", "kernel-log-complete", "kernel-taint", "xid", "aer-events", "aer-ownership",
        "hung-task", "sxid", "gpu-start", "kernel-panic", "earlier-boots", "iommu-fault", "incidents",
        "host-memory"}
    assert not wrong, "these are in no family"


@pytest.mark.parametrize("status", ["unreachable", "refused", "timeout", "missing", "garbled"])
def test_who_did_not_answer_says_nothing(status: Any) -> None:
    found = seen(Answer("gpu01", "h100", status, b"{}", "ssh: no\nroute\x1b[31m"))
    assert found == Seen("gpu01", "h100", status, "ssh: no route?[31m")


def test_a_collector_that_failed_makes_it_partial() -> None:
    broken = box()
    broken.runs[DPKG] = reason_of_text("timed out after 10 s")
    found = seen(answer(broken))
    unread = found.unknown["package."]
    assert found.status == "partial" and found.reason
    assert isinstance(unread, Reason) and unread.absence is Absence.TIMED_OUT


def test_an_older_tunecheck_is_not_partial() -> None:
    """Nobody failed: it does not know of those facts."""
    whole = answer(full(switch(), "iommu=pt").gone("read", RECEIPT))
    document = json.loads(whole.content)
    before = seen(whole)
    document["tunecheck"] = "0.0.9"
    for name in ("serving", "identity", "gpu_locks"):
        document["snapshot"]["host"].pop(name)
    after = seen(Answer("a", "b", "ok", json.dumps(document).encode()))
    assert after.tunecheck == "0.0.9" and "serving.recipe" in after.unknown
    assert after.reason.split()[:1] == before.reason.split()[:1] or after.status == "ok", "as many are unknown"


def test_a_given_spec_judges() -> None:
    other = frozen(iommu="off")
    assert "cmdline-token" not in {each.check for each in seen(answer(box())).problems}
    found = seen(answer(box()), other)
    assert found.spec == other.digest, "by which it was judged, and not the box's own"
    assert "cmdline-token" in {each.check for each in found.problems}
    strange = frozen(accelerators=Accelerators(pci_ids=("10de:2335",), count=8))
    found = seen(answer(box()), strange)
    assert found.outcomes["spec"] == "unknown" and found.problems[0].code == "other-spec"
    assert found.outcomes["acs"] == "fail"


@pytest.mark.parametrize("change", [
    {}, {"iommu": "off"}, {"accelerators": Accelerators(pci_ids=("10de:2bb1",), count=9)},
    {"accelerators": Accelerators(pci_ids=("10de:2bb1",), count=2, relation="PIX")},
    {"cpu": Cpu(governor="powersave")}, {"driver": Driver(source="nvidia", version="595.71.05")},
    {"runtime": Runtime(engine="podman")}, {"modules": {"nvidia-uvm": {"uvm_disable_hmm": 1}}}])
@pytest.mark.parametrize("machine_of", [box, switch, Machine], ids=["driver", "no driver", "no boards"])
def test_a_snapshot_without_a_specification_is_judged_by_the_inventorys(change: dict[str, Any],
                                                                        machine_of: Callable[[], Machine]) -> None:
    """As if it had been made with it, but for the modules that nobody asked for then: those are unknown."""
    spec = frozen(**change)
    bare = packed(Stored(gather(machine_of().host(), None, True), None), created=0)
    found, wanted = seen(answer(box(), content=bare), spec), seen(answer(machine_of(), spec), spec)

    def told(of: Seen) -> set[tuple[str, ...]]:
        return {(each.check, each.subject, each.outcome, each.code, each.observed) for each in of.problems
                if each.check != "module-parameter"}

    assert told(found) == told(wanted)
    unread = {each.outcome for each in found.problems if each.check == "module-parameter"}
    assert unread == ({"unknown"} if spec.spec.modules else set())


def test_a_snapshot_of_other_boards_is_not_judged_by_the_inventorys() -> None:
    bare = packed(Stored(gather(box().host(), None, True), None), created=0)
    found = seen(answer(box(), content=bare), frozen(accelerators=Accelerators(pci_ids=("10de:2335",), count=8)))
    assert found.outcomes["spec"] == "fail" and found.problems[0].code == "other-boards"
    assert "10de:2335" in found.problems[0].text and "in the right group" in found.problems[0].text
    assert re.match(r"the accelerators are 10de:\w{4}, and", found.problems[0].text)


@pytest.mark.parametrize("machine_of", [box, Machine], ids=["boards of NVIDIA", "no boards"])
@pytest.mark.parametrize("wanted", [("1002:75a0",), ("10de:2335", "1002:75a0"), ("10de:2bb1", "1002:75a0")])
def test_a_snapshot_without_a_specification_tells_nothing_of_another_makers_boards(
        machine_of: Callable[[], Machine], wanted: tuple[str, ...]) -> None:
    """It holds NVIDIA's alone: that there is none of the others is not known. That all of NVIDIA's are missing,
    accelerator-count says."""
    bare = packed(Stored(gather(machine_of().host(), None, True), None), created=0)
    found = seen(answer(box(), content=bare), frozen(accelerators=Accelerators(pci_ids=wanted, count=8)))
    told, = (each for each in found.problems if each.check == "spec-present")
    assert (told.code, told.outcome, found.outcomes["spec"]) == ("other-spec", "unknown", "unknown")
    assert "nothing of boards of 1002:75a0, which" in told.text and "--spec FILE" in told.text


def test_a_specification_that_asks_for_more_kinds_judges_the_boards_that_are_there() -> None:
    """The snapshot holds facts about the boards of its own specification alone: where these are all that are wanted,
    none of another kind can be missing. The finding is the same on every host."""
    kinds = ("10de:2bb1", "10de:2bb4", "10de:2bb5")
    there = len(gather(box().host(), frozen().spec, True).topology.devices)
    found = seen(answer(box()), wanted := frozen(accelerators=Accelerators(pci_ids=kinds, count=there)))
    assert found.spec == wanted.digest and "spec-present" not in {each.check for each in found.problems}
    for count in (there + 1, None):
        spec = frozen(accelerators=Accelerators(pci_ids=kinds, count=count))
        first, other = (seen(replace(answer(box()), host=name), spec).problems[0] for name in ("gpu-a01", "gpu-b01"))
        assert first == other and (first.check, first.code, first.outcome) == ("spec-present", "other-spec", "unknown")
        assert "boards of 10de:2bb1 alone" in first.text and "any of 10de:2bb4, 10de:2bb5" in first.text
        assert "right group" not in first.text


def test_runs_of_our_roles() -> None:
    history = [{"at": "2026-11-20T05:00:00Z", "state": "staged", "note": "trial boot staged"},
               {"at": "yesterday", "state": "x", "note": "y"}, 7, {"at": "1970-01-01T00:00:01Z"},
               {"at": "2026-11-20T05:04:00Z", "state": "committed", "note": "trial boot\x1b proven"}]
    found = box()
    found.errors.pop(f"read {RECEIPT}", None)
    found.file(RECEIPT, json.dumps({"schema": "tunecheck/receipt/1", "state": "committed", "history": history}))
    assert seen(answer(found)).changes == (
        Change("trial boot staged", 1795150800.0, "staged"),
        Change("trial boot? proven", 1795151040.0, "committed"))


def test_a_secret_is_kept_as_a_keyed_digest_or_not_at_all() -> None:
    secret = answer(trees.driver(full(switch(), "iommu=pt cloud.token=hunter2hunter2")))
    without, keyed = seen(secret), seen(secret, fleet_key=b"key")
    assert "no fleet key" in without.unknown["kernel.secret.cloud.token"]
    digest = keyed.known["kernel.secret.cloud.token"]
    assert digest.startswith("hmac:") and digest == seen(secret, fleet_key=b"key").known["kernel.secret.cloud.token"]
    assert digest != seen(secret, fleet_key=b"other").known["kernel.secret.cloud.token"]
    for found in (without, keyed):
        assert "hunter2" not in repr(found), "nor in the document that is kept"
        again = seen(Answer("gpu01", "h100", "ok", found.document))
        assert again.known["kernel.cmdline.iommu"] == "pt" and again.status != "garbled"
    plain = answer(box())
    assert seen(plain).document is plain.content


_CONTENT = answer(box()).content


@pytest.mark.parametrize(("content", "reason"), [
    (b"", "not JSON"), (b"[" * 100_000, "not JSON"), (b"Welcome!\n" + _CONTENT, "not JSON"),
    (b'{"schema": "tunecheck/snapshot/9"}', "reads tunecheck/snapshot/1"), (_CONTENT[:-40], "cut short"),
    (b'{"schema": "tunecheck/snapshot/1"}', "expected an object"), (b"\xff\xfe", "not JSON")])
def test_what_is_no_snapshot_is_garbled(content: bytes, reason: str) -> None:
    found = seen(Answer("gpu01", "h100", "ok", content))
    assert found.status == "garbled" and reason in found.reason and not found.known and not found.document


def test_a_host_that_is_too_large_is_garbled() -> None:
    assert "4 MiB" in seen(Answer("a", "b", "ok", b" " * (4 << 20 | 1))).reason
    document = json.loads(_CONTENT)
    host = document["snapshot"]["host"]
    for words in (["x.token=" + "a" * 20_000], [f"token{at}=b" for at in range(2000)]):
        host["kernel"]["cmdline"]["value"] = words
        assert "longer than any kernel takes" in seen(Answer("a", "b", "ok", json.dumps(document).encode())).reason
    host["kernel"]["cmdline"]["value"] = []
    host["platform"]["acpi_tables"] = {"source": "", "value": ["t" * 1000 + str(at) for at in range(1500)]}
    assert "no box has so many" in seen(Answer("a", "b", "ok", json.dumps(document).encode())).reason


@settings(max_examples=120, deadline=None, derandomize=True, database=None,
          suppress_health_check=[HealthCheck.too_slow])
@given(place=st.integers(0, 1 << 20), length=st.sampled_from((0, 1, 3, 30)),
       insert=st.sampled_from((b"", b"1", b"null", b'"x"', b"[]", b"{}", b"-", b"true", b",", b"\xff", b"1e999",
                               b"\\ud800", b"\\u001b[31m", b"<script>", b"9" * 5000)))
def test_no_damage_breaks_it(place: int, length: int, insert: bytes) -> None:
    at = place % len(_CONTENT)
    found = seen(Answer("gpu01", "h100", "ok", _CONTENT[:at] + insert + _CONTENT[at + length:]))
    assert found.status in ("ok", "partial", "garbled")
    shown = repr((found.reason, found.known, found.unknown, found.problems, found.hardware, found.boot_id))
    shown.encode()
    assert "\\x1b" not in shown


def test_a_log_that_lost_its_start_is_one_finding() -> None:
    found = seen(answer(full(switch(), log="[    9.000000] usb 1-1: new device\n")))
    (whole,) = [each for each in found.problems if each.check == "kernel-log-complete"]
    assert (whole.outcome, whole.code) == ("warn", "start-missing")
    assert "aer-events" in whole.text and "xid" in whole.text, "what cannot be told"
    assert {each.check for each in found.problems if each.code in (LOG_INCOMPLETE, LOG_UNREAD)} <= {"aer-ownership"}
    assert found.outcomes["errors"] == "unknown"
