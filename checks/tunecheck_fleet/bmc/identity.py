"""Is the system behind a BMC the box that the inventory means?"""

from __future__ import annotations

import re

from .model import BmcError, Code, Request, System

__all__ = ["compare"]

#: What boards say that were never given a number (dmidecode of Supermicro, ASUS, ASRock, Gigabyte, QEMU).
_NO_SERIAL = re.compile(
    r"(to be filled.*|default( string)?|none|n/?a|null|unknown|not (specified|applicable|available|settable).*|"
    r"(system|chassis|board|base board)?[ -]*serial[ -]*(number|no\.?)?|[0x.\- ]*|0?123456789|1234567890?)",
    re.IGNORECASE)
_HEX = re.compile(r"[0-9a-f]{32}")


def compare(request: Request, system: System) -> None:
    """Return where the system is the box, or where nothing speaks against it and a person decides; BmcError else.

    Dell's SerialNumber is the board's, and the SKU is what DMI calls the serial number: any pair may agree. A UUID
    agrees in either byte order, as BMCs differ in it."""
    box = {number for each in ((request.serial,) if request.serial else request.serials) if (number := _number(each))}
    theirs = {number for each in (system.serial, system.sku) if (number := _number(each))}
    uuids = set() if request.serial else _orders(request.uuid)
    same_uuid = uuids & _orders(system.uuid)
    if box & theirs or same_uuid:
        return
    if (box and theirs) or (uuids and _orders(system.uuid)):
        raise BmcError(Code.WRONG_SYSTEM, (
            f"{request.address} is the BMC of another machine: its system {system.id} has the serial number "
            f"{system.serial or 'none'} and the UUID {system.uuid or 'none'}; this box has {_said(request)}. "
            "Correct boot_trial_bmc_address or boot_trial_bmc_system"))
    if request.unattended:
        raise BmcError(Code.NOT_COMPARABLE, (
            f"whether {request.address} is the BMC of this box cannot be told: its system {system.id} has the "
            f"serial number "
            f"{system.serial or 'none'} and the UUID {system.uuid or 'none'}, and this box says {_said(request)}. "
            f"Compare by "
            f"hand, then set boot_trial_bmc_serial to the BMC's number, or boot_trial_power_cycle: confirm"))


def _number(text: str) -> str:
    plain = " ".join(text.split())
    return "" if _NO_SERIAL.fullmatch(plain) else plain.lower()


def _orders(uuid: str) -> set[str]:
    """The UUID in both byte orders of its first three fields; empty where it is none, or one that boards share."""
    plain = uuid.strip().lower().replace("-", "")
    if not _HEX.fullmatch(plain) or len(set(plain)) == 1 or plain.startswith("03000200040005000006000700080009"):
        return set()
    raw = bytes.fromhex(plain)
    return {plain, (raw[3::-1] + raw[5:3:-1] + raw[7:5:-1] + raw[8:]).hex()}


def _said(request: Request) -> str:
    if request.serial:
        return f"{request.serial} (boot_trial_bmc_serial)"
    numbers = [each for each in request.serials if _number(each)]
    parts = [f"the serial number {' or '.join(numbers)}" if numbers else "no serial number",
             f"the UUID {request.uuid}" if _orders(request.uuid) else "no UUID of its own"]
    return " and ".join(parts)
