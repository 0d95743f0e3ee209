"""Recognises which command or file a text is, by what it holds. Names decide nothing: `report(1).txt` says nothing
anyway."""

from __future__ import annotations

import re
from functools import lru_cache

from ...model.absence import Absence, Reason
from ...parsers.nvidia.bug_report import START
from ...parsers.nvidia.topo_matrix import TABLE
from ...parsers.pci.lspci_machine import MACHINE
from ...parsers.pci.lspci_names import HEADER
from ...util.at_first_use import regex
from .logs.signs import is_log

__all__ = ["advice", "is_cmdline", "is_cmdline_part", "is_list", "is_result", "not_judged", "recognise", "shown"]

#: As far as a text is looked at. What is recognised may be longer.
_HEAD = 256 * 1024
#: Up to this length the answer for a text is kept, and the text with it.
_KEPT = 64 * 1024

#: What this program wrote about a box: a report as text, page, JSON, JUnit or metrics. All that a text says of a box is
#: in there again, as tables and sentences, and is no evidence any more.
_RESULT = regex(
    r"\A(?:tunecheck: import: [^\n]*\n)?\s*(?:tunecheck [a-z0-9-]{2,20}: [^\n]+\n|"
    r"<!DOCTYPE html>\s*(?:<[^\0]{0,4000}?<title>)?tunecheck |<\?xml [^\n]*\n<testsuites name=\"tunecheck |"
    r"# (?:HELP|TYPE) tunecheck_|\{\s*\"schema\":\s*\"tunecheck/(?!(?:spec|record|snapshot)/))")
_LSPCI = regex(HEADER.pattern, re.MULTILINE)
_CLASSES = ("VGA compatible controller", "3D controller", "Host bridge", "PCI bridge", "Display controller",
            "Processing accelerators")
_LSPCI_BODY = regex(r"^[ \t]*(?:(?:Control|Status|Flags|Capabilities|Kernel driver in use|Bus): "
                    r"|[0-9a-f]{2}:(?: [0-9a-f]{2}){16} ?$)", re.MULTILINE)
#: What stands in kernel logs that are no lines of text: /dev/kmsg, json, export, pstore.
_MARKS = (",-;", ",c;", "__CURSOR", "_BOOT_ID", "__REALTIME", '"dmesg"', "[s=", "#1 Part")
#: A list without details: `lspci`, `lspci -nn`, or what grep left of it. Every device of it has one of these classes.
_LISTED = regex(rf"^(?:[0-9a-f]{{4,8}}:)?[0-9a-f]{{2}}:[0-9a-f]{{2}}\.[0-7] (?:{'|'.join(_CLASSES)})"
                r"(?: \[[0-9a-f]{4}\])?: \S", re.MULTILINE)
