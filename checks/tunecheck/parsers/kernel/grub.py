"""GRUB 2 as Debian and Ubuntu set it up: our drop-in, the generated grub.cfg, the one-shot trial entry.

Read in grub-common 2.12-9 (Debian 13): grub-mkconfig sources /etc/default/grub, then /etc/default/grub.d/*.cfg in
glob order, and writes GRUB_CMDLINE_LINUX_DEFAULT verbatim behind ``linux``; 00_header boots ``next_entry`` once,
whatever GRUB_DEFAULT says, and saves the cleared variable *before* it boots.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from ...util.at_first_use import dataclass, regex

__all__ = ["DEFAULTS", "DROPIN", "GRUB_CFG", "TRIAL_ENTRY", "TRIAL_SCRIPT", "Entry", "default_entry", "entries",
           "find_entry", "parse_dropin", "parse_grubenv", "parse_retired", "render_dropin", "render_trial_script",
           "settings", "trial_block"]

#: Sorts after 50-cloudimg-settings.cfg, 99-*.cfg and hetzner.cfg, which overwrite what came before them.
DROPIN = "/etc/default/grub.d/zz-tunecheck.cfg"
DEFAULTS = "/etc/default/grub"
GRUB_CFG = "/boot/grub/grub.cfg"
TRIAL_SCRIPT = "/etc/grub.d/42_tunecheck_trial"
TRIAL_ENTRY = "tunecheck-trial"

_HEADER = """\
# Written by tunecheck (role kernel_cmdline). Change box_spec in the inventory, not this file.
# Appended, so that every parameter set before stays; recovery entries do not use this variable.
"""
_APPEND = regex(r'^GRUB_CMDLINE_LINUX_DEFAULT="\$GRUB_CMDLINE_LINUX_DEFAULT ?(.*)"$', re.MULTILINE)
_RETIRED = regex(r"^# retired until the next boot: (.*)$", re.MULTILINE)
_SETS = regex(r"^\s*(?:export\s+)?(GRUB_CMDLINE_LINUX(?:_DEFAULT)?)(\+?)=(.*)$")
_MOST = 4096        # tokens of one variable; one that names itself twice doubles every time
_DEPTH = 16         # of submenus; grub-mkconfig writes one level
_OWN_NAME = regex(r"\$\{?(GRUB_CMDLINE_LINUX(?:_DEFAULT)?)\}?$")
_DEFAULT = regex(r'^[ \t]*set default="(.*)"[ \t]*$', re.MULTILINE)
_OPENS = regex(r"^\s*(menuentry|submenu)\s")
_LINUX = regex(r"^\s*(linux|linuxefi|linux16)\s")
_INITRD = regex(r"^\s*(initrd|initrdefi|initrd16)\s")
_BARE = regex(r"^[A-Za-z0-9_.,:=/@+%~^-]+$")
_UNQUOTABLE = regex(r"[\s\"'`$\\]|[^\x20-\x7e]")


@dataclass(frozen=True)
class Entry:
    """One menu entry. ``path`` is its place in the menu ("0", "1>2"), ``block`` its text, ``tokens`` the command line
    behind ``linux KERNEL``. ``kernel`` is that KERNEL, empty where the entry starts none; ``initrds`` are the files
    loaded beside it."""

    id: str
    title: str
    path: str
    block: str
    tokens: tuple[str, ...]
    kernel: str = ""
    initrds: tuple[str, ...] = ()


def quote(token: str) -> str:
    """Quote one token for a place that both the shell (inside double quotes) and GRUB's script read.

    ValueError for a character that cannot pass both unchanged."""
    if _UNQUOTABLE.search(token):
        raise ValueError("the kernel parameter %r holds a character that GRUB's files cannot carry unchanged "
                         "(white space, quotes, $, `, \\ or not ASCII)" % token)
    return token if _BARE.match(token) else "'" + token + "'"


def render_dropin(tokens: list[str] | tuple[str, ...], retired: list[str] | tuple[str, ...] = ()) -> str:
    """Return the text of the drop-in that appends ``tokens``. ``retired`` are words taken out but possibly still
    running; the drop-in remembers them."""
    lines = _HEADER
    if retired:
        lines += "# retired until the next boot: %s\n" % " ".join(quote(token) for token in retired)
    appended = " ".join(["$GRUB_CMDLINE_LINUX_DEFAULT", *(quote(token) for token in tokens)])
    return lines + 'GRUB_CMDLINE_LINUX_DEFAULT="%s"\n' % appended


def parse_dropin(text: str) -> tuple[str, ...]:
    """Return the tokens that our drop-in appends. The tuple is empty where it has none."""
    found = _APPEND.search(text)
    return tuple(shlex.split(found.group(1))) if found else ()


def parse_retired(text: str) -> tuple[str, ...]:
    """Return the words that our drop-in gave up and that may still be on the running command line."""
    found = _RETIRED.search(text)
    return tuple(shlex.split(found.group(1))) if found else ()


def settings(files: Sequence[tuple[str, str]]) -> list[tuple[str, str, int]]:
    """Return what update-grub will put behind ``linux KERNEL``: (token, path, line number) in the order of the command
    line.

    ``files`` are (path, text) in the order in which grub-mkconfig sources them. Assignments are followed, with
    references to the two variables themselves; a condition around one is taken for true."""
    values: dict[str, list[tuple[str, str, int]]] = {"GRUB_CMDLINE_LINUX": [], "GRUB_CMDLINE_LINUX_DEFAULT": []}
    for path, text in files:
        joined = re.sub(r"\\\n", " \0", text)      # a continued line counts as one; \0 keeps the numbers right
        number = 1
        for line in joined.split("\n"):
            found = _SETS.match(line.replace("\0", ""))
            if found:
                old = values[found.group(1)] if found.group(2) else []
                new = []
                for token in _assigned(found.group(3)):
                    own = _OWN_NAME.match(token)
                    new += values[own.group(1)] if own else [(token, path, number)]
                values[found.group(1)] = (old + new)[:_MOST]
            number += 1 + line.count("\0")
    return values["GRUB_CMDLINE_LINUX"] + values["GRUB_CMDLINE_LINUX_DEFAULT"]


def _assigned(value: str) -> list[str]:
    """Return the tokens of an assignment's right side, without the quotes of shell and GRUB."""
    try:
        parts = shlex.split(value, comments=True)
    except ValueError:                              # a quote that ends on a later line
        parts = [value.strip("\"' ")]
    return [token.replace("'", "").replace('"', "") for token in (parts[0].split() if parts else [])]


