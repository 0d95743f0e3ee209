"""``tunecheck preflight`` where it measures or leaves a pass: look, judge, measure, judge again, keep both passes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ..errors import Misuse, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..facts.measured_pass import MeasuredPass
    from ..facts.snapshot import Snapshot
    from ..gate.measure import Done
    from ..host import Host
    from ..model.finding import Finding
    from ..spec.frozen import Frozen, Spec
    from ..trials.progress import Shown

__all__ = ["measuring"]


def measuring(kind: str | None, if_needed: bool, soak: str, evidence: str | None, pass_file: str | None,
              spec_file: str | None, source: str | None, since: str | None, record: str | None, verbose: bool,
              **outputs: str | None) -> None:
    """Run a preflight that measures or leaves a pass. ``kind``: "full", "quick", or None: with ``pass_file`` what the
    specification's gate.measured asks for. Leaves through SystemExit with the verdict's code."""
    import datetime

    from ..gate import measured
    from ..host.live import LiveHost
    from ..model.finding import HUNG
    from ..report.document import Run, document
    from ..report.exporters import check_outputs, rendered, to_standard_output, write_outputs
    from ..report.measured_document import measured_document
    from ..rules import judge
    from ..rules.context import Case
    from ..rules.one_reboot import in_one_play
    from ..spec.frozen import Spec
    from ..trials.progress import Shown
    from ..util.durations import seconds
    from ..util.live_line import LiveLine
    from .gate_pass import passing
    from .read_host import look
    from .run_trial import check_folder, warn_all_gpus_used
    from .write_reports import emit_report

    if source is not None or since is not None or record is not None:
        raise UsageError("--full, --quick and --pass are for this machine: they go with neither --from nor --since nor "
                         "--record", Misuse.DOES_NOT_BELONG)
    wanted = {name.removesuffix("_to"): place for name, place in outputs.items()}
    check_outputs(wanted, None)
    soaked = seconds("--soak", soak)
    leave = passing(pass_file, full=kind == "full")
    path = measured.path_beside(pass_file) if pass_file else None
    given = evidence is not None
    if evidence is None:
        evidence = measured.make_evidence() if path == measured.PATH else "."
    if given:
        check_folder(evidence)
    frozen, snapshot = look("preflight", spec_file, None, judges=True)
    spec = frozen.spec if frozen else Spec()
    findings = in_one_play(judge(Case(snapshot, frozen, start=pass_file is not None), "preflight"))
    alone, line, door = to_standard_output(wanted), LiveLine(), LiveHost()
    done, note = None, ""
    try:
        chosen, note = _chosen(kind, if_needed, path, findings, door, snapshot, spec)
        if chosen is not None:
            warn_all_gpus_used()
            done = _measured(door, snapshot, spec, chosen, soaked, evidence, None if alone else Shown(line), path,
                             given)
            if path is not None and not done.refused:
                note = _keep(door, snapshot, frozen, done, path)
    finally:
        line.erase()
        door.close()
    case = Case(snapshot, frozen, measured=done.first if done else None, start=pass_file is not None)
    if done is not None:
        from ..gate import measure

        findings = [*in_one_play(judge(case, "preflight")), *measure.findings(snapshot, frozen, done)]
    run = Run(document("preflight", case, findings), findings, datetime.datetime.now(datetime.UTC), "")
    if done is not None and done.on_host is not None and done.in_image is not None:
        run.document["measured_in_image"] = measured_document(done.in_image)
        run.document["exit_code"] = HUNG if done.in_image.hangs else run.document["exit_code"]
    if alone:
        text = rendered(alone, run)
    else:
        from ..report.style import style_for
        from ..report.terminal import render

        text = render("preflight", case, findings, style_for(sys.stdout), verbose)
    code = run.document["exit_code"]
    emit_report(text, lambda: [*([note] if note else []), *write_outputs(wanted, run), *leave(findings, code, frozen)],
        alone is not None)
    raise SystemExit(code)


def _chosen(kind: str | None, if_needed: bool, path: str | None, findings: Sequence[Finding], door: Host,
            snapshot: Snapshot, spec: Spec) -> tuple[str | None, str]:
    """Return what is measured now ("full", "quick" or None), and a note where nothing is."""
    from ..facts.measured_pass import measurable
    from ..gate import measure
    from ..gate.state import state
    from ..model.finding import exit_code, worst

    policy = spec.gate.measured
    if kind is not None and not if_needed:
        return kind, ""
    if policy == "never":
        return None, "nothing was measured: gate.measured is never"
    if not measurable(spec.accelerators, state(door).gpus.value):
        return None, "nothing was measured: NVIDIA's driver has no GPU, and the specification wants none there"
    # What does not even look right is not loaded: that could wedge a GPU, and the gate stays closed anyway.
    if kind is None and exit_code(worst(findings)) != 0:
        return None, "nothing was measured: what preflight found comes first"
    if path is not None and (if_needed or policy == "on-change") and measure.holds(
            door, snapshot, spec, path, this_boot=policy == "each-boot"):
        return None, f"nothing was measured: {path} still holds"
    return kind or "quick", ""


def _measured(door: Host, snapshot: Snapshot, spec: Spec, kind: str, soak: float, evidence: str, shown: Shown | None,
              path: str | None, given: bool) -> Done:
    from ..gate import measured
    from ..gate.measure import measure
    from .run_trial import check_folder

    def admitted() -> None:
        if not given:
            check_folder(evidence, given=False)
        if path is not None:
            measured.invalidate(path, _former(path))

    return measure(door, snapshot, spec, kind, soak, evidence, shown, admitted)


def _keep(door: Host, snapshot: Snapshot, frozen: Frozen | None, done: Done, path: str) -> str:
    """Write the measured pass, and return the note about it."""
    from ..gate.measure import keep

    found = keep(door, snapshot, frozen, done, path, _former(path))
    where = "inside the image" if found.place == "image" else "on the host"
    which = "measured pass" if found.exit_code == 0 else "measured, and not passed"
    return f"{which}: {path} ({found.kind}, {where}, {found.seconds:.1f} s)"


def _former(path: str) -> MeasuredPass | None:
    """Return the earlier measured pass; None where there is none of this box that can be believed."""
    from ..gate import measured

    try:
        return measured.read(path)
    except UsageError:
        return None
