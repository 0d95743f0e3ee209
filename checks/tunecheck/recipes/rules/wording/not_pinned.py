"""not-pinned: a tag and a branch mean something else tomorrow: what is served has an image digest, an image id, a
revision and file sums.
"""

from __future__ import annotations

import re

from ...box import Box
from ...frozen import Recipe
from ...to_pin import to_pin
from ..rule import Rule

_DIGEST, _REVISION = re.compile(r"sha256:[0-9a-f]{64}"), re.compile(r"[0-9a-f]{40}")


def violation(recipe: Recipe, box: Box | None) -> str | None:
    if recipe.status == "draft":
        return None
    wanted = [("image.digest", recipe.image.digest, _DIGEST), ("image.image_id", recipe.image.image_id, _DIGEST)]
    wanted += [(f"revision of {model.id}", model.revision, _REVISION) for model in recipe.models]
    found = [name for name, stated, pattern in wanted if stated is None or not pattern.fullmatch(stated)]
    found += [f"files of {model.id}" for model in recipe.models if not model.files]
    return f"status is {recipe.status} without {', '.join(found)}" if found else None


RULE = Rule(
    "not-pinned", "reject",
    "a tag and a branch mean something else tomorrow: what is served has an image digest, an image id, a revision"
    " and file sums",
    "no published configuration states a digest or a revision, 2026-05; digests do not survive podman save and "
    "load, ids do",
    violation, overridable=False, way_out=to_pin,
    unbounded="it is about registries and hubs, not about an engine",
)
