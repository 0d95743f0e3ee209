"""Small fake machines: sysfs trees as a RecordedHost, and the specs to judge them with."""

from __future__ import annotations

from typing import Any

from tunecheck.facts.nvidia.packages import TOOLKIT
from tunecheck.facts.runtime import service_env
from tunecheck.host import Completed
from tunecheck.host.absence_of_text import reason_of_text
from tunecheck.host.answers import RecordedHost
from tunecheck.host.prefetch import DPKG, DPKG_BOX, PS
from tunecheck.model.absence import Absence, Reason
from tunecheck.parsers.containers.environment import IN_UNIT
from tunecheck.spec.frozen import Accelerators, Acs, Frozen, Spec

PCI = "/sys/bus/pci/devices"
DROPIN = "/etc/default/grub.d/zz-tunecheck.cfg"
GPU = "10de:2bb1"
PORT = "1000:c030"


def config(ctl: int | None = None, cap: int = 0x005F, size: int = 4096, *, port: int = 6, mps: int | None = 256,
           able: int = 512, mrrs: int = 512, gen: int = 5, width: int = 16, aspm: int = 0, target: int = 5,
           relaxed: bool = True) -> bytes:
    """Configuration space of a PCI Express port (``port``: 0 endpoint, 4 root port, 5 upstream, 6 downstream); with
    ``ctl`` an ACS capability at 0x148 behind AER at 0x100. ``mps`` None: a code that means nothing."""
    data = bytearray(4096)
    data[0:4] = b"\x36\x1b\x0c\x00"
    data[6] = 0x10
    data[0x34] = 0x54
    codes = {128 << code: code for code in range(6)} | {None: 7}
    control = codes[mps] << 5 | codes[mrrs] << 12 | relaxed << 4
    for at, value in ((0, 0x10), (2, 2 | port << 4), (4, codes[able]), (8, control),
                      (0x0C, gen | width << 4 | 2 << 10), (0x10, aspm), (0x12, gen | width << 4), (0x30, target)):
        data[0x54 + at:0x56 + at] = value.to_bytes(2, "little")
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
            self.errors[f"{kind} {path}"] = reason_of_text(reason)
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
        self.file(f"{folder}/config", config(port=0, able=256) if data is None else data)
        for name, total in (("correctable", "COR"), ("nonfatal", "NONFATAL"), ("fatal", "FATAL")):
            self.file(f"{folder}/aer_dev_{name}", f"RxErr 0\nTOTAL_ERR_{total} 0\n")
        return self.gone("realpath", f"{folder}/driver", f"{folder}/iommu_group")

    def port(self, bdf: str, path: str, ctl: int | None = 0x001D) -> Machine:
        kind = 4 if path.count("/") == 1 else 5 if ctl is None and path.count("/") % 2 == 0 else 6
        return self.device(bdf, path, data=config(ctl, port=kind))

    def gpu(self, bdf: str, path: str, numa: int = -1, width: int = 16) -> Machine:
        return self.device(bdf, path, GPU, "0302", numa=numa, width=width)

    def host(self) -> RecordedHost:
        return RecordedHost(self.reads, self.lists, self.realpaths, self.errors, self.runs, self.nvml)


def bound(machine: Machine, name: str = "nvidia") -> Machine:
    """The same machine with that driver on every accelerator."""
    for bdf in machine.lists[PCI]:
        if machine.reads[f"{PCI}/{bdf}/class"].startswith(b"0x0302"):
            machine.errors.pop(f"realpath {PCI}/{bdf}/driver", None)
            machine.realpaths[f"{PCI}/{bdf}/driver"] = f"/sys/bus/pci/drivers/{name}"
    return machine


def answering(machine: Machine, ancestor: int = 10) -> Machine:
    """The same machine with NVIDIA's driver on every accelerator, and NVML that names them and lets them reach each
    other."""
    bdfs = [bdf for bdf in bound(machine).lists[PCI] if f"{PCI}/{bdf}/driver" in machine.realpaths]
    machine.nvml = {"driver": "595.71.05", "library": "13.595.71.05", "errors": {},
                    "gpus": [{"bdf": bdf, "index": index, "values": {}, "errors": {}}
                             for index, bdf in enumerate(bdfs)],
                    "pairs": [{"a": a, "b": b, "errors": {},
                               "values": {"ancestor": ancestor, "p2p_read": 0, "p2p_write": 0}}
                              for a in bdfs for b in bdfs if a != b]}
    return machine


