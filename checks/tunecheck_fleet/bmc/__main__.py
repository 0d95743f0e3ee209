"""One request as JSON on stdin, one answer as JSON on stdout; the exit code is 0 where there is an answer."""

from __future__ import annotations

import json
import logging
import resource
import sys
from typing import Any

from .model import SENT, BmcError, Code, Request

#: A foreign answer may be made to grow; sushy itself needs less than 100 MiB.
_MEMORY = 1 << 30


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    logging.disable(logging.CRITICAL)     # what the library logs holds foreign text
    asked = json.load(sys.stdin)
    state = asked.pop("state")
    print(json.dumps(answer(state, Request(**asked | {"serials": tuple(asked.get("serials", ()))}))))


def answer(state: str, request: Request) -> dict[str, Any]:
    """Do what is asked. ``usable``: the BMC could power-cycle this box; ``sent``: its power may have been changed."""
    try:
        try:
            from . import power
        except ImportError as error:
            raise BmcError(Code.NO_LIBRARY, (
                f"Redfish needs {error.name or 'sushy'}, which this Ansible's Python does not have "
                f"({sys.executable}): on the "
                "control node, in the checkout: make setup, or pip install --require-hashes -r "
                "requirements/control.lock"
            )) from None
        if state == "cycled":
            code, system = power.cycle(request)
        else:
            code, system = Code.USABLE, power.look(request)
    except BmcError as error:
        return {"code": error.code.value, "sentence": error.sentence, "usable": False, "sent": False}
    except MemoryError:
        return {"code": Code.TOO_LARGE.value, "usable": False, "sent": False,
                "sentence": f"the answers of {request.address} do not fit into memory: is boot_trial_bmc_address "
                "right?"}
    name = f"the system {system.id} ({system.identity})"
    sentence = {
        Code.USABLE: f"the BMC {request.address} can power-cycle {name}: {system.reset}; it is {system.power.lower()}",
        Code.CYCLED: f"the BMC {request.address} power-cycled {name}: {system.reset}",
        Code.SWITCHED_ON: f"{name} was off; the BMC {request.address} switched it on",
        Code.UNSURE: f"the BMC {request.address} was asked to power-cycle {name} and did not say that it did: it was "
                     "not asked again, as it may have done it. Look whether the box boots",
    }[code]
    return {"code": code.value, "sentence": sentence, "usable": True, "sent": code in SENT, "identity": system.identity,
            "serial": system.serial, "uuid": system.uuid, "system": system.id, "name": system.name,
            "model": system.model, "power": system.power, "reset": system.reset}


if __name__ == "__main__":
    main()