_CMDLINE = regex(r"(?:^|\s)(?:BOOT_IMAGE|root|initrd)=\S")
#: Words of command lines that boot without those: virtual machines, network boots.
_KNOWN = """
    console ro rw quiet splash single reboot panic pci init rdinit earlyprintk earlycon loglevel nomodeset acpi
    noapic tsc ip nfsroot iommu amd_iommu intel_iommu mitigations hugepages hugepagesz default_hugepagesz
    crashkernel net.ifnames biosdevname random.trust_cpu i8042.noaux i8042.nomux 8250.nr_uarts rootfstype rootflags
    systemd.unit cgroup_no_v1 selinux security apparmor audit nokaslr isolcpus nohz_full pcie_aspm pcie_ports
    transparent_hugepage nosmt maxcpus
"""
_WORDS = frozenset(_KNOWN.split())
_WORD = regex(r"[A-Za-z0-9_][\w.-]{0,63}(?:=\S{0,500})?\Z")
#: JSON; a digit behind it is the firmware's "{1}[Hardware Error]: " in a log without times.
_BRACE = regex(r"\s*\{(?!\d)")
_CAT = regex(r"\bcat (/(?:proc|sys)/[\w./:+-]{1,200})\Z")
#: What sysctl prints behind its prompt is the kernel's value; the same line without one may be of a file in /etc, and
#: so may one below "# sysctl ...".
_SYSCTL = regex(r"\A(?!# ?(?:sudo |sysctl)).*\bsysctl(?: -w)? ([a-z][\w.]{1,80})(?:=\S{0,80})?\Z")
_NEXT_PROMPT = regex(r"^(?:[\w.-]{1,64}@[^\s#$>]{0,100}|\[[^\]\n]{1,100}\])?[#$>](?: .*)?$", re.MULTILINE)
_REFUSED = regex(r"^cat: \S{1,300}: (No such file or directory|Permission denied)$", re.MULTILINE)
_PATTERNS = (
    ("topo", TABLE),
    ("nvidia-smi -q", regex(r"^=+NVSMI LOG=+|<nvidia_smi_log>", re.MULTILINE)),
    ("numactl -H", regex(r"^available: \d+ nodes?(?: \([\d,-]+\))?\s*$", re.MULTILINE)),
    ("/proc/driver/nvidia/version", regex(r"^NVRM version:", re.MULTILINE)),
    ("/proc/driver/nvidia/params", regex(r"^RegistryDwords(?:PerDevice)?: ", re.MULTILINE)),
    ("sysfs values", regex(
        r"^/(?:sys/(?:kernel/(?:iommu_groups|security)|devices/system/(?:cpu|node|clocksource)|module/\w+/parameters)"
        r"|proc/sys)/\S+?:", re.MULTILINE)),
    ("lscpu", regex(r"^Architecture:[ \t]+\S[^\n]*\n(?:[^\n]*\n){0,12}?[ \t]*On-line CPU\(s\) list:",
                    re.MULTILINE)),
    ("systemctl show", regex(r"^DefaultLimitMEMLOCK=\S+$", re.MULTILINE)),
    ("/proc/swaps", regex(r"\AFilename\s+Type\s+Size\s+Used\s+Priority\s*$", re.MULTILINE)),
)

#: Marks of a document in Markdown: headings, links, fences, rules of tables, lists and rows with code. A note or a
#: post has fewer.
_MARKDOWN = regex(r"\A# [A-Z]|^#{2,6} \S|^(?:[-*|]|\d{1,2}\.) [^\n`]{0,400}`[^`\n]{1,200}`"
                  r"|\]\((?:https?:|[\w./#-]+\))|^ {0,3}```|^\|(?: ?:?-+:? ?\|)+[ \t]*$", re.MULTILINE)
