"""A file of the host as a fact."""

from __future__ import annotations

from ..host import Host, Unreadable
from ..model.fact import Fact

__all__ = ["text"]


def text(host: Host, path: str) -> Fact[str]:
    """A file as text without surrounding white space; undecodable bytes are replaced."""
    try:
        return Fact(host.read_bytes(path).decode("utf-8", "replace").strip(), path)
    except Unreadable as error:
        return Fact(None, path, error.reason)
