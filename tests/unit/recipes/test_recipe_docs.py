"""docs/recipes.md says what the code says; the verbs say what a box and a bad call get."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tunecheck.cli.main import cli
from tunecheck.cli.recipe import recipe
from tunecheck.recipes import command, engines
from tunecheck.recipes.load import load, names
from tunecheck.recipes.model import schema
from tunecheck.recipes.rules import RULES
from tunecheck.recipes.stored import to_json
from tunecheck.recipes.table import table

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs/recipes.md").read_text()
BOX = str(ROOT / "tests/fixtures/h200-2gpu-vm.tar.zst")


def test_the_table_of_rules_is_the_rules() -> None:
    rows = re.findall(r"^\| `([a-z0-9-]+)` \| ([a-z, ]+) \| (.+) \|$", 
                      PAGE[PAGE.index("## Rules"):PAGE.index("## Releases that a rule is true of")], re.MULTILINE)
    marks = {rule.id: rule.severity + (", box" if rule.asks_box else "") + ("" if rule.overridable else ", always")
             for rule in RULES.values()}
    assert rows == [(rule.id, marks[rule.id], rule.reason) for rule in RULES.values()]


def test_the_table_of_releases_is_the_rules() -> None:
    part = PAGE[PAGE.index("## Releases that a rule is true of"):PAGE.index("## Option tables")]
    rows = re.findall(r"^\| `([a-z0-9-]+)` \| (.+) \| (.+) \| (.+) \|$", part, re.MULTILINE)
    assert rows == [(rule.id, str(rule.bounds), ", ".join(f"{engine} {versions}" for engine, versions in
                                                           rule.bounds.ended.items()) or "-", rule.bounds.source)
                    for rule in RULES.values() if rule.bounds]


def fields(part: dict[str, Any], whole: dict[str, Any], path: str = "") -> list[str]:
    found = []
    for name, value in part["properties"].items():
        inner = whole["$defs"].get(value.get("$ref", "").rpartition("/")[2])
        found += fields(inner, whole, f"{path}{name}.") if inner else [f"{path}{name}"]
    return found


def test_every_field_is_documented() -> None:
    whole = schema()
    found = fields(whole, whole)
    assert len(found) > 35
    assert [name for name in found if f"`{name}`" not in PAGE] == []


def test_every_verb_and_option_is_documented() -> None:
    for verb in recipe.commands:
        assert f"tunecheck recipe {verb}" in PAGE
    options = {option for verb in recipe.commands.values() for each in verb.params for option in each.opts
               if option.startswith("--")}
    assert options - {option for option in options if option in PAGE} <= {"--output", "--revision", "--models"}


def test_files_of_keys_are_documented() -> None:
    for name in ("vllm", "sglang", "llama.cpp"):
        words = engines.of(name)
        assert words is not None and f"`{words.secret.file}`" in PAGE
    assert f"`{command.Paths().secrets}`" in PAGE


@pytest.mark.parametrize(("argv", "code", "says"), [
    (["lint"], 0, "qwen35-122b-sglang-b12x-nextn-2x: warn"),
    (["lint", "lab-tiny", "--from", BOX], 0, "lab-tiny: warn"),
    (["lint", "qwen35-27b-vllm-dflash-1x", "--from", BOX], 1, r"gpu-capability: .*12\.0.*2 x NVIDIA H200"),
    (["lint", "qwen35-397b-vllm-marlin-4x", "--from", BOX], 1, r"gpu-count: .*4 GPUs.* 2"),
    (["list"], 0, r"198 tok/s +chars_div_4"),
    (["show", "qwen35-122b-sglang-b12x-nextn-2x"], 0, "157.5 tok/s"),
])
def test_verbs(argv: list[str], code: int, says: str) -> None:
    done = CliRunner().invoke(cli, ["recipe", *argv])
    assert done.exit_code == code and re.search(says, done.output)


def test_what_the_box_does_not_tell_is_neither_good_nor_bad(tmp_path: Path) -> None:
    shipped = Path(command.__file__).parent / "qwen35-122b-sglang-b12x-nextn-2x.yml"
    mine = tmp_path / shipped.name
    mine.write_text(shipped.read_text().replace('sm: ["12.0"]', 'sm: ["9.0"]'))
    done = CliRunner().invoke(cli, ["recipe", "lint", str(mine), "--from", BOX])     # a VM: it hides the PCIe tree
    assert done.exit_code == 3
    assert "unknown    gpu-topology" in done.output and "unknown    p2p-host" in done.output


def test_the_list_fits_a_narrow_terminal() -> None:
    every = [load(name).frozen for name in names()]
    narrow, wide = table(every, 60).splitlines(), table(every).splitlines()
    assert len(narrow) == 2 * len(wide) == 2 * len(every) + 2 and max(map(len, narrow)) <= 60
    assert [line.split() for line in wide] == [[*first.split(), *rest.split()] for first, rest in zip(
        narrow[::2], narrow[1::2], strict=True)]


def test_lint_wraps_on_a_terminal_alone() -> None:
    argv = [sys.executable, "-m", "tunecheck", "recipe", "lint", "qwen35-27b-vllm-dflash-2x"]
    env = {**os.environ, "PYTHONPATH": str(Path(command.__file__).parents[2]), "COLUMNS": "60"}
    terminal, theirs = pty.openpty()
    with open(terminal, "rb", buffering=0) as reader:
        subprocess.run(argv, env=env, stdout=theirs, check=True, timeout=60)
        os.close(theirs)
        shown = reader.read(1 << 16).decode().splitlines()
    piped = subprocess.run(argv, env=env, capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()
    assert max(map(len, shown)) <= 60 < max(map(len, piped))
    said = [line for line in piped if line.startswith("  ")]
    assert said and all(re.fullmatch(r"  \w+ +[a-z0-9-]+: .+; .+ \[.+\].*", line) for line in said)
    flat = " ".join(" ".join(shown).split())
    for line in said:
        source = RULES[line.split()[1].rstrip(":")].source
        assert f"[{source}]" in line and source in flat and f"[{source}]" not in flat, "one line there, three here"


def test_without_yaml_nothing_is_printed_before_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """A box has only the checker."""
    monkeypatch.setitem(sys.modules, "yaml", None)
    for argv in (["list"], ["lint"], ["show", "lab-tiny"]):
        done = CliRunner().invoke(cli, ["recipe", *argv])
        assert done.output == "" and re.search(r"\byaml\b.*\bmake setup\b", str(done.exception))


def test_usage_errors() -> None:
    for argv, said in ((["lint", "--lock", "x"], "^--lock: "), (["lint", "--live", "--from", BOX], "--from.*--live"),
                       (["show", "none"], "^none: .*lab-tiny")):
        done = CliRunner().invoke(cli, ["recipe", *argv])
        assert done.exit_code != 0 and re.search(said, str(done.exception)), done.exception


def test_json_of_every_recipe_fits_its_schema() -> None:
    from tunecheck.recipes.load import load
    from tunecheck.recipes.schema import SCHEMAS

    whole = SCHEMAS["recipe-1.json"]
    assert json.loads((ROOT / "docs/schema/recipe-1.json").read_text()) == whole
    for name in names():
        document = json.loads(to_json(load(name, pinned=False).frozen))
        assert set(document) == set(whole["required"])
        assert set(document["recipe"]) <= set(whole["$defs"]["frozen.Recipe"]["properties"])
