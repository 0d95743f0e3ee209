"""How to switch ASPM of a link off. The way depends on the words of the kernel command line."""

from __future__ import annotations

from ...model.command import addresses
from ...model.finding import Place, Remedy

__all__ = ["fix"]

_POLICY = "pcie_aspm.policy=performance"
_BIOS = "switch ASPM off in the BIOS"
_OFF = ("remove pcie_aspm=off from the boot configuration{policy}: pcie_aspm=off only keeps the "
        "kernel from managing ASPM, so what the firmware switched on stays on, and it takes AER away (aer-ownership)")

_REACHED = (f"{_POLICY} runs and did not reach this link, so the kernel does not manage it (`sudo journalctl -k -b -g "
            f"'_OSC|FADT'`): {_BIOS}")


def fix(asleep: dict[str, str], running: list[str]) -> Remedy:
    """Return how to switch ASPM off. ``asleep``: the states switched on, by address; ``running``: the words of the
    command line."""
    if "pcie_aspm=off" in running:
        policy = f", beside which {_POLICY} does not act" if _POLICY in running else f" and boot with {_POLICY}"
        return Remedy(_OFF.format(policy=policy), ("cmdline",), True)
    if _POLICY not in running:
        return Remedy(f"{_BIOS}, or boot with {_POLICY}", ("cmdline",), True, Place.FIRMWARE)
    # The policy works where the kernel manages the link: not where _OSC was refused, nor where the FADT forbids it.
    files = [f"/sys/bus/pci/devices/{bdf}/link/{state.lower()}_aspm" for bdf in addresses(asleep)
             for state in asleep[bdf].split() if state in ("L0s", "L1")]
    if not files:
        return Remedy.typed(_REACHED, (), True, Place.FIRMWARE)
    return Remedy.typed(_REACHED + "; until then, where these files are there: `sudo sh -c '{switch}'`", (), True,
                        Place.FIRMWARE, switch=f"echo 0 | tee {' '.join(files)}")
