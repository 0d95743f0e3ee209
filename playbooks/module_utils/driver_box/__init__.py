"""What the module driver_packages does on a box: read it, change its packages in one transaction, prove the result."""

from __future__ import annotations

from .base import DriverError, refuse
from .manager import manager_for
from .present import present
from .rollback import absent, touched
from .why import NoDriver

__all__ = ["DriverError", "NoDriver", "absent", "manager_for", "present", "refuse", "touched"]
