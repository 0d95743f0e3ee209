"""Small fake machines: sysfs trees as a RecordedHost, and the specs to judge them with."""

from __future__ import annotations

from typing import Any

from tunecheck.host import Completed
from tunecheck.host.recording import RecordedHost
from tunecheck.spec.frozen import Accelerators, Acs, Frozen, Spec

PCI = "/sys/bus/pci/devices"
DROPIN = "/etc/default/grub.d/zz-tunecheck.cfg"
GPU = "10de:2bb1"
PORT = "1000:c030"


def config(ctl: int | None = None, cap: int = 0x005F, size: int = 4096) -> bytes:
    """Configuration space of a PCI Express port; with ``ctl`` an ACS capability at 0x148 behind AER at 0x100."""
    data = bytearray(4096)
    data[0:4] = b"\x36\x1b\x0c\x00"
    data[6] = 0x10
    data[0x34] = 0x54
    data[0x54:0x56] = bytes([0x10, 0])
    following = 0x148 if ctl is not None else 0
    data[0x100:0x104] = (0x0001 | 2 << 16 | following << 20).to_bytes(4, "little")
    if ctl is not None:
        data[0x148:0x14C] = (0x000D | 1 << 16).to_bytes(4, "little")
        data[0x14C:0x14E] = cap.to_bytes(2, "little")
        data[0x14E:0x150] = ctl.to_bytes(2, "little")
    return bytes(data[:size])


class Machine:
    """Add devices and files, then ask for ``host()``."""

    def __init__(self) -> None:
        self.reads: dict[str, bytes] = {}
        self.lists: dict[str, list[str]] = {PCI: []}
        self.realpaths: dict[str, str] = {}
        self.errors: dict[str, str] = {}
        self.runs: dict[tuple[str, ...], Completed | str] = {}
        self.nvml: dict[str, Any] | None = None
        self.file("/proc/sys/kernel/hostname", "box1\n")
        self.file("/proc/sys/kernel/osrelease", "6.12.1\n")
        self.file("/proc/sys/kernel/random/boot_id", "11111111-2222-3333-4444-555555555555\n")
        self.file("/sys/devices/system/node/online", "0\n")

    def file(self, path: str, content: str | bytes) -> Machine:
        self.reads[path] = content if isinstance(content, bytes) else content.encode()
        return self

    def gone(self, kind: str, *paths: str, reason: str = "not present") -> Machine:
        for path in paths:
            self.errors[f"{kind} {path}"] = reason
        return self

    def device(self, bdf: str, path: str, ids: str = PORT, kind: str = "0604", data: bytes | None = None,
               numa: int = -1, width: int = 16) -> Machine:
        vendor, device = ids.split(":")
        folder = f"{PCI}/{bdf}"
        self.lists[PCI].append(bdf)
        self.realpaths[folder] = f"/sys/devices/{path}"
        for name, value in {"vendor": "0x" + vendor, "device": "0x" + device, "class": f"0x{kind}00",
                            "numa_node": numa, "current_link_width": width, "max_link_width": 16,
                            "current_link_speed": "32.0 GT/s PCIe", "max_link_speed": "32.0 GT/s PCIe"}.items():
            self.file(f"{folder}/{name}", f"{value}\n")
        self.file(f"{folder}/config", config() if data is None else data)
        return self.gone("realpath", f"{folder}/driver", f"{folder}/iommu_group")

    def port(self, bdf: str, path: str, ctl: int | None = 0x001D) -> Machine:
        return self.device(bdf, path, data=config(ctl))

    def gpu(self, bdf: str, path: str, numa: int = -1, width: int = 16) -> Machine:
        return self.device(bdf, path, GPU, "0302", numa=numa, width=width)

    def host(self) -> RecordedHost:
        return RecordedHost(self.reads, self.lists, self.realpaths, self.errors, self.runs, self.nvml)


def switch(ctl: int | None = 0x001D) -> Machine:
    """PIX: one switch, two downstream ports, an accelerator below each. The root port redirects always."""
    up = "pci0000:00/0000:00:04.0/0000:01:00.0"
    return (Machine().port("0000:00:04.0", "pci0000:00/0000:00:04.0")
            .port("0000:01:00.0", up, None)
            .port("0000:02:00.0", f"{up}/0000:02:00.0", ctl).port("0000:02:01.0", f"{up}/0000:02:01.0", ctl)
            .gpu("0000:03:00.0", f"{up}/0000:02:00.0/0000:03:00.0")
            .gpu("0000:04:00.0", f"{up}/0000:02:01.0/0000:04:00.0"))


