"""Words of PCI Express that `tunecheck explain` knows: its errors, the bits and registers that lspci prints, states
of a link, and what ACPI says of host bridges. Word -> (in words, what to do or to know, the check to read on)."""

from __future__ import annotations

from collections.abc import Iterator

from ...parsers.pci.aer_names import CORRECTABLE, UNCORRECTABLE, AerError

__all__ = ["DEVICE_STATUS_WORDS", "PCIE_ERRORS", "PCIE_WORDS"]

_Told = tuple[str, str, str]
_SEEN = "In the kernel log, in the kernel's counters and in lspci ({register}): checks aer-events and link-errors."


def _errors(register: str, kind: str, errors: tuple[AerError, ...]) -> Iterator[tuple[str, _Told]]:
    for error in errors:
        for name in dict.fromkeys((error.name, error.in_lspci)):
            other = "" if error.name == error.in_lspci else \
                f" lspci calls it {error.in_lspci}, the kernel {error.name}."
            yield name, (f"{kind} PCIe error (AER): {error.meaning}",
                         _SEEN.format(register=f"{register}, bit {error.bit}") + other, "aer-events")


#: Each error of AER, by the kernel's name and by that of lspci.
PCIE_ERRORS: dict[str, _Told] = {**dict(_errors("CESta", "a correctable", CORRECTABLE)),
                                 **dict(_errors("UESta", "an uncorrectable", UNCORRECTABLE))}
