"""The desired state that an inventory declares, frozen for each host as `tunecheck spec` does it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tunecheck.errors import SpecError
from tunecheck.spec.frozen import Frozen

__all__ = ["declared"]

_SHOWN = 10


def declared(variables: Mapping[str, Mapping[str, Any]]) -> dict[str, Frozen]:
    """Host -> spec, of those whose variables have a ``box_spec``. SpecError names every host whose own cannot be
    used."""
    from tunecheck.spec import build

    found: dict[str, Frozen] = {}
    same: dict[str, Frozen] = {}        # a fleet has few different ones
    problems = []
    for host, own_variables in sorted(variables.items()):
        group, own = own_variables.get("box_spec"), own_variables.get("box_spec_host")
        if group is None:
            continue
        text = json.dumps([group, own], sort_keys=True, default=str)
        try:
            if text not in same:
                same[text] = build(host, group, own)
            found[host] = replace(same[text], host=host)
        except SpecError as error:
            problems += [f"{host}: {problem}" for problem in error.problems]
    if problems:
        left = len(problems) - _SHOWN
        raise SpecError([*problems[:_SHOWN], *([f"and {left} more"] if left > 0 else []),
                         "nobody was asked; mend the inventory, or judge every box by its own spec: --desired box"])
    return found
