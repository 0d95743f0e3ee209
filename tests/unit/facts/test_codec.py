"""Snapshots: facts come back as they were, are judged like their recording, and a damaged file is refused."""

from __future__ import annotations

import dataclasses
import enum
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.facts import trees
from tests.unit.facts.big import big_spec, eight_gpus
from tests.unit.facts.trees import Machine, frozen, full
from tests.unit.refusing import refused

from tunecheck import __version__
from tunecheck.errors import Misuse
from tunecheck.facts.codec import decode, definitions, encode, shape
from tunecheck.facts.snapshot import Snapshot, gather
from tunecheck.facts.snapshot_file import SCHEMA, Stored, load, packed, unpack
from tunecheck.host.recording import load_recording
from tunecheck.model.absence import Absence
from tunecheck.model.fact import Fact, absent, known
from tunecheck.parsers.text.damage import Damage, DamagedError
from tunecheck.rules import judge
from tunecheck.rules.context import Case
from tunecheck.spec.frozen import Accelerators, Frozen

FIXTURE = Path(__file__).resolve().parents[2] / "fixtures" / "h200-2gpu-vm.rec.json.gz"
LOG = """\
[    0.000000] Linux version 6.12.1
[    9.000000] NVRM: Xid (PCI:0000:03:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)
[   10.000000] pcieport 0000:00:04.0: AER: Corrected error received: 0000:03:00.0
[   11.000000] INFO: task python:123 blocked for more than 120 seconds.
"""
MACHINES = {
    "switch": lambda: full(trees.switch(), log=LOG), "no acs": lambda: full(trees.switch(None)),
    "cascaded": lambda: full(trees.cascaded(), log=None), "direct": lambda: full(trees.direct(), "iommu=pt"),
    "numa": lambda: full(trees.two_bridges((0, 1))), "flat": lambda: full(trees.flat()), "empty": Machine,
    "eight": lambda: eight_gpus(log=LOG),
}


class Colour(enum.Enum):
    RED = "red"


@dataclasses.dataclass(frozen=True)
class Kinds:
    fact: Fact[int]
    many: Fact[tuple[int, ...]]
    pairs: Mapping[tuple[str, str], Mapping[str, int]]
    by_number: dict[int, str]
    either: int | str
    colour: Colour
    word: Literal["a", "b"]
    fixed: tuple[int, str]
    few: frozenset[str]
    anything: Any
    part: float | None = None
    listed: list[Fact[str]] = dataclasses.field(default_factory=list)


KINDS = Kinds(known(1, "x"), absent("y", Absence.NO_PERMISSION), {("a", "b"): {"c": 2}}, {7: "x"}, "e", Colour.RED, "a",
              (1, "b"),
              frozenset({"b", "a"}), {"any": [1, None, {"x": 1.5}]}, 0.5, [known("s", "t")])


def test_every_kind_of_field_comes_back() -> None:
    data = json.loads(json.dumps(encode(Kinds, KINDS)))
    assert decode(Kinds, data) == KINDS
    assert data["fact"] == {"value": 1, "source": "x"}, "what is not there takes no room"
    assert data["pairs"] == [[["a", "b"], {"c": 2}]] and data["few"] == ["a", "b"]
    for value in (float("inf"), 2.0):
        changed = encode(Kinds, dataclasses.replace(KINDS, part=value))
        assert decode(Kinds, json.loads(json.dumps(changed))).part == value


@pytest.mark.parametrize(("field", "value", "damage", "found"), [
    ("fact", {"value": "1", "source": "x"}, Damage.WRONG_TYPE, r"\bint\b.*'1'"),
    ("fact", {"value": True, "source": "x"}, Damage.WRONG_TYPE, r"\bint\b.*'True'"),
    ("fact", [], Damage.WRONG_TYPE, r"'\[\]'"), ("fact", {"value": 1}, Damage.LACKS, "source"),
    ("either", None, Damage.WRONG_TYPE, ""),
    ("fact", {"value": 1, "source": "x", "more": 1}, Damage.UNKNOWN_FIELD, ""),
    ("many", {"value": ["x"], "source": "y"}, Damage.WRONG_TYPE, r"\bint\b.*\['x'\]"),
    ("pairs", {}, Damage.WRONG_TYPE, r"'{}'"), ("pairs", [["a"]], Damage.WRONG_TYPE, r"\b2\b.*\['a'\]"),
    ("by_number", [["7", "x"]], Damage.WRONG_TYPE, "integer.*'7'"),
    ("colour", "blue", Damage.WRONG_TYPE, "Colour.*'blue'"), ("word", "c", Damage.WRONG_TYPE, r"\('a', 'b'\).*'c'"),
    ("fixed", [1], Damage.WRONG_TYPE, r"\b2\b.*\[1\]"), ("part", "much", Damage.WRONG_TYPE, "'much'"),
    ("listed", [1], Damage.WRONG_TYPE, "'1'"), ("few", "ab", Damage.WRONG_TYPE, "'ab'")])
def test_nothing_else_is_read(field: str, value: object, damage: Damage, found: str) -> None:
    with pytest.raises(DamagedError, match=f"^Kinds: .*{found}") as refused:
        decode(Kinds, {**encode(Kinds, KINDS), field: value})
    assert refused.value.damage is damage