def switch(ctl: int | None = 0x001D) -> Machine:
    """PIX: one switch, two downstream ports, an accelerator below each. The root port redirects always."""
    up = "pci0000:00/0000:00:04.0/0000:01:00.0"
    return (Machine().port("0000:00:04.0", "pci0000:00/0000:00:04.0")
            .port("0000:01:00.0", up, None)
            .port("0000:02:00.0", f"{up}/0000:02:00.0", ctl).port("0000:02:01.0", f"{up}/0000:02:01.0", ctl)
            .gpu("0000:03:00.0", f"{up}/0000:02:00.0/0000:03:00.0")
            .gpu("0000:04:00.0", f"{up}/0000:02:01.0/0000:04:00.0"))


def below_one_switch(count: int, ctl: int | None = 0) -> Machine:
    """PIX, up to sixteen accelerators: 0000:03:00.0 behind port 0000:02:00.0, 0000:04:00.0 behind 0000:02:01.0, ..."""
    up = "pci0000:00/0000:00:04.0/0000:01:00.0"
    machine = Machine().port("0000:00:04.0", "pci0000:00/0000:00:04.0").port("0000:01:00.0", up, None)
    for number in range(count):
        port, bdf = f"0000:02:{number:02x}.0", f"0000:{number + 3:02x}:00.0"
        machine.port(port, f"{up}/{port}", ctl).gpu(bdf, f"{up}/{port}/{bdf}")
    return machine


def switches(*sizes: int, numa: tuple[int, ...] = (), ctl: int | None = 0) -> Machine:
    """As many switches as ``sizes``, each below a host bridge of its own, with so many accelerators; ``numa``: the
    node of each switch (one node without). A size of 1 is an accelerator on a root port."""
    machine = Machine().file("/sys/devices/system/node/online", f"0-{max(numa)}" if numa else "0")
    for index, size in enumerate(sizes):
        bus, node = 0x10 * (index + 1), numa[index] if numa else 0
        top, root = f"0000:{bus:02x}:01.0", f"pci0000:{bus:02x}"
        machine.port(top, f"{root}/{top}", ctl)
        if size == 1:
            machine.gpu(f"0000:{bus + 1:02x}:00.0", f"{root}/{top}/0000:{bus + 1:02x}:00.0", node)
            continue
        up = f"{root}/{top}/0000:{bus + 1:02x}:00.0"
        machine.port(f"0000:{bus + 1:02x}:00.0", up, None)
        for number in range(size):
            port, bdf = f"0000:{bus + 2:02x}:{number:02x}.0", f"0000:{bus + 3 + number:02x}:00.0"
            machine.port(port, f"{up}/{port}", ctl).gpu(bdf, f"{up}/{port}/{bdf}", node)
    return machine


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


#: As nvidia-ctk cdi generate writes it, cut short.
CDI = """\
---
cdiVersion: 0.5.0
containerEdits:
  deviceNodes:
  - path: /dev/nvidiactl
  hooks:
  - args:
    - nvidia-cdi-hook
    - update-ldcache
    hookName: createContainer
    path: /usr/bin/nvidia-cdi-hook
  mounts:
  - containerPath: /usr/lib/x86_64-linux-gnu/libcuda.so.VERSION
    hostPath: /usr/lib/x86_64-linux-gnu/libcuda.so.VERSION
    options:
    - ro
devices:
- containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
  name: "0"
- containerEdits:
    deviceNodes:
    - path: /dev/nvidia1
  name: "1"
- containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
    - path: /dev/nvidia1
  name: all
kind: nvidia.com/gpu
"""


