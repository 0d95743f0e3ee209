"""The field's own words, for `tunecheck explain GNS`, `PHB`, `"Xid 79"`: markdown, as the checks' pages."""

from __future__ import annotations

import re

__all__ = ["NAMES", "term"]

_XID = re.compile(r"(?:nvrm:?\s*)?xid[\s:#(-]*(\d{1,4})\b.*", re.IGNORECASE | re.DOTALL)
_NVLINK = re.compile(r"NV(\d{1,2}|#)", re.IGNORECASE)
_LETTERS = ("OK", "CNS", "GNS", "TNS", "DR", "NS")
#: Term -> (in words, what to do or to know, the check to read on).
_TERMS = {
    "PIX": ("at most one PCIe switch lies between two GPUs: the shortest way over PCIe",
            "With ACS redirect off their traffic never leaves the switch.", "topo-relation"),
    "PXB": ("several PCIe switches lie between two GPUs, and no CPU",
            "As fast as PIX where no link on the way is shared; some latency more.", "topo-relation"),
    "PHB": ("the way between two GPUs goes through one host bridge, that is through the CPU",
            "Typical for boards in slots of the CPU. Peer-to-peer works only on CPUs that the driver knows; ACS "
            "redirect and a translating IOMMU decide about its speed.", "topo-relation"),
    "NODE": ("the way between two GPUs goes through several host bridges of one CPU (one NUMA node)",
             "As PHB, with a hop inside the CPU more.", "topo-relation"),
    "SYS": ("the way between two GPUs goes from one CPU socket (NUMA node) to another",
            "The slowest way over PCIe. Put the GPUs of one model below one socket where there is a choice.",
            "topo-relation"),
    "X": ("a GPU and itself, in the table of nvidia-smi topo -m", "Nothing is to be done.", "topo-relation"),
    "ACS": ("Access Control Services: rights that a PCIe port enforces between the devices below it",
            "Its redirect bits send traffic between two GPUs up to the CPU and back. Virtual machines need that, a "
            "bare-metal inference box does not.", "acs-redirect"),
    "REQREDIR": ("ACS bit: requests between two devices of one switch are sent up to the CPU", "", "acs-redirect"),
    "CMPLTREDIR": ("ACS bit: answers between two devices of one switch are sent up to the CPU", "", "acs-redirect"),
    "P2P": ("peer-to-peer: a GPU reads and writes another GPU's memory directly",
            "Without it data is copied through the host's memory.", "p2p-capability"),
    "BAR1": ("the window through which other devices reach a GPU's memory",
             "As large as the memory with Resizable BAR; with 256 MiB peer-to-peer between processes fails.",
             "bar1-size"),
    "IOMMU": ("translates the addresses that devices use", "iommu=pt lets the host's own devices pass untranslated.",
              "iommu-mode"),
    "AER": ("Advanced Error Reporting: how PCIe devices report errors of their links",
            "Correctable errors in number point to a riser, a cable or a slot.", "aer-events"),
    "XID": ("the NVIDIA driver's word for an error in the kernel log, with a number",
            'What one number means: tunecheck explain "Xid 79".', "xid"),
    "SXID": ("the same of an NVSwitch", "", "sxid"),
    "ASPM": ("power saving of a PCIe link, which costs latency and, on bad links, the link", "", "link-aspm"),
    "MPS": ("the largest payload of a PCIe packet", "", "link-payload"),
    "MRRS": ("the largest piece that a PCIe device asks for at once", "", "link-payload"),
    "CDI": ("Container Device Interface: the file that tells podman and docker what belongs to a GPU", "", "cdi-spec"),
    "UNKNOWN": ("a verdict: the evidence is missing, so the check says neither pass nor fail",
                "The finding says what to add; often it is root: sudo tunecheck preflight.", ""),
    "SKIP": ("a verdict: the check does not apply to this box, or nothing asks for it", "-v shows the reason.", ""),
    "WARN": ("a verdict: the box works, and something costs speed, or may cost it later", "", ""),
    "FAIL": ("a verdict: the box is not what it should be", "The finding names the way to mend it.", ""),
}
NAMES = (*_TERMS, *_LETTERS, "NV#", "Xid N")


def term(name: str, ids: tuple[str, ...]) -> str | None:
    """The page about ``name``, None where it is no term. In lower case only what is not a part of a check's id: who
    types acs looks for checks."""
    name = " ".join(name.split())
    if name != name.upper() and name.lower() == name and any(name in each.split("-") for each in ids):
        return None
    if number := _XID.fullmatch(name):
        return _xid(int(number[1]))
    upper = name.upper()
    if upper in _LETTERS:
        return _letter(upper)
    if number := _NVLINK.fullmatch(upper):
        links = "several" if number[1] == "#" else number[1]
        return _page(upper, f"two GPUs are joined by {links} NVLink connections", "Their traffic does not use PCIe.",
                     "topo-relation")
    if upper in _TERMS:
        return _page(name, *_TERMS[upper])
    return None


def _page(name: str, words: str, more: str, check: str) -> str:
    read_on = f"\n\nRead on: `tunecheck explain {check}`" if check else ""
    return f"# {name}: {words}\n\n{more}".rstrip() + f"{read_on}\n"


def _letter(word: str) -> str:
    from .rules.p2p_words import letter_meaning

    return _page(word, f"what nvidia-smi topo -p2p and NVML say of two GPUs: {letter_meaning(word)}", "",
                 "p2p-capability")


def _xid(number: int) -> str:
    from .formats.xid_catalog import CATALOG, advice

    found = advice(number, "")
    what = found.meaning if number in CATALOG else "not in the catalogue that tunecheck knows"
    weight = "The GPU cannot serve before that." if found.severity == "fail" else "The GPU itself can go on."
    action = found.action.replace("{gpu}", "GPU").replace("`", "")
    return (f"# Xid {number}: {what}\n\n## How to fix\n{action[:1].upper()}{action[1:]}. "
            f"{weight if number in CATALOG else ''}\n\nSource: {found.source}.\n\nRead on: `tunecheck explain xid`\n")
