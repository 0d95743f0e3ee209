"""Desired state: what a box should be, frozen and signed with a digest.

Importing this package is cheap; pydantic and the profiles are loaded only by :func:`build`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tunecheck.spec.frozen import Frozen

__all__ = ["build"]


def build(host: str, box_spec: object, box_spec_host: object | None = None) -> Frozen:
    """Freeze an inventory host's ``box_spec``; see :func:`tunecheck.spec.builder.build`."""
    from tunecheck.spec.builder import build as freeze

    return freeze(host, box_spec, box_spec_host)
