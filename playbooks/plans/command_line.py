"""The command line of this run, read, and commands that are to be copied."""

from __future__ import annotations

import os
import shlex

from ansible import context

__all__ = ["NO_BREAK", "again", "given", "inventories", "named", "shorter", "undo"]

#: textwrap breaks at white space of ASCII alone: what is to be copied is broken nowhere.
NO_BREAK = "\u00a0"
_ROLLBACK = "playbooks/rollback.yml"


def given(*options):
    """Return the tags of these options of the command line."""
    return {tag.strip() for option in options for text in context.CLIARGS.get(option) or () for tag in text.split(",")
            if tag.strip()}


def shorter(path):
    """Return the path as it can be typed in this folder."""
    return min(path, os.path.relpath(path), key=len) if os.path.exists(path) else path


def inventories():
    """Return the inventories of this run as they were given."""
    return [shorter(each) for each in context.CLIARGS.get("inventory") or ()]


def named():
    """Return the options that name the inventories of this run."""
    return "".join(f" -i {shlex.quote(each)}" for each in inventories())


def undo(name):
    """Return the command that undoes on this host what the plays did there."""
    return f"ansible-playbook {_ROLLBACK}{named()} -l {shlex.quote(name)}".replace(" ", NO_BREAK)


def again(file, name):
    """Return the command of this run for this host alone, without --check."""
    more = "".join(f" -e {shlex.quote(each)}" for each in context.CLIARGS.get("extra_vars") or ()
                   if isinstance(each, str))
    asked = " -K" if context.CLIARGS.get("become_ask_pass") else ""
    return f"ansible-playbook {shlex.quote(file)}{named()} -l {shlex.quote(name)}{more}{asked}".replace(" ", NO_BREAK)
