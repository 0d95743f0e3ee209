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

__all__ = ["NAMES", "numbered", "term"]

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
         "PEER TO PEER": "PEER-TO-PEER", "TENSOR PARALLEL": "TENSOR-PARALLEL", "PCIE SWITCHES": "PCIE SWITCH",
         "SLOT BIFURCATION": "BIFURCATION", "SWITCH UPLINK": "UPLINK", "REMAPPING OF INTERRUPTS": "INTERRUPT REMAPPING",
         "IRQ REMAPPING": "INTERRUPT REMAPPING", "PCIE TREE": "PCI TREE",
         "HANDS-ON WORK": "HANDS-ON", "A FIRMWARE CHANGE": "FIRMWARE",
         "FIRMWARE CHANGE": "FIRMWARE", "A RELOAD": "RELOAD", "A REBOOT": "REBOOT",
         # As reports, the README and sentences inflect a verdict.
         "WEDGED": "WEDGE", "WEDGES": "WEDGE", "HUNG": "HANG", "HANGS": "HANG", "STALL": "STALLED", "PASSED": "PASS",
         "PASSES": "PASS", "FAILED": "FAIL", "FAILS": "FAIL", "FAILURE": "FAIL", "WARNS": "WARN", "WARNED": "WARN",
         "WARNING": "WARN", "WARNINGS": "WARN", "SKIPPED": "SKIP", "SKIPS": "SKIP", "NOT JUDGED": "SKIP"}
#: What stands before these words in a report.
_TAKES = ("ITS FIX NEEDS ", "NEEDS ", "TO PUT IT BACK: UNDO IT AND ", "TO PUT IT BACK: ")
_LETTERS = ("OK", "CNS", "GNS", "TNS", "DR", "NS", "U")
_IS_SO = ("In the fleet's report it says what putting a value back takes. What changed is in effect already: no change "
          "waits for it.")
