"""The variables of a host as Ansible reads them: templates are resolved, and what the command line says counts."""

from __future__ import annotations

from ansible import context
from ansible.template import Templar

__all__ = ["of_host"]

#: What the plans ask for -> other names of it; the option of the command line that says it where no variable does.
_ASKED = {
    "ansible_host": (("ansible_ssh_host",), None), "ansible_port": (("ansible_ssh_port",), None),
    "ansible_user": (("ansible_ssh_user",), "remote_user"), "ansible_connection": ((), "connection"),
    "inference_recipe": ((), None), "provision_quarantine": ((), None)}


def of_host(manager, host):
    """Return those that the plans ask for. One that cannot be resolved is left out."""
    raw = manager.get_vars(host=host)
    templar, found = Templar(loader=manager._loader, variables=raw), {}
    for name, (others, option) in _ASKED.items():
        stated = next((each for each in (name, *others) if each in raw), None)
        if stated is None:
            said = context.CLIARGS.get(option) if option else None
            if said:
                found[name] = said
            continue
        try:
            found[name] = templar.template(raw[stated])
        except Exception:   # of Jinja's filters, of any kind; Ansible itself says it where it needs the value
            continue
    return found
