"""An audit from its first host to its last: ask, keep each answer as it comes, take up what was cut off."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .model import Answer, AuditHead

if TYPE_CHECKING:
    from ..spec.frozen import Frozen
    from .collect import Options
    from .folder import Folder
    from .store import Store

__all__ = ["RESUME_S", "Done", "Source", "audit"]

#: An audit that was cut off longer ago is not taken up: its first hosts would be from another day.
RESUME_S = 6 * 3600.0


@dataclass(frozen=True)
class Source:
    """Where answers come from: boxes of ``inventory`` under ``limit``, asked as ``options`` say, or files in ``folder``
    (with an inventory: of its hosts)."""

    inventory: str | None = None
    limit: str | None = None
    folder: Folder | None = None
    options: Options | None = None

    @property
    def scope(self) -> str:
        inventory = self.inventory or ""
        parts = [inventory if "," in inventory else inventory.rstrip("/"), f"limit {self.limit}" if self.limit else "",
                 f"files of {self.folder.path}" if self.folder else ""]
        return ", ".join(part for part in parts if part)

    def asked(self) -> tuple[tuple[str, str], ...]:
        """Every (host, group), by name."""
        if self.inventory is None:
            assert self.folder is not None
            return self.folder.asked()
        from .collect.inventory import asked_hosts

        return asked_hosts(self.inventory, self.limit)

    def collect(self, wanted: Mapping[str, str], sink: Callable[[Answer], None],
                asked: tuple[tuple[str, str], ...]) -> bool:
        """Give the answers of the hosts ``wanted`` (host -> group) to ``sink``; whether all of them came. ``asked`` is
        what ``asked()`` said: a host that has left the inventory meanwhile is asked no more."""
        if self.folder is not None:
            for answer in self.folder.answers(wanted):
                sink(answer)
            return True
        from dataclasses import replace

        from .collect import Options, collect

        assert self.inventory is not None
        only = frozenset(wanted) & {host for host, _ in asked}
        if not only:
            return True
        options = replace(self.options or Options(), only=only)
        return not collect(self.inventory, self.limit, options, sink, asked).interrupted


@dataclass
class Done:
    """``new``: hosts that were put now; ``kept``: those that an earlier run of the same audit had put."""

    audit: AuditHead
    kept: int = 0
    new: int = 0
    whole: bool = False


def audit(store: Store, source: Source, specs: Callable[[Collection[str]], Mapping[str, Frozen]],
          say: Callable[[str], None], resume: bool = True) -> Done:
    """Run one, or what is left of one. ``specs`` gives for hosts the specs to judge them with, in place of their own.
    ``say`` gets one line where an earlier one is taken up. When this returns everything that came is in the store,
    also where Ctrl-C cut it short (``whole`` is False then)."""
    from .key import fleet_key
    from .read import seen

    asked = source.asked()
    spec_of = specs([host for host, _ in asked])
    key = fleet_key(store)
    head = store.resume(source.scope, RESUME_S) if resume else None
    wanted = dict(store.pending(head.id) if head is not None else asked)
    if head is None:
        head = store.begin(source.scope, asked)
    done = Done(head, kept=head.asked - len(wanted))
    if done.kept:
        say(f"audit #{head.id} was cut off: {done.kept} of {head.asked} hosts are in, asking the other {len(wanted)}")

    def keep(answer: Answer) -> None:
        store.put(done.audit.id, seen(answer, spec_of.get(answer.host), key))
        done.new += 1

    try:
        done.whole = not wanted or source.collect(wanted, keep, asked)
    except KeyboardInterrupt:
        done.whole = False
    if done.whole:
        store.finish(head.id)
    return done