_DOCUMENT = 3
_XID = regex(r"\bXid\b(?: \([^)\n]{0,60}\))?[ :#=]{1,3}(\d{1,3})\b", re.IGNORECASE)
#: lscpu of another language: sysfs' lists of CPUs, and the rows that stay as they are.
_LSCPU = regex(r"^(?!On-line)[^\n:]{0,40}\bCPU\(s\)[^\n:]{0,20}:[ \t]+\d[\d,-]*$", re.MULTILINE)
#: What is known and not judged, also beside other outputs, and what to give in its place.
_NOT_JUDGED = (
    (regex(r"^(?:index|name|gpu_name|timestamp|uuid|gpu_uuid|gpu_bus_id|pci\.bus_id|count|driver_version)"
           r"(?: \[\w+\])?, [a-z]|\bpcie\.link\.(?:gen|width)|\bpower\.(?:limit|draw)\b|--query-gpu", re.MULTILINE),
     "a list of nvidia-smi --query-gpu, whose columns are of the asker's choice; give all of it: nvidia-smi -q"),
    (regex(r"\bdcgmi (?:diag|health|topo|discovery|dmon|nvlink|stats)\b|^\| Diagnostic +\| Result +\||"
           r"^\| Health Monitor Report +\||^\| GPU \d{1,2} +\| Topology Information", re.MULTILINE),
     "an output of dcgmi; give what it goes by: nvidia-smi -q and sudo dmesg"),
    # rocm-smi and rocminfo by their headings, and by what stands in front of each value; amd-smi's table, lists and
    # topology.
    (regex(r"^=+[ \t]*(?:ROCm System Management Interface|End of ROCm SMI Log|(?:Weight|Hops|Link Type|Numa Nodes) "
           r"between two GPUs)\b|^GPU\[\d{1,2}\][ \t]*: |^\| AMD-SMI \d|^[ \t]+(?:KFD_ID|XGMI_PHYSICAL_ID): "
           r"|^(?:WEIGHT|HOPS|LINK TYPE|NUMA BW) TABLE:|^ROCk module (?:version \S{1,40} )?is loaded|"
           r"^[ \t]*GPU\d{1,2}[ \t](?:[ \t]*(?:0|XGMI|PCIE)\b)*?[ \t]*XGMI\b", re.MULTILINE),
     "an output of rocm-smi or amd-smi: it is of AMD GPUs, and tunecheck judges NVIDIA GPUs only"),
)
#: What grep leaves of nvidia-smi -q: names that nothing else has, its headings, and any other name whose colon stands
#: in the column of its values.
_QUERY_LINE = regex(
    r"^[ \t]*(?:Product Name|GPU UUID|Driver Version|CUDA Version|Attached GPUs"
    r"|(?:Persistence|Addressing|Compute|MIG) Mode|Performance State|GPU Current Temp|Replays Since Reset"
    r"|Replay Number Rollovers|GPU Recovery Action|Bus Id|Remapped Rows|VBIOS Version|\w+ Power Limit"
    r"|[SD]RAM \w+|Device (?:Max|Memory)|Power Draw|GPU \w+ Temp)[ \t]+: "
    r"|^GPU [0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.0[ \t]*$"
    r"|^ {0,12}(?:GPU Link Info|PCIe Generation|Clocks (?:Event|Throttle) Reasons(?: Counters)?|ECC (?:Mode|Errors)"
    r"|(?:FB|BAR1|Conf Compute Protected) Memory Usage|Remapped Rows|(?:GPU |Module )?Power Readings"
    r"|(?:Max|Applications|Default Applications) Clocks)[ \t]*$"
    r"|^ {4,12}(?:MIG Mode|PCI|Link Width|Utilization|Volatile|Aggregate|Temperature|Clocks|Fabric|Processes)[ \t]*$"
    r"|^(?=[^:\n]{30,70}: ) {0,20}[A-Z][\w./()-]{0,30}(?: [\w./()-]{1,30}){0,6} {2,70}: \S", re.MULTILINE)
#: The same of its XML: a tag whose first word it has, or a value as it writes them. Other XML has names of two words
#: and lines of one value, too.
_QUERY_TAG = regex(
    r"<!DOCTYPE nvidia_smi_log|<gpu id=\"|</?(?:accounting|addressing|aggregate|applications|attached|atomic|bar1|board"
    r"|bridge|c2c|channel|chassis|clocks?|compute|cuda|current|decoder|default|deferred|display|dram|driver|ecc|encoder"
    r"|fan|fbc?|gpu|graphics|gsp|img|inforom|instant|jpeg|link|m(?:ax|em|ig|in|inor|odule|ulti|ultigpu|ultiple)|nvidia"
    r"|oem|ofa|page|pci|pcie|peer|pending|performance|persistence|power|product|pwr|relaxed|remapped|replay|requested"
    r"|retired|route|row|rx|slot|sm|sparse|sram|supported|tpc|tray|tx|unrepairable|used|vbios|vgpu|video"
    r"|virtualization)_[a-z0-9_]{2,60}>|<process_info>"
    r"|^[ \t]*<\w+>(?:-?[\d.]{1,12} (?:MiB|C|W|MHz|%|KB/s)|\d{1,2}x|P\d{1,2}|N/A|GPU-[0-9a-f-]{36})</\w+>[ \t]*$",
    re.MULTILINE)
#: A shell that finds no program: "bash: lspci: command not found", "sh: 1: lspci: not found", "zsh: command not found:
#: lspci", "Command 'lspci' not found, ...".
_NO_PROGRAM = (r"^[^\n]{{0,60}}\b{0}: (?:command )?not found|^[^\n]{{0,20}}command not found: {0}\b|"
               r"^Command '{0}' not found")
