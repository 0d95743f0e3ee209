"""Ask every box of an inventory for its snapshot, through Ansible's own connections and credentials."""

from .options import Collected, Options
from .run import collect

__all__ = ["Collected", "Options", "collect"]
