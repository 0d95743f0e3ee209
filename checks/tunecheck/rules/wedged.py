"""A process that is stuck in the driver comes first: no other fix of the report opens the driver, and the order is one,
reboot. And what the driver itself asks for after an Xid is the fix of every finding about the same lost GPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..model.finding import Finding, Place, Remedy
from ..util.at_first_use import regex
from .codes import GPU_NOT_LISTED

__all__ = ["REBOOT", "comes_first", "in_one_order", "stuck_in_driver"]

REBOOT = Remedy("reboot the host; do not start nvidia-smi again, it would hang too", (), True)
#: A reboot takes the kernel's log with it.
_KEEP = Remedy.typed("before the reboot keep the whole kernel log: `sudo dmesg`, and `sudo journalctl -k -b`")
#: Of whoever says that a process or CPU is stuck in the driver: its check and codes.
_STUCK = {
    "hung-task": ("hung-in-driver", "cpu-stuck-in-driver", "cpu-stalled-in-driver"),
    "driver-stuck": ("hangs-in-driver",),
}
#: What a text lacks, in the middle of a sentence.
_ADD = regex(r"[;,:] ?(?:add:? (?:the whole of: )?nvidia-smi[^;)]*|"
             r"(?:on the box run[:] )?sudo tunecheck \w+(?: --\w+)*)")
#: Findings that say of a GPU that it is gone, where the driver may have said in an Xid what to do about it.
_GONE = {
    "nvml-answers": ("gpu-lost", "gpu-no-answer", "gpu-not-opened", GPU_NOT_LISTED),
    "accelerator-count": ("does-not-answer", "left-since-boot", "not-in-tree", "not-in-driver"),
    "gpu-fallen-off": ("lost", "fell-off-bus"),
}
#: Of these, what is no consequence of a driver that has another trouble.
_LOST = {**_GONE, "nvml-answers": ("gpu-lost",), "accelerator-count": _GONE["accelerator-count"][:3]}
_ADDRESS = regex(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}(?=$|[., ])")
#: A GPU as subjects begin with it.
_NUMBER = regex(r"^GPU[0-9]{1,3}(?= |$)")
#: What says that a GPU is slowed down or hot, and what would raise its power limit.
_HEAT = ("gpu-temperature", "gpu-throttle")
_LOW = ("below-default", "below-others")
_COOL = Remedy("leave it as it is until what gpu-temperature and gpu-throttle say of this GPU is mended: more power "
               "heats it more", place=Place.MACHINE)
_LEADS = ("xid-79", "xid-154")


def stuck_in_driver(findings: Sequence[Finding]) -> Finding | None:
    """Return the first finding that says that a process is stuck in the driver."""
    return next((each for each in findings if each.code in _STUCK.get(each.id, ())), None)


def comes_first(finding: Finding) -> bool:
    """Return whether the finding says that a process is stuck in the driver, or that a GPU is gone: what else is wrong
    may follow from that, and nothing else can be mended before."""
    lost = finding.id == "xid" and finding.code in _LEADS
    return finding.outcome == "fail" and (lost or finding.code in _STUCK.get(finding.id, ()) or finding.code in
                                          _LOST.get(finding.id, ()))


def in_one_order(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings with remedies that do not contradict each other."""
    led = _cool_first(_led_by_driver(findings))
    return [_after_reboot(each) for each in led] if stuck_in_driver(led) else led


def _cool_first(findings: list[Finding]) -> list[Finding]:
    """Return the findings without advice to give more power to a GPU that is slowed down, or hot."""
    hot = {number for each in findings if each.id in _HEAT and each.outcome in ("fail", "warn")
           for number in _NUMBER.findall(each.subject)}
    return [replace(each, remedy=_COOL) if each.id == "gpu-power-limit" and each.code in _LOW and
            hot.intersection(_NUMBER.findall(each.subject)) else each for each in findings]


def _after_reboot(finding: Finding) -> Finding:
    opens = finding.remedy is not None and finding.remedy.opens_driver
    remedy = finding.remedy if not opens else _KEEP if finding.id == "kernel-log-complete" else REBOOT
    text = _ADD.sub("", finding.text)
    return finding if remedy is finding.remedy and text == finding.text else replace(finding, text=text, remedy=remedy)


def _led_by_driver(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings about a lost GPU with the remedy of its Xid 154 or 79. Where they do not name the GPU by its
    address, as NVML of one that is lost, only if the driver asks for one thing alone."""
    lead = [each for each in findings if each.id == "xid" and each.code in _LEADS and each.outcome == "fail"]
    leads = {address: each.remedy for each in lead if each.remedy for address in _addresses(each.subject)}
    numbers = {number: each.remedy for each in lead if each.remedy for number in _NUMBER.findall(each.subject)}
    return [_unreset(_led(each, leads), leads | numbers) for each in findings] if leads else list(findings)


def _unreset(finding: Finding, leads: Mapping[str, Remedy]) -> Finding:
    """Return the finding with the remedy of its GPU's Xid where its own is a reset, and the Xid's is none: a reset does
    not reach a GPU that is off the bus."""
    if not _resets(finding.remedy):
        return finding
    named = [*_NUMBER.findall(finding.subject), *_addresses(finding.subject)]
    lead = next((leads[name] for name in named if name in leads), None)
    return finding if lead is None or _resets(lead) else replace(finding, remedy=lead)


def _led(finding: Finding, leads: Mapping[str, Remedy]) -> Finding:
    if finding.outcome != "fail" or finding.code not in _GONE.get(finding.id, ()):
        return finding
    named = _addresses(finding.subject)
    found = {leads.get(address) for address in named} if named else set(leads.values())
    lead = found.pop() if len(found) == 1 else None
    return replace(finding, remedy=lead) if lead else finding


def _resets(remedy: Remedy | None) -> bool:
    return remedy is not None and any("--gpu-reset" in command.argv for command in remedy.commands)


def _addresses(subject: str) -> list[str]:
    return _ADDRESS.findall(subject.lower())
