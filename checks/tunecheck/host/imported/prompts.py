"""A shell's prompts in a paste: the command above an output, and the prompt behind the last one, which is no part of
any text."""

from __future__ import annotations

import re

from ...util.at_first_use import regex

__all__ = ["ASKED", "AT", "unprompted"]

#: ``$ sudo lspci -vvv``, ``[root@box ~]# dmesg``, ``user@box:~$ nvidia-smi``: several outputs in one text.
ASKED = regex(r"^(?:(?:\[[^\]\n]{1,100}\][#$>] ?|(?:\([\w.-]{1,40}\) )?\S{0,200}[#$>] ?)(?:sudo )?(?:/\S*/)?"
              r"(?:lspci|nvidia-smi|dmesg|journalctl|numactl|lscpu|cat|lsmod|modinfo|nvcc|ls|grep|uname)\b"
              # Pages of ours have it behind a tag.
              r"|\S{0,200}[#$] (?:sudo )?sysctl\b)"
              r".*(?:\n|\Z)", re.MULTILINE)
#: The machine in a prompt.
AT = regex(r"\[?(?:\([\w.-]{1,40}\) )?\[?[\w.-]{1,64}@([\w.-]{1,253})[:\s\]~]")
#: A line that is a prompt, and what was typed behind it. A line of an output may begin with "# ", also behind what a
#: tool put in front of it, and one of XML ends with ">": behind a bare "#" only words that end a session count, and ">"
#: needs a name or a path before it.
_PROMPT = regex(
    r"(?:\([\w.-]{1,40}\) )?(?:"
    r"[\w.-]{1,64}@[\w.-]{1,253}(?::[^\s#$%>]{1,200}| [~/][^\s#$%>]{0,200})?(?: \([\w./-]{1,60}\))?"
    r" ?[#$%>\u276f](?: .*)?"
    r"|\[[\w.-]{1,64}(?:@[\w.-]{1,253})?(?: [^\]\n]{1,100})?\][#$%>](?: .*)?"
    r"|[\w.-]{1,64}:[~/][^\s#$%>]{0,200} ?[#$>](?: .*)?"
    r"|[~/][^\s#$%>:]{0,200} [#$%\u276f](?: .*)?"
    r"|(?:ba|da|k|z)?sh-\d[\d.]{0,8}[#$](?: .*)?"
    r"|[A-Za-z][\w.-]{0,63}[#$]"
    r"|[#$%>\u276f\u279c]"
    r"|\$ \S.*"
    r"|# (?:exit|logout|clear|history|reboot|poweroff)\b.*"
    r"|\u2514\u2500{1,2}[#$](?: .*)?|\u250c\u2500{1,2}\(.*"
    r"|(?:PS )?[A-Z]:\\[^<>|\n]{0,200}>(?: .*)?"
    r")\s*\Z")
#: What a shell prints when it ends.
_ENDED = regex(r"(?:logout|exit|Connection to \S{1,253} closed\.)\s*\Z")
#: No more than this much of the end is looked at, and of a line.
_TAIL, _LINE = 8192, 600


def unprompted(text: str) -> str:
    """Return the text without the prompts behind its last output. A command that another prompt follows has run: that
    it printed nothing stays told."""
    begin = max(0, len(text) - _TAIL)
    lines = text[begin:].split("\n")
    least = 1 if begin else 0       # of the first line there may be a part only
    left = number = len(lines)
    while number > least:
        line = lines[number - 1]
        if not line.strip() or _ENDED.match(line):
            number -= 1
        elif len(line) <= _LINE and _PROMPT.match(line) and (left == len(lines) or not ASKED.match(line)):
            left = number = number - 1
        else:
            break
    if left == len(lines):
        return text
    return text[:len(text) - sum(map(len, lines[left:])) - (len(lines) - left - 1)]
