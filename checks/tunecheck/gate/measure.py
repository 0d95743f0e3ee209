"""Measure this box for the gate: inside the recipe's image or on the host, how much, and what is kept of it."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from .. import __version__
from ..errors import ImageUnfitError, TrialError, UsageError
from ..facts.measured_pass import Key, MeasuredPass
from ..facts.snapshot import Snapshot
from ..host import Host
from ..model.finding import HUNG, Finding, exit_code, worst
from ..model.measurement import REFUSED, Measured
from ..model.weakest import weakest
from ..rules import judge
from ..rules.context import Case
from ..rules.measured import measured_pass
from ..spec.frozen import Frozen, Spec
from ..trials import session
from ..trials.containers.container_trial import in_container
from ..trials.containers.runtimes import find_image, find_runtime
from ..trials.full_trial import QUICK_SOAK_SECONDS, everything
from ..trials.lock import Wedged
from ..trials.supervisor import Progress
from . import measured, passed
from .image import image_id
from .judge import of_measured
from .key import key, library
from .state import state

__all__ = ["Done", "findings", "holds", "keep", "key_now", "measure", "verdict"]

_SHOWN = 5


@dataclass(frozen=True)
class Done:
    """A measurement of this box. ``on_host`` and ``in_image`` are what was measured where; one of them is there.
    ``seconds`` of wall time."""

    kind: str
    on_host: Measured | None
    in_image: Measured | None
    seconds: float

    @property
    def first(self) -> Measured:
        """The measurement that the report shows: the host's, else the image's."""
        found = self.on_host or self.in_image
        assert found is not None
        return found

    @property
    def refused(self) -> bool:
        """Whether nothing was begun."""
        return REFUSED in self.first.failures


def measure(host: Host, snapshot: Snapshot, spec: Spec, kind: str, soak_seconds: float, bundles: str,
            progress: Progress | None, admitted: Callable[[], None]) -> Done:
    """Measure the GPUs. ``kind`` "quick": inside the recipe's image where it is here and has a Python, else on the
    host. "full": on the host, and inside the image too. What cannot be begun (GPUs in use, no driver) is a failure in
    the outcome, and ``admitted`` was not called then. UsageError and a trial that hung end it as everywhere."""
    began = time.monotonic()
    engine = "podman" if spec.runtime.engine == "leave" else spec.runtime.engine
    image = _image(host, snapshot, engine)
    trial = partial(everything, quick=kind == "quick",
                    soak_seconds=QUICK_SOAK_SECONDS if kind == "quick" else soak_seconds)

    def run(chosen: Callable[..., Measured]) -> Measured:
        try:
            return session.run(host, snapshot, chosen, bundles=bundles, progress=progress, admitted=admitted,
                               least=1)
        except ImageUnfitError:
            raise
        except TrialError as error:
            return Measured(failures={REFUSED: f"nothing was measured: {error}"},
                            notes={"wedged": True} if isinstance(error, Wedged) else {})

    def inside() -> Measured | None:
        try:
            by = find_runtime(host, engine)
            return run(in_container(trial, by, find_image(host, by, image.removeprefix("sha256:"))))
        except ImageUnfitError:
            return None         # the engine needs no Python, a trial does: its NCCL cannot be measured, the GPUs can
        except TrialError as error:
            return Measured(failures={REFUSED: f"nothing was measured: {error}"})

    first = inside() if image and kind == "quick" else None
    on_host = run(trial) if first is None else None
    if kind == "full" and image and on_host is not None and _sound(on_host):
        first = inside()
    return Done(kind, on_host, first, time.monotonic() - began)


def _sound(found: Measured) -> bool:
    return not (found.hangs or found.wrong or found.failures)


def _image(host: Host, snapshot: Snapshot, engine: str) -> str:
    """Return the id of the recipe's image where the engine has it, else ""."""
    serving = snapshot.host.serving.value if snapshot.host else None
    wanted = serving.image_id if serving else None
    return image_id(host, engine, wanted).value or "" if wanted else ""


