"""The frozen file: light to load, equal to the model, and it shows when somebody edited it."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from tunecheck.errors import Flaw, SpecError
from tunecheck.spec import build, models
from tunecheck.spec.frozen import SCHEMA, Spec, load_frozen

CHECKS = Path(__file__).parents[3] / "checks"


def document(**changes: Any) -> bytes:
    data = json.loads(build("box1", {"profile": "lab"}).to_json())
    return json.dumps(data | changes).encode()


def test_text_is_stable_and_sorted() -> None:
    text = build("box1", {"profile": "lab"}).to_json()
    assert text == build("box1", {"profile": "lab"}).to_json()
    assert text == json.dumps(json.loads(text), indent=2, sort_keys=True) + "\n"
    assert json.loads(text)["schema"] == SCHEMA


def test_reads_from_a_path(tmp_path: Path) -> None:
    frozen = build("box1", {"profile": "rtx-pro-6000-switch"})
    path = tmp_path / "spec.json"
    path.write_text(frozen.to_json(), encoding="utf-8")
    loaded = load_frozen(path)
    assert loaded == frozen
    assert loaded.spec.accelerators.pci_ids == ("10de:2bb1", "10de:2bb4", "10de:2bb5")


def test_neutral_defaults_are_the_models() -> None:
    plain = json.loads(json.dumps(models.Spec(profile="x").model_dump()))
    assert plain.pop("profile") == "x"
    assert plain == json.loads(json.dumps(asdict(Spec())))


def test_digest_ignores_host_and_stated_defaults() -> None:
    stated = {"profile": "lab", "driver": {"version": None}, "boot": {"reboot": "auto"}}
    assert build("a", {"profile": "lab"}).digest == build("b", stated).digest


def test_digest_sees_profile_and_values() -> None:
    lab = build("a", {"profile": "lab"})
    assert replace(lab, profile="other").digest != lab.digest
    assert build("a", {"profile": "lab", "iommu": "pt"}).digest != lab.digest


def edited(key: str, value: object) -> bytes:
    data = json.loads(document())
    data["spec"]["boot"][key] = value
    return json.dumps(data).encode()


def without(field: str) -> bytes:
    data = json.loads(document())
    del data["spec"][field]
    return json.dumps(data).encode()


@pytest.mark.parametrize(
    ("raw", "flaw"),
    [
        pytest.param(edited("panic_seconds", 6), Flaw.ALTERED, id="value-edited"),
        pytest.param(edited("trial", 1), Flaw.ALTERED, id="number-for-a-default-true"),
        pytest.param(document(sources={"iommu": 1}), Flaw.WRONG_TYPE, id="source-number"),
        pytest.param(document(profile="b200-hgx"), Flaw.ALTERED, id="profile-edited"),
        pytest.param(document(schema="tunecheck/spec/2"), Flaw.OTHER_SCHEMA, id="newer-schema"),
        pytest.param(document(spec=[]), Flaw.ALTERED, id="spec-empty-list"),
        pytest.param(document(spec=[1]), Flaw.WRONG_TYPE, id="spec-list"),
        pytest.param(document(host=1), Flaw.WRONG_TYPE, id="host-number"),
        pytest.param(without("acs"), Flaw.ALTERED, id="field-missing"),
        pytest.param(b"[]", Flaw.OTHER_KIND, id="not-an-object"),
        pytest.param(b"{", Flaw.NOT_JSON, id="cut-off"),
        pytest.param(b"\xff\xfe", Flaw.NOT_JSON, id="not-text"),
        pytest.param(b"", Flaw.NOT_JSON, id="empty"),
    ],
)
def test_unusable_files_are_refused(raw: bytes, flaw: Flaw) -> None:
    with pytest.raises(SpecError) as caught:
        load_frozen(raw)
    assert caught.value.flaw is flaw
    assert "ansible-playbook site.yml" in str(caught.value)


def test_the_other_schema_and_both_digests_are_named() -> None:
    with pytest.raises(SpecError, match=r"'tunecheck/spec/2'.*'tunecheck/spec/1'"):
        load_frozen(document(schema="tunecheck/spec/2"))
    with pytest.raises(SpecError, match=r"sha256:[0-9a-f]{64}.*sha256:[0-9a-f]{64}"):
        load_frozen(edited("panic_seconds", 6))


def test_missing_file_names_its_path(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"spec\.json: ") as caught:
        load_frozen(tmp_path / "spec.json")
    assert caught.value.flaw is Flaw.MISSING


def test_loading_imports_nothing_heavy(tmp_path: Path) -> None:
    path = tmp_path / "spec.json"
    path.write_bytes(document())
    code = (
        "import sys; from tunecheck.spec.frozen import load_frozen; load_frozen(sys.argv[1]); "
        "print(sorted({'pydantic', 'yaml', 'jinja2', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], env={"PYTHONPATH": str(CHECKS)}, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_a_spec_of_an_older_release_is_read() -> None:
    """A field that a later release added is neutral in it, and its digest is the same."""
    data = json.loads(build("box1", {"profile": "lab"}).to_json())
    del data["spec"]["gpu"], data["spec"]["cpu"]["smt"]
    assert load_frozen(json.dumps(data).encode()) == build("box1", {"profile": "lab"})


def test_a_spec_of_a_newer_release_says_so() -> None:
    data = json.loads(build("box1", {"profile": "lab"}).to_json())
    data["spec"]["cpu"]["later"] = 1
    with pytest.raises(SpecError, match=r"\blater\b.*\btunecheck/spec/1\b") as caught:
        load_frozen(json.dumps(data).encode())
    assert caught.value.flaw is Flaw.UNKNOWN_FIELD
