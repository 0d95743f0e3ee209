"""The box's package manager."""

from __future__ import annotations

import os

from .apt import Apt
from .base import DriverError
from .dnf import Dnf
from .why import NoDriver

__all__ = ["manager_for"]


def manager_for(module):
    """Return Apt or Dnf. DriverError, before any write, where it is neither."""
    if os.path.exists("/usr/bin/apt-get"):
        return Apt(module)
    if os.path.exists("/usr/bin/dnf"):
        return Dnf(module)
    raise DriverError(
        NoDriver.NO_MANAGER,
        "neither apt-get nor dnf is in /usr/bin; expected Debian, Ubuntu or Enterprise Linux. "
        "Nothing was written. Set box_spec.driver.source: leave for this host.")
