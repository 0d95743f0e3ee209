"""Configuration spaces of a machine of our own, as `lspci -F` reads them: three boards and a drive behind one switch.

    python -m tests.unit.imports.own_dump > own.dump; lspci -F own.dump -nnvvv > fixtures/pciutils/VERSION.txt

was run with lspci of pciutils 3.9.0, 3.13.0 and 3.14.0. One link has half of its lanes, one port redirects, one board
lets its link sleep, one sends short packets, and three devices have latched errors."""

from __future__ import annotations

from typing import Any

from tests.unit.facts.trees import config

__all__ = ["dump"]


def _device(ids: str, kind: str, port: int, buses: tuple[int, int, int] | None = None, ctl: int | None = None,
            **registers: Any) -> bytearray:
    data = bytearray(config(ctl, port=port, **registers))
    _named(data, ids, kind)
    if buses:
        data[0x0E], data[0x18:0x1B] = 1, bytes(buses)
    if port in (4, 6):
        data[0x62] |= 0x10      # LnkCap: LLActRep+
        data[0x67] |= 0x20      # LnkSta: DLActive+
    return data


def _named(data: bytearray, ids: str, kind: str) -> bytearray:
    for at, number in ((0, ids[:4]), (2, ids[5:]), (0x0A, kind)):
        data[at:at + 2] = int(number, 16).to_bytes(2, "little")
    return data


def _latch(data: bytearray, register: int, bit: int) -> None:
    data[0x100 + register + bit // 8] |= 1 << bit % 8


def dump() -> str:
    """As `lspci -xxxx` prints it."""
    devices = {"00:00.0": _named(bytearray(4096), "1022:14a4", "0600"),
               "00:01.0": _device("1022:14a5", "0604", 4, (0, 1, 6), 0x1D),
               "01:00.0": _device("1000:c030", "0604", 5, (1, 2, 6))}
    for number in range(4):
        devices[f"02:0{number}.0"] = _device("1000:c030", "0604", 6, (2, 3 + number, 3 + number),
                                             0x1D if number == 1 else 0x11)
    devices["03:00.0"] = _device("10de:2bb5", "0302", 0, mps=128)
    devices["04:00.0"] = _device("10de:2bb5", "0302", 0, aspm=2)
    devices["05:00.0"] = _device("10de:2bb5", "0302", 0, width=8)
    devices["06:00.0"] = _device("144d:a80a", "0108", 0, width=4, gen=4)
    for bdf, register, bit in (("03:00.0", 4, 4), ("04:00.0", 4, 19), ("04:00.0", 0x10, 6), ("02:02.0", 4, 21)):
        _latch(devices[bdf], register, bit)
    lines = []
    for bdf, data in devices.items():
        rows = (f"{at:02x}: {' '.join(f'{byte:02x}' for byte in data[at:at + 16])}" for at in range(0, 4096, 16))
        lines += [f"{bdf} device", *rows, ""]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    print(dump(), end="")
