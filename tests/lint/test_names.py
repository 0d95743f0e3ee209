"""Every worker names every test the same: names come from the source alone, never from the clock."""

from __future__ import annotations

import gzip

import pytest


@pytest.mark.parametrize("packed", [gzip.compress(b"x"), b"\x1f\x8b\x08", b"plain"])
def test_packed_bytes_do_not_name_a_test(packed: bytes, request: pytest.FixtureRequest) -> None:
    assert request.node.name.endswith("[plain]" if packed == b"plain" else ("[packed0]", "[packed1]")), packed


def test_no_test_is_named_after_raw_bytes(request: pytest.FixtureRequest) -> None:
    for item in request.session.items:
        values = getattr(item, "callspec", None)
        for value in values.params.values() if values else ():
            if isinstance(value, bytes) and not (value.isascii() and value.decode("ascii").isprintable()):
                assert repr(value)[2:-1] not in item.name, item.nodeid
