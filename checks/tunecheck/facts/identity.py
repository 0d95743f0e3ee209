"""What a box is, whatever it is called: machine id, board, firmware, processor, memory.

Nothing of it names the box to others: the machine id is systemd's id for one application (an HMAC), a serial number is
only ever a digest. No BMC is asked: its answer may take seconds, and a sick one never comes."""

from __future__ import annotations

import hashlib
import hmac

from ..host import Host, Unreadable
from ..host.prefetch import CPU
from ..model.fact import Absence, Fact, absent, absent_as, known, parsed
from ..util.at_first_use import dataclass
from .file_text import text

__all__ = ["Identity", "app_specific", "hypervisor_flag", "identity_of"]

_DMI = "/sys/class/dmi/id"
_MACHINE_ID = "/etc/machine-id"
#: Made for this application with `systemd-id128 new`; changing it makes every box of every fleet another one.
_APPLICATION = bytes.fromhex("6f5d2c1b9a3e4f70a8d4c2e1b7f09563")
#: What makers leave in a field that they did not fill, as often found in dmidecode outputs. Words, not one pattern:
#: compiling that takes 5 ms, which every snapshot would pay.
_EMPTY = frozenset({"default string", "not specified", "not applicable", "not settable", "not available", "not present",
                    "none", "n/a", "na", "unknown", "system serial number", "system product name", "empty", "invalid",
                    "base board serial number", "baseboard serial number", "chassis serial number", "o.e.m.", "oem",
                    "123456789", "1234567890"})
#: Which field tells boxes apart, the best first. Virtual machines often have the last one only.
_SERIALS = ("board_serial", "product_serial", "product_uuid")


#: Of a snapshot that was stored before the flag was looked at.
_NO_FLAG: Fact[bool] = absent("/proc/cpuinfo", Absence.NOT_RECORDED)


@dataclass(frozen=True)
class Identity:
    """What tells one box from another. ``machine`` and ``board`` are 32 hex digits each, of no use to anybody else;
    ``memory_gib`` is the installed memory in GiB, as near as the kernel's figure tells it. ``arch`` is x86_64 or
    aarch64. ``hypervisor`` says whether the CPU has the flag of that name."""

    machine: Fact[str]
    board: Fact[str]
    vendor: Fact[str]
    product: Fact[str]
    board_name: Fact[str]
    bios_vendor: Fact[str]
    bios_version: Fact[str]
    bios_date: Fact[str]
    cpu_model: Fact[str]
    memory_gib: Fact[int]
    arch: Fact[str]
    hypervisor: Fact[bool] = _NO_FLAG


def identity_of(host: Host) -> Fact[Identity]:
    """Read the identity of a host from small files and the head of /proc/cpuinfo. The rest of /proc/cpuinfo costs every
    CPU an interrupt."""
    cpu = _cpuinfo(host)
    return known(Identity(
        machine=parsed(text(host, _MACHINE_ID), _machine), board=_board(host), vendor=_field(host, "sys_vendor"),
        product=_field(host, "product_name"), board_name=_field(host, "board_name"),
        bios_vendor=_field(host, "bios_vendor"), bios_version=_field(host, "bios_version"),
        bios_date=_field(host, "bios_date"), cpu_model=parsed(cpu, _model),
        memory_gib=parsed(text(host, "/proc/meminfo"), _memory), arch=parsed(cpu, _arch),
        hypervisor=parsed(cpu, _hypervisor)), "files")


def hypervisor_flag(host: Host) -> Fact[bool]:
    """Return whether the CPU has the flag ``hypervisor``, for who asks for nothing else of a host's identity."""
    return parsed(_cpuinfo(host), _hypervisor)


def app_specific(machine_id: str, application: bytes = _APPLICATION) -> str:
    """Return the id that sd_id128_get_machine_app_specific(3) gives: HMAC-SHA256 of the application's id with the
    machine id as key, made a UUID of version 4. Both ids are 32 hex digits. ValueError for a machine id that is
    anything else."""
    if len(machine_id) != 32 or machine_id.strip("0123456789abcdef"):
        raise ValueError("not 32 hexadecimal digits")
    made = bytearray(hmac.digest(bytes.fromhex(machine_id), application, "sha256")[:16])
    made[6] = made[6] & 0x0F | 0x40
    made[8] = made[8] & 0x3F | 0x80
    return made.hex()


