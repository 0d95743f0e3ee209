"""The use case of p2p, allreduce and trial: look at the machine, measure, judge, report."""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import GpusInUseError, Misuse, TrialError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..facts.pci.topology import Topology
    from ..trials.session import Trial

__all__ = ["Unlisted", "check_folder", "check_library", "numbers", "trial", "warn_all_gpus_used"]


class Unlisted(StrEnum):
    """Why there is nothing to measure."""

    NO_GPU = "no-gpu"
    NO_LIST = "no-list"


def numbers(text: str | None) -> list[int]:
    """Return the numbers of a list such as ``0,1,4``; [] for None. UsageError for any other text."""
    if text is None:
        return []
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise UsageError(f"--gpus {text}: expected numbers separated by commas, as in --gpus 0,1",
                         Misuse.MALFORMED) from None


def check_folder(evidence: str, given: bool = True) -> None:
    """Refuse a folder that could not hold the bundle of a stall. UsageError says why. ``given``: the operator named the
    folder, so it is refused before the probing starts; one that nobody named only where nothing else speaks against
    the trial (`_admitting`)."""
    if not given and not os.access(evidence, os.W_OK | os.X_OK):
        raise UsageError(f"the bundle of a stall would lie in {Path(evidence).resolve()}, where nothing can be "
                         "written; name a folder: --evidence DIR", Misuse.UNWRITABLE)
    if not Path(evidence).is_dir():
        raise UsageError(f"--evidence {evidence}: is no folder; expected one that is there, for the bundle of a stall",
                         Misuse.NOT_THERE)
    if not os.access(evidence, os.W_OK | os.X_OK):
        raise UsageError(f"--evidence {evidence}: nothing can be written there; choose another folder",
                         Misuse.UNWRITABLE)


def _admitting(folder: str) -> Callable[[], None]:
    """Return the check of a ``folder`` that nobody named, for the moment before the first GPU is touched: where there
    is no GPU or no driver, that is said, and nothing of a folder."""
    return lambda: check_folder(folder, given=False)


def warn_all_gpus_used(choose: str = "") -> None:
    """Warn that CUDA_VISIBLE_DEVICES hides no GPU from a trial, where it is set."""
    if "CUDA_VISIBLE_DEVICES" in os.environ:
        click.echo(f"tunecheck: CUDA_VISIBLE_DEVICES is set and not followed: a trial measures all GPUs{choose}",
                   err=True)


def check_library(path: str | None) -> None:
    """Refuse a --nccl that no loader takes, before the probing starts. UsageError says why. A name without a folder is
    the loader's to find."""
    if path is None or "/" not in path:
        return
    try:
        with open(path, "rb") as stream:
            magic = stream.read(4)
    except OSError as error:
        raise UsageError(f"--nccl {path}: cannot be read ({error.strerror}); expected a libnccl.so.2",
                         Misuse.UNREADABLE) from None
    if magic != b"\x7fELF":
        raise UsageError(f"--nccl {path}: is no shared library; expected a libnccl.so.2", Misuse.MALFORMED)


def _refuse_none(topology: Topology) -> None:
    """Raise TrialError where there is nothing to measure. That is no pass: a box whose GPUs are gone must not be
    green."""
    found = topology.accelerators
    if found.value is None:
        raise TrialError(f"nothing was measured: the PCI devices cannot be listed: {found.why()}",
                         Unlisted.NO_LIST)
    if not found.value:
        raise TrialError("no accelerator found, so nothing was measured; `tunecheck topo` shows what is there",
                         Unlisted.NO_GPU)


def trial(verb: str, measure: Trial, spec_file: str | None, gpus: str | None = None, force: bool = False,
          after_reset: bool = False, evidence: str | None = None, verbose: bool = False, **outputs: str | None) -> None:
    """Look at the machine, measure, judge, report; leaves through SystemExit with the verdict's code."""
    import datetime

    from ..host.live import LiveHost
    from ..report.document import Run
    from ..report.exporters import check_outputs, rendered, to_standard_output, write_outputs
    from ..util.live_line import LiveLine
    from .read_host import look
    from .write_reports import emit_report

    wanted = {kind.removesuffix("_to"): place for kind, place in outputs.items()}
    check_outputs(wanted, None)
    chosen = numbers(gpus)
    if evidence is not None:
        check_folder(evidence)
    warn_all_gpus_used("; choose with --gpus")
    frozen, snapshot = look(verb, spec_file, None, judges=True)
    if not chosen:
        _refuse_none(snapshot.topology)
    from ..report.document import document
    from ..rules import judge
    from ..rules.context import Case
    from ..trials import session
    from ..trials.progress import Shown

    line, alone = LiveLine(), to_standard_output(wanted)
    door = LiveHost()
    try:
        measured = session.run(door, snapshot, measure, chosen, force, after_reset, evidence or ".",
                               None if alone else Shown(line), None if evidence else _admitting("."))
    except GpusInUseError as error:
        raise GpusInUseError(f"{error}, or run it all the same with --force") from None
    finally:
        line.erase()
        door.close()
    case = Case(snapshot, frozen, measured=measured)
    findings = judge(case, verb)
    run = Run(document(verb, case, findings), findings, datetime.datetime.now(datetime.UTC), "")
    if alone:
        text = rendered(alone, run)
    else:
        from ..report.style import style_for
        from ..report.terminal import render

        text = render(verb, case, findings, style_for(sys.stdout), verbose)
    emit_report(text, lambda: write_outputs(wanted, run), alone is not None)
    raise SystemExit(run.document["exit_code"])
