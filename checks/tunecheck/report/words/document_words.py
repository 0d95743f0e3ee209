"""What each word means that a field of a JSON document takes one of, for `tunecheck explain`: a test compares them with
the schemas in docs/schema. Codes of checks, verdicts, layers and relations have pages of their own, and what is a
command has its --help."""

from __future__ import annotations

from collections.abc import Mapping

from ...model.acceptance_codes import CODES as ACCEPTANCE
from ...model.acceptance_codes import OK
from .watch_reasons import REASONS

__all__ = ["FIELDS", "LOADER_WORDS", "told"]

#: As docs/codes.md tells them.
_ABSENCE: Mapping[str, str] = {
    "not-present": "The file, device or program does not exist: that is an answer.",
    "not-shown": "No text of an import names it. A line that was lost looks like this, too.",
    "not-asked": "Nothing asked for it: there is no such device, or the spec leaves it alone.",
    "no-driver": "It was not asked, because the NVIDIA driver is not loaded.",
    "no-boards": "It was not asked, because the NVIDIA driver has none of the boards, or no second one.",
    "not-read": "Nobody looked yet, or the one answer that was given does not hold it.",
    "no-permission": "The user may not read it: run as root.",
    "not-supported": "The device or driver has no such value.",
    "not-installed": "The program that would tell is not installed.",
    "timed-out": "There was no answer within the deadline.",
    "cut-off": "The process that was asking was killed, crashed or stopped in the middle of its answer.",
    "lost": "NVML: the device does not answer any more (GPU_IS_LOST, RESET_REQUIRED).",
    "mismatch": "NVML: library and kernel module are of two versions.",
    "failed": "The program or the driver answered with an error.",
    "unreadable": "The operating system cannot read it: an input or output error, a directory, too large.",
    "not-understood": "There is an answer, and it is not what it should be.",
    "incomplete": "There is a part of it only.",
    "not-derivable": "It does not follow from what this machine shows of itself.",
    "not-recorded": "The recording does not hold it.",
    "not-in-import": "No text of the import could tell it.",
    "only-on-host": "No text of an import can tell it, only the machine itself: on the box run sudo tunecheck record.",
    "left-out": "It was left out on purpose: names and serial numbers.",
    "older": "The snapshot was made by an older tunecheck, or by a verb that reads less.",
    "no-boot-loader": "No boot loader that is known was found.",
    "no-systemd": "systemd does not run here, as in a container.",
    "elsewhere": "No kernel module is kept on this system.",
    "no-version": "A file is there, and its name holds no version.",
    "log-too-short": "The kernel log begins after what is asked of it.",
    "other": "It was stored as text, by a version without codes, in words that are not known.",
}
LOADER_WORDS = {
    "grub": "GRUB with update-grub, as on Debian and Ubuntu.",
    "grubby": "GRUB with entries that grubby edits, as on Fedora and Enterprise Linux.",
    "systemd-boot": "systemd-boot, whose entries kernel-install makes.",
    "proxmox-boot": "systemd-boot, whose entries proxmox-boot-tool makes.",
    "proxmox-grub": "GRUB that reads what proxmox-boot-tool makes.",
    "not-known": "No file tells it.",
}
_COMMANDS_PLACE = {
    "box": "In a shell on the machine that was looked at.",
    "control": "On the control node, in a checkout with the inventory.",
    "inventory": "In the desired state; a play then brings it to the box.",
    "firmware": "In the set-up of the BIOS or UEFI, or in the BMC.",
    "machine": "With hands: slots, cables, fans, power.",
    "hypervisor": "On the host of this virtual machine.",
}
_FAULTS = {     # tunecheck.parsers.nvidia.driver_failures, and what makes an Xid
    "xid": "An Xid of the NVIDIA driver; `tunecheck explain \"Xid 79\"` says what a number means.",
    "sxid": "An error of an NVSwitch.",
    "fallen": "A GPU fell off the bus.",
    "adapter": "The driver could not bring a GPU up (RmInitAdapter failed).",
    "gsp": "A GPU's own processor (GSP) or its firmware did not start.",
    "wpr2": "A GPU's firmware region (WPR2) was in use already when the driver started.",
    "region": "The driver refused a GPU whose memory has no valid address.",
    "probe": "The driver gave up on a GPU when it looked for them.",
    "gone": "A GPU did not answer any more, and no Xid says so.",
    "locked": "The driver's watchdog said that a GPU was probably locked up.",
    "reset": "The driver said that a GPU required a reset.",
    "panic": "The kernel stopped (panic).",
}
_CLAIMS = {
    "stopped": "A process of the engine was stopped by a signal.",
    "ended": "A process of the engine that computed is gone, or a zombie.",
    "hangs": "A process hangs in the kernel (state D).",
    "silent": "A process does not answer NCCL.",
    "dead": "NCCL has given a process up.",
    "failed": "NCCL reports an error of a rank.",
    "behind": "A rank has launched fewer operations of a collective than the others.",
    "idle": "A GPU of the engine rests, while all others only wait for it.",
    "computes": "A GPU of the engine computes, while all others only wait for it.",
}
_WITNESSES = {
    "nccl-ras": "NCCL's own thread (RAS), which knows how far each rank is.",
    "process": "The state of the engine's processes, as the kernel has it.",
    "gpu": "What each GPU does, as NVML has it.",
}
#: Field, as documents and their kinds have it -> value -> what it means.
FIELDS: Mapping[str, Mapping[str, str]] = {
    "`absence`, why a value is not known": _ABSENCE,
    "`loader`, what booted the machine": LOADER_WORDS,
    "`where` of a remedy, where it is carried out": _COMMANDS_PLACE,
    "`code` of a reason of `tunecheck watch`": REASONS,
    "`state` of what is served (`tunecheck watch`)": {
        "serving": "Tokens come.",
        "idle": "No request runs.",
        "loading": "It is being started, and does not answer yet.",
        "degraded": "It serves, and something is wrong: `reasons` says what.",
        "stalled": "Requests run, and nothing comes out any more.",
        "lost": "A GPU is gone.",
        "stopped": "It does not run.",
        "unknown": "What it does cannot be seen: `reasons` says why.",
    },
    "`kind` of a claim of `tunecheck watch`, what a witness says": _CLAIMS,
    "`witness` of `tunecheck watch`, who says that somebody holds the others up": _WITNESSES,
    "`process_state` of `tunecheck watch`, as the kernel names it": {
        "T": "Stopped by a signal, or held by a debugger.",
        "D": "It sleeps in the kernel and cannot be ended.",
        "Z": "It has ended, and its parent has not asked for how (a zombie).",
    },
    "`kind` of an event of an earlier boot": _FAULTS,
    "`kind` of `measured_pass`": {
        "full": "Every pair, all-reduces of every subset size and a soak were measured.",
        "quick": "It was measured in short: every pair, all ranks, a soak of 2 s.",
    },
    "`place` of `measured_pass`": {"image": "It was measured inside a container image."},
    "`arm` of a stall": {
        "p2p": "The collective ran with peer-to-peer.",
        "staged": "It ran with NCCL_P2P_DISABLE=1, through the host's memory.",
    },
    "`trial` of a measured figure": {
        "host copy": "A copy between a GPU and the host.",
        "own memory": "A copy within one GPU.",
        "control": "The copy through the host's memory that peer-to-peer is compared with.",
        "one way": "Copies from one GPU to another.",
        "both ways": "Copies between two GPUs in both directions at once.",
        "latency": "How long one small write to a peer takes.",
        "flows": "Copies of several pairs at once.",
        "soak": "An all-reduce over and over, for a time.",
    },
    "`unit` of a measured figure": {
        "GB/s": "Thousand million bytes in a second.",
        "ns": "Thousandths of a microsecond.",
        "us": "Microseconds.",
        "steps": "How often it was done in the time of the soak.",
    },
    "`verdict` on the GPUs after a stall": {
        "recovered": "Every GPU works in a fresh context.",
        "ghost latch": "GPUs stood at 100 % without a process, until a fresh context cleared it.",
        "wedged": "A GPU does not work in a fresh context: reboot the host.",
    },
    "`latency_class` of a pair of GPUs, what its traffic goes through": {
        "switch": "One PCIe switch.",
        "cascade": "Several PCIe switches, and no CPU.",
        "root-complex": "The CPU.",
        "cross-socket": "Two CPUs and the way between them.",
        "nvlink": "NVLink, and not PCIe.",
    },
    "`state` of a port's ACS": {
        "present": "The port has ACS: `ctl` says what of it is on.",
        "absent": "The port has no ACS.",
        "unknown": "Its registers cannot be read: `reason` says why.",
    },
    "`kind` of a run of `tunecheck accept`": {
        "calibration": "A question that shows how the engine counts.",
        "warm-up": "A request that nobody counts, before those that are.",
        "canary": "A question whose answer is known.",
        "needle": "A question about a word that is hidden in a long prompt.",
        "repeat": "The same request again, for the same answer.",
        "logprobs": "A request for the probability of each token, a second count of them.",
        "timed": "A request whose speed is measured.",
        "ladder": "Prompts of growing length, for the time to the first token.",
        "concurrent": "Several requests at once.",
        "published": "A figure of a file of somebody else's benchmark.",
    },
    "`broken` of a run of `tunecheck accept`, why its answer broke off": {
        "deadline": "It took longer than the deadline.",
        "stream": "The stream ended in the middle.",
        "status": "The server answered with an HTTP status that is an error.",
        "engine": "The engine reported an error within the stream.",
    },
    "`counted_by` of `tunecheck accept`, how tokens were counted": {
        "usage": "By the engine's own usage.",
        "usage_wallclock": "By the engine's own usage, over the time that the requests took.",
        "characters": "A quarter of the characters was taken for tokens.",
        "gauge": "By a gauge of the server at one moment.",
        "claimed": "The file says that it is usage, and nothing witnesses that.",
        "disputed": "The server's own counter says another rate than usage.",
        "tokenizer": "By the client's own tokenizer.",
        "asked": "They may be those that were asked for, not those that were delivered.",
        "engine": "Inside the engine, not at a client.",
        "contradiction": "The figures of the file contradict each other.",
        "unknown": "It is not known.",
    },
    "`mode` of a load of `tunecheck accept`": {
        "closed": "So many requests run at once; the next begins when one ends.",
        "open": "Requests arrive at a rate, whether earlier ones have ended or not.",
    },
    "`profile` of `tunecheck accept`, how much is asked": {
        "full": "All of it.",
        "boot": "What is asked at each start of a model that was accepted before.",
        "published": "Nothing: a file of somebody else's benchmark is judged.",
    },
    "`id` of a finding of `tunecheck accept`, which passes where this is so": {
        check: codes[OK] for check, codes in ACCEPTANCE.items() if OK in codes},
    "`authority` of a cause of the fleet, what it is compared with": {
        "desired": "The desired state.",
        "previous": "The audit before.",
        "majority": "What most hosts of its group have.",
        "role": "What the roles would change (--with-check-diff).",
        "identity": "What tells one machine from another.",
        "reference": "The host that --baseline host:NAME names.",
    },
    "`began` of a cause of the fleet, by what its hosts began to differ from most of their group": {
        "changed": "Their own value changed.",
        "first": "It was so when the host was first heard, or when it could first be told.",
        "others": "Most of the others changed.",
        "regrouped": "The host was moved to another group.",
        "share": "So many of the others have one value only since then: hosts came or left, or a part of them changed.",
    },
    "`whose` of `befores` of a cause of the fleet, whose the value is that stands beside the one of these hosts": {
        "own": "They had it themselves, before it changed.",
        "others": "Most of the others have it.",
        "reference": "The host has it that --baseline host:NAME names.",
    },
    "`status` of a host of the fleet": {"ok": "It answered, and what should be read was read."},
    "`severity` of a cause of the fleet": {
        "low": "It can wait.",
        "medium": "It costs speed, or may do harm later.",
        "high": "The host does not serve as it should, or will not after the next boot.",
    },
    "`trigger` of an audit": {
        "pull": "The audit asked the hosts.",
        "push": "The hosts sent their snapshots.",
    },
}


def told(word: str) -> str:
    """Return what documents mean by a word, one line for each field; "" where no field takes it."""
    return "".join(f"- {field}: {values[key]}\n" for field, values in FIELDS.items()
                   for key in values if key.lower() == word.strip().lower())