def parse_grubenv(text: str) -> dict[str, str]:
    """Return the variables of a GRUB environment block (name=value lines, padded with #)."""
    pairs = (line.split("=", 1) for line in text.splitlines() if "=" in line and not line.startswith("#"))
    return {name: value for name, value in pairs}


def entries(grub_cfg: str) -> list[Entry]:
    """Return every menu entry of a generated grub.cfg, in menu order. Those of submenus stand among them."""
    result: list[Entry] = []
    opened: list[str] = []          # one word per open brace: submenu path, or "" for anything else
    parents: list[str] = []         # the paths of the open submenus
    counters = [0]                  # next index at every menu level
    block: list[str] = []
    inside: str | None = None       # path of the menuentry being read
    for line in grub_cfg.splitlines():
        stripped = line.strip()
        kind = _OPENS.match(line)
        if inside is None and kind and stripped.endswith("{"):
            path = ">".join([*parents[-1:], str(counters[-1])])
            counters[-1] += 1
            if kind.group(1) == "submenu":
                if len(counters) > _DEPTH:
                    raise ValueError("menus nested deeper than %d" % _DEPTH)
                opened.append(path)
                parents.append(path)
                counters.append(0)
                continue
            inside, block, depth = path, [line], 1
        elif inside is not None:
            block.append(line)
            depth += (1 if stripped.endswith("{") else 0) - (1 if stripped == "}" else 0)
            if depth == 0:
                result.append(_entry(inside, block))
                inside = None
        elif stripped.endswith("{"):
            opened.append("")
        elif stripped == "}" and opened and opened.pop():
            parents.pop()
            counters.pop()
    return result