#: What people paste that tells too little, and what tells it. First the usual failures of the commands.
_HINTS = (
    (regex(r"^dmesg: (?:read kernel buffer failed|klogctl)[^\n]*(?:not permitted|denied)", re.MULTILINE),
     "the refusal of dmesg without root; run: sudo dmesg"),
    (regex(r"^No journal files were opened due to insufficient permissions|^Hint: You are currently not seeing "
           r"messages from other users", re.MULTILINE),
     "the refusal of journalctl without root; run: sudo journalctl -k -b"),
    (regex(r"^lspci: Cannot find any working access method|^pcilib: Cannot open /(?:proc|sys)/bus/pci",
           re.MULTILINE),
     "the failure of lspci where no PCI bus is to be seen, as in a container; run it on the machine itself: sudo "
     "lspci -nnvvv"),
    (regex(_NO_PROGRAM.format("lspci"), re.MULTILINE),
     "what a shell says where lspci is not installed; run: sudo apt install pciutils (Fedora and Rocky: sudo dnf "
     "install pciutils), then: sudo lspci -nnvvv"),
    (regex(_NO_PROGRAM.format("numactl"), re.MULTILINE),
     "what a shell says where numactl is not installed; run: sudo apt install numactl (Fedora and Rocky: sudo dnf "
     "install numactl), then: numactl -H"),
    (regex(_NO_PROGRAM.format("nvidia-smi"), re.MULTILINE),
     "what a shell says where NVIDIA's driver or its tools are not installed, as in a container without them; on the "
     "machine itself run: nvidia-smi -q; where that is not found, either: sudo lspci -nnvvv"),
    (regex(_NO_PROGRAM.format("(?:dmesg|journalctl)"), re.MULTILINE),
     "what a shell says where the program is not installed, as in a container; run it on the machine itself: sudo "
     "dmesg"),
    (regex(r"^sudo: (?:a password is required|a terminal is required)|^[^\n]{1,60} is not in the sudoers file",
           re.MULTILINE),
     "the refusal of sudo; run the command as a user who may use sudo, on a terminal"),
    (regex(r"^[ \t]*(?:ACSCtl|ACSCap|LnkSta|LnkCap|LnkCtl|DevCtl):[ \t]*\S", re.MULTILINE),
     "lines of lspci without the devices that they are of; give all of it: sudo lspci -nnvvv"),
    (regex(r"^[ \t]+GPU0[ \t]+GPU1\b", re.MULTILINE),
     "a table of nvidia-smi topo -m whose lines are broken, as a narrow window does; give it as a file: nvidia-smi "
     "topo -m > topo.txt"),
    (regex(r"^[ \t]*GPU\d{1,2}[ \t]+(?:(?:X|NV\d{1,2}|PIX|PXB|PHB|NODE|SYS)\b[ \t]*){2}", re.MULTILINE),
     "rows of nvidia-smi topo -m without the line above them, which names the columns; give all of it: nvidia-smi topo "
     "-m"),
    (_QUERY_LINE, "a part of nvidia-smi -q, without its first lines; give all of it: nvidia-smi -q"),
    (_QUERY_TAG, "a part of nvidia-smi -q -x, without its first lines; give all of it: nvidia-smi -q"),
    (regex(r"ProcessGroupNCCL|Watchdog caught collective|collective operation timeout|ncclInternalError"),
     "what PyTorch says about NCCL: a rank did not answer, and not why; give sudo dmesg (xid, hung-task), and the log "
     "of a run with NCCL_DEBUG=INFO; on the box: sudo tunecheck allreduce"),
)


def recognise(text: str) -> str | None:
    """Return the kind of a text, in words for people. None for anything else."""
    head = text[:_HEAD]
    return _kind_of(head) if len(head) > _KEPT else _kept_kind_of(head)


def _kind_of(head: str) -> str | None:
    if any(map(head.__contains__, _MARKS)) and _other_log(head):
        return "kernel log"
    if _BRACE.match(head):
        return "spec" if '"tunecheck/spec/1"' in head else None
    if START in head[:4096] or "\0" in head:
        return None
    if _LSPCI.search(head) and (_LSPCI_BODY.search(head) or _LISTED.search(head)):
        return "lspci"
    if ("Slot:" in head or "Class:" in head or '" "' in head) and MACHINE.search(head):
        return "lspci -m"
    for kind, pattern in _PATTERNS:
        if pattern.search(head):
            return kind
    if is_log(head):
        return "kernel log"
    if len(head.strip().splitlines()) == 1 and (_CMDLINE.search(head) or is_cmdline(head[:4096].split())):
        return "/proc/cmdline"
    return None


