"""Technical terms that `tunecheck explain` knows, such as GNS, PHB and "Xid 79": markdown, as the checks' pages."""

from __future__ import annotations

import re

from .command_line import NAMES as COMMAND_LINE
from .command_line import command_line
from .compound_words import COMPOUND_WORDS
from .driver_words import DRIVER_WORDS, MEMORY_WORDS, NVML_ERRORS, by_pattern
from .fleet_words import EVENT_WORDS, FLEET_WORDS, event_name
from .machine_words import MACHINE_WORDS, counted_word
from .meaning import Meaning, meanings_of, page_of, spellings
from .nccl_words import NCCL_LEVELS, NCCL_WORDS
from .pcie_words import DEVICE_STATUS_WORDS, PCIE_ERRORS, PCIE_WORDS
from .report_words import REPORT_WORDS

__all__ = ["LISTED", "NAMES", "numbered", "respelled", "term"]

_XID = re.compile(r"(?:.{0,200}?nvrm:?\s*)?(?<![a-z])xid[\s:#-]*(?:\(PCI:[0-9a-f:.]{4,20}\):\s*|\()?(\d{1,4})\b.*",
                  re.IGNORECASE | re.DOTALL)
_NVLINK = re.compile(r"NV(\d{1,2}|#)", re.IGNORECASE)
_SXID = re.compile(r"SXID[\s:#-]*(\d{1,6})")
#: How the driver writes the numbers of Xid 154 (open-gpu-kernel-modules 595; parsers/nvidia/xid_catalog.py).
_RECOVERY = {"GPU RESET REQUIRED": 1, "NODE REBOOT REQUIRED": 2, "DRAIN P2P": 3, "DRAIN AND RESET": 4}
#: NVIDIA's catalogue names the action for an Xid alone; the driver says in 154 what this one needs.
_BESIDE = "Where an Xid 154 stands beside it in the kernel log, its action is the one to take."
#: Another way to write a term.
_ALSO = {"SMS": "SM", "NV": "NV#", "NVLINKS": "NVLINK", "NVLINK5": "NVLINK", "NVLINK SHARP": "NVLS",
         "BUS BANDWIDTH": "BUSBW", "TRIAL BOOT": "BOOT TRIAL", "ROOT COMPLEX": "HOST BRIDGE",
         "PCIE SWITCHES": "PCIE SWITCH", "SLOT BIFURCATION": "BIFURCATION", "SWITCH UPLINK": "UPLINK",
         "REMAPPING OF INTERRUPTS": "INTERRUPT REMAPPING", "IRQ REMAPPING": "INTERRUPT REMAPPING",
         "PCIE TREE": "PCI TREE", "HANDS-ON WORK": "HANDS-ON", "A FIRMWARE CHANGE": "FIRMWARE",
         "FIRMWARE CHANGE": "FIRMWARE", "A RELOAD": "RELOAD", "A REBOOT": "REBOOT",
         # As reports, the README and sentences inflect a verdict.
         "WEDGED": "WEDGE", "WEDGES": "WEDGE", "HUNG": "HANG", "HANGS": "HANG", "STALL": "STALLED", "PASSED": "PASS",
         "PASSES": "PASS", "FAILED": "FAIL", "FAILS": "FAIL", "FAILURE": "FAIL", "WARNS": "WARN", "WARNED": "WARN",
         "WARNING": "WARN", "WARNINGS": "WARN", "SKIPPED": "SKIP", "SKIPS": "SKIP", "NOT JUDGED": "SKIP"}
#: What stands before these words in a report.
_TAKES = ("ITS FIX NEEDS ", "NEEDS ", "TO PUT IT BACK: UNDO IT AND ", "TO PUT IT BACK: ")
_LETTERS = ("OK", "CNS", "GNS", "TNS", "DR", "NS", "U")
#: Everything that gives a word a meaning, in the order of the meanings on its page.
_SOURCES = (REPORT_WORDS, PCIE_ERRORS, DEVICE_STATUS_WORDS, PCIE_WORDS, DRIVER_WORDS, MEMORY_WORDS, NCCL_LEVELS,
            NCCL_WORDS, NVML_ERRORS, MACHINE_WORDS, COMPOUND_WORDS, FLEET_WORDS)
#: Of these lspci and our reports write RlxdOrd+ and ReqRedir-.
_FLAGS = (PCIE_ERRORS, DEVICE_STATUS_WORDS, PCIE_WORDS)
_FLAG = re.compile(r"(\w+)([+-])")
_STATES = {"+": "The + says that it is on.", "-": "The - says that it is off."}
_JOINED = re.compile(r"[\s_-]+")
#: Without names that are a plain word (kernel, driver): nobody who types a word like it means the fleet's report.
NAMES = (*spellings(_SOURCES), *(name for name in EVENT_WORDS if " " in name), COMMAND_LINE[0], *_LETTERS, "NV#",
         "Xid N")
