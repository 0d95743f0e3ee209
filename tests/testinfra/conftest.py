"""These tests look at a provisioned box from outside, without tunecheck's own code.

    pytest tests/testinfra --hosts='ansible://all' --ansible-inventory=inventory/lab

Without --hosts there is no box to look at, and they skip.
"""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture(autouse=True)
def a_real_box(host: Any) -> None:
    """Skip on the machine that runs pytest: it is no box."""
    if host.backend.get_connection_type() == "local":
        pytest.skip("no box given: run with --hosts='ansible://all' --ansible-inventory=inventory/lab")
