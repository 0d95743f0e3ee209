"""The documents say what the code says: README commands, exit codes, paths, role variables, messages."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from tunecheck.cli.main import cli
from tunecheck.rules.index import CHECKS

ROOT = Path(__file__).resolve().parents[3]
README = (ROOT / "README.md").read_text()
ROLES = sorted(path.name for path in (ROOT / "roles").iterdir() if path.is_dir())
SECTIONS = ["## How it behaves", "## Variables", "## Known limits", "## Troubleshooting"]


def test_every_check_has_its_three_files() -> None:
    cases = {path.stem for path in (ROOT / "tests/unit/checks/cases").glob("*/*.yml")}
    assert len([check for check in CHECKS if any(stem.startswith(f"{check.id}-") for stem in cases)]) > 90
    for check in CHECKS:
        assert (ROOT / f"checks/tunecheck/rules/{check.module.replace('.', '/')}.py").exists(), check.id
        assert (ROOT / f"docs/checks/{check.id}.md").exists(), check.id


def test_the_recipe_for_a_check_works(tmp_path: Path) -> None:
    """Its file as CONTRIBUTING.md has it, then the index: the check is listed where it says, and judges."""
    recipe = (ROOT / "CONTRIBUTING.md").read_text()
    code = re.search(r"```python\n(.*?)```", recipe, re.DOTALL)
    assert code and "CHECK = Check(" in code[1]
    shutil.copytree(ROOT / "checks", tmp_path / "checks", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "checks/tunecheck/rules/cpu/clock_source_name.py").write_text(code[1])
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path / 'checks'}{os.pathsep}{ROOT}"}

    def run(*argv: str) -> str:
        done = subprocess.run([sys.executable, *argv], cwd=tmp_path, env=environment, capture_output=True, text=True,
                              timeout=60, check=False)
        assert done.returncode in (0, 1, 3), done.stderr
        return done.stdout

    run("-m", "lab.generators.check_index")
    listed = [line.split()[0] for line in run("-m", "tunecheck", "checks").splitlines()]
    assert listed.index("clock-source-name") == listed.index("clocksource") + 1
    found = json.loads(run("-m", "tunecheck", "host", "--json"))["findings"]
    assert [each["subject"] for each in found if each["id"] == "clock-source-name"] == ["clock source"]


VERBS = sorted(set(re.findall(r"`tunecheck ([a-z0-9]+)", README)))


@pytest.mark.parametrize("verb", VERBS)
def test_readme_verbs_exist(verb: str) -> None:
    assert CliRunner().invoke(cli, [verb, "--help"]).exit_code == 0


def test_every_verb_is_in_the_readme() -> None:
    assert [verb for verb in cli.list_commands(None) if f"tunecheck {verb}" not in README] == []  # type: ignore[arg-type]


def test_readme_options_exist() -> None:
    verbs = [verb for verb in cli.list_commands(None) if verb != "spec"]  # type: ignore[arg-type]
    calls = [*([verb] for verb in verbs), ["spec", "show"]]
    text = "".join(CliRunner().invoke(cli, [*call, "--help"]).output for call in calls)
    for option in set(re.findall(r"`(--[a-z]+)", README)):
        assert option in text, option


def test_readme_make_targets_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"make ([a-z-]+)", README)) <= targets


def test_readme_playbooks_and_inventories_exist() -> None:
    for playbook in re.findall(r"ansible-playbook (\S+\.yml)", README):
        assert (ROOT / playbook).is_file(), playbook
    assert (ROOT / "inventory/box1/hosts.yml").is_file()


def test_exit_codes_match_the_help() -> None:
    rows = dict(re.findall(r"^\| (\d) \| ([^|:(]+)", README, re.MULTILINE))
    assert sorted(rows) == ["0", "1", "2", "3", "4"]
    shown = " ".join(CliRunner().invoke(cli, ["--help"]).output.split())
    for code in ("0", "1", "3"):
        assert f"{code} {rows[code].strip()}" in shown


@pytest.mark.parametrize("role", ROLES)
def test_role_readme_has_the_fixed_sections(role: str) -> None:
    text = (ROOT / "roles" / role / "README.md").read_text()
    assert [line for line in text.splitlines() if line.startswith("## ")] == SECTIONS


@pytest.mark.parametrize("role", ROLES)
def test_every_role_variable_is_documented_and_specified(role: str) -> None:
    folder = ROOT / "roles" / role
    text = (folder / "README.md").read_text()
    specs = yaml.safe_load((folder / "meta" / "argument_specs.yml").read_text())["argument_specs"]
    specified = {name for entry in specs.values() for name in entry.get("options", {})}
    defaults = folder / "defaults" / "main.yml"
    given = set(yaml.safe_load(defaults.read_text()) or {}) if defaults.exists() else set()
    assert given <= specified
    for name in specified:
        assert f"`{name}`" in text, f"{name} is not in roles/{role}/README.md"


@cache
def _messages() -> frozenset[str]:
    """Every string of the code and the plays, with "..." where something is filled in."""
    found: list[str] = []
    for folder in ("roles", "playbooks", "checks"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    found.append(re.sub(r"%(\.\d+)?[sdrx]|%04x", "...", node.value))
                elif isinstance(node, ast.JoinedStr):
                    parts = (part.value if isinstance(part, ast.Constant) else "..." for part in node.values)
                    found.append("".join(str(part) for part in parts))
        for path in (ROOT / folder).rglob("*.yml"):
            for match in re.finditer(r"(?:msg|fail_msg): (?:[>|]-\n)?((?:.+\n)+)", path.read_text()):
                found.append(re.sub(r"\{[{%].*?[}%]\}", "...", " ".join(match.group(1).split())))
    return frozenset(found)


def _said(heading: str, messages: Iterable[str]) -> bool:
    """Whether one message holds most of the heading's words; the rest is filled in at run time."""
    words = re.findall(r"[A-Za-z]{3,}", heading)
    return any(sum(word in message for word in words) >= 0.7 * len(words) for message in messages)


