"""What is to be done about silent names whose machines most likely answer under other ones."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from .model import AuditHead
from .own_command import own_command
from .scope import files_of, of_carried

__all__ = ["ask_no_more"]


def ask_no_more(audit: AuditHead, hosts: Sequence[str]) -> tuple[str, str]:
    """How the hosts are asked no more, in a few words, and the command that does it ("": there is none)."""
    if of_carried(audit.scope):
        gone = " ".join(f"--gone {shlex.quote(host)}" for host in hosts)
        return gone, f"{own_command('audit --from {folder}', folder=files_of(audit.scope))} {gone}"
    if audit.trigger == "push":
        command = "; ".join(f"tunecheck ingest revoke {shlex.quote(host)}" for host in hosts)
        return command, command
    return f"take {'it' if len(hosts) == 1 else 'them'} out of the inventory", ""
