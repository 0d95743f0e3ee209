"""The errors of PCI Express's Advanced Error Reporting: bit, names and meaning of each.

Bits as in include/uapi/linux/pci_regs.h and the PCIe Base Specification; names of the kernel's tables
aer_correctable_error_string and aer_uncorrectable_error_string (drivers/pci/pcie/aer.c), and of pciutils (ls-ecaps.c:
cap_aer), which differ in one bit."""

from __future__ import annotations

from typing import NamedTuple, Tuple

__all__ = ["CORRECTABLE", "UNCORRECTABLE", "AerError"]


class AerError(NamedTuple):
    """One error. ``name`` is the kernel's, ``in_lspci`` that of lspci. ``meaning`` says what happened, without a
    capital and a full stop."""

    bit: int
    name: str
    meaning: str
    in_lspci: str


def _error(bit: int, name: str, meaning: str, in_lspci: str = "") -> AerError:
    return AerError(bit, name, meaning, in_lspci or name)


CORRECTABLE: Tuple[AerError, ...] = (
    _error(0, "RxErr", "the receiver got a signal that it could not decode (Receiver Error)"),
    _error(6, "BadTLP", "a packet (TLP) arrived damaged or out of order, and was sent again"),
    _error(7, "BadDLLP", "a short packet of the link itself (DLLP) arrived damaged, and was dropped"),
    _error(8, "Rollover", "a packet was sent four times and not acknowledged, so the link was trained anew "
                          "(REPLAY_NUM Rollover)"),
    _error(12, "Timeout", "a packet was not acknowledged in time, and was sent again (Replay Timer Timeout)"),
    _error(13, "NonFatalErr", "an uncorrectable error that its device reports as a correctable one, as somebody else "
                              "handles it (Advisory Non-Fatal Error); often the probe for a device that is not there",
           "AdvNonFatalErr"),
    _error(14, "CorrIntErr", "the device corrected an error inside itself (Corrected Internal Error)"),
    _error(15, "HeaderOF", "more errors came than the device can note the headers of (Header Log Overflow)"),
)
UNCORRECTABLE: Tuple[AerError, ...] = (
    _error(4, "DLP", "the two ends of a link disagree about which packets were acknowledged (Data Link Protocol "
                     "Error)"),
    _error(5, "SDES", "the link went down though nobody asked for it (Surprise Down Error)"),
    _error(12, "TLP", "a packet arrived whose sender had marked its data as bad (Poisoned TLP)"),
    _error(13, "FCP", "the two ends of a link disagree about the free space of the receiver (Flow Control Protocol "
                      "Error)"),
    _error(14, "CmpltTO", "a request got no answer in time (Completion Timeout)"),
    _error(15, "CmpltAbrt", "a device could not do what it was asked for, and said so (Completer Abort)"),
    _error(16, "UnxCmplt", "an answer came that nobody had asked for (Unexpected Completion)"),
    _error(17, "RxOF", "more packets came than the receiver had space for (Receiver Overflow)"),
    _error(18, "MalfTLP", "a packet is malformed; mostly it is larger than its receiver takes (Malformed TLP)"),
    _error(19, "ECRC", "the end-to-end checksum of a packet is wrong (ECRC Error)"),
    _error(20, "UnsupReq", "a device got a request that it does not support (Unsupported Request)"),
    _error(21, "ACSViol", "a port blocked a request that ACS does not allow (ACS Violation)"),
    _error(22, "UncorrIntErr", "the device found an error inside itself that it cannot correct (Uncorrectable Internal "
                               "Error)"),
    _error(23, "BlockedTLP", "a port blocked a multicast packet (MC Blocked TLP)"),
    _error(24, "AtomicOpBlocked", "a port blocked an atomic operation (AtomicOp Egress Blocked)"),
    _error(25, "TLPBlockedErr", "a port blocked a packet for its prefix (TLP Prefix Blocked)"),
    _error(26, "PoisonTLPBlocked", "a port did not pass on a packet whose data is marked as bad (Poisoned TLP Egress "
                                   "Blocked)"),
    _error(27, "DMWrReqBlocked", "a port blocked a deferrable write (DMWr Request Egress Blocked)"),
    _error(28, "IDECheck", "a packet of an encrypted link failed its check (IDE Check Failed)"),
    _error(29, "MisIDETLP", "a packet of an encrypted link came to the wrong place (Misrouted IDE TLP)"),
    _error(30, "PCRC_CHECK", "the checksum inside an encrypted packet is wrong (PCRC Check Failed)"),
    _error(31, "TLPXlatBlocked", "a port blocked a packet with a translated address (TLP Translation Egress Blocked)"),
)
