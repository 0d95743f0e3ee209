"""A real BMC emulator before a real QEMU, and services that answer as no emulator does."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.bmc.emulator import Certificate, Guest, certificate, emulator

from lab import qmp

UUID, SERIAL = "8f1c2a30-5b6d-4e7f-8091-a2b3c4d5e6f7", "TC-0042"


@dataclass(frozen=True)
class Bmc:
    """Where it is, what it shows, and the machine behind it."""

    address: str
    shown: Certificate
    guest: Guest


@pytest.fixture(scope="session")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    return certificate(tmp_path_factory.mktemp("certificate"))


@pytest.fixture(scope="module")
def bmc(shown: Certificate, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bmc]:
    if shutil.which("qemu-system-x86_64") is None:
        pytest.skip("qemu-system-x86_64 is not installed")
    folder = tmp_path_factory.mktemp("bmc")
    (machine := Path(folder / "machine")).mkdir()
    guest = Guest(machine, UUID)
    try:
        with emulator(folder, machine, UUID, shown, SERIAL) as address:
            yield Bmc(address, shown, guest)
    finally:
        guest.end()


@pytest.fixture
def quiet(bmc: Bmc) -> Bmc:
    """A machine that is on, and whose events are a test's own."""
    if not qmp.ask(bmc.guest.folder, "query-status")["running"]:
        qmp.ask(bmc.guest.folder, "cont")
    bmc.guest.events()
    return bmc