_STATUS = "It stays until somebody clears it. AER, where there is it, says which error it was."
#: Flags of Device Status. Two have the name of an error of AER.
DEVICE_STATUS_WORDS: dict[str, _Told] = {
    "CorrErr": ("in lspci (DevSta): the device has found a correctable PCIe error", _STATUS, "link-errors"),
    "NonFatalErr": ("in lspci (DevSta): the device has found an uncorrectable PCIe error that is not fatal", _STATUS,
                    "link-errors"),
    "FatalErr": ("in lspci (DevSta): the device has found a fatal PCIe error", _STATUS, "link-errors"),
    "UnsupReq": ("in lspci (DevSta): the device got a request that it does not support",
                 "Set on healthy machines, too.", "link-errors"),
}
_SHOW = "See it: sudo lspci -nnvvv."
_OSC = "It is in the kernel log, where the kernel asks the firmware for control (_OSC)."
PCIE_WORDS: dict[str, _Told] = {
    "ACSCtl": ("the control register of ACS: which of its bits are on at a PCIe port", _SHOW, "acs-redirect"),
    "ReqRedir": ("ACS bit: requests between two devices of one switch are sent up to the CPU", "", "acs-redirect"),
    "CmpltRedir": ("ACS bit: answers between two devices of one switch are sent up to the CPU", "", "acs-redirect"),
    "SrcValid": ("ACS bit: a port checks the sender's bus number", "It does not slow peer-to-peer.", "acs-redirect"),
    "UpstreamFwd": ("ACS bit: what comes from above and goes back up is forwarded", "It does not slow peer-to-peer.",
                    "acs-redirect"),
    "TransBlk": ("ACS bit: requests with an address that says it is translated are blocked", "", "acs-redirect"),
    "EgressCtrl": ("ACS bit: a list in the port says to which other ports a device may send",
                   "It counts as redirect: it may block traffic between two GPUs.", "acs-redirect"),
    "DirectTrans": ("ACS bit: requests with a translated address may go directly between two devices", "It lets ATS "
                    "pass without the way through the CPU.", "acs-redirect"),
    "DLLP": ("Data Link Layer Packet: the packets by which the two ends of a PCIe link acknowledge others", "",
             "aer-events"),
    "ECAP_ACS": ("how setpci names the ACS registers of a port; +6 is ACSCtl", "", "acs-redirect"),
    "CAP_EXP": ("how setpci names the PCI Express registers of a device", "", "link-speed"),
    "LnkCap": ("link capabilities, in lspci: the most lanes and the fastest generation that this end can do", _SHOW,
               "link-width"),
    "LnkSta": ("link status, in lspci: the lanes and the generation that the link has now", _SHOW, "link-width"),
    "LnkCtl": ("link control, in lspci: the switches of a link, such as ASPM", _SHOW, "link-aspm"),
    "DevCtl": ("device control, in lspci: payload (MPS), largest read (MRRS) and relaxed ordering of a device", _SHOW,
               "link-payload"),
    "DevSta": ("device status, in lspci: whether the device has found errors", _SHOW, "link-errors"),
    "UESta": ("uncorrectable error status, in lspci: the errors of AER that a device has found and nobody has cleared",
              _SHOW, "link-errors"),
    "CESta": ("correctable error status, in lspci: the errors of AER that a device has found and nobody has cleared",
              _SHOW, "link-errors"),
    "RlxdOrd": ("relaxed ordering, in lspci (DevCtl): a device may let its packets overtake each other", _SHOW,
                "relaxed-ordering"),
    "L0": ("a PCIe link that is awake", "", "link-aspm"),
    "L0s": ("a PCIe link that sleeps lightly in one direction (ASPM)", "It wakes within about a microsecond.",
            "link-aspm"),
    "L1": ("a PCIe link that sleeps in both directions (ASPM)", "It takes some microseconds to wake.", "link-aspm"),
    "LTSSM": ("link training and status state machine: what brings a link (PCIe, NVLink) up and keeps it up",
              "A fault of it means that the link could not be trained.", "link-width"),
    "D0": ("a PCI device that is switched on", "", "gpu-fallen-off"),
    "D3": ("a PCI device that is switched off by power management (D3hot; D3cold: without power)",
           "A GPU that cannot leave it is mostly gone from the bus.", "gpu-fallen-off"),
    "UNC": ("uncorrectable, of an error of PCIe or of a memory", "", "aer-events"),
    "BAR": ("Base Address Register: a window of addresses through which a PCI device is reached",
            "Those of GPUs need much room: Above 4G Decoding in the BIOS.", "bar-assignment"),
    "MSI": ("Message Signaled Interrupts: a PCIe device interrupts the CPU by a write to memory", "", "aer-ownership"),
    "ClockPM": ("a PCIe device may switch its reference clock off to save power", _OSC, "aer-ownership"),
    "ExtendedConfig": ("the configuration space of PCIe beyond 256 bytes, with AER and ACS, can be reached", _OSC,
                       "aer-ownership"),
    "ACPI": ("the tables and methods by which the firmware describes the machine to the kernel", "", "aer-ownership"),
    "_OSC": ("the ACPI method by which the kernel asks the firmware for control of PCIe features of a host bridge",
             "Without it the firmware keeps AER, DPC or hot plug to itself.", "aer-ownership"),
    "_PXM": ("the ACPI value that says to which NUMA node a host bridge belongs", "", "numa-nodes"),
    "FADT": ("an ACPI table: it may forbid ASPM or MSI on the whole machine", "", "link-aspm"),
    "PNP0A03": ("ACPI's id of a host bridge of PCI; 00 behind it is its number", "", "aer-ownership"),
    "PNP0A08": ("ACPI's id of a host bridge of PCI Express; 00 behind it is its number", "", "aer-ownership"),
    "ACPI0016": ("ACPI's id of a host bridge of CXL; 00 behind it is its number", "", "aer-ownership"),
    "AE_ERROR": ("the kernel's interpreter of ACPI says: a method failed", "", "aer-ownership"),
    "AE_NOT_FOUND": ("the kernel's interpreter of ACPI says: a method or object does not exist", "", "aer-ownership"),
    "VT-d": ("Intel's IOMMU, also the name of its switch in the BIOS", "", "iommu-mode"),
    "AMD-Vi": ("AMD's IOMMU, also the name of its messages in the kernel log", "", "iommu-mode"),
    "IO_PAGE_FAULT": ("AMD's IOMMU stopped a device from using an address that it has no right to", "", "iommu-fault"),
    "NPS1": ("nodes per socket: each CPU socket is one NUMA node (NPS2, NPS4: two, four)",
             "A setting of the BIOS of AMD EPYC.", "numa-nodes"),
    "TSC": ("time stamp counter: the CPU's own clock, the fastest to read", "", "clocksource"),
    "EDAC": ("the part of the kernel that reports errors of memory; MC0 in its messages is a memory controller", "",
             "host-memory"),
    "RCU": ("read-copy-update, by which the kernel waits for all CPUs; a CPU that holds it up hangs", "", "hung-task"),
    "SIGKILL": ("the signal that ends a process for certain", "Where it is pending, the process hangs in the kernel.",
                "driver-stuck"),
    "RDMA": ("a network card reads and writes memory of another machine directly", "", "memlock"),
    "GPUDirect": ("NVIDIA's ways for other devices to reach a GPU's memory without the host's memory (RDMA, Storage)",
                  "", "uplink-neighbours"),
    "NVMe": ("the interface of fast disks on PCIe", "", "uplink-neighbours"),
    "CXL": ("Compute Express Link: memory and devices over the lanes of PCIe", "", ""),
}
