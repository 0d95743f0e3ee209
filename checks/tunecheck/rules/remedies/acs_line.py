"""Which ports the ACS options of a kernel command line keep clear, and which words are these options."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...parsers.kernel.cmdline import merge, words
from ...parsers.pci.acs import acs_options, covered_by_acs_option
from ...spec.frozen import declared_tokens
from ..context import Case

__all__ = ["EVERY_PORT", "replaced", "runs_without_effect", "uncovered"]

#: The kernel's own word for every port, since Linux 4.19.
EVERY_PORT = "pci=disable_acs_redir=pci:0:0"


def uncovered(case: Case, ports: Iterable[str], line: Sequence[str]) -> list[str]:
    """The ports whose redirect bits no ACS option of this command line keeps clear."""
    bridges = case.snapshot.topology.bridges
    options = acs_options(line)
    return [port for port in ports
            if not any(covered_by_acs_option(word, bridges[port].path, bridges[port].ids) for word in options)]


def runs_without_effect(case: Case) -> list[str]:
    """Return the running ACS options where they name every port between the accelerators and the next boot is not
    known to lack them: to boot with them again would change nothing. Empty where they do not."""
    running = case.host.kernel.cmdline.value if case.snapshot.host else None
    options = acs_options(running or ())
    topology = case.snapshot.topology
    ports = [port for port in topology.path_ports() if topology.bridges[port].acs.value is not None]
    # Ports that cannot be seen are covered by what names every port.
    lines = [list(running or ())]
    if not case.trial and not case.open_trial and case.snapshot.host and case.host.boot.generated.value is not None:
        lines.append(list(case.host.boot.generated.value))
    covered = all(not uncovered(case, ports, line) if ports else EVERY_PORT in acs_options(line) for line in lines)
    return options if options and covered else []


def replaced(case: Case) -> tuple[list[str], list[str]]:
    """Return the running tokens that hold another ACS option than EVERY_PORT, as of several the kernel takes only the
    last one (drivers/pci/pci.c: pci_setup()), and the other words of these tokens. The specification's own stay."""
    running = case.host.kernel.cmdline.value or () if case.snapshot.host else ()
    ours = set(words(declared_tokens(case.spec))) | {EVERY_PORT}
    old = [token for token in running if set(acs_options([token])) - ours]
    kept = [word for word in words(old) if not acs_options([word])]
    return old, merge(kept)
