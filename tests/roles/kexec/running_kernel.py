"""A kernel that loads another one, in a folder: what it says of itself as files, and stand-ins for kexec, systemctl,
rmmod and modprobe."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ansible.module_utils.bootloader import kexec

RELEASE = "6.12.118+deb13-amd64"
TOKENS = ["root=/dev/mapper/lab-root", "ro", "$vt_handoff", "pci=noacs", "tunecheck.trial=abc"]
LINE = "root=/dev/mapper/lab-root ro pci=noacs tunecheck.trial=abc tunecheck.kexec=1"
_NVIDIA = {"nvidia_uvm": [], "nvidia_drm": [], "nvidia_modeset": ["nvidia_drm"],
           "nvidia": ["nvidia_uvm", "nvidia_modeset"]}
#: Commands that ask something.
_ASK = ("is-active",)


class Box:
    """The box. ``refuses``: words of a command that fails; ``offers``: the system calls for it. ``image``: what is
    loaded, as (kernel, initramfs, command line)."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.boot = folder, folder / "boot"
        self.boot.mkdir()
        self.kernel, self.initrd = self.boot / f"vmlinuz-{RELEASE}", self.boot / f"initrd.img-{RELEASE}"
        self.kernel.write_bytes(b"the kernel")
        self.initrd.write_bytes(b"initramfs")
        for name, text in (("_TOOL", ""), ("_KERNEL", "0\n"), ("lockdown", "[none] integrity confidentiality\n"),
                           ("modules", "dm_mod 188416 6 - Live 0x0\n")):
            self.path(name).write_text(text)
        self.image: tuple[bytes, bytes, str] | None = None
        self.offers, self.active = ["kexec_file_load", "kexec_load"], {"kexec.service"}
        self.refuses, self.commands = "", list[str]()
        self.loading: Callable[[], object] = lambda: None

    def path(self, name: str) -> Path:
        return self.folder / name.strip("_").lower()

    def files(self) -> tuple[str, list[str]]:
        return str(self.kernel), [str(self.initrd)]

    def traces(self) -> list[str]:
        """What is staged and loaded, and what is left of it."""
        names = ("_RECORD", "LOADED", "_JOINED")
        return [name for name in names if self.path(name).exists()] + (["image"] if self.image else [])

    def gpus(self, count: int = 1, users: tuple[str, ...] = ("nvidia-persistenced",)) -> None:
        """The driver is loaded, with so many references on nvidia_uvm, and these processes have it open."""
        lines = []
        for name, above in _NVIDIA.items():
            own = count if name == "nvidia_uvm" else 0
            lines.append(f"{name} 1000 {own + len(above)} {','.join(above) + ',' if above else '-'} Live 0x0 (POE)\n")
        self.path("modules").write_text("".join(lines))
        self.active.add("nvidia-persistenced.service")
        for number, name in enumerate(users, 100):
            fds = self.folder / "proc" / str(number) / "fd"
            fds.mkdir(parents=True)
            (fds / "3").symlink_to("/dev/nvidia-uvm")
            (fds.parent / "comm").write_text(name)

    def drivers(self) -> list[str]:
        return [line.split()[0] for line in self.path("modules").read_text().splitlines() if "nvidia" in line]

    def run(self, argv: list[str], _seconds: float, **_more: Any) -> tuple[int | None, str, str]:
        program, rest = argv[0].rsplit("/", 1)[-1], argv[1:]
        line = " ".join([program, *rest])
        if not set(_ASK) & set(rest):
            self.commands.append(line)
        if self.refuses and self.refuses in line:
            return 1, "", f"{program}: Operation not permitted"
        if argv[0] == kexec._TOOL:
            return self._kexec(rest)
        if program == "systemctl":
            return self._systemctl(*rest)
        text = self.path("modules").read_text().splitlines(keepends=True)
        if program == "rmmod":
            self.path("modules").write_text("".join(each for each in text if not each.startswith(rest[0] + " ")))
        else:
            self.path("modules").write_text("".join([*text, f"{rest[0]} 1000 0 - Live 0x0\n"]))
        return 0, "", ""

    def _systemctl(self, verb: str, *words: str) -> tuple[int, str, str]:
        unit = words[-1]
        if verb == "is-active":
            return (0 if unit in self.active else 3), "", ""
        if verb == "stop":
            assert unit != "kexec.service" or not self.image, "its stop would start that kernel at once"
            self.active.discard(unit)
        else:
            self.active.add(unit)
        return 0, "", ""

    def _kexec(self, rest: list[str]) -> tuple[int, str, str]:
        call = "kexec_file_load" if "--kexec-file-syscall" in rest else "kexec_load"
        if call not in self.offers:
            return 1, "", f"syscall {call} not available."
        if rest[0] == "--unload":
            self.image = None
        else:
            told = dict(word.split("=", 1) for word in rest if "=" in word)
            initrd = Path(told["--initrd"]).read_bytes() if "--initrd" in told else b""
            self.image = Path(rest[-1]).read_bytes(), initrd, told["--append"]
            self.loading()
        self.path("_KERNEL").write_text("1\n" if self.image else "0\n")
        return 0, "", ""
