"""--record beside --from: of texts there is no recording, and one command makes one file of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tunecheck.app.read_host import recorder
from tunecheck.errors import Misuse, UsageError


def test_texts_are_told_apart_from_a_recording(tmp_path: Path) -> None:
    (texts := tmp_path / "dmesg.txt").write_text("[    0.000000] Linux version 6.8.0\n")
    (packed := tmp_path / "box.tar.zst").write_bytes(b"\x28\xb5\x2f\xfd and more")
    for source, command in ((texts, True), ("-", True), (packed, False)):
        with pytest.raises(UsageError) as told:
            recorder(str(source))
        assert told.value.flaw is Misuse.DOES_NOT_BELONG
        assert ("tunecheck snapshot --json FILE --from" in str(told.value)) == command
