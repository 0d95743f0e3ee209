"""Parts of the checker that the plans use, by their path: the control node's Ansible need not have the package."""

from __future__ import annotations

import importlib.util
import os

__all__ = ["part", "some"]

_CHECKS = os.path.join(os.path.dirname(__file__), "..", "..", "checks")


def part(*path):
    """Return the module of checks/ at this path."""
    spec = importlib.util.spec_from_file_location(f"tunecheck_{path[-1]}", os.path.join(_CHECKS, *path) + ".py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


some = part("tunecheck", "util", "text").some
