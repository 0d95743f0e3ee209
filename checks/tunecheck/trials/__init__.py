"""Measure: p2p, all-reduce. Workers touch the GPUs; the process that started them never does, and always comes back."""

from __future__ import annotations
