"""`python3 -m lab`: the throwaway lab box from a terminal."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from lab import access, aer, image, layer, layouts, needs, paths, process, recipe, uefi
from lab.errors import LabError
from lab.machine import Machine
from lab.progress import progress


def main(argv: list[str] | None = None) -> int:
    """Run one command; 0 done, 1 it failed (one sentence says why), 2 bad usage, 130 interrupted."""
    args = _parser().parse_args(argv)
    process.interruptible(watch_stdin=getattr(args, "tie_stdin", False))
    try:
        return int(args.run(args) or 0)
    except LabError as error:
        print(f"lab: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("lab: interrupted; nothing half-built or half-started is left", file=sys.stderr)
        return 130


def _build(args: argparse.Namespace) -> None:
    print(_image(args))


def _image(args: argparse.Namespace) -> Path:
    if args.image in recipe.LAYERS:
        return layer.build(recipe.LAYERS[args.image])
    return image.build(suite="" if args.image == "base" else args.image)


def _up(args: argparse.Namespace) -> None:
    base = _image(args)
    box = Machine(args.name)
    progress(f"lab box `{args.name}`: layout {args.layout}, iommu {args.iommu}, {args.firmware}, {needs.accelerator()}")
    box.up(args.layout, args.iommu, base=base, firmware=args.firmware)
    if args.no_wait:
        return
    try:
        _wait(args)
    except BaseException:  # a boot that failed or was interrupted leaves no VM behind; its console stays
        box.down()
        raise


def _wait(args: argparse.Namespace) -> None:
    box = Machine(args.name)
    _running(box)
    box.wait(args.timeout)
    progress(f"lab box `{args.name}` answers; reach it with: {paths.typed('ssh', args.name)}")


def _ssh(args: argparse.Namespace) -> None:
    box = Machine(args.name)
    _running(box)
    argv = access.command(box.folder, args.name, *args.command, user=args.user)
    os.execvp(argv[0], argv)


def _console(args: argparse.Namespace) -> None:
    box = Machine(args.name)
    if not box.console_file.exists():
        raise LabError(f"lab box `{args.name}` has no console log: it was never started here")
    sys.stdout.write(box.console())


def _down(args: argparse.Namespace) -> int:
    if args.name is None and not args.all:
        raise LabError(f"say which lab box to end, or --all; known: {', '.join(paths.machines()) or 'none'}")
    for name in paths.machines() if args.all else [args.name]:
        if not Machine(name).down():
            progress(f"lab box `{name}` was not running")
    return 0


def _status(args: argparse.Namespace) -> None:
    print(f"image   {image.path() if image.path().exists() else 'not built'}")
    for name in paths.machines():
        state = Machine(name).state()
        print(f"{name:7} " + (
            f"pid {state.pid}, 127.0.0.1:{state.port}, layout {state.layout}, iommu {state.iommu}, {state.accelerator}"
            if state else "not running"
        ))  # fmt: skip


def _aer(args: argparse.Namespace) -> None:
    box = Machine(args.name)
    _running(box)
    aer.inject(box.folder, args.device, args.error)
    progress(f"lab box `{args.name}`: {args.error} at {args.device}")


def _running(box: Machine) -> None:
    if box.state() is None:
        raise LabError(f"lab box `{box.name}` is not running; start it: {paths.typed('up', box.name)}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python3 -m lab", description=__doc__)
    verbs = parser.add_subparsers(required=True, metavar="COMMAND")
    named = argparse.ArgumentParser(add_help=False)
    named.add_argument("name", nargs="?", default="lab", help="name of the machine (default: lab)")
    timeout = argparse.ArgumentParser(add_help=False)
    timeout.add_argument("--timeout", type=float, help="seconds a boot may take (default: $LAB_BOOT_TIMEOUT or 300)")

    build = verbs.add_parser("build", help="build the image, if this recipe's is not there yet")
    images: dict[str, Any] = {"default": "base", "choices": ("base", recipe.OLDER_SUITE, *recipe.LAYERS),
              "help": "bookworm: Debian 12; backports: with the newest kernel; drivers: with DKMS, compiler, headers "
                      "and podman; serving: with podman, an engine and its model; systemd-boot: for "
                      "--firmware uefi; secure-boot: for --firmware secure-boot (default: base)"}  # fmt: skip
    build.add_argument("image", nargs="?", **images)
    build.add_argument("--tie-stdin", action="store_true", help=argparse.SUPPRESS)
    build.set_defaults(run=_build)
    up = verbs.add_parser("up", parents=[named, timeout], help="start a machine on a fresh disk and wait for ssh")
    up.add_argument("--layout", choices=layouts.LAYOUTS, default="switch",
                    help="; ".join(f"{k}: {v.summary}" for k, v in layouts.LAYOUTS.items()))  # fmt: skip
    up.add_argument("--iommu", choices=layouts.IOMMUS, default="intel", help="emulated IOMMU (default: intel)")
    up.add_argument("--firmware", choices=uefi.KINDS, default="bios",
                    help="uefi: OVMF; secure-boot: OVMF with Microsoft's keys (default: bios)")  # fmt: skip
    up.add_argument("--image", **images)
    up.add_argument("--no-wait", action="store_true", help="return as soon as QEMU runs")
    up.set_defaults(run=_up)
    verbs.add_parser("wait", parents=[named, timeout], help="wait for ssh").set_defaults(run=_wait)
    ssh = verbs.add_parser("ssh", help="open a shell on the machine, or run a command there")
    ssh.add_argument("--user", choices=access.USERS, default="root")
    ssh.add_argument("name", nargs="?", default="lab")
    ssh.add_argument("command", nargs=argparse.REMAINDER)
    ssh.set_defaults(run=_ssh)
    verbs.add_parser("console", parents=[named], help="print the console log").set_defaults(run=_console)
    down = verbs.add_parser("down", help="end a machine and remove its disk and keys")
    down.add_argument("name", nargs="?")
    down.add_argument("--all", action="store_true", help="end every machine of this state folder")
    down.set_defaults(run=_down)
    error = verbs.add_parser("aer", help="inject a PCIe error at a device of a running machine")
    error.add_argument("name", help="name of the machine")
    error.add_argument("device", help="QEMU's name of the port: rp0, and dn0 or dn1 of the layout switch")
    error.add_argument("error", nargs="?", default="COMP_TIME", choices=(*aer.CORRECTED, *aer.UNCORRECTABLE),
                       metavar="ERROR", help="QEMU's name of the error (default: COMP_TIME, which is not fatal)")
    error.set_defaults(run=_aer)
    verbs.add_parser("status", help="what is built and running").set_defaults(run=_status)
    return parser