#: What takes outputs apart asks of each text some three times.
_kept_kind_of = lru_cache(maxsize=256)(_kind_of)


def _other_log(head: str) -> bool:
    from ...parsers.kernel import log_forms  # start-up time

    return log_forms.is_log(head)


def is_result(text: str) -> bool:
    """Return whether the text is a report of this program."""
    return _RESULT.match(text[:_HEAD]) is not None


def is_list(text: str) -> bool:
    """Return whether an lspci text has no line of details in it."""
    return _LSPCI_BODY.search(text[:_HEAD]) is None


def not_judged(text: str) -> list[str]:
    """Return what a text holds that is known and not judged, each with what to give in its place."""
    head = text[:_HEAD]
    return [better for sign, better in _NOT_JUDGED if sign.search(head)]


def advice(text: str) -> str | None:
    """Return how to get something recognisable in place of ``text``. None where there is no advice."""
    if is_result(text):
        return ("a report of tunecheck, which is a result and no input; give what it was made from, or a recording of "
                "the box: sudo tunecheck record")
    if _LSPCI.search(text[:_HEAD]):
        return "lspci without its details; run sudo lspci -nnvvv"
    head = text[:_HEAD]
    if "x86_64" in head and "Architecture:" not in head and _LSCPU.search(head):
        return "lscpu in another language; run LC_ALL=C lscpu"
    hint = next((better for sign, better in (*_NOT_JUDGED, *_HINTS) if sign.search(head)), None)
    if any(at == _DOCUMENT for at, _ in enumerate(_MARKDOWN.finditer(head), 1)):
        quoted = f"; quoted in it is {hint}" if hint else ""
        return (f"a document (Markdown), and no output of a box{quoted}; run on the box and give what they print: "
                "sudo lspci -nnvvv, nvidia-smi -q, nvidia-smi topo -m, sudo dmesg")
    number = _XID.search(head)
    if number and _BRACE.match(head):
        return "JSON with an Xid in it, in a form that is not known; run sudo dmesg"
    if number:
        return (f'a sentence about an Xid, and no kernel log; what it means says: tunecheck explain "Xid {number[1]}"; '
                "what happened on the box shows: sudo dmesg")
    return hint


def is_cmdline(words: list[str]) -> bool:
    """Return whether the words are a kernel command line. At least three are words that kernels know, one word has a
    value, and none without a value is unknown: it is no sentence."""
    names = {word.partition("=")[0] for word in words}
    return (len(names & _WORDS) >= 3 and any("=" in word for word in words)
            and is_cmdline_part(words))


def is_cmdline_part(words: list[str]) -> bool:
    """Return whether the words may stand in a kernel command line: all are known or have a value."""
    return all(_WORD.match(word) and ("=" in word or word in _WORDS) for word in words)


def shown(title: str, text: str) -> tuple[str, str, Reason | None] | None:
    """Read ``$ cat /proc/cmdline`` or ``$ sysctl kernel.numa_balancing`` and what it printed: (path, content, reason
    why there is none). None for other titles."""
    if (key := _SYSCTL.search(title)) is not None:
        value = re.search(rf"^{re.escape(key.group(1))} = (.*)$", text, re.MULTILINE)
        return (f"/proc/sys/{key.group(1).replace('.', '/')}", f"{value.group(1)}\n", None) if value else None
    asked = _CAT.search(title)
    if asked is None:
        return None
    refused = _REFUSED.search(text[:1000])
    if refused:
        return asked.group(1), "", Reason(
            Absence.NOT_PRESENT if refused.group(1).startswith("No") else Absence.NO_PERMISSION)
    after = _NEXT_PROMPT.search(text)
    return asked.group(1), text[:after.start()] if after else text, None
