"""The names that a script imports which roles/pcie_acs has left on a box (clear_acs_redirect.py).

They stay: the checker of a box may be upgraded alone, with the script of an earlier release still there."""

from .acs import Acs, acs
from .bdf import bdf_key
from .config_space import ConfigUnreadable

__all__ = ["Acs", "ConfigUnreadable", "acs", "bdf_key"]
