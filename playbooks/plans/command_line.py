"""The command line of this run, read, and commands that are to be copied."""

from __future__ import annotations

import os
import shlex

from ansible import constants, context

__all__ = ["NO_BREAK", "again", "given", "inventories", "named", "of_vault", "shorter", "undo", "width"]

#: textwrap breaks at white space of ASCII alone: what is to be copied is broken nowhere.
NO_BREAK = "\u00a0"
_ROLLBACK = "playbooks/rollback.yml"
#: Options of ansible-playbook that say how a box is reached, by Ansible's name. Without them another run reaches none.
_CONNECTING = {"remote_user": "-u", "private_key_file": "--private-key", "connection": "-c",
               "ssh_common_args": "--ssh-common-args", "sftp_extra_args": "--sftp-extra-args",
               "scp_extra_args": "--scp-extra-args", "ssh_extra_args": "--ssh-extra-args",
               "become_method": "--become-method", "become_user": "--become-user",
               "connection_password_file": "--connection-password-file",
               "become_password_file": "--become-password-file", "vault_ids": "--vault-id",
               "vault_password_files": "--vault-password-file", "ask_pass": "-k", "become_ask_pass": "-K",
               "ask_vault_pass": "--ask-vault-pass"}
#: What ansible.cfg says already.
_CONFIGURED = {"remote_user": "DEFAULT_REMOTE_USER", "private_key_file": "DEFAULT_PRIVATE_KEY_FILE",
               "connection": "DEFAULT_TRANSPORT", "become_method": "DEFAULT_BECOME_METHOD",
               "connection_password_file": "CONNECTION_PASSWORD_FILE", "become_password_file": "BECOME_PASSWORD_FILE",
               "ask_pass": "DEFAULT_ASK_PASS", "become_ask_pass": "DEFAULT_BECOME_ASK_PASS",
               "ask_vault_pass": "DEFAULT_ASK_VAULT_PASS"}


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
    reached = [each for each in _extra_vars() if each.startswith("ansible_")]
    return _command(_ROLLBACK, name, _repeated("-e", reached))


def again(file, name):
    """Return the command of this run for this host alone, without --check."""
    tags = [*_repeated("--tags", [",".join(sorted(given("tags") - {"all"}))]),
            *_repeated("--skip-tags", [",".join(sorted(given("skip_tags")))])]
    return _command(file, name, [*tags, *_repeated("-e", _extra_vars())])


def _command(file, name, more):
    whose = f"{named()} -l {shlex.quote(name)}"
    return "".join(["ansible-playbook ", shlex.quote(file), whose, *more, *_connecting()]).replace(" ", NO_BREAK)


def _extra_vars():
    return [str(each) for each in context.CLIARGS.get("extra_vars") or () if isinstance(each, str)]


def _connecting():
    """Return the options of this run that say how its boxes are reached."""
    found = []
    for name, option in _CONNECTING.items():
        value = context.CLIARGS.get(name)
        if not value or value == getattr(constants, _CONFIGURED.get(name, ""), None):
            continue
        found += [f" {option}"] if value is True else _repeated(option, [value] if isinstance(value, str) else value)
    return found


def _repeated(option, values):
    """Return the option with each of its values. A value may begin with a dash, so a long option is joined to it."""
    return [f" {option}{'=' if option.startswith('--') else ' '}{shlex.quote(str(each))}" for each in values if each]


def of_vault(error):
    """Return whether the error, or what it rests on, is that something encrypted cannot be read."""
    while error is not None:
        if "Vault" in type(error).__name__ or "vault secrets" in str(error):
            return True
        error = error.__cause__
    return False


def width():
    """Return how many columns a line may have."""
    text = os.environ.get("COLUMNS", "")
    columns = int(text) if text.isascii() and text.isdigit() and len(text) < 5 else 80
    return max(40, min(columns or 80, 120))