@pytest.mark.parametrize("kind", [bytes, tuple, dict, complex, int | list[int] | str])
def test_a_type_that_facts_cannot_have_is_told_to_its_author(kind: Any) -> None:
    with pytest.raises(TypeError, match=re.escape(str(get_args(kind) or kind))):
        shape(kind)


def test_a_fact_that_is_newer_than_the_snapshot_is_no_evidence() -> None:
    data = encode(Kinds, KINDS)
    del data["fact"], data["part"]
    found = decode(Kinds, data)
    assert found.part is None and found.fact.value is None
    assert (found.fact.source, found.fact.absence) == ("fact", Absence.OLDER)


def _spec(machine: Machine, name: str) -> Frozen:
    return big_spec() if name == "eight" else frozen(iommu="pt", modules={"nvidia_uvm": {"uvm_disable_hmm": 1}})


@pytest.mark.parametrize("verb", ["topo", "host", "driver", "runtime", "preflight"])
@pytest.mark.parametrize("name", MACHINES)
def test_a_snapshot_is_judged_like_its_recording(name: str, verb: str) -> None:
    machine = MACHINES[name]()
    spec = _spec(machine, name)
    whole = gather(machine.host(), spec.spec, True)
    stored = unpack(packed(Stored(whole, spec)))
    assert stored == Stored(whole, spec)
    replayed = gather(machine.host(), spec.spec, verb != "topo", verb != "host")
    assert judge(Case(stored.seen_by(verb), stored.frozen), verb) == judge(Case(replayed, spec), verb)


def test_the_real_machine_too() -> None:
    whole = gather(load_recording(str(FIXTURE)), None, True)
    assert unpack(packed(Stored(whole, None))) == Stored(whole, None)


@pytest.mark.parametrize("name", ["switch", "eight"])
def test_a_snapshot_fits_its_schema(name: str) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    from tunecheck.app.schemas import SCHEMAS

    machine = MACHINES[name]()
    spec = _spec(machine, name)
    schema = SCHEMAS["snapshot-1.json"]
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(packed(Stored(gather(machine.host(), spec.spec, True), spec))), schema)
    assert "kernel.Kernel" in definitions


_CONTENT = packed(Stored(gather(MACHINES["switch"]().host(), frozen().spec, True), frozen()), created=0)
_DOCUMENT = json.loads(_CONTENT)


@pytest.mark.parametrize(("content", "damage", "names"), [
    (b"", Damage.NOT_JSON, ()), (_CONTENT[:-30], Damage.NOT_JSON, ()), (b"[" * 100_000, Damage.NOT_JSON, ()),
    (b"[]", Damage.OTHER_SCHEMA, (__version__, SCHEMA)),
    (b'{"schema": "tunecheck/snapshot/2"}', Damage.OTHER_SCHEMA, ("'tunecheck/snapshot/2'", __version__, SCHEMA)),
    (json.dumps({**_DOCUMENT, "more": 1}).encode(), Damage.UNKNOWN_PART, ("'more'",)),
    (json.dumps({**_DOCUMENT, "snapshot": None}).encode(), Damage.WRONG_TYPE, ("Snapshot: ",)),
    (json.dumps({**_DOCUMENT, "spec": {}}).encode(), Damage.SPEC, ()),
    (json.dumps({**_DOCUMENT, "snapshot": {**_DOCUMENT["snapshot"], "new": 1}, "tunecheck": "9.9"}).encode(),
     Damage.UNKNOWN_FIELD, ("Snapshot: ", " 9.9", __version__)),
], ids=lambda value: value.value if isinstance(value, Damage) else "content" if isinstance(value, bytes) else "names")
def test_a_damaged_snapshot_is_refused(tmp_path: Path, content: bytes, damage: Damage, names: tuple[str, ...]) -> None:
    (tmp_path / "x").write_bytes(content)
    with refused(damage, f"{tmp_path}/x: ", *names):
        load(str(tmp_path / "x"))


def test_a_given_spec_must_not_ask_for_facts_that_were_never_read() -> None:
    stored = unpack(_CONTENT)
    assert stored.judged_with(None) == stored.frozen
    assert stored.judged_with(frozen(iommu="pt")) == frozen(iommu="pt")
    unread = frozen(modules={"nvidia": {"NVreg_X": 1}})
    assert stored.judged_with(unread) == unread
    found = judge(Case(stored.snapshot, unread), "preflight")
    [told] = [each for each in found if each.subject == "nvidia NVreg_X"]
    assert told.outcome == "unknown" and told.remedy is not None
    with refused(Misuse.DOES_NOT_BELONG, "--spec"):
        stored.judged_with(frozen(accelerators=Accelerators(pci_ids=("10de:2335",), count=8)))


@settings(max_examples=300, deadline=None, derandomize=True, database=None,
          suppress_health_check=[HealthCheck.too_slow])
@given(place=st.integers(0, 1 << 20), length=st.sampled_from((0, 1, 3, 30)),
       insert=st.sampled_from((b"", b"1", b"null", b'"x"', b"[]", b"{}", b"-", b"true", b",", b"\xff", b"1e999")))
def test_any_damage_is_refused_or_read(place: int, length: int, insert: bytes) -> None:
    at = place % len(_CONTENT)
    try:
        unpack(_CONTENT[:at] + insert + _CONTENT[at + length:])
    except ValueError as error:
        assert str(error)


def test_every_fact_has_a_type_that_can_be_stored() -> None:
    assert shape(Snapshot).schema == {"$ref": "#/$defs/snapshot.Snapshot"}