def key_now(host: Host, spec: Spec, then: Key | None = None, image: str = "") -> Key:
    """Return the key as the box is now. ``then``: a former key, whose library is looked at again."""
    path = then.nccl_file.rsplit(" ", 2)[0] if then and then.nccl_file else ""
    found = library(host, path).value or f"{path} is gone" if path else ""
    return key(host, spec.accelerators.pci_ids, state(host), then.nccl if then else "", found, image)


def holds(host: Host, snapshot: Snapshot, spec: Spec, path: str, this_boot: bool) -> bool:
    """Return whether the measured pass at ``path`` still holds."""
    try:
        found = measured.read(path)
    except UsageError:
        return False
    engine = "podman" if spec.runtime.engine == "leave" else spec.runtime.engine
    now = key_now(host, spec, found.key, _image(host, snapshot, engine))
    return not of_measured(found, now, state(host), this_boot)


def keep(host: Host, snapshot: Snapshot, frozen: Frozen | None, done: Done, path: str, former: MeasuredPass | None
         ) -> MeasuredPass:
    """Write the measured pass of this measurement."""
    spec = frozen.spec if frozen else Spec()
    engine = "podman" if spec.runtime.engine == "leave" else spec.runtime.engine
    told = (done.in_image or done.first).notes
    file = str(told.get("nccl path") or "") if done.in_image is None else ""
    now = state(host)
    found = MeasuredPass(
        verdict(snapshot, frozen, done), tuple(_reasons(snapshot, frozen, done)), done.kind,
        "image" if done.in_image is not None else "host",
        key(host, spec.accelerators.pci_ids, now, _version(told.get("nccl version")),
            library(host, file).value or "" if file else "", _image(host, snapshot, engine)),
        now.boot_id.value or "", now.uptime.value or 0.0,
        datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"), round(done.seconds, 3), __version__,
        weakest(done.first),
        codes=passed.codes_of(_of_trials(snapshot, frozen, done), ("fail", "unknown")))
    same = former is not None and former.key.gpus == found.key.gpus
    best = former.best if former is not None and same else {}
    found = replace(found, steady=measured.steady(found.figures, former.steady if former else {}),
                    best=measured.best(found.figures, best) if found.exit_code == 0 else best)
    measured.write(path, found)
    return found


def _version(code: object) -> str:
    """Return NCCL's version as text: 22809 -> 2.28.9; "" for what is no number."""
    return f"{code // 10000}.{code // 100 % 100}.{code % 100}" if isinstance(code, int) else ""


def findings(snapshot: Snapshot, frozen: Frozen | None, done: Done) -> list[Finding]:
    """Return what the trials' checks say of a second measurement inside the image. Of the only measurement the report
    has their findings anyway."""
    if done.on_host is None or done.in_image is None:
        return []
    inside = judge(Case(snapshot, frozen, measured=done.in_image), "trial")
    return [replace(each, subject=f"in the image: {each.subject}", text=f"in the image: {each.text}")
            for each in inside]


def _of_trials(snapshot: Snapshot, frozen: Frozen | None, done: Done) -> list[Finding]:
    case = Case(snapshot, frozen, measured=done.first)
    return [*judge(case, "trial"), *measured_pass.judge(case), *findings(snapshot, frozen, done)]


def verdict(snapshot: Snapshot, frozen: Frozen | None, done: Done) -> int:
    """Return the exit code of the trials' checks alone. A measurement without a figure is none."""
    if any(part is not None and (part.hangs or part.notes.get("wedged")) for part in (done.on_host, done.in_image)):
        return HUNG
    code = exit_code(worst(_of_trials(snapshot, frozen, done)))
    return code or (0 if done.first.figures else 3)


def _reasons(snapshot: Snapshot, frozen: Frozen | None, done: Done) -> list[str]:
    bad = [each.message for each in _of_trials(snapshot, frozen, done) if each.outcome in ("fail", "unknown")]
    bad = bad or ([] if done.first.figures else ["nothing was measured"])
    return passed.shortened(bad, _SHOWN)