def cascaded() -> Machine:
    """PXB: the second accelerator sits behind a switch below the switch."""
    up = "pci0000:00/0000:00:04.0/0000:01:00.0"
    lower = f"{up}/0000:02:01.0/0000:04:00.0/0000:05:00.0"
    return (Machine().port("0000:00:04.0", "pci0000:00/0000:00:04.0").port("0000:01:00.0", up, None)
            .port("0000:02:00.0", f"{up}/0000:02:00.0").port("0000:02:01.0", f"{up}/0000:02:01.0")
            .port("0000:04:00.0", f"{up}/0000:02:01.0/0000:04:00.0", None).port("0000:05:00.0", lower)
            .gpu("0000:03:00.0", f"{up}/0000:02:00.0/0000:03:00.0").gpu("0000:06:00.0", f"{lower}/0000:06:00.0"))


def direct(ctl: int | None = 0x001D) -> Machine:
    """PHB: each accelerator behind its own root port of one host bridge."""
    machine = Machine()
    for number in (4, 5):
        port = f"pci0000:00/0000:00:0{number}.0"
        machine.port(f"0000:00:0{number}.0", port, ctl)
        machine.gpu(f"0000:0{number}:00.0", f"{port}/0000:0{number}:00.0")
    return machine


def two_bridges(numa: tuple[int, int], nodes: str = "0-1") -> Machine:
    """NODE or SYS: two host bridges on the given NUMA nodes."""
    machine = Machine().file("/sys/devices/system/node/online", nodes)
    for bus, node in zip(("40", "80"), numa, strict=True):
        port = f"pci0000:{bus}/0000:{bus}:00.0"
        machine.port(f"0000:{bus}:00.0", port).gpu(f"0000:{bus[0]}1:00.0", f"{port}/0000:{bus[0]}1:00.0", node)
    return machine


def flat() -> Machine:
    """A virtual machine that hides the tree: accelerators on the root bus."""
    machine = Machine()
    for number in (6, 7):
        machine.gpu(f"0000:00:0{number}.0", f"pci0000:00/0000:00:0{number}.0")
    return machine


GRUB_CFG = """\
if [ "${next_entry}" ] ; then
   set default="${next_entry}"
else
   set default="0"
fi
menuentry 'Lab' $menuentry_id_option 'lab-simple' {
	linux	/boot/vmlinuz root=/dev/vda3 ro %s
}
"""


def full(machine: Machine, running: str = "", generated: str | None = None, dropin: str | None = None,
         log: str | None = "[    0.000000] Linux version 6.12.1\n") -> Machine:
    """Add everything that `tunecheck host` reads. ``log`` None: not permitted."""
    machine.file("/proc/cmdline", f"root=/dev/vda3 ro {running}\n")
    machine.file("/boot/grub/grub.cfg", GRUB_CFG % (running if generated is None else generated))
    tokens = running if dropin is None else dropin
    machine.file(DROPIN, f'GRUB_CMDLINE_LINUX_DEFAULT="$GRUB_CMDLINE_LINUX_DEFAULT {tokens}"\n')
    machine.gone("read", "/etc/grub.d/42_tunecheck_trial", "/boot/grub/grubenv", "/var/lib/tunecheck/receipt.json",
                 "/sys/kernel/security/lockdown", "/sys/module/nvidia/version", "/proc/driver/nvidia/version",
                 "/sys/firmware/efi/efivars/LoaderInfo-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f")
    machine.gone("list", "/sys/devices/system/cpu/cpufreq", "/run/modprobe.d", "/usr/local/lib/modprobe.d",
                 "/usr/lib/modprobe.d", "/lib/modprobe.d", "/sys/module/nvidia_uvm")
    machine.lists.update({"/etc/modprobe.d": [], "/etc/default/grub.d": ["zz-tunecheck.cfg"],
                          "/etc/systemd/system": ["multi-user.target.wants"],
                          "/etc/systemd/system/multi-user.target.wants": ["tunecheck-acs.service"]})
    machine.file("/lib/modules/6.12.1/modules.dep", "kernel/drivers/net/dummy.ko.xz:\n")
    machine.file("/lib/modules/6.12.1/modules.builtin", "")
    machine.file("/proc/sys/kernel/tainted", "0\n").file("/proc/sys/kernel/hung_task_timeout_secs", "120\n")
    machine.file("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n")
    refused = Completed(("dmesg",), 1, "", "dmesg: read kernel buffer failed: Operation not permitted\n")
    machine.runs[("dmesg",)] = refused if log is None else Completed(("dmesg",), 0, log, "")
    machine.runs[("journalctl", "-k", "-b", "0", "-q", "--no-pager", "-o", "short-monotonic")] = "not present"
    return machine


def frozen(**fields: Any) -> Frozen:
    """A spec for two stand-ins of id GPU; every other field as given."""
    fields.setdefault("accelerators", Accelerators(pci_ids=(GPU,), count=2, relation="PIX"))
    fields.setdefault("acs", Acs(peer_redirect="off"))
    return Frozen(host="box1", profile="lab", spec=Spec(**fields), sources={})