#: Term -> (in words, what to do or to know, the check to read on). Small letters in a term are its own spelling.
_TERMS: dict[str, tuple[str, str, str]] = {
    "PIX": ("at most one PCIe switch lies between two GPUs: the shortest way over PCIe",
            "With ACS redirect off their traffic never leaves the switch.", "topo-relation"),
    "PXB": ("several PCIe switches lie between two GPUs, and no CPU",
            "With ACS redirect off, as fast as PIX where no link on the way is shared; some latency more.",
            "topo-relation"),
    "PHB": ("the way between two GPUs goes through one host bridge, that is through the CPU",
            "Typical for boards in slots of the CPU. Peer-to-peer works only on CPUs that the driver knows; ACS "
            "redirect and a translating IOMMU decide about its speed.", "topo-relation"),
    "NODE": ("the way between two GPUs goes through several host bridges of one CPU (one NUMA node)",
             "Typical for boards in slots of one CPU whose host bridges are apart. ACS redirect and a translating "
             "IOMMU decide about its speed; it is a little slower than one host bridge (PHB).", "topo-relation"),
    "SYS": ("the way between two GPUs goes from one CPU socket (NUMA node) to another",
            "The slowest way over PCIe. Put the GPUs of one model below one socket where there is a choice.",
            "topo-relation"),
    "X": ("a GPU and itself, in the table of nvidia-smi topo -m", "Nothing is to be done.", "topo-relation"),
    "ACS": ("Access Control Services: rights that a PCIe port enforces between the devices below it",
            "Its redirect bits send traffic between two GPUs up to the CPU and back. Virtual machines need that, a "
            "bare-metal inference box does not.", "acs-redirect"),
    "P2P": ("peer-to-peer: a GPU reads and writes another GPU's memory directly",
            "Without it data is copied through the host's memory.", "p2p-capability"),
    "BAR1": ("the window through which other devices reach a GPU's memory",
             "As large as the memory with Resizable BAR; with 256 MiB peer-to-peer between processes fails.",
             "bar1-size"),
    "IOMMU": ("translates the addresses that devices use", "iommu=pt lets the host's own devices pass untranslated.",
              "iommu-mode"),
    "AER": ("Advanced Error Reporting: how PCIe devices report errors of their links",
            "Correctable errors in number point to a riser, a cable or a slot.", "aer-events"),
    "Xid": ("the NVIDIA driver's word for an error in the kernel log, with a number",
            'What one number means: tunecheck explain "Xid 79".', "xid"),
    "SXid": ("the NVIDIA driver's word for an error of an NVSwitch in the kernel log, with a number, as Xid is for a "
             "GPU", "The line says whether it is fatal. Look up the number in appendix D of NVIDIA's Fabric "
             "Manager user guide (docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide).", "sxid"),
    "HAIRPIN": ("traffic between two GPUs of one switch that goes up to the CPU and back down",
                "It shares the switch's uplink in both directions. ACS redirect is the usual cause.", "acs-redirect"),
    "IVRS": ("AMD's firmware table that describes the IOMMU", "With it the Linux kernel turns ACS on.", "iommu-trap"),
    "DMAR": ("Intel's firmware table that describes the IOMMU", "", "iommu-mode"),
    "NVML": ("NVIDIA's management library, which nvidia-smi and tunecheck ask", "", "nvml-answers"),
    "GSP": ("the processor on the GPU that runs NVIDIA's firmware",
            "Where it stops, the GPU stops answering.", "gpu-start"),
    "DPC": ("Downstream Port Containment: a PCIe port that switches its link off after a fatal error",
            "", "aer-events"),
    "ATS": ("Address Translation Services: a device keeps translated addresses itself", "", "acs-redirect"),
    "PCIe": ("PCI Express: the links between CPU, switches and GPUs; Gen5 x16 carries up to 57.6 GB/s of data one way",
             "", "link-speed"),
    "SHM": ("NCCL's way through the host's shared memory, taken where peer-to-peer is not allowed",
            "It is slower than peer-to-peer.", "nccl-transport"),
    "NCCL": ("NVIDIA's library for collectives such as all-reduce, which engines use between GPUs",
             "", "allreduce-nccl"),
    "VFIO": ("vfio-pci hands a device to a virtual machine",
             "NVIDIA's driver cannot use it meanwhile.", "driver-bound"),
    "MIG": ("Multi-Instance GPU: one GPU cut into several", "No peer-to-peer between the pieces.", "gpu-mig"),
    "ECC": ("error correction of a GPU's memory", "", "gpu-ecc"),
    "RmInitAdapter": ("the driver could not start a GPU; the numbers behind it say at which step", "", "gpu-start"),
    "WEDGE": ("a GPU or an engine that hangs: it looks busy and nothing comes out any more",
              "Only a new process with a deadline shows whether the GPU can still be used.", "gpu-ghost"),
    "HANG": ("a trial, a process or a GPU does not come to an end, and nothing says why",
             "A trial that hangs is ended by its deadline, with exit code 4: the report says who hangs, and whether "
             "the GPUs recovered or are wedged (tunecheck explain wedge).", "trial-hang"),
    "STALLED": ("a verdict of tunecheck watch: requests run, and no counter of the engine moves any more",
                "Or the engine does not answer. The line says which, and who holds the others up.", "gpu-ghost"),
    "pci=noacs": ("a word for the kernel command line that stock kernels do not know",
                  "They reject it and change nothing. pci=disable_acs_redir= does what is meant.", "cmdline-rejected"),
    "iommu=pt": ("the IOMMU stays on, and the host's own devices pass untranslated", "", "iommu-mode"),
    "SPEC": ("the desired state of a box, as box_spec in the inventory declares it", "See it: tunecheck spec show -i "
             "INVENTORY.", "spec-present"),
    "PROFILE": ("what is usual for one kind of box; box_spec.profile names it, and every field of it can be set "
                "otherwise", "See what it sets: tunecheck spec show --sources -i INVENTORY.", ""),
    "RECIPE": ("how one model is served: engine, image, options and the pins of both",
               "See them: tunecheck recipe list.", ""),
    "RECORDING": ("a file with everything that the checks read on a box, to be judged elsewhere",
                  "On the box: sudo tunecheck record; elsewhere: tunecheck preflight --from FILE.", ""),
    "GATE": ("what lets an inference container start only on a box that was proven and measured in this state",
             "See what it says: tunecheck gate.", "measured-pass"),
    "CANARY": ("in a roll-out the box that goes first; while a model is served, a question whose answer is known",
               "It goes on once that box is proven (docs/rollout.md); a wrong answer refuses the server.", ""),
    "LAYER": ("where a value was found: declared (specification), configured (file), generated (boot loader's), "
              "effective (the running kernel or driver), behaviour (what was measured or what hardware says)", "", ""),
    "DECLARED": ("a layer: what the specification asks for, as box_spec in the inventory has it",
                 "See it: tunecheck spec show -i INVENTORY.", "cmdline-token"),
    "CONFIGURED": ("a layer: what a file of the box says, such as /etc/default/grub",
                   "It has an effect when what is made of it is in use.", "cmdline-pending"),
    "GENERATED": ("a layer: what the boot loader's own files say, made from the configuration",
                  "The next boot takes it.", "cmdline-pending"),
    "EFFECTIVE": ("a layer: what the running kernel or driver has in force now", "A file may say something else.",
                  "cmdline-token"),
    "BEHAVIOUR": ("a layer: what the hardware does, as a measurement, a register or the kernel log shows it",
                  "It counts before all that is set.", ""),
    "DRAFT": ("a recipe whose image and model are not pinned yet, so that it is never served",
              "Pin it: tunecheck recipe pin ID.", ""),
    "PINNED": ("a recipe whose image and model files are exact; it may be served",
               "Its figure is somebody else's, or there is none.", ""),
    "GOLDEN": ("a pinned recipe whose figure was measured by tunecheck itself",
               "Such a figure may refuse a box (docs/recipes.md).", ""),
    "USAGE_WALLCLOCK": ("how the figure of a recipe was counted: the tokens that the engine itself reports, over the "
                        "time that the request took", "tunecheck accept counts so, too (docs/accept.md).", ""),
    "CHARS_DIV_4": ("how the figure of a recipe was counted: the characters of the answer over 4, taken for tokens",
                    "A guess: how many characters a token has depends on the model and the text.", ""),
    "ASPM": ("power saving of a PCIe link, which costs latency and, on bad links, the link", "", "link-aspm"),
    "MPS": ("the largest payload of a PCIe packet", "", "link-payload"),
    "MRRS": ("the largest piece that a PCIe device asks for at once", "", "link-payload"),
    "CDI": ("Container Device Interface: the file that tells podman and docker what belongs to a GPU", "", "cdi-spec"),
    "PASS": ("a verdict: the check looked, and the box is as it should be",
             "What was seen stands behind it: -v shows the lines.", ""),
    "PF FLR": ("a reset of a GPU through its PCIe function, the remedy that NVIDIA's driver names in an Xid 154",
               "Stop what uses the GPU, then: sudo nvidia-smi --gpu-reset -i ADDRESS.", "gpu-recovery"),
    "NVLink": ("NVIDIA's own links between GPUs, beside PCIe", "nvidia-smi topo -m writes NV# for such a pair.",
               "topo-relation"),
    "HMM": ("lets a GPU use the host's pages as its own memory, by nvidia-uvm",
            "Where it hurts, it is switched off: uvm_disable_hmm=1.", "module-parameter"),
    "DKMS": ("builds kernel modules anew for each kernel", "Without its build a new kernel has no NVIDIA driver.",
             "driver-pending"),
    "TP": ("tensor parallel: one model's layers are cut over several GPUs, which talk to each other at every token",
           "So these GPUs should be near to each other.", "topo-relation"),
    "RAS": ("reliability, availability, serviceability; NCCL's RAS is the thread in each of its processes that says "
            "which rank does not answer", "tunecheck watch asks it when an engine stalls: docs/watch.md.", ""),
    "GPM": ("GPU performance monitoring: what NVML says of how busy a GPU's parts are, on Hopper and later", "", ""),
    "SM": ("streaming multiprocessor: one of the many processors of a GPU", "", ""),
    "DMA": ("direct memory access: a device reads and writes memory without the CPU", "", ""),
    "TLP": ("Transaction Layer Packet: the packet in which PCIe carries reads and writes", "", "link-payload"),
    "VBIOS": ("the firmware in a GPU board's flash", "", ""),
    "GSP RPC": ("a message between the driver and the GPU's own processor, the GSP",
                "A timeout (Xid 119) means that the GSP does not answer.", "xid"),
    "SBE": ("single-bit error of a memory with ECC: found and corrected",
            "A few are normal; many in one place make the driver take that row out of use.", "gpu-ecc"),
    "DBE": ("double-bit error of a memory with ECC: found, and not corrected; the driver logs Xid 48",
            "The process that used the memory is ended, and the GPU wants a reset.", "gpu-ecc"),
    "OOM": ("out of memory; in the kernel log the kernel ended a process because the host's memory was used up",
            "In the log of an engine it is the GPU's memory (CUDA out of memory): engine-decisions.",
            "host-memory"),
    "ReBAR": ("Resizable BAR: the GPU's window can be as large as its memory; BAR1 shows how large it is",
              "It is switched on in the BIOS, beside Above 4G Decoding.", "bar1-size"),
    "NVSwitch": ("NVIDIA's switch of NVLink, by which all GPUs of an HGX box reach each other at full speed",
                 "It needs the service nvidia-fabricmanager.", "fabric-state"),
    "HGX": ("NVIDIA's board with 8 GPUs as modules (SXM), joined by NVLink and NVSwitches",
            "Its pairs do not use PCIe, so the settings of PCIe boxes are not for it.", "fabric-state"),
    "BUSBW": ("bus bandwidth: what a collective's figure comes to for each link, so that it can be compared for any "
              "number of GPUs", "For an all-reduce of n GPUs it is algbw x 2 (n - 1) / n.", "allreduce-bus"),
    "ALGBW": ("algorithm bandwidth: the size of the data over the time that a collective took", "Compare busbw.",
              "allreduce-bus"),
    "HOST BRIDGE": ("where PCIe begins: the CPU's own end of its root ports; a CPU may have several",
                    "The way between two GPUs that share none goes through the CPU.", "topo-relation"),
    "ROOT PORT": ("a PCIe port of the CPU, with a slot or a switch below it", "", "topo-relation"),
    "FLR": ("Function Level Reset: one function of a PCIe device is reset, its link stays up", "", "gpu-recovery"),
    "PF": ("physical function: the device itself, beside virtual functions that share it", "", ""),
    "TRIAL": ("a measurement of the GPUs (tunecheck p2p, allreduce; tunecheck trial: inside a container image), or a "
              "boot that is tried once", "Of the boot: tunecheck explain \"boot trial\".", "trial-boot"),
    "BOOT TRIAL": ("a changed boot configuration is booted once; only when it is proven does it become the default",
                   "Else the box returns to the old entry by itself: roles/boot_trial/README.md.", "trial-boot"),
    "LOCK": ("a box belongs to one play or recovery at a time; others wait, or say who has it",
             "After Ctrl-C the next play takes it over when its owner is gone: docs/rollout.md.", ""),
    "PLAN": ("what the play site.yml ends with under --check: what would change, whether the box would reboot, what "
             "is refused and why, how to undo", "Nothing is written.", ""),
    "ROLLBACK": ("playbooks/rollback.yml takes the settings, files and services of site.yml away, puts the driver of "
                 "before back, and reboots the box where that needs it",
                 "What was installed or brought stays: the compiler, the container engine and its packages, images, "
                 "models and caches. A driver that is no longer offered cannot come back. Leave the reboot to later: "
                 "-e rollback_reboot=false.", ""),
    "RELOAD": ("what a fix takes: a service, a module or a setting is loaded anew, without a reboot", _IS_SO, ""),
    "REBOOT": ("what a fix takes: the box has to boot again before it has an effect", _IS_SO, ""),
    "FIRMWARE": ("what a fix takes: a setting of the BIOS, or another version of a firmware", _IS_SO, ""),
    "HANDS-ON": ("what a fix takes: somebody has to go to the machine", _IS_SO, ""),
    "UNKNOWN": ("a verdict: the evidence is missing, so the check says neither pass nor fail",
                "The finding says what to add; often it is root: sudo tunecheck preflight.", ""),
    "SKIP": ("a verdict: the check does not apply to this box, or nothing asks for it", "-v shows the reason.", ""),
    "WARN": ("a verdict: the box works, and something costs speed, or may cost it later", "", ""),
    "FAIL": ("a verdict: the box is not what it should be", "The finding names the way to mend it.", ""),
}
#: Everything that gives a word a meaning, in the order of the meanings on its page.
_SOURCES = (_TERMS, PCIE_ERRORS, DEVICE_STATUS_WORDS, PCIE_WORDS, DRIVER_WORDS, MEMORY_WORDS, NCCL_LEVELS, NCCL_WORDS,
            NVML_ERRORS, MACHINE_WORDS, COMPOUND_WORDS, FLEET_WORDS)
#: Without names that are a plain word (kernel, driver): nobody who types a word like it means the fleet's report.
NAMES = (*spellings(_SOURCES), *(name for name in EVENT_WORDS if " " in name), COMMAND_LINE[0], *_LETTERS, "NV#",
         "Xid N")


def term(name: str) -> str | None:
    """Return the page about ``name``, in upper or lower case; None where it is no term."""
    name = " ".join(name.split())
    if number := _XID.fullmatch(name):
        return _xid(int(number[1]))
    upper = name.upper()
    upper = next((upper[len(lead):] for lead in _TAKES if upper.startswith(lead)), upper)
    upper = event_name(_ALSO.get(upper, upper))
    if number := _SXID.fullmatch(upper):
        return _page(f"SXid {number[1]}", *_TERMS["SXid"])
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
    return None


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
