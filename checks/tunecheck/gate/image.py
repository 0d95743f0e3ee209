"""Does the container engine have the image? Asked by its id, which survives archives; a digest does not."""

from __future__ import annotations

import re

from ..host import Host, Unreadable
from ..model.fact import Absence, Fact, absent, known
from ..util.text import ending

__all__ = ["image_id"]

_SECONDS = 30.0


def image_id(host: Host, engine: str, wanted: str) -> Fact[str]:
    """Return the id of the image that ``wanted`` ("sha256:<64 hex>") names; absent with "not present" where the engine
    does not have it. ``engine``: podman or docker."""
    argv = (engine, "image", "inspect", "--format", "{{.Id}}", wanted.removeprefix("sha256:"))
    source = " ".join(argv[:3])
    try:
        done = host.run(argv, _SECONDS)
    except Unreadable as error:
        missing = error.absence is Absence.NOT_PRESENT
        return absent(source, Absence.NOT_INSTALLED.because(f"{engine} is not installed") if missing else error.reason)
    found = re.fullmatch(r"(?:sha256:)?([0-9a-f]{64})", done.stdout.strip())
    if done.returncode == 0 and found is not None:
        return known(f"sha256:{found[1]}", source)
    if re.search(r"no such image|image not known|no such object", done.stderr, re.IGNORECASE):
        return absent(source, Absence.NOT_PRESENT)
    from ..parsers.text.secrets import mask  # start-up time

    # Masked before it is cut: what is left of a secret would not be known as one.
    said = mask((done.stderr.strip().splitlines() or ["no answer"])[-1])
    return absent(source, Absence.FAILED.because(ending(said, 200)))
