"""The role's README has every key, default and meaning of the model, and names every profile."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest
import yaml
from lab.generators import spec_table

from tunecheck.spec import profile_files
from tunecheck.spec.frozen import Spec
from tunecheck.spec.merge import leaves

ROLE = Path(__file__).parents[3] / "roles" / "box_spec"
README = (ROLE / "README.md").read_text(encoding="utf-8")
KEYS = [(path, value) for path, value in leaves(asdict(Spec())) if path != "modules"]


@pytest.mark.parametrize(("path", "default"), KEYS, ids=[path for path, _ in KEYS])
def test_every_key_is_documented_with_its_default(path: str, default: object) -> None:
    value = default if isinstance(default, str) else json.dumps(default)
    assert f"| `{path}` | `{value}` |" in README


def test_the_table_is_made_from_the_model() -> None:
    assert spec_table.page(README) == README, "run: python3 -m lab.generators.spec_table"


def test_every_key_has_allowed_values_and_a_meaning() -> None:
    for key, _, allowed, meaning in spec_table.rows():
        assert allowed and meaning, key


def test_every_profile_is_named() -> None:
    for name in profile_files.names():
        assert f"`{name}`" in README


def test_fixed_sections() -> None:
    headings = [line for line in README.splitlines() if line.startswith("## ")]
    assert headings == ["## How it behaves", "## Variables", "## Known limits", "## Troubleshooting"]


def test_argument_specs_know_the_variables() -> None:
    specs = yaml.safe_load((ROLE / "meta" / "argument_specs.yml").read_text(encoding="utf-8"))["argument_specs"]
    assert set(specs["main"]["options"]) == {"box_spec", "box_spec_host"}
    for variable in specs["main"]["options"]:
        assert f"| `{variable}` |" in README