def full(machine: Machine, running: str = "", generated: str | None = None, dropin: str | None = None,
         log: str | None = "[    0.000000] Linux version 6.12.1\n") -> Machine:
    """Add everything that `tunecheck host` reads. ``log`` None: not permitted."""
    machine.gone("realpath", "/etc/dgx-release")
    machine.file("/proc/cmdline", f"root=/dev/vda3 ro {running}\n")
    machine.file("/boot/grub/grub.cfg", GRUB_CFG % (running if generated is None else generated))
    tokens = running if dropin is None else dropin
    machine.file(DROPIN, f'GRUB_CMDLINE_LINUX_DEFAULT="$GRUB_CMDLINE_LINUX_DEFAULT {tokens}"\n')
    machine.gone("read", "/etc/grub.d/42_tunecheck_trial", "/boot/grub/grubenv", "/var/lib/tunecheck/receipt.json",
                 "/sys/kernel/security/lockdown", "/sys/module/nvidia/version", "/proc/driver/nvidia/version",
                 "/sys/firmware/efi/efivars/LoaderInfo-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f")
    machine.gone("read", "/etc/tunecheck/recipe.json")
    machine.gone("realpath", "/var/lib/tunecheck/incidents/journal.jsonl", "/run/tunecheck/incidents.jsonl",
                 "/etc/systemd/system/tunecheck-watch.service")
    machine.gone("list", "/sys/devices/system/cpu/cpufreq", "/run/modprobe.d", "/usr/local/lib/modprobe.d",
                 "/usr/lib/modprobe.d", "/lib/modprobe.d", "/sys/module/nvidia_uvm")
    machine.lists.update({"/etc/modprobe.d": [], "/etc/default/grub.d": ["zz-tunecheck.cfg"],
                          "/etc/systemd/system": ["multi-user.target.wants"],
                          "/etc/systemd/system/multi-user.target.wants": ["tunecheck-acs.service"]})
    machine.file("/lib/modules/6.12.1/modules.dep", "kernel/drivers/net/dummy.ko.xz:\n")
    machine.file("/lib/modules/6.12.1/modules.builtin", "")
    machine.file("/proc/sys/kernel/tainted", "0\n").file("/proc/sys/kernel/hung_task_timeout_secs", "120\n")
    machine.file("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n")
    _platform(machine)
    refused = Completed(("dmesg",), 1, "", "dmesg: read kernel buffer failed: Operation not permitted\n")
    machine.runs[DPKG_BOX] = Completed(DPKG_BOX, 0, "linux-image-6.12.1\t6.12.1-1\tinstall\tinstalled\n", "")
    machine.runs[("dmesg",)] = refused if log is None else Completed(("dmesg",), 0, log, "")
    journal = ("journalctl", "-k", "-b", "0", "-q", "--no-pager", "-o", "short-monotonic")
    machine.runs[journal] = Reason(Absence.NOT_PRESENT)
    return machine


def driver(machine: Machine, version: str = "595.71.05") -> Machine:
    """Add a healthy NVIDIA driver: open module, libraries, firmware, held packages, persistence daemon."""
    banner = f"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {version}  Release Build  (root@box1)  \n"
    for path, content in (("/sys/module/nvidia/version", f"{version}\n"), ("/proc/driver/nvidia/version", banner),
                          ("/proc/driver/nvidia/params", 'RegistryDwords: ""\nRegistryDwordsPerDevice: ""\n')):
        machine.errors.pop(f"read {path}", None)
        machine.file(path, content)
    for name in ("libnvidia-ml.so", "libcuda.so"):
        folder = "/usr/lib/x86_64-linux-gnu"
        machine.realpaths[f"{folder}/{name}.1"] = f"{folder}/{name}.{version}"
    machine.lists["/lib/firmware/nvidia"] = [version]
    machine.lists["/etc/apt/preferences.d"] = machine.lists["/etc/apt/apt.conf.d"] = []
    machine.lists["/sys/fs/cgroup/system.slice/nvidia-persistenced.service"] = ["cgroup.procs"]
    for folder in ("/sys/fs/cgroup/system.slice", "/sys/fs/cgroup/systemd/system.slice"):
        machine.gone("list", f"{folder}/nvidia-fabricmanager.service")
    for folder in ("/etc", "/usr/lib", "/lib", "/run"):
        for unit in ("nvidia-persistenced", "nvidia-fabricmanager"):
            machine.gone("realpath", f"{folder}/systemd/system/{unit}.service")
    dpkg = "".join(f"{name}\t{version}-0ubuntu1\thold\tinstalled\n" for name in (
        "libnvidia-compute-595", "nvidia-dkms-595-open", "nvidia-utils-595"))
    for argv, output in ((DPKG, dpkg + "".join(
            f"{name}\t1.18.0-1\thold\tinstalled\n" for name in sorted(TOOLKIT))),
                         (("modinfo", "-k", "6.12.1", "nvidia"), f"version:  {version}\nlicense:  Dual MIT/GPL\n"),
                         (PS, "      1       0       1 S systemd\n"), (("sleep", "0.5"), ""),
                         ((*service_env._FILES, IN_UNIT, *service_env._PLACES), "")):
        machine.runs[argv] = Completed(argv, 0, output, "")
    _containers(machine, version)
    return machine


