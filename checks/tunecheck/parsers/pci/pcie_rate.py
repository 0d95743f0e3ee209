"""How many GB/s (10^9) a PCIe link carries in one direction, by arithmetic alone.

Lanes x raw rate x line code x payload share. Every packet (TLP) of MPS bytes has 24 bytes around it: 4 framing and
sequence, 16 header with a 64-bit address, 4 LCRC. From Gen6 on packets travel in FLITs: 236 of 256 bytes are for TLPs,
and a packet has 20 bytes of header. Flow control and SKP take another 1 to 2 %, which is not taken off.
"""

from __future__ import annotations

__all__ = ["lane_rate", "payload_rate"]

#: GB/s of one lane after the line code: 8b/10b, 128b/130b, FLIT (without FEC, CRC and DLLP bytes).
_LANE = {1: 2.5 / 8 * 8 / 10, 2: 5 / 8 * 8 / 10, 3: 8 / 8 * 128 / 130, 4: 16 / 8 * 128 / 130, 5: 32 / 8 * 128 / 130,
         6: 64 / 8 * 236 / 256}
_OVERHEAD, _OVERHEAD_FLIT = 24, 20


def lane_rate(gen: int) -> float:
    """Return GB/s of one lane of a generation (1 to 6). KeyError for any other."""
    return _LANE[gen]


def payload_rate(gen: int, width: int, mps: int) -> float:
    """Return GB/s of payload in one direction, in packets of ``mps`` bytes: 57.6 for Gen5 x16 at 256."""
    return width * _LANE[gen] * mps / (mps + (_OVERHEAD_FLIT if gen >= 6 else _OVERHEAD))
