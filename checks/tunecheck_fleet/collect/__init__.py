"""Ask every box of an inventory for its snapshot, through Ansible's own connections and credentials."""

from .inventory import asked_hosts
from .kex import advice, client
from .options import Collected, Options
from .run import collect

__all__ = ["Collected", "Options", "advice", "asked_hosts", "client", "collect"]