def _nothing(value: str) -> bool:
    lower = value.strip().lower()
    return lower in _EMPTY or lower.startswith("to be filled") or not lower.strip("0.x-f ") or lower.endswith(
        "-0000-0000-0000-000000000000")


def _is_placeholder(value: str) -> bool:
    """Return whether ``value`` is what a recording has in place of a serial number or id (parsers/text/redact.py)."""
    plain = value.lower().replace("-", "")
    return value.startswith("serial-") or (len(plain) == 32 and plain.startswith("0" * 20) and bool(plain.strip("0")))


def _machine(content: str) -> str:
    if _is_placeholder(content):
        raise ValueError("it is left out")
    return app_specific(content)


def _board(host: Host) -> Fact[str]:
    """Return the digest of the first field that holds a serial number. It is "not present" only where every field says
    so."""
    worst: Fact[str] = absent(f"{_DMI}/{_SERIALS[0]}", Absence.NOT_PRESENT)
    for name in _SERIALS:
        fact = text(host, f"{_DMI}/{name}")
        if fact.value is not None and _is_placeholder(fact.value):
            return absent(fact.source, Absence.LEFT_OUT)
        if fact.value is not None and not _nothing(fact.value):
            material = f"{name}:{fact.value.strip().lower()}".encode("utf-8", "replace")
            return known(hmac.digest(_APPLICATION, material, "sha256")[:16].hex(), fact.source)
        if not (fact.known or fact.missing):
            # Only root may read them: a lesser field must not stand for the one that root would see.
            return absent_as(fact)
    return worst


def _field(host: Host, name: str) -> Fact[str]:
    fact = text(host, f"{_DMI}/{name}")
    if fact.value is None:
        return fact
    value = " ".join(fact.value.split())[:120]
    return absent(fact.source, Absence.NOT_PRESENT) if _nothing(value) else known(value, fact.source)


def _cpuinfo(host: Host) -> Fact[str]:
    try:
        done = host.run(CPU, 5.0)
    except Unreadable as error:
        return absent(" ".join(CPU), Absence.NOT_INSTALLED if error.absence is Absence.NOT_PRESENT else error.reason)
    if done.returncode != 0:
        return absent(" ".join(CPU), Absence.FAILED.because((done.stderr.strip().splitlines() or ["failed"])[0][:200]))
    return known(done.stdout, "/proc/cpuinfo")


def _model(content: str) -> str:
    """Return the model of the processor: ``model name``; on Arm the implementer and part, which is all that the kernel
    says."""
    fields = _lines(content)
    named = fields.get("model name")
    if named:
        return " ".join(named.split())[:120]
    found = [fields.get(f"CPU {word}", "")[:20] for word in ("implementer", "part")]
    if not all(found):
        raise ValueError("it names no model")
    return "Arm " + "/".join(found)


def _arch(content: str) -> str:
    fields = _lines(content)
    if "vendor_id" in fields:
        return "x86_64"
    if "CPU implementer" in fields:
        return "aarch64"
    raise ValueError("neither x86 nor Arm")


def _hypervisor(content: str) -> bool:
    """Return whether the CPU's flags hold ``hypervisor``. ``lahf_lm`` comes behind it, so flags that reach that far are
    enough. ValueError where they do not."""
    flags = _lines(content).get("flags", "").split()
    if "hypervisor" not in flags and "lahf_lm" not in flags:
        raise ValueError("the flags of the CPU are not there, or not to their end")
    return "hypervisor" in flags


def _lines(content: str) -> dict[str, str]:
    """Return the fields of /proc/cpuinfo by name, each with its first value. Only the first 100 lines are read."""
    found: dict[str, str] = {}
    for line in content.splitlines()[:100]:
        name, mark, value = line.partition(":")
        if mark:
            found.setdefault(name.strip(), value.strip())
    return found


def _memory(content: str) -> int:
    """Return the installed memory in GiB. MemTotal lacks what firmware and kernel keep, about 2 %, by version a little
    more or less, so it is rounded up to a step that installed memory comes in."""
    words = content[:200].split()
    if words[:1] != ["MemTotal:"] or words[2:3] != ["kB"] or not words[1].isdecimal() or len(words[1]) > 15:
        raise ValueError("no MemTotal")
    gib = -(-int(words[1]) // (1 << 20))
    step = 1 if gib <= 16 else 8 if gib <= 128 else 32 if gib <= 1024 else 64
    return -(-gib // step) * step


def digest(*parts: str) -> str:
    """Return 32 hex digits of the SHA-256 over ``parts``, with a NUL between two of them."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:32]
