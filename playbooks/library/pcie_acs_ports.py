#!/usr/bin/python
"""Ansible module: the ports between the accelerators, their ACS registers, the parameters that clear them."""

from __future__ import annotations

DOCUMENTATION = r"""
module: pcie_acs_ports
short_description: Find the ports on the accelerators' peer paths and the kernel parameters that keep ACS redirect off
description: [Read-only. Works from sysfs alone, so that it answers before any driver is installed.]
options:
  pci_ids: {description: "vendor:device of the accelerators.", type: list, elements: str, required: true}
  mechanism: {description: How redirect is kept off., type: str, choices: [disable_acs_redir, config_acs, setpci],
              default: disable_acs_redir}
  scope: {description: Which ports., type: str, choices: [gpu-paths, all], default: gpu-paths}
attributes:
  check_mode: {support: full}
author: [tunecheck]
"""
RETURN = r"""
accelerators: {description: Addresses found., type: list, returned: always}
ports: {description: "Each port on a peer path as {bdf, path, acs}.", type: list, returned: always}
registers: {description: "ACSCtl of the ports that have the capability, {bdf: 0x001d}.", type: dict, returned: always}
redirecting: {description: Ports whose redirect bits are set now., type: list, returned: always}
tokens: {description: Kernel parameters for the mechanism and scope., type: list, returned: always}
lockdown: {description: Kernel lockdown mode., type: str, returned: always}
refusal: {description: Why the mechanism cannot work on this kernel, or empty., type: str, returned: always}
"""

import itertools
import os
import platform
import re

from ansible.module_utils import preconditions
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.box_io import read_text
from ansible.module_utils.tunecheck.parsers.pci import topology
from ansible.module_utils.tunecheck.parsers.pci.acs import acs as acs_registers
from ansible.module_utils.tunecheck.parsers.pci.bdf import bdf_key
from ansible.module_utils.tunecheck.parsers.pci.config_space import ConfigUnreadable

DEVICES = "/sys/bus/pci/devices"
#: First kernel with each parameter (aaca43fda742 and 47c8846a49ba).
SINCE = {"disable_acs_redir": (4, 19), "config_acs": (6, 11)}
#: Only ReqRedir, CmpltRedir and EgressCtrl are cleared; x keeps a bit. Right-most character is bit 0.
FLAGS = "x0x00xx"


def accelerators(wanted):
    """Return the chains of the devices with one of these ids, in address order."""
    found = []
    for bdf in sorted(os.listdir(DEVICES), key=bdf_key):
        base = os.path.join(DEVICES, bdf)
        ids = "%s:%s" % tuple(read_text(os.path.join(base, name)).strip()[2:] for name in ("vendor", "device"))
        if ids in wanted:
            found.append(topology.chain(os.path.realpath(base)))
    return found


def ports(chains):
    """Return {bdf: (address path from the root port, Acs or None)} of every port on a path between two accelerators."""
    result = {}
    for a, b in itertools.combinations(chains, 2):
        for bdf in topology.path_bridges(a, b):
            owner = a if bdf in a.devices else b
            with open(os.path.join(DEVICES, bdf, "config"), "rb") as handle:
                acs = acs_registers(handle.read())
            result[bdf] = (owner.devices[: owner.devices.index(bdf) + 1], acs)
    return result


def address_path(devices):
    """Return the path in the kernel's form, 0000:00:04.0/00.0/01.0. It stays right when buses are numbered anew."""
    return "/".join([devices[0], *[bdf.rsplit(":", 1)[1] for bdf in devices[1:]]])


def tokens(found, mechanism, scope):
    """Return the kernel parameters that keep redirect off. Pure."""
    if mechanism == "setpci":
        return []
    names = ["pci:0:0"] if scope == "all" else [
        address_path(devices) for devices, acs in (found[bdf] for bdf in sorted(found, key=bdf_key))
        if acs is not None]
    if not names:
        return []
    if mechanism == "config_acs":
        names = [FLAGS + "@" + name for name in names]
    return ["pci=%s=%s" % (mechanism, ";".join(names))]


def main():
    module = AnsibleModule(
        argument_spec={
            "pci_ids": {"type": "list", "elements": "str", "required": True},
            "mechanism": {"type": "str", "choices": ["disable_acs_redir", "config_acs", "setpci"],
                          "default": "disable_acs_redir"},
            "scope": {"type": "str", "choices": ["gpu-paths", "all"], "default": "gpu-paths"},
        },
        supports_check_mode=True,
    )
    mechanism = module.params["mechanism"]
    release = tuple(int(part) for part in re.findall(r"\d+", platform.release())[:2])
    if release < SINCE.get(mechanism, (0, 0)):
        module.fail_json(msg="kernel %s does not know pci=%s= (expected >= %d.%d); set box_spec.acs.mechanism to %s"
                         % (platform.release(), mechanism, *SINCE[mechanism],
                            "disable_acs_redir" if release >= SINCE["disable_acs_redir"] else "setpci"))
    chains = accelerators(module.params["pci_ids"])
    try:
        found = ports(chains)
    except (OSError, ConfigUnreadable) as error:
        module.fail_json(msg="the ACS registers of the accelerators' ports could not be read: %s. Expected root and a "
                             "kernel that gives the extended configuration space." % error)
    lockdown = preconditions.lockdown()
    module.exit_json(
        changed=False,
        accelerators=[chain.devices[-1] for chain in chains],
        ports=[{"bdf": bdf, "path": address_path(found[bdf][0]), "acs": found[bdf][1] is not None} for bdf in found],
        registers={bdf: "0x%04x" % acs.ctl for bdf, (_devices, acs) in found.items() if acs is not None},
        redirecting=[bdf for bdf, (_devices, acs) in found.items() if acs is not None and acs.redirects],
        tokens=tokens(found, mechanism, module.params["scope"]),
        lockdown=lockdown,
        refusal=preconditions.register_writes(lockdown) if mechanism == "setpci" else "",
    )


if __name__ == "__main__":
    main()