def _entry(path: str, block: list[str]) -> Entry:
    head = shlex.split(block[0].strip()[:-1])
    if len(head) < 2:
        raise ValueError("a menu entry without a title")
    ident = ""
    for marker in ("$menuentry_id_option", "${menuentry_id_option}", "--id"):
        if marker in head[:-1]:
            ident = head[head.index(marker) + 1]
    tokens: tuple[str, ...] = ()
    kernel = ""
    for line in block:
        if _LINUX.match(line):
            words = shlex.split(line)
            tokens, kernel = tuple(words[2:]), "".join(words[1:2])
            break
    initrds = tuple(word for line in block if _INITRD.match(line) for word in shlex.split(line)[1:])
    return Entry(ident or head[1], head[1], path, "\n".join(block) + "\n", tokens, kernel, initrds)


def find_entry(grub_cfg: str, ident: str) -> Entry | None:
    """Return the first entry with the id ``ident``, or None."""
    return next((entry for entry in entries(grub_cfg) if entry.id == ident), None)


def default_entry(grub_cfg: str, saved_entry: str = "") -> Entry | None:
    """Return the entry that an ordinary boot takes; ``saved_entry`` comes from grubenv. As GRUB does, take the first
    entry where the chosen one does not exist. None where there is no entry at all.

    GRUB takes an index, an id or a title, and for submenus several of them joined by ``>``."""
    choices = [value for value in _DEFAULT.findall(grub_cfg) if "next_entry" not in value]
    wanted = choices[-1] if choices else "0"
    if "saved_entry" in wanted:
        wanted = saved_entry or "0"
    menu = entries(grub_cfg)
    last = wanted.split(">")[-1]
    for entry in menu:
        if wanted == entry.path or last in (entry.id, entry.title):
            return entry
    # GRUB falls back to the first entry when the chosen one does not exist.
    return menu[0] if menu else None


def trial_block(default: Entry, remove: list[str] | tuple[str, ...], add: list[str] | tuple[str, ...],
                initrd: tuple[str, str] | None = None) -> str:
    """Return a copy of the default entry named TRIAL_ENTRY whose command line lacks ``remove`` and ends in ``add``.
    ``initrd`` is (old, new): the copy loads the file ``new`` where the default entry loads ``old``. ValueError where
    the default entry starts no kernel or does not load ``old``."""
    lines = default.block.splitlines()
    lines[0] = "menuentry 'tunecheck trial (booted once)' $menuentry_id_option '%s' {" % TRIAL_ENTRY
    for number, line in enumerate(lines):
        if _LINUX.match(line):
            command, kernel = shlex.split(line)[:2]
            kept = _without(default.tokens, remove)
            lines[number] = "\t" + " ".join([command, kernel, *(_requote(token) for token in kept),
                                             *(quote(token) for token in add)])
            break
    else:
        raise ValueError("GRUB's default entry %r starts no Linux kernel; expected a line 'linux ...'" % default.title)
    if initrd is not None and not _other_initrd(lines, *initrd):
        raise ValueError("GRUB's default entry %r does not load %s; expected a line 'initrd ...'"
                         % (default.title, initrd[0]))
    return "\n".join(lines) + "\n"


def _other_initrd(lines: list[str], old: str, new: str) -> bool:
    """Change ``lines`` so that they load ``new`` where they load ``old``. Return whether they did load ``old``."""
    for number, line in enumerate(lines):
        if _INITRD.match(line):
            command, *files = shlex.split(line)
            if old in files:
                lines[number] = "\t" + " ".join([command, *(quote(new if name == old else name) for name in files)])
                return True
    return False


def _without(tokens: tuple[str, ...], remove: list[str] | tuple[str, ...]) -> list[str]:
    """Return ``tokens`` with each token of ``remove`` taken out once, from the right: ours stand last, a foreign equal
    one stays."""
    kept = list(tokens)
    for token in remove:
        if token in kept:
            del kept[len(kept) - 1 - kept[::-1].index(token)]
    return kept


def _requote(token: str) -> str:
    """Quote a foreign token, which may hold anything GRUB accepts."""
    if _BARE.match(token):
        return token
    return '"' + re.sub(r'(["\\$])', r"\\\1", token) + '"'


def render_trial_script(block: str) -> str:
    """Return the text of the /etc/grub.d script that prints ``block`` into grub.cfg."""
    return ("#!/bin/sh\nexec tail -n +4 \"$0\"\n"
            "# Written by tunecheck: a trial boot is staged. It goes away when the trial is committed or given up.\n"
            + block)