@pytest.mark.parametrize("role", ROLES)
def test_troubleshooting_headings_are_real_messages(role: str) -> None:
    headings = re.findall(r"^### `(.+)`$", (ROOT / "roles" / role / "README.md").read_text(), re.MULTILINE)
    messages = [*_messages(), "No module named tunecheck pydantic"]  # the last is Python's own
    assert headings
    assert [heading for heading in headings if not _said(heading, messages)] == []


#: Folders that the end of the rollback removes as a whole.
WHOLE = ("/etc/tunecheck", "/usr/local/lib/tunecheck", "/opt/tunecheck", "/var/lib/tunecheck")


def _box_files(tasks: Any) -> Iterator[str]:
    """The paths that a list of tasks hands to box_files, as written: lists of the role's variables by their names."""
    for task in tasks or ():
        yield from _box_files(task.get("block"))
        files = task.get("box_files", {}).get("files", [])
        yield from re.findall(r"\w+__\w+", files) if isinstance(files, str) else (each["path"] for each in files)


@pytest.mark.parametrize("role", [role for role in ROLES if role not in ("box_spec", "boot_trial")])
def test_a_role_removes_what_it_writes(role: str) -> None:
    """And the rollback asks each of them."""
    folder = ROOT / "roles" / role
    variables = yaml.safe_load((folder / "vars/main.yml").read_text()) if (folder / "vars/main.yml").exists() else {}

    def paths(names: Iterable[str]) -> set[str]:
        found = set()
        for name in names:
            value = variables.get(name, name)
            if isinstance(value, str) and value.startswith("{{"):       # the other list, each with state: absent
                value = variables[re.findall(r"\w+__\w+", value)[0]]
            found |= {value} if isinstance(value, str) else {each["path"] for each in value}
        return {path for path in found if path.startswith("/") and not path.startswith(WHOLE)}

    written, removed = (paths(_box_files(yaml.safe_load((folder / f"tasks/{name}.yml").read_text())))
                        for name in ("main", "remove"))
    assert written <= removed, f"tasks/remove.yml of {role} leaves {written - removed}"
    assert f"{{name: {role}, tasks_from: remove}}" in (ROOT / "playbooks/rollback.yml").read_text()


def test_every_check_is_registered_once() -> None:
    """Merged branches have registered one twice: every finding then came twice."""
    ids = [check.id for check in CHECKS]
    assert sorted(ids) == sorted(set(ids))
