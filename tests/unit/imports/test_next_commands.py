"""What the next step tells to type leaves files that have the output, and the tool reads those files."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from tests.unit.imports.deletion_bases import own
from tests.unit.imports.samples import FIXTURES
from tests.unit.imports.test_advice_helps import GIVEN

from tunecheck.errors import UsageError
from tunecheck.facts.snapshot import gather
from tunecheck.host.imported import outputs
from tunecheck.host.imported.machine import load_import
from tunecheck.model.absence import Absence
from tunecheck.model.finding import Finding
from tunecheck.report.one_screen.next_step import Step, next_step
from tunecheck.report.sorts import sort
from tunecheck.report.style import Style
from tunecheck.report.terminal import render
from tunecheck.report.text_parts import Again
from tunecheck.rules import judge
from tunecheck.rules.context import Case

_WRITES = re.compile(r">+ *([^\s;&|]+)")
#: Prints the text of the test, whatever it is called and asked for.
_STAND_IN = '#!/bin/sh\nexec /bin/cat "$TEXT"\n'
_PROGRAMS = {word for each in GIVEN for word in re.findall(r"(?:^|&& |\| )(?:sudo )?([a-z-]+)", each)} | {"sudo"}
_LSPCI = (FIXTURES / "acs-iommu" / "acs-iommu-nv.lspci-xxxx").read_text()


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    folder = tmp_path / "programs"
    folder.mkdir()
    for program in _PROGRAMS:
        (folder / program).write_text(_STAND_IN)
        (folder / program).chmod(0o755)
    return folder


def _typed(command: str, text: str, box: Path, programs: Path) -> list[Path]:
    """Types the command in the folder ``box``; returns the files that it names."""
    answer = box.parent / "text"
    answer.write_text("".join(line for line in text.splitlines(keepends=True) if not line.startswith("$ ")))
    subprocess.run(["sh", "-c", command], cwd=box, check=True, env={
        **os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "TEXT": str(answer)})
    return [box / name for name in _WRITES.findall(command)]


def _step(case: Case, findings: list[Finding]) -> Step:
    """The next step of texts that show no fault."""
    calm = [each for each in findings if each.outcome not in ("fail", "warn")]
    return next_step("preflight", case, calm, sort(calm, True, case.snapshot.topology), Again("", "", ""), True)


def _next(question: str) -> tuple[str, str]:
    """The next step of a report that lacks the answer to this question, and the command for the box in it."""
    case = Case(gather(load_import(str(FIXTURES / "acs-iommu" / "acs-iommu-nv.lspci-xxxx")), None, True))
    lacks = Finding("smt", "any-code", "x", "unknown", "effective", "it is not known", evidence=(question,),
                    absence=Absence.NOT_IN_IMPORT)
    step = _step(case, [lacks])
    return step.text, step.commands[0]


@pytest.mark.parametrize("question", [start for start, command in outputs._OUTPUTS if command])
def test_every_file_of_the_next_step_has_contents_and_is_read(question: str, tmp_path: Path, programs: Path) -> None:
    step, command = _next(question)
    box = tmp_path / "box"
    box.mkdir()
    asked = max((each for each in GIVEN if command.startswith(each)), key=len)
    files = _typed(command, GIVEN[asked], box, programs)
    assert sorted(files) == sorted(box.iterdir()), "the files that it names, each once, and no other"
    assert [each.name for each in files if not each.stat().st_size] == []
    assert ("both files" in step) is (len(files) == 2) and command in step
    if asked != "sudo lspci -nnvvv":
        (box / "pci.txt").write_text(_LSPCI)
    door = load_import(str(box))
    assert [each.name for each in files if each.name not in door.summary()] == []
    assert not door.holes


@cache
def _steps() -> tuple[str, ...]:
    """The lines of next steps and fixes of every text alone, and of the texts of a machine together."""
    return tuple(dict.fromkeys(_all_steps()))


def _all_steps() -> Iterator[str]:
    for path in sorted(FIXTURES.rglob("*")):
        if not path.is_file():
            continue
        try:
            door = load_import(str(path))
        except UsageError:
            continue    # no text of a box, which other tests look at
        case = Case(gather(door, None, True))
        for verb in ("topo", "preflight"):
            text = render(verb, case, judge(case, verb), Style(80), imported=True)
            yield from (line.strip() for line in text.splitlines() if ">" in line)


def test_no_command_has_two_redirects_of_one_output() -> None:
    assert any("> topo-p2p-r.txt && " in step for step in _steps())
    twice = re.compile(r"> \S+\.txt\b[^;&|]*> \S+\.txt")
    assert [step for step in _steps() if twice.search(step)] == []


_OF_THE_MACHINE = next(base.texts for base in own() if base.name == "acs-iommu, folder")


@pytest.mark.parametrize("name", [*_OF_THE_MACHINE, "acs-iommu-nv.lspci-xxxx"])
def test_what_was_typed_is_not_asked_for_again(name: str, tmp_path: Path, programs: Path) -> None:
    """From any text of a machine on, a report leads on: no next step comes twice."""
    box = tmp_path / "box"
    box.mkdir()
    (box / name).write_text(_OF_THE_MACHINE.get(name, _LSPCI))
    seen = list[str]()
    while len(seen) < 12:
        case = Case(gather(load_import(str(box)), None, True))
        step, commands, *_ = _step(case, judge(case, "preflight"))
        asked = [each for each in GIVEN if step and commands[0].startswith(each)]
        if not asked or not _WRITES.search(commands[0]):
            break
        assert commands[0] not in seen, step
        seen.append(commands[0])
        _typed(commands[0], GIVEN[max(asked, key=len)], box, programs)
