"""Order of package versions: dpkg's (deb-version(7)) and rpm's (rpmvercmp). Pure, for any text."""

from __future__ import annotations

__all__ = ["dpkg_compare", "rpm_compare", "upstream"]


def dpkg_compare(left: str, right: str) -> int:
    """-1, 0 or 1, as ``dpkg --compare-versions`` orders ``[epoch:]upstream[-revision]``."""
    raise NotImplementedError


def rpm_compare(left: str, right: str) -> int:
    """-1, 0 or 1, as rpm orders ``[epoch:]version[-release]``."""
    raise NotImplementedError


def upstream(version: str) -> str:
    """``1:595.71.05-0ubuntu1`` -> ``595.71.05``: without epoch and revision."""
    raise NotImplementedError
