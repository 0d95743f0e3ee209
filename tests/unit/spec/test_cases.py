"""What a specification may and may not say: every case is one small file under ``cases/``.

Of a refusal a case asks for the place and for what it names: values, keys, numbers, commands. ``lacks`` are those that
it must not name. Each sentence as a whole is pinned in tests/unit/checks/wording.txt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tunecheck.errors import SpecError
from tunecheck.spec import build
from tunecheck.spec.frozen import declared_tokens, load_frozen
from tunecheck.spec.merge import leaves

CASES = Path(__file__).parent / "cases"
REFUSED = sorted((CASES / "refused").glob("*.yml"))


def cases(folder: str) -> list[Any]:
    return [
        pytest.param(yaml.safe_load(path.read_text(encoding="utf-8")), id=path.stem)
        for path in sorted((CASES / folder).glob("*.yml"))
    ]


def problems_of(path: Path) -> list[str]:
    """What is said of the specification of a case, in order."""
    case = yaml.safe_load(path.read_text(encoding="utf-8"))
    with pytest.raises(SpecError) as caught:
        build("box1", case["box_spec"], case.get("box_spec_host"))
    return sorted(caught.value.problems)


@pytest.mark.parametrize("path", REFUSED, ids=lambda path: path.stem)
def test_refused(path: Path) -> None:
    case, problems = yaml.safe_load(path.read_text(encoding="utf-8")), problems_of(path)
    expected = sorted(case["refused"], key=lambda item: item["at"])
    assert len(problems) == len(expected), problems
    for problem, want in zip(problems, expected, strict=True):
        place = want["at"] if want["at"].endswith(":") else want["at"] + ":"
        assert problem.startswith(place)
        for text in want.get("says", []):
            assert text in problem
        for text in want.get("lacks", []):
            assert text not in problem


@pytest.mark.parametrize("case", cases("accepted"))
def test_accepted(case: dict[str, Any]) -> None:
    frozen = build("box1", case["box_spec"], case.get("box_spec_host"))
    found = dict(leaves(frozen.to_plain()["spec"]))
    for path, value in case.get("values", {}).items():
        assert found[path] == (tuple(value) if isinstance(value, list) else value), path
    for path in case.get("absent", []):
        assert path not in found
    for path, source in case.get("sources", {}).items():
        assert frozen.sources[path].startswith(source), path
    if "tokens" in case:
        assert list(declared_tokens(frozen.spec)) == case["tokens"]
    assert load_frozen(frozen.to_json().encode()) == frozen
