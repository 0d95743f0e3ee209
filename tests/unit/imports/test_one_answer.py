"""The same text has the same answer, in every process: no word of a report comes from the order of a set, which Python
draws anew at each start."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.unit.imports.samples import FIXTURES, lab, metal, samples

_LAYOUTS = sorted(path.name for path in FIXTURES.iterdir() if (path / f"{path.name}-nv.lspci-vvv").exists())
_SAID = """
import sys
from pathlib import Path
from tunecheck.facts.snapshot import gather
from tunecheck.host.imported.machine import load_import
from tunecheck.rules import judge
from tunecheck.rules.context import Case
for path in sys.argv[1:]:
    door = load_import(path)
    print(Path(path).name, door.summary())
    for each in judge(Case(gather(door, None, True)), "preflight"):
        print(each.id, each.code, each.subject, each.outcome, each.text, each.remedy.text if each.remedy else "")
"""


def _without_bridges(text: str) -> str:
    """All that has no ports any more: every place where one is missing could be named."""
    blocks = re.split(r"\n(?=\S)", text)
    return "\n".join(block for block in blocks if "PCI bridge" not in block.partition("\n")[0])


def _answers(paths: list[Path]) -> list[str]:
    runs = [subprocess.Popen([sys.executable, "-c", _SAID, *map(str, paths)], text=True, stdout=subprocess.PIPE,
                             env=os.environ | {"PYTHONHASHSEED": str(seed)}) for seed in (1, 2, 3, 4)]
    return [run.communicate(timeout=120)[0] for run in runs]


def _same(paths: list[Path]) -> None:
    first, *others = _answers(paths)
    assert len(first) > 2000 and [other == first for other in others] == [True] * 3


def test_of_texts_that_lack_ports(tmp_path: Path) -> None:
    paths = []
    for layout in _LAYOUTS:
        for name, text in (("whole", lab(layout)), ("no ports", _without_bridges(metal(lab(layout))))):
            paths.append(tmp_path / f"{layout} {name}.txt")
            paths[-1].write_text(text)
    assert len(paths) >= 4
    _same(paths)


@pytest.mark.parametrize("lacking", [r"[78f]0:01\.1", r"[78f]\d:"], ids=["three root ports", "three root buses"])
def test_of_a_real_box_of_several_root_buses(tmp_path: Path, lacking: str) -> None:
    blocks = re.split(r"\n(?=\S)", (samples("host") / "asus-esc8000a-lspci_full.log").read_text(errors="replace"))
    path = tmp_path / "lspci.txt"
    path.write_text("\n".join(block for block in blocks if not re.match(lacking, block)))
    _same([path])
