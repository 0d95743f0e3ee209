"""What `tunecheck init` says of a box's boot loader."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.facts.trees import full, switch

from tunecheck.app.draft import drafted
from tunecheck.facts.kernel.boot import Loader
from tunecheck.facts.snapshot import gather


@pytest.mark.parametrize(("loader", "said"), [
    (Loader.GRUB, "GRUB"), (Loader.GRUBBY, "GRUB with entries (grubby)"), (Loader.SYSTEMD_BOOT, "systemd-boot"),
    (Loader.PROXMOX_BOOT, "systemd-boot with proxmox-boot-tool"),
    (Loader.PROXMOX_GRUB, "GRUB with proxmox-boot-tool, which site.yml does not drive"),
    (Loader.NOT_KNOWN, "not known (it is not in this snapshot)")])
def test_every_boot_loader_has_its_name(loader: Loader, said: str) -> None:
    snapshot = gather(full(switch()).host(), None, True)
    assert snapshot.host is not None and snapshot.host.boot.loader is Loader.GRUB
    host = replace(snapshot.host, boot=replace(snapshot.host.boot, loader=loader))
    assert f"boot loader: {said}" in drafted(replace(snapshot, host=host)).observations
