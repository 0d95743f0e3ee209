"""The one door to a machine: live, recorded while live, or played back from a recording.

Every read and every command of every fact goes through a ``Host``, so a replayed verdict comes from the same code
as a live one.
"""

from __future__ import annotations

from .base import Completed, Host, Unreadable

__all__ = ["Completed", "Host", "Unreadable"]
