"""Finds the commands in a sentence, so that a terminal's width never breaks one. It decides about line breaks alone."""

from __future__ import annotations

from ..util.at_first_use import regex

__all__ = ["commands_in"]

#: A word, without the marks that a sentence puts behind it.
_WORD = r"[^\s,;:()\[\]\"']{0,200}[^\s,;:.()\[\]\"'?!]"
_PROGRAMS = ("lspci", "nvidia-smi", "dmesg", "journalctl", "numactl", "lscpu", "lsmod", "modinfo", "cat", "grep",
             "systemctl", "tunecheck", "apt", "apt-get", "pip", "ansible-playbook", "ansible-vault", "ssh-copy-id",
             "ssh", "podman", "docker", "make", "rm")
#: Options whose value is the next word.
_VALUED = (r"(?:-[iloeugds]|--(?:from|host|gpu|tags|note|until|timeout|since|list|end|audit|name|fact|group|json|html|"
           r"record|spec|reason|value|store))")
_VERBS = ("topo", "host", "driver", "runtime", "preflight", "p2p", "allreduce", "trial", "gate", "pins", "accept",
          "watch", "recover", "record", "snapshot", "init", "checks", "spec show", "audit", "drift", "blame", "history",
          "export", "fleet(?: hosts)?", "recipe (?:list|show|lint|pin|render)",
          r"(?:approve|acknowledge|waive)(?: [A-Za-z]?[0-9][0-9a-z]{0,30})?",
          r"explain (?:[a-z][a-z0-9]*(?:-[a-z0-9]+)*\b|\"[^\"]{1,40}\")")
#: What stands behind a program and in no prose: verbs, options, paths, words to fill in, variables, where it goes to.
_BEHIND = (
    *_VERBS, "(?:nvlink|show|enable|start|status|restart|install)\\b", rf"{_VALUED} {_WORD}",
    rf"{_VALUED} '[^']{{1,400}}'",
    r"--?[A-Za-z0-9][\w-]{0,60}(?:=\S{0,200}[\w/])?(?: [rwnap]\b(?=[\s,;:.)]|$))?", rf"[/.~]{_WORD}", r"\.(?= )",
    r"[A-Z][A-Z_@]{1,30}\b", rf"[A-Z_]{{1,30}}={_WORD}", rf"> {_WORD}", rf"(?:inventory|playbooks|docs)/{_WORD}",
    rf"{_WORD}\.(?:yml|tar\.zst|txt|json)",
)
_ONE = rf"(?:sudo )?(?:{'|'.join(_PROGRAMS)})(?: (?:{'|'.join(_BEHIND)}))*(?: \.\.\.)?"
#: The kernel quotes a word as `noacs': no back-tick of ours.
_COMMANDS = regex(rf"`(?!\w{{1,40}}')([^`\n]+)`|(?<![\w/.-]){_ONE}(?: (?:&&|[|]) {_ONE})*")


def commands_in(text: str) -> list[str]:
    """Return the commands of several words in this text, in their order: what stands in back-ticks, and a program that
    messages name, with the words behind it that no prose has."""
    found = (each.group(1) or each.group() for each in _COMMANDS.finditer(text))
    return [command for command in found if " " in command]
