"""Codes that several checks give, and what each means. A check's own codes are CODES in its own file.

A code names what a check says, whatever the words are. It never changes its meaning; docs/codes.md lists all of them
(`python -m lab.generators.codes`)."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["COMMON", "CONTROL_WRONG", "DEVICES_INCOMPLETE", "GPU_LIST_INCOMPLETE", "GPU_NOT_LISTED", "LOG_INCOMPLETE",
           "LOG_UNREAD", "MAYBE_ACCELERATOR", "MEASURED_IN_PART", "NOTHING_TO_SERVE", "NOT_DECLARED", "NOT_MEASURED",
           "NOT_SUPPORTED", "NO_ACCELERATOR", "NO_CDI_SPEC", "NO_COMPARISON", "NO_DRIVER", "NO_GPU", "NO_GPU_LISTED",
           "NO_LINK", "NO_PAIR", "NO_PEER_ACCESS", "NO_PORT", "NO_TOOLKIT", "NVML_UNREAD", "OK", "PATH_UNREAD",
           "REGISTERS_UNREAD", "SENSELESS_VALUE", "TREE_UNREAD", "TRIAL_FAILED", "TRIAL_HUNG", "TRIAL_OPEN", "UNREAD",
           "VIRTUAL_PORTS", "WRONG_DATA"]

OK = "ok"
UNREAD = "unread"
SENSELESS_VALUE = "senseless-value"
NOT_SUPPORTED = "not-supported"
NOT_DECLARED = "not-declared"
NO_ACCELERATOR = "no-accelerator"
NO_PAIR = "no-pair"
NO_PORT = "no-port"
NO_LINK = "no-link"
NO_GPU = "no-gpu"
NO_GPU_LISTED = "no-gpu-listed"
NO_DRIVER = "no-driver"
NVML_UNREAD = "nvml-unread"
GPU_NOT_LISTED = "gpu-not-listed"
GPU_LIST_INCOMPLETE = "gpu-list-incomplete"
TREE_UNREAD = "tree-unread"
PATH_UNREAD = "path-unread"
REGISTERS_UNREAD = "registers-unread"
MAYBE_ACCELERATOR = "maybe-accelerator"
DEVICES_INCOMPLETE = "devices-incomplete"
LOG_UNREAD = "log-unread"
LOG_INCOMPLETE = "log-incomplete"
VIRTUAL_PORTS = "virtual-ports"
NOT_MEASURED = "not-measured"
TRIAL_HUNG = "trial-hung"
TRIAL_FAILED = "trial-failed"
MEASURED_IN_PART = "measured-in-part"
NO_PEER_ACCESS = "no-peer-access"
CONTROL_WRONG = "control-wrong"
NO_COMPARISON = "no-comparison"
WRONG_DATA = "wrong-data"
NOTHING_TO_SERVE = "nothing-to-serve"
NO_TOOLKIT = "no-toolkit"
NO_CDI_SPEC = "no-cdi-spec"
TRIAL_OPEN = "trial-not-committed"

COMMON: Mapping[str, str] = {
    OK: "What the check asks for is so.",
    UNREAD: "The value that the check judges cannot be read; `absence` says why.",
    SENSELESS_VALUE: "The value can be read, and no device can have it.",
    NOT_SUPPORTED: "The device or the driver has no such value.",
    NOT_DECLARED: "The specification asks for nothing here, so nothing is judged.",
    NO_ACCELERATOR: "There is no accelerator.",
    NO_PAIR: "There are fewer than two accelerators, so there is no pair.",
    NO_PORT: "No port lies between accelerators: there is nothing to judge.",
    NO_LINK: "The device has no PCI Express link of its own.",
    NO_GPU: "None of the accelerators is a GPU of NVIDIA's.",
    NO_GPU_LISTED: "NVML answers and lists no GPU.",
    NO_DRIVER: "No NVIDIA driver is loaded.",
    NVML_UNREAD: "NVML, the driver's library, gave no answer; `absence` says why.",
    GPU_NOT_LISTED: "NVML does not list this GPU.",
    GPU_LIST_INCOMPLETE: "NVML's list of GPUs is cut off: there may be more.",
    TREE_UNREAD: "The PCI devices are not known; `absence` says why.",
    PATH_UNREAD: "The ports above the accelerator are not known, and they could change the result.",
    REGISTERS_UNREAD: "The PCI Express registers of a device on the path cannot be read.",
    MAYBE_ACCELERATOR: "A device without ids may be an accelerator; then the result would be another one.",
    DEVICES_INCOMPLETE: "The list of PCI devices is, or may be, only a part: a text that was cut, filtered or damaged.",
    LOG_UNREAD: "The kernel log cannot be read; `absence` says why.",
    LOG_INCOMPLETE: "The check found nothing in the kernel log, and the log is not whole. `kernel-log-complete` says "
                    "that once for all checks.",
    VIRTUAL_PORTS: "This is a virtual machine: its hypervisor made the ports up, and what decides are those of its "
                   "host.",
    NOT_MEASURED: "No trial measured it, or a trial left it out.",
    TRIAL_HUNG: "The trial hung, so it was not measured to the end; `trial-hang` says more.",
    TRIAL_FAILED: "The trial ended with an error, so it was not measured to the end.",
    MEASURED_IN_PART: "The trial ran, and figures of some GPUs, pairs or directions are missing.",
    NO_PEER_ACCESS: "Pairs have no peer access, so they were not measured; `p2p-access` says more.",
    CONTROL_WRONG: "Copies through the host arrive wrong too, so nothing can be said about peer-to-peer.",
    NO_COMPARISON: "A figure was measured, and none is known to compare it with.",
    WRONG_DATA: "Data did not arrive, or did not stay, as it was written.",
    NOTHING_TO_SERVE: "There is neither a GPU of NVIDIA's nor a container engine in the specification.",
    NO_TOOLKIT: "NVIDIA's container toolkit is not installed.",
    NO_CDI_SPEC: "There is no CDI specification of GPUs.",
    TRIAL_OPEN: "A trial boot runs and is not committed: the boots after it do not have yet what it tries.",
}
