"""Figures that are below a limit, with as many digits as show it: "33 %, expected 33 % or more" tells nobody
anything."""

from __future__ import annotations

__all__ = ["figure_below", "is_below", "share_below"]

_MOST = 6


def is_below(value: float, limit: float) -> bool:
    """Return whether a figure is below a limit that was multiplied: 92.16 is not below 0.8 x 115.2."""
    return value < limit * (1 - 1e-9)


def share_below(value: float, limit: float) -> str:
    """Return a share that is below the limit as text: "32%", and "32.9%" where the limit is 33 %."""
    texts = [f"{value:.{digits}%}" for digits in range(_MOST)]
    return next((text for text in texts if float(text[:-1]) < round(100 * limit, 9)), texts[-1])


def figure_below(value: float, limit: float, digits: int = 2) -> str:
    """Return a figure that is below the limit as text, with so many digits or more: "1.42", and "1.4996" where the
    limit is 1.5."""
    texts = [f"{value:.{more}f}" for more in range(digits, digits + _MOST)]
    return next((text for text in texts if float(text) < limit), texts[-1])