def _containers(machine: Machine, version: str) -> None:
    """DKMS with the kernel's headers, a toolkit of one version, its CDI specification for two GPUs, no engine."""
    machine.lists.update({
        "/var/lib/dkms": ["mok.pub", "nvidia"], "/var/lib/dkms/nvidia": [version, "kernel-6.12.1-x86_64"],
        f"/var/lib/dkms/nvidia/{version}": ["6.12.1", "source"], "/var/run/cdi": ["nvidia.yaml"],
        "/etc/systemd/system/multi-user.target.wants": [
            "nvidia-cdi-refresh.path", "nvidia-cdi-refresh.service", "tunecheck-acs.service"]})
    machine.file("/var/run/cdi/nvidia.yaml", CDI.replace("VERSION", version))
    library = f"/usr/lib/x86_64-linux-gnu/libcuda.so.{version}"
    for path in ("/lib/modules/6.12.1/build", "/dev/nvidia0", "/dev/nvidia1", "/dev/nvidiactl", library):
        machine.realpaths[path] = path
    machine.gone("list", "/etc/cdi", "/etc/containers/containers.conf.d")
    machine.gone("read", "/etc/docker/daemon.json", "/etc/nvidia-container-runtime/config.toml",
                 "/usr/share/containers/containers.conf", "/etc/containers/containers.conf")
    for group in ("/sys/fs/cgroup/system.slice", "/sys/fs/cgroup/systemd/system.slice"):
        machine.gone("list", f"{group}/docker.service", f"{group}/tunecheck-inference.service")
    for folder in ("/etc", "/usr/lib", "/lib", "/run"):
        machine.gone("realpath", f"{folder}/systemd/system/docker.service")


def _platform(machine: Machine) -> None:
    """Eight CPUs per NUMA node, every node with memory on a socket of its own."""
    cpu, node = "/sys/devices/system/cpu", "/sys/devices/system/node"
    nodes = 2 if b"-1" in machine.reads[f"{node}/online"] else 1
    machine.file(f"{cpu}/present", f"0-{8 * nodes - 1}\n").file(f"{cpu}/online", f"0-{8 * nodes - 1}\n")
    machine.file(f"{cpu}/smt/control", "on\n").file(f"{node}/has_memory", "0-1\n" if nodes == 2 else "0\n")
    for number in range(nodes):
        machine.file(f"{node}/node{number}/cpulist", f"{8 * number}-{8 * number + 7}\n")
    for number in range(8 * nodes):
        machine.file(f"{cpu}/cpu{number}/topology/physical_package_id", f"{number // 8}\n")
    machine.file("/proc/sys/kernel/numa_balancing", "0\n").file("/proc/sys/vm/swappiness", "60\n")
    machine.file("/proc/swaps", "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n")
    machine.lists["/sys/firmware/acpi/tables"] = ["APIC", "DSDT", "FACP"]
    machine.gone("read", "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c")
    for argv, answer in (
            (("systemctl", "show", "--property=DefaultLimitMEMLOCK"), "DefaultLimitMEMLOCK=infinity\n"),
            (("systemctl", "show", "--property=Id,ActiveState,LimitMEMLOCK", "docker.service", "containerd.service"),
             "LimitMEMLOCK=8388608\nId=docker.service\nActiveState=inactive\n\n"
             "LimitMEMLOCK=infinity\nId=containerd.service\nActiveState=active\n")):
        machine.runs[argv] = Completed(argv, 0, answer, "")


def frozen(**fields: Any) -> Frozen:
    """A spec for two stand-ins of id GPU; every other field as given."""
    fields.setdefault("accelerators", Accelerators(pci_ids=(GPU,), count=2, relation="PIX"))
    fields.setdefault("acs", Acs(peer_redirect="off"))
    return Frozen(host="box1", profile="lab", spec=Spec(**fields), sources={})
