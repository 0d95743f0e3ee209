"""What the history holds of an audit that was interrupted. It is read there once everything has ended: what this
process remembers of it may be one step behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tunecheck.errors import Misuse, UsageError
from tunecheck.util.left_behind import tellers

from ..own_command import own_command
from ..store import open_store

if TYPE_CHECKING:
    from ..model import AuditHead
    from ..store import Store

__all__ = ["tell_at_interrupt"]


def tell_at_interrupt(store: Store, url: str | None, scope: str) -> None:
    """From now on, an interrupt says what the history at ``url`` then holds of the audit of ``scope``. To be called
    before it begins."""
    before = _newest(store, scope)
    over = before.id if before is not None and before.finished is not None else 0
    shown = own_command("fleet")

    def tell() -> str:
        try:
            with open_store(url, create=False) as history:
                head = _newest(history, scope)
                if head is None or head.id <= over:
                    return ""
                answered = len(history.names(head.id, answered=True))
        except UsageError as error:
            return "" if error.flaw is Misuse.NOT_THERE else str(error)
        told = f"{answered} of {head.asked} hosts answered and are kept in audit #{head.id}"
        if head.finished is not None:
            return f"{told}, which is finished; {shown} shows it"
        return f"{told}; the same command within 6 hours {'asks the rest' if answered < head.asked else 'finishes it'}"

    tellers.append(tell)


def _newest(store: Store, scope: str) -> AuditHead | None:
    return next((head for head in reversed(store.audits()) if head.scope == scope and head.trigger == "pull"), None)
