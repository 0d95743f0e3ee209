"""The variables that the roles and plays read, and what a name that is none of them was meant to be.

It imports nothing of this package: the callback plugin loads it by its path. A test holds the names against
roles/*/meta/argument_specs.yml, the model of box_spec and playbooks/."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["PLAYS", "ROLES", "SPEC", "without_effect"]

#: Role: what follows its name and an underscore; ``SPEC`` is the role box_spec's own.
ROLES = {
    "boot_trial": "bmc_address bmc_ca_file bmc_fingerprint bmc_password bmc_seconds bmc_serial bmc_system bmc_user "
                  "confirm_seconds console_log power_cycle reboot reboot_when_busy timeout_seconds",
    "container_runtime": "engine key_file log_max_mib mirror mirror_fingerprint storage storage_free_gib toolkit "
                         "toolkit_source user",
    "cpu_governor": "epp governor",
    "gpu_settings": "at_boot persistence python",
    "inference": "api_key_file bind enabled engine image_archive image_free_gib lock models_dir pass_max_age recipe "
                 "watch_listen",
    "kernel_cmdline": "confirm_seconds modules panic_seconds tokens trial",
    "kernel_modules": "options trial",
    "nvidia_driver": "drain hold key_file mirror mirror_fingerprint modules source version",
    "pcie_acs": "at_boot_unit mechanism pci_ids peer_redirect scope",
    "preflight": "reports_dir soak wheelhouse_dir",
    "snapshot_timer": "ca_file every push_url token_file",
}
#: Of the plays themselves.
PLAYS = ("box_lock_steal", "power_cycle_although_up", "power_cycle_ask_seconds", "power_cycle_confirm",
         "power_cycle_wait_seconds", "provision_quarantine", "provision_resume_hours", "provision_serial",
         "provision_tolerated", "rollback_reboot")
#: The keys of box_spec, and what stands below each.
SPEC = {
    "profile": "",
    "accelerators": "pci_ids count relation groups link_width kernel_driver",
    "iommu": "",
    "acs": "peer_redirect mechanism scope at_boot_unit",
    "kernel": "cmdline",
    "modules": "",
    "cpu": "governor epp smt",
    "driver": "version source mirror mirror_fingerprint modules flavour hold drain",
    "gpu": "power_limit_watts clocks_mhz persistence ecc mig",
    "runtime": "engine toolkit toolkit_source user storage storage_free_gib log_max_mib",
    "gate": "measured",
    "watch": "on_stall restarts_per_day token_floor canary_every gpu_reset",
    "boot": "trial panic_seconds timeout_seconds confirm_seconds reboot reboot_when_busy",
}
_BOX_SPEC = ("box_spec", "box_spec_host")
#: What the plays' own variables begin with, and the command's name, with which none does.
_OF_PLAYS, _OURS = ("box_lock_", "power_cycle_", "provision_", "rollback_"), "tunecheck_"
#: What the plays hold at work; whoever declares one of these is overruled, and it is no slip of the pen.
_HELD = ("box_spec_frozen", "box_spec_frozen_json", "box_info")
_KNOWN = (*_BOX_SPEC, *PLAYS, *(f"{role}_{name}" for role, names in ROLES.items() for name in names.split()))

#: How a host is reached, of ansible-core 2.19 (docs: ssh connection, sudo, special variables), without "ansible_".
_ANSIBLE = ("host", "port", "user", "password", "connection", "timeout", "python_interpreter", "shell_type",
            "shell_executable", "remote_tmp", "pipelining", "private_key_file", "ssh_host", "ssh_port", "ssh_user",
            "ssh_pass", "ssh_password", "ssh_private_key_file", "ssh_private_key", "ssh_private_key_passphrase",
            "ssh_args", "ssh_common_args", "ssh_extra_args", "ssh_executable", "ssh_pipelining", "ssh_timeout",
            "ssh_retries", "ssh_transfer_method", "ssh_use_tty", "ssh_host_key_checking", "host_key_checking",
            "control_path", "control_path_dir", "sftp_extra_args", "scp_extra_args", "sftp_executable",
            "scp_executable", "become", "become_user", "become_method", "become_password", "become_pass", "become_exe",
            "become_flags", "sudo_exe", "sudo_flags", "sudo_pass", "sudo_user")


def without_effect(names: Iterable[str]) -> dict[str, str]:
    """Return the declared names that look like one of ours, or like one of Ansible's for reaching a host, and are none:
    name -> the way out. Those that are near to nothing here are left out."""
    found = {name: _of_ansible(name) if name.startswith("ansible_") else _meant(name) for name in names
             if name not in _KNOWN and name not in _HELD}
    return {name: meant for name, meant in sorted(found.items()) if meant}


def _of_ansible(name: str) -> str:
    own = name.removeprefix("ansible_")
    near = [] if own in _ANSIBLE else difflib.get_close_matches(own, _ANSIBLE, n=1, cutoff=0.74)
    return f"did you mean ansible_{near[0]}?" if near else ""


def _meant(name: str) -> str:
    plain = name.lower().replace("-", "_")
    if plain in SPEC:
        return _below("box_spec", plain)
    if plain.startswith("box_spec_") and (key := _key(plain.removeprefix("box_spec_"))):
        return key
    if "_" in plain and (key := _key(plain)):      # a bare `count` or `user` may be anybody's
        return key
    near = difflib.get_close_matches(plain, _KNOWN, n=1, cutoff=0.82)
    if near:
        return f"did you mean {near[0]}?"
    if close := difflib.get_close_matches(plain, SPEC, n=1, cutoff=0.85):
        return _below("box_spec", close[0])
    role = next((role for role in ROLES if plain == role or plain.startswith(f"{role}_")), None)
    if role is not None:
        return f"the role {role} reads {', '.join(f'{role}_{each}' for each in ROLES[role].split())}"
    if play := next((play for play in _OF_PLAYS if plain.startswith(play)), None):
        return f"the plays read {', '.join(each for each in PLAYS if each.startswith(play))}"
    if plain.startswith(_OURS):
        return _behind(plain.removeprefix(_OURS))
    return "did you mean a key of box_spec, or box_spec_host?" if plain.startswith("box_spec") else ""


def _behind(after: str) -> str:
    """Return what was meant by a name that begins with the command's."""
    ending = [each for each in _KNOWN if each.endswith(f"_{after}")]
    near = f"did you mean {ending[0]}?" if len(ending) == 1 else ""
    return _meant(after) or _key(after) or near or \
        f"no variable of ours begins with {_OURS}; what a box should be is box_spec"


def _key(plain: str) -> str:
    """Return the place in box_spec that ``boot_trial``, ``gpu_ecc`` or ``power_limit_watts`` names. "" where there is
    none."""
    for part, names in SPEC.items():
        if plain == part:
            return _below("box_spec", part)
        if plain in (each for name in names.split() for each in (name, f"{part}_{name}")):
            return _below(f"box_spec.{part}", plain if plain in names.split() else plain.removeprefix(f"{part}_"))
    return ""


def _below(place: str, key: str) -> str:
    return f"did you mean {place}.{key}? Write {key}: indented below {place.rpartition('.')[2]}:"
