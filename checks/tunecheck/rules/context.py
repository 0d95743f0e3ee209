"""What a check sees while it judges: facts, desired state, figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from ..model.command import Command, host, run
from ..model.finding import OR_PLAY, Remedy
from ..model.measurement import Measured
from ..parsers.kernel.cmdline import trial_id
from ..parsers.pci.switch_chips import QEMU_PORT
from ..spec.frozen import Frozen, Spec
from ..util.at_first_use import dataclass

if TYPE_CHECKING:     # a page that only names checks loads no fact
    from ..facts.snapshot import HostFacts, Snapshot

__all__ = ["Case"]

_T = TypeVar("_T")


@dataclass(frozen=True)
class Case:
    """Facts and desired state together. ``trial``: judge only what a trial boot has to prove. ``before``: the same
    host at an earlier time, for counters, which mean something only as differences. ``measured``: what a trial
    found. ``start``: asked before a start of what is served, which is the way out of what came before."""

    snapshot: Snapshot
    frozen: Frozen | None = None
    trial: bool = False
    before: Snapshot | None = None
    measured: Measured | None = None
    start: bool = False

    @cached_property
    def spec(self) -> Spec:
        """The desired state. Where there is no spec, it is one that asks for nothing."""
        return self.frozen.spec if self.frozen else Spec()

    @cached_property
    def _seen(self) -> dict[Callable[[Case], Any], Any]:
        return {}

    def once(self, look: Callable[[Case], _T]) -> _T:
        """Return what ``look`` says of this case. It looks once: a case does not change, and many checks, and every
        port of a box, ask the same."""
        if look not in self._seen:
            self._seen[look] = look(self)
        seen: _T = self._seen[look]
        return seen

    @property
    def host(self) -> HostFacts:
        """The facts beyond the topology. RuntimeError where they were not gathered: `tunecheck topo` does not read
        them."""
        if self.snapshot.host is None:
            raise RuntimeError("a rule of `tunecheck topo` asked for facts that this verb does not gather")
        return self.snapshot.host

    @cached_property
    def hypervisor(self) -> str:
        """What tells that this is a virtual machine, whose firmware, slots and ACS are its host's: the hypervisor's
        name, or a PCI port that only QEMU makes up; "" where nothing does. A machine whose accelerators are all
        emulated (the lab's stand-ins) does not count as one, as it has no other ports than its own."""
        topology = self.snapshot.topology
        if topology.devices and not any(device.ids.startswith("10de:") for device in topology.devices):
            return ""
        made_up = any(port.ids == QEMU_PORT for port in topology.bridges.values())
        return self.snapshot.guest.value or (f"QEMU, by its PCI ports ({QEMU_PORT})" if made_up else "")

    @property
    def guest(self) -> bool:
        """Whether this is known to be a virtual machine."""
        return bool(self.hypervisor)

    @cached_property
    def open_trial(self) -> bool:
        """Whether this is a trial boot that is not known to be committed. The mark stays on the running command line
        when it is; the receipt tells it, also where it speaks of a later trial that waits for its boot by now."""
        running = self.snapshot.host.kernel.cmdline.value if self.snapshot.host else None
        mark, receipt = trial_id(running or ()), self.snapshot.receipt.value
        return mark is not None and not (
            receipt and (receipt.state in ("committed", "clean") or receipt.trial_id not in ("", None, mark)))

    def play(self, tag: str, needs_reboot: bool = False, first: str | Sequence[str | Command] = (),
             by_hand: Remedy | None = None) -> Remedy:
        """Return a remedy: first the way by hand, where there is one, then the play with this tag. ``first``: what to
        change before, in the inventory or by hand. A box of which no inventory is known gets the way by hand alone,
        where there is one."""
        if by_hand and self.frozen is None:
            return replace(by_hand, ansible_tags=tuple(tag.split(",")), needs_reboot=needs_reboot)
        play = run("ansible-playbook site.yml -i inventory/NAME --tags", tag, "-l",
                   host(self.frozen.host if self.frozen else None), where="control")
        lead = (*((first,) if isinstance(first, str) else first), ", then run: ") if first else ("run: ",)
        before = (*by_hand.parts, OR_PLAY) if by_hand else ()
        found = Remedy.of(*before, *lead, play, ansible_tags=tuple(tag.split(",")), needs_reboot=needs_reboot)
        # Of the way by hand the parts are plain again.
        own = (by_hand.puts, by_hand.takes) if by_hand else ((), ())
        return replace(found, play_text=Remedy.of(*lead, play).text, puts=(*own[0], *found.puts),
                       takes=(*own[1], *found.takes))
