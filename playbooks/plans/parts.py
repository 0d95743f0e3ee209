"""Parts of the checker that the plans use, by their path: the control node's Ansible need not have the package."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys

__all__ = ["part", "some", "whole"]

_CHECKS = os.path.join(os.path.dirname(__file__), "..", "..", "checks")


def part(*path):
    """Return the module of checks/ at this path."""
    spec = importlib.util.spec_from_file_location(f"tunecheck_{path[-1]}", os.path.join(_CHECKS, *path) + ".py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def whole(name):
    """Return a module of checks/ that needs others there, of this checkout whatever else is installed."""
    sys.path.insert(0, os.path.abspath(_CHECKS))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(os.path.abspath(_CHECKS))


some = part("tunecheck", "util", "text").some