#: Everything that term() knows by a name of its own.
LISTED = (*NAMES, *_RECOVERY, *(name for name in EVENT_WORDS if name not in {each.upper() for each in NAMES}))
_SPELLED = {_JOINED.sub(" ", name.upper()): name for name in (*LISTED, *_ALSO) if _JOINED.search(name)}


def term(name: str) -> str | None:
    """Return the page about ``name``, in upper or lower case; None where it is no term."""
    name = " ".join(name.split())
    if number := _XID.fullmatch(name):
        return _xid(int(number[1]))
    upper = name.upper()
    upper = next((upper[len(lead):] for lead in _TAKES if upper.startswith(lead)), upper)
    upper = event_name(_ALSO.get(upper, upper))
    if number := _SXID.fullmatch(upper):
        return _page(f"SXid {number[1]}", *REPORT_WORDS["SXid"])
    if upper in _RECOVERY:
        return _recovery(name, _RECOVERY[upper])
    if upper in COMMAND_LINE:
        return command_line(name)
    if upper in _LETTERS:
        return _letter(upper)
    if number := _NVLINK.fullmatch(upper):
        links = "several" if number[1] == "#" else number[1]
        return _page(upper, f"two GPUs are joined by {links} NVLink connections", "Their traffic does not use PCIe.",
                     "topo-relation")
    for word in (upper, re.sub(r"(?<=[^S])S$", "", upper)):      # GPUs, TPCs
        if known := meanings_of(word, _SOURCES):
            return page_of(name, known)
    if upper in EVENT_WORDS:
        return _page(name, *EVENT_WORDS[upper])
    if pattern := by_pattern(name) or counted_word(name):
        return _page(pattern[0], *pattern[1])
    if (flag := _FLAG.fullmatch(name)) and (known := meanings_of(flag[1].upper(), _FLAGS)):
        return page_of(name, [each._replace(more=f"{each.more} {_STATES[flag[2]]}".strip(), name=name)
                              for each in known])
    return None


def respelled(name: str) -> str | None:
    """Return the page about a word of several parts that are joined in another way than term() knows them: host-bridge,
    host_bridge. None where it is none. A code of a finding may be written so, and is that code."""
    parts = _JOINED.sub(" ", name.strip().upper())
    spelled = _SPELLED.get(parts) or _SPELLED.get(parts.removesuffix("S"))
    return term(spelled) if spelled else None


def numbered(name: str) -> list[str]:
    """Return what a bare number may be the number of: "Xid 79" for 79; empty for a number that is no Xid."""
    from ...parsers.nvidia.xid_catalog import CATALOG

    return [f"Xid {int(name)}"] if name.isascii() and name.isdigit() and int(name) in CATALOG else []


def _page(name: str, words: str, more: str, check: str) -> str:
    return page_of(name, [Meaning(words, more, check)])


def _letter(word: str) -> str:
    from ...rules.pcie.p2p_letters import letter_meaning

    more = "U stands for unknown: whether peer-to-peer works, a transfer shows (tunecheck p2p)." if word == "U" else ""
    return _page(word, f"what nvidia-smi topo -p2p and NVML say of two GPUs: {letter_meaning(word)}", more,
                 "p2p-capability")


def _recovery(name: str, number: int) -> str:
    from ...parsers.nvidia.xid_catalog import RECOVERY

    action = _typed(RECOVERY[number].action)
    return _page(name, f"what NVIDIA's driver asks for in an Xid 154, as number {number}",
                 f"{action[:1].upper()}{action[1:]}.", "gpu-recovery")


def _xid(number: int) -> str:
    from ...parsers.nvidia.xid_catalog import CATALOG, RECOVERY, advice

    found = advice(number, "")
    what = found.meaning if number in CATALOG else "not in tunecheck's table of Xids"
    weight = "The GPU cannot serve before that is done." if found.severity == "fail" else "The GPU itself can go on."
    action = _typed(found.action)
    if number == 154:
        action = _typed("; ".join(f"{code}: {each.action}" for code, each in RECOVERY.items()))
        action = f"do what its number says: {action}"
    steps = f"{action[:1].upper()}{action[1:]}. {f'{weight} ' if number in CATALOG else ''}"
    if 144 <= number <= 150:
        steps = _by_severity(number)
    also = f"`tunecheck explain {found.read_on}`, " if found.read_on != "xid" else ""
    return (f"# Xid {number}: {what}\n\n## How to fix\n{steps}{'' if number == 154 else _BESIDE}".rstrip()
            + f"\n\nSource: {found.source}.\n\nRead on: {also}`tunecheck explain xid`\n")


def _by_severity(number: int) -> str:
    """Return what to do about an Xid whose text says how bad it is."""
    from ...parsers.nvidia.xid_catalog import advice

    ways = (("Fatal", "the GPU cannot serve before it is reset"), ("Nonfatal", "the GPU itself can go on"))
    return "\n".join(f"- Where its text says {word}, {weight}: {_typed(advice(number, word).action)}."
                     for word, weight in ways) + "\n\n"


def _typed(action: str) -> str:
    return action.replace("{gpu}", "GPU").replace("`", "")
