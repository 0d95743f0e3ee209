#!/opt/tunecheck/current/bin/python
"""Clear ReqRedir, CmpltRedir and EgressCtrl on the ports between this box's accelerators. Run by tunecheck-acs.service.

Only these three bits are written (never SrcValid), only where one of them is set, and every write is read back.
Exit: 0 all clear, 1 a port could not be cleared.
"""

from __future__ import annotations

import itertools
import os
import sys

from tunecheck.parsers.pci import pci, topology
from tunecheck.spec.frozen import load_frozen

DEVICES = "/sys/bus/pci/devices"


def read(bdf: str, name: str) -> bytes:
    with open(os.path.join(DEVICES, bdf, name), "rb") as handle:
        return handle.read()


def ports(pci_ids: tuple[str, ...]) -> list[str]:
    """Every port between two accelerators; addresses are found anew at each run, buses may be renumbered."""
    chains = []
    for bdf in sorted(os.listdir(DEVICES), key=pci.bdf_key):
        vendor, device = (read(bdf, name).decode().strip()[2:] for name in ("vendor", "device"))
        if f"{vendor}:{device}" in pci_ids:
            chains.append(topology.chain(os.path.realpath(os.path.join(DEVICES, bdf))))
    found = {bdf for a, b in itertools.combinations(chains, 2) for bdf in topology.path_bridges(a, b)}
    return sorted(found, key=pci.bdf_key)


def clear(bdf: str) -> bool:
    """Clear one port's redirect bits; False, with the reason on stderr, where that failed."""
    acs = pci.acs(read(bdf, "config"))
    if acs is None or not acs.redirects:
        return True
    register = acs.offset + 6
    try:
        descriptor = os.open(os.path.join(DEVICES, bdf, "config"), os.O_RDWR)
        try:
            os.pwrite(descriptor, acs.cleared.to_bytes(2, "little"), register)
        finally:
            os.close(descriptor)
    except PermissionError:
        print(f"{bdf}: ACSCtl=0x{acs.ctl:04x} could not be written: kernel lockdown or missing root. Expected the "
              "kernel parameter instead: box_spec.acs.mechanism: disable_acs_redir", file=sys.stderr)
        return False
    now = pci.acs(read(bdf, "config"))
    if now is None or now.redirects:
        print(f"{bdf}: ACSCtl reads 0x{now.ctl if now else 0xFFFF:04x} after the write; expected 0x{acs.cleared:04x}",
              file=sys.stderr)
        return False
    print(f"{bdf}: ACSCtl 0x{acs.ctl:04x} -> 0x{now.ctl:04x}")
    return True


def main() -> int:
    spec = load_frozen("/etc/tunecheck/spec.json").spec
    results = [clear(bdf) for bdf in ports(spec.accelerators.pci_ids)]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
