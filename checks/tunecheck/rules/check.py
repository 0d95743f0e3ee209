"""What a check declares about itself, in its own file: ``CHECK = Check(...)``.

`python -m lab.generators.check_index` collects the declarations into index.py, so that no verb has to import every
check to know which ones it runs. A test compares the two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from functools import cache, cached_property
from importlib import import_module
from typing import TYPE_CHECKING

from ..util.at_first_use import dataclass
from .codes import COMMON

if TYPE_CHECKING:
    from ..model.finding import Finding
    from .context import Case

__all__ = ["ALL", "ALLREDUCE", "ALONE", "DRIVER", "EVERY", "HOST", "P2P", "RUNTIME", "TOPO", "TRIALS", "Check",
           "Family", "Heading", "Needs"]

#: Verbs that run a check. "driver" and "runtime" are what the roles of these names judge by themselves; "alone",
#: "p2p" and "allreduce" are the three measurements.
HOST = ("host", "preflight")
TOPO = ("topo", "preflight")
EVERY = ("topo", "host", "preflight")
DRIVER = ("host", "preflight", "driver")
RUNTIME = ("host", "preflight", "runtime")
ALL = (*EVERY, "driver", "runtime")
ALONE = ("alone",)
P2P = ("p2p",)
ALLREDUCE = ("allreduce",)
TRIALS = ("alone", "p2p", "allreduce")


class Heading(Enum):
    """The parts of a report, in their order."""

    ACCELERATORS = "The accelerators and what joins them"
    LINKS = "PCIe links and switches"
    ACS = "ACS"
    BOOT = "Kernel parameters and IOMMU"
    SYSTEM = "Modules, CPUs, memory"
    DRIVER = "NVIDIA driver and services"
    RUNTIME = "Container runtime"
    GPUS = "GPUs"
    KERNEL = "Kernel log and kernel"
    P2P = "Measured by p2p"
    ALLREDUCE = "Measured by allreduce"


class Family(Enum):
    """The columns of the fleet's grid, in the order of its report, and what each is about."""

    SPEC = "spec", "there is a desired state to judge against"
    GPU = "gpu", "the boards and what NVML says of them"
    PCIE = "pcie", "links, switches and how the accelerators relate"
    ACS = "acs", "who sends peer traffic up"
    BOOT = "boot", "kernel, its command line, the next boot"
    IOMMU = "iommu", "translation of the accelerators' addresses"
    CPU = "cpu", "processors, NUMA nodes, memory policy, clock"
    DRIVER = "driver", "the NVIDIA driver in all its parts"
    RUNTIME = "runtime", "containers and what services get"
    ERRORS = "errors", "what the logs and the error registers hold"
    MEASURED = "measured", "what trials measured"


class Needs(Enum):
    """What of the PCI tree a pass or a skip of the check rests on. Where that is not known, evidence_guard.py makes
    it unknown."""

    TREE = "it looks at nothing but the tree: without it the check knows nothing, whatever it would skip for"
    WHOLE_TREE = "it counts what is there, or passes for what is not"
    GPUS = "it asks every GPU by what NVML says of it"
    WAY = "it counts, or compares, what is above the accelerators"
    PAIRS = "it judges pairs of accelerators"
    SIBLINGS = "it counts what is below one switch"


@dataclass(frozen=True)
class Check:
    """One check. ``summary``: what is so when it passes. ``place``: its order under its heading; these are tens, so
    that another check fits between two. ``in_trial``: also judged of a boot that is not committed yet. ``of_posts``: it
    judges outputs of tools that only an import holds, and says nothing where none of them was given. ``judges``: the
    facts it judges, as shell patterns. About these facts drift asks the desired state, and neither the majority of the
    hosts nor the previous audit; {subject} is the name of what the finding is about. ``judges_of``: subject and
    fact, where a finding on that subject judges this one alone of them ("": none); on any other it judges all of them.
    ``happening``: it tells what goes on now, not how a host is set up. So a warning of it is news in every audit,
    however long the host has had it. None: as its family says; a check of the family ERRORS declares only that it is
    none of these.
    ``built_so``: what it warns of is how the machine is built, which nobody mends tonight: faults come first.
    ``could_not_look``: its own codes of a skip that say that what it judges was not there to be read. Such a skip ends
    no earlier finding (told.py); every other skip says that the check does not apply. ``before``: checks that nothing
    mends on a host while this one fails there, as the role or the kernel refuses it: its own fix comes first.
    ``against``: the facts, as shell patterns, whose words may take back what the finding's subject declares
    (parsers/kernel/param_conflicts.py): that such a word goes is what the specification asks for. ``compares``: the
    facts that it holds those against which it judges. A change of one may end what it found; of these facts drift asks
    the majority and the previous audit all the same. ``misses``: its own codes of a finding that something is
    missing, and ``counts``: the facts that count that: that one of them counts more is what the fix is for.
    ``good_skips``: its own codes of a skip that are what good looks like: a finding is over with one of them, and not
    merely no longer judged. ``one_fault``: its own codes that are one fault: which of them it gives depends on what
    else is told, as the cause may be in a log that does not last. The first is what the fault is without its cause."""

    id: str
    summary: str
    heading: Heading
    place: int
    family: Family
    verbs: tuple[str, ...] = HOST
    in_trial: bool = False
    of_posts: bool = False
    needs: tuple[Needs, ...] = ()
    judges: tuple[str, ...] = ()
    judges_of: tuple[tuple[str, str], ...] = ()
    happening: bool | None = None
    built_so: bool = False
    could_not_look: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    against: tuple[str, ...] = ()
    compares: tuple[str, ...] = ()
    misses: tuple[str, ...] = ()
    counts: tuple[str, ...] = ()
    good_skips: tuple[str, ...] = ()
    one_fault: tuple[str, ...] = ()

    @cached_property
    def module(self) -> str:
        """The name of the check's module below this folder: its family's folder, and its own file."""
        return f"{self.family.value[0]}.{self.id.replace('-', '_')}"

    @property
    def tells_events(self) -> bool:
        """Whether it tells what goes on. What logs, counters and error registers hold does, where nothing else is
        declared."""
        return self.family is Family.ERRORS if self.happening is None else self.happening

    @cached_property
    def codes(self) -> Mapping[str, str]:
        """Every code that the check can give, with its meaning: CODES of its own file and, behind them, those of
        rules/codes.py. ``xid-N`` stands for xid-79 and every other number."""
        own: Mapping[str, str] = import_module(f".{self.module}", __package__).CODES
        return {**own, **{code: meaning for code, meaning in COMMON.items() if code not in own}}

    def judge(self, case: Case) -> Iterable[Finding]:
        """Return the findings of this check. Its file is imported here, so that `tunecheck topo` does not pay for the
        others."""
        return _function(self.module)(case)

    def load(self) -> None:
        """Import the check's file now, before `judge` needs it."""
        _function(self.module)


@cache
def _function(module: str) -> Callable[[Case], Iterable[Finding]]:
    """Return the judge of a check's module. It is looked up once: a fleet's audit asks for it ninety times for every
    host."""
    found: Callable[[Case], Iterable[Finding]] = import_module(f".{module}", __package__).judge
    return found
