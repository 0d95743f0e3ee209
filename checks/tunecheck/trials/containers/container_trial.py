"""`--in-container`: a trial whose workers run inside the inference image. The parent stays outside and watches.

The trials (p2p.py, allreduce.py) are the same: they are given a supervisor whose workers are in a container. Inside,
container_main.py runs the real supervisor, on the image's Python and NCCL. Evidence is taken outside, before
anything is killed; after a stall the container is killed, and only then the GPUs are examined, by the host's own
driver.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...errors import TrialError
from ...host import Host, Unreadable
from ...model.measurement import Measured
from ..evidence import Evidence
from ..heartbeat import State
from ..p2p import Flows
from ..supervisor import Job, Outcome, Stall, Supervisor, Suspect, process_state
from .contained import Container, Silent
from .ipc import outcome_of, suspect_of
from .refusals import NoContainer
from .runtimes import PACKAGE, Image, Runtime

__all__ = ["Outside", "in_container"]

#: On top of a run's own limit: 5 s for evidence, 5 s for killing, and what a busy machine takes.
_SLACK_SECONDS = 20.0
_RAS_SECONDS = 2.0


def in_container(trial: Callable[..., Measured], runtime: Runtime, image: Image,
                 limits: Mapping[str, float] | None = None) -> Callable[..., Measured]:
    """Return ``trial`` (p2p, allreduce or everything) as one that runs on ``image``, for a session. It raises
    TrialError where the container does not start or ends by itself."""

    def run(host: Host, ordinals: Sequence[int], collapse: Flows = (), *,
            supervisor: Supervisor | None = None) -> Measured:
        watched = supervisor or Supervisor(evidence=Evidence(host))
        with Outside(host, lambda: Container(host, runtime, image), limits, watched) as outside:
            try:
                found = trial(host, ordinals, collapse, supervisor=outside)
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                raise TrialError(f"what came out of the container makes no sense ({error!r})",
                                 NoContainer.NONSENSE) from None
        return replace(found, notes={**found.notes, "image": image.asked, "image id": image.identity,
                                     "runtime": runtime.name, "image python": outside.python})

    return run


class Outside(Supervisor):
    """Run jobs in a container that ``start`` makes: one for all runs, a fresh one after a stall. Evidence and progress
    are those of ``watched``."""

    def __init__(self, host: Host, start: Callable[[], Container], limits: Mapping[str, float] | None,
                 watched: Supervisor) -> None:
        super().__init__(limits, watched.evidence, watched.progress)
        self._given = limits
        self._host = host
        self._start = start
        self._container: Container | None = None
        self._pids: dict[int, int] = {}
        self.python = ""

    def __enter__(self) -> Outside:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if self._container is not None:
            self._container.close(kill=kind is not None)

    def run(self, jobs: Sequence[Job], seconds: float, meanwhile: Callable[[], None] | None = None) -> Outcome:
        """Run the jobs as Supervisor.run does, ``meanwhile`` before any of them. A container that is silent, late or
        killed is a stall as well."""
        if meanwhile is not None:
            meanwhile()
        if self._container is None:
            self._container = self._start()
            self.python = self._container.python
        container, began = self._container, time.monotonic()
        self._pids = {}
        container.tell(run=True, jobs=[vars(job) for job in jobs], seconds=seconds, limits=self._given)
        try:
            outcome = self._read_answers(container, jobs, seconds + _SLACK_SECONDS)
        except Silent as error:
            outcome = self._fallen(container, error, len(jobs), time.monotonic() - began)
        if len(outcome.results) != len(jobs) or len(outcome.codes) != len(jobs):
            raise ValueError("not one answer per job")
        if outcome.stall is not None:
            self._container = None
            abandoned = {self._pids.get(pid, pid): text for pid, text in outcome.abandoned.items()}
            outcome = replace(outcome, abandoned={**abandoned, **container.close(kill=True)})
        return outcome

    def _read_answers(self, container: Container, jobs: Sequence[Job], seconds: float) -> Outcome:
        suspects: tuple[Suspect, ...] = ()
        evidence: Mapping[str, Any] = {}
        for found in container.answers(seconds):
            if "progress" in found:
                if not self._pids:      # of one that dies, the pid here can't be known afterwards
                    self._pids = container.pids()
                if self.progress is not None:
                    self.progress(jobs, [State(**state) for state in found["progress"]])
            elif "stall" in found:
                suspects = tuple(self._here(container, suspect_of(each)) for each in found["stall"])
                evidence = self._taken(container, suspects, min(10.0, float(found["seconds"])))
                container.tell(evidence=True)
            elif "outcome" in found:
                outcome = outcome_of(found["outcome"])
                if outcome.stall is None:
                    return outcome
                # The same suspects, with the pids of this side.
                known = {suspect.worker: suspect for suspect in suspects}
                return replace(outcome, stall=replace(outcome.stall, evidence=evidence, suspects=tuple(
                    known.get(each.worker, each) for each in outcome.stall.suspects)))
        raise Silent(f"did not end within {seconds:g} s", NoContainer.SILENT)

    def _here(self, container: Container, suspect: Suspect) -> Suspect:
        if suspect.pid not in self._pids:
            self._pids = container.pids()
        if suspect.pid not in self._pids:
            return replace(suspect, why=f"{suspect.why} (its pid is that inside the container)")
        return replace(suspect, pid=self._pids[suspect.pid])

    def _taken(self, container: Container, suspects: Sequence[Suspect], seconds: float) -> Mapping[str, Any]:
        taken = dict(self.evidence(suspects, seconds)) if self.evidence is not None else {}
        argv = (container.runtime.path, "exec", container.name, "python3", f"{PACKAGE}/trials/ras.py")
        try:        # its port is in the container's network
            taken["nccl ras"] = self._host.run(argv, _RAS_SECONDS).stdout
        except Unreadable as error:
            taken["nccl ras"] = f"({error.reason})"
        return taken

    def _fallen(self, container: Container, silent: Silent, count: int, seconds: float) -> Outcome:
        """Return the outcome where the container's first process fell silent, or was killed. It is the culprit, and
        nothing is known of the workers but what can be seen from here."""
        pids = container.pids()
        first = pids.get(1)
        letter = process_state(first) if first else "gone"
        state = State("start", 0, None, None)
        why = silent.why
        if not first and silent.code is not NoContainer.KILLED:
            # On a busy machine the runtime takes longer to notice that than we wait for a word.
            why = f"was killed: its first process is gone ({why})"
        words = f"the container {why}" + (f", its first process is in state {letter}" if first else "")
        culprit = Suspect(0, first or container.process.pid, "culprit", words, state, letter)
        workers = [Suspect(number, pid, "victim", "in the container", state, process_state(pid))
                   for number, (inside, pid) in enumerate(pids.items()) if inside != 1]
        evidence = self._taken(container, [culprit, *workers], 5.0) if first else {}
        return Outcome(((),) * count, (None,) * count, Stall("container", seconds, (culprit,), evidence), {}, ("",) *
                       count, seconds)
