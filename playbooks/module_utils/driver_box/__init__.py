"""What the module driver_packages does on a box: read it, change its packages in one transaction, prove the result."""

from __future__ import annotations

from .base import DriverError
from .manager import manager_for
from .present import present
from .rollback import absent, touched

__all__ = ["DriverError", "absent", "manager_for", "present", "touched"]
