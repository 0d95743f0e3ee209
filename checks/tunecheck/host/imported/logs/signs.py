"""Tells a kernel log from other texts: three of its lines anywhere in a text, or a text that is nothing else and holds
a line that a check reads."""

from __future__ import annotations

import re
from itertools import islice

from ....util.at_first_use import regex

__all__ = ["LOG_LINE", "SAID", "SHORT_SAID", "is_log"]

#: dmesg and journalctl in every time format and language, syslog files; not SGLang, which puts its date in brackets.
LOG_LINE = regex(
    r"^[ \t]*(?:<\d+>)?\[[ +<]*\d+[.,]\d{6}(?:>?\]| <)"
    r"|^\[(?!\d{4}-)[^\]\n:]{1,30}\d\d:\d\d[^\]\n]{0,30}\] "
    r"|^[a-z0-9]{1,10} {0,6}:[a-z]{1,8} {0,6}: |^\d{4}-\d\d-\d\dT[\d:]{8},\d{6}[+-]\d\d:\d\d "
    r"|^(?:\w{3} +\d+ [\d:]{8}|\d{4}-\d\d-\d\dT\S+)(?: \S+)? kernel(?:\[\d+\])?: "
    r"|^[^\n\[:]{0,60}(?:\d\d:\d\d:\d\d|\d{9,12}\.\d{6})[^\n\[:]{0,100} kernel(?:\[\d+\])?: ", re.MULTILINE)
#: The driver's own lines count alone, whatever stands in front of them.
_NVRM = regex(r"^[^\n]{0,300}?(?:NVRM: (?:Xid|GPU|loading|Rm|The NVIDIA)|nvidia-nvswitch\d{1,3}: SXid )"
              r"[^\n]{0,200}", re.MULTILINE)
#: What every kernel says at boot.
_BOOT = (r"(?:(?:<\d>)?Linux version \d|(?:Kernel c|C)ommand line: |BIOS-(?:provided|e820)|ACPI: |smpboot: |Memory: \d"
         r"|pci(?:port|_bus)? [0-9a-f]{4}:|clocksource: |NET: Registered |systemd\[1\]: |usb \d|x86/)")
#: dmesg -t, journalctl -o cat: a boot without times.
SAID = regex(rf"^{_BOOT}", re.MULTILINE)
#: A kernel's time that somebody rounded: other programs (Xorg) print it so, and what stands behind it decides.
_SHORT_TIME = regex(r"[ \t]*(?:<\d+>)?\[[ +]*\d+[.,]\d{1,9}\] ")
SHORT_SAID = regex(rf"^{_SHORT_TIME.pattern}{_BOOT}", re.MULTILINE)
#: What stands below a message without times: a device's further lines, the stack of a task.
_BELOW = regex(
    r"(?:[\w.-]{1,32} [0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]: |\{\d{1,6}\}\[Hardware Error\]: "
    r"|Tainted: |Not tainted |task:\S|Call Trace:|</?(?:TASK|IRQ|NMI)>|(?:\? )?[\w.]{1,120}\+0x[0-9a-f]+/0x[0-9a-f]+"
    r"|rcu: |\d{1,5}-[.!A-Za-z0-9]{3,4}: \(|\((?:t=|detected by )\d"
    r"|R[A-Z0-9]{2}: |CPU: \d|Hardware name: |Modules linked in: |---\[ |Code: [0-9a-f<]|Kernel Offset: "
    r"|\"echo 0 > /proc/sys/kernel/hung_task_timeout_secs\")")
#: As far as a text of a few lines is looked at, and how many of them.
_SHORT = 16 * 1024
_LINES = 200
#: Lines that a person writes above them.
_ABOVE = 3


def is_log(head: str) -> bool:
    """Return whether a text, or its beginning, is a kernel log or a part of one."""
    from ....parsers.kernel.log_forms import plain  # start-up time
    from ....parsers.text.log_lines import line

    if "\x1b[" in head:
        head = plain(head)
    if any(len(sign.findall(head)) >= 3 for sign in (LOG_LINE, SAID, SHORT_SAID)):
        return True
    return any(line(found[0]).text.startswith(("NVRM: ", "nvidia-nvswitch"))
               for found in islice(_NVRM.finditer(head), 50)) or _is_fragment(head[:_SHORT])


def _is_fragment(text: str) -> bool:
    """Return whether a text of one line or a few is a kernel log. One of them is a message that a check reads, and
    nothing else is among them but what somebody says above lines that have a time or the kernel's name in front."""
    from ....parsers.kernel.fragment import may_tell, tells
    from ....parsers.text.log_lines import line

    if not may_tell(text):
        return False
    printed = above = 0
    told = begun = False
    for raw in [raw[:2000] for raw in text.split("\n") if raw.strip()][:_LINES]:
        said = line(raw).text
        front = raw[:len(raw) - len(said)]
        if LOG_LINE.match(raw) or _SHORT_TIME.match(raw) or front.endswith("kernel: "):
            printed += 1
            told = told or tells(said)
        elif not front.strip() and (known := tells(said)):
            told = known
        elif front.strip() or not (SAID.match(said) or _BELOW.match(said.lstrip())):
            if begun or above == _ABOVE:
                return False
            above += 1
            continue
        begun = True
    return told and above <= printed
