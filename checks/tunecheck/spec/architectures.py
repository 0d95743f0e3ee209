"""The architecture of each GPU of NVIDIA's, by PCI device id: advice that a board cannot take is no advice.

The ranges are those of the chips in pci.ids (https://pci-ids.ucw.cz, read 2026-11); an id outside of them is unknown,
never a guess."""

from __future__ import annotations

__all__ = ["ARCHITECTURES", "architecture", "before"]

#: Oldest first. Ada and Hopper are of one age.
ARCHITECTURES = ("Fermi", "Kepler", "Maxwell", "Pascal", "Volta", "Turing", "Ampere", "Ada", "Hopper", "Blackwell")
#: (first, last, architecture) of device ids.
_RANGES = (
    (0x06C0, 0x06DF, "Fermi"), (0x0DC0, 0x0DFF, "Fermi"), (0x0E22, 0x0E3B, "Fermi"), (0x1040, 0x109B, "Fermi"),
    (0x1140, 0x1140, "Fermi"), (0x1200, 0x1251, "Fermi"),
    (0x0FC0, 0x0FFF, "Kepler"), (0x1001, 0x103F, "Kepler"), (0x1180, 0x11FF, "Kepler"), (0x1280, 0x12BF, "Kepler"),
    (0x1340, 0x13FF, "Maxwell"), (0x1400, 0x143F, "Maxwell"), (0x1617, 0x1667, "Maxwell"), (0x1725, 0x179F, "Maxwell"),
    (0x17C0, 0x17FF, "Maxwell"),
    (0x15F0, 0x15FF, "Pascal"), (0x1B00, 0x1CFF, "Pascal"), (0x1D00, 0x1D7F, "Pascal"),
    (0x1D80, 0x1DFF, "Volta"),
    (0x1E00, 0x1FFF, "Turing"), (0x2180, 0x21FF, "Turing"),
    (0x2080, 0x20FF, "Ampere"), (0x2200, 0x22FF, "Ampere"), (0x2400, 0x25FF, "Ampere"),
    (0x2300, 0x23FF, "Hopper"),
    (0x2600, 0x28FF, "Ada"),
    (0x2900, 0x29FF, "Blackwell"), (0x2B00, 0x2DFF, "Blackwell"), (0x2F00, 0x2FFF, "Blackwell"),
    (0x3180, 0x31FF, "Blackwell"),
)


def architecture(ids: str) -> str | None:
    """Return the architecture of a GPU by its PCI id ("10de:2bb1"). None where it is not NVIDIA's, or not known."""
    vendor, _, device = ids.partition(":")
    try:
        number = int(device, 16)
    except ValueError:
        return None
    return next((name for first, last, name in _RANGES if vendor == "10de" and first <= number <= last), None)


def before(ids: str, name: str) -> str | None:
    """Return the architecture where it is known to be older than ``name``, else None."""
    found = architecture(ids)
    return found if found is not None and ARCHITECTURES.index(found) < ARCHITECTURES.index(name) else None
