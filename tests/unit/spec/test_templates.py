"""A template that nobody rendered is named as one wherever it stands, and not as a wrong value."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from tunecheck.errors import SpecError
from tunecheck.spec import build
from tunecheck.spec.frozen import Spec
from tunecheck.spec.merge import leaves

_PATHS = ["", "profile", *(path for path, _ in leaves(asdict(Spec()))), "modules.nvidia", "modules.nvidia.a",
          *(name for name, value in asdict(Spec()).items() if isinstance(value, dict))]


@pytest.mark.parametrize("template", ["{{ x }}", "{{x}}", "a{{ x }}b", "{% if x %}pt{% endif %}"])
@pytest.mark.parametrize("variable", ["box_spec", "box_spec_host"])
@pytest.mark.parametrize("path", _PATHS)
def test_a_template_is_told_as_one(path: str, variable: str, template: str) -> None:
    value: Any = template
    for part in reversed(path.split(".") if path else []):
        value = {part: value}
    group: Any = {"profile": "lab"}
    own: Any = value if variable == "box_spec_host" else {}
    if variable == "box_spec":
        group = {**group, **value} if isinstance(value, dict) else value
    with pytest.raises(SpecError) as told:
        build("box", group, own)
    place = f"{variable}.{path}" if path else variable
    assert told.value.problems == [f"{place}: {template!r} is a template that was not rendered; write the final value"]
