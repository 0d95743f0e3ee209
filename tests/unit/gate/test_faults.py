"""From `tunecheck preflight --pass` to `tunecheck gate`, through the whole program, on GPUs with a fault: the gate
stays closed and says why in one line; the next time, without the fault, it opens by itself."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.fakes.build import build
from tests.unit.trials import whole_box
from tests.unit.trials.whole_box import Done

from tunecheck.facts.spec_file import PATH
from tunecheck.spec.frozen import Frozen, Spec

Box = Callable[..., Done]
#: Asks for nothing; without any, the gate stays closed.
SPEC = Frozen(host="box1", profile="lab", spec=Spec(), sources={}).to_json()
BOOT = "/proc/sys/kernel/random/boot_id"


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fakes")
    for source, name in (("cuda.c", "libcuda.so.1"), ("nccl.c", "libnccl.so.2"), ("nvml.c", "libnvidia-ml.so.1")):
        build(source, name, folder)
    return folder


@pytest.fixture
def box(libraries: Path, tmp_path: Path) -> Box:
    def run(verb: str, *arguments: str, **given: object) -> Done:
        reads = {"/proc/uptime": "100.0 200.0\n", BOOT: "boot-1\n", PATH: SPEC, **given.pop("reads", {})}  # type: ignore[dict-item]
        return whole_box.run(libraries, tmp_path, verb, *arguments, "--pass", str(tmp_path / "pass.json"), reads=reads,
                             **given)  # type: ignore[arg-type]

    return run


def measured(tmp_path: Path) -> dict[str, object]:
    return dict(json.loads((tmp_path / "measured.json").read_text())["measured"])


def test_a_healthy_box_is_measured_and_opens(box: Box, tmp_path: Path) -> None:
    done = box("preflight")
    assert done.code == 0, done.errors
    found = measured(tmp_path)
    assert (found["kind"], found["place"], found["exit_code"]) == ("quick", "host", 0)
    assert set(found["figures"]) >= {"p2p_one_way_gb_s", "p2p_both_ways_gb_s", "p2p_latency_ns"}  # type: ignore[call-overload]
    assert (found["key"]["nccl"], found["key"]["nccl_file"].split()[0][-13:]) == ("2.28.9", "/libnccl.so.2")  # type: ignore[index]
    assert box("gate").code == 0
    other = box("gate", reads={BOOT: "boot-2\n"})
    assert other.code == 1 and other.errors.count("\n") == 1 and json.loads(
        (tmp_path / "pass.json").read_text())["pass"]["taken"] in other.errors


@pytest.mark.parametrize(("cuda", "nccl", "code", "found", "names"), [
    ("wrong=0,1,4096", "", 1, "p2p-integrity/wrong-data", "GPU0->GPU1"),
    ("lost=1,0 mhz=20000", "", 1, "p2p-integrity/wrong-data", "GPU0->GPU1"),
    ("host=0,1", "", 1, "p2p-staged/unused", "GPU0->GPU1"),
    ("link=0,1,37 link=1,0,37", "", 1, "p2p-bandwidth/slow", "GPU0->GPU1 37.0"),
    ("hairpin=1", "", 1, "p2p-duplex/hairpin", ""),
    ("", "at=reduce do=hang gpu=1", 4, "trial-hang/hung", "allreduce "),
    ("at=tc_copy do=stop", "", 4, "trial-hang/process-stopped", "p2p "),
], ids=["wrong word", "lost writes", "staged in silence", "slow by a quarter", "hairpin", "all-reduce hangs",
        "copy hangs"])
def test_a_fault_closes_the_gate_and_its_end_opens_it(box: Box, tmp_path: Path, cuda: str, nccl: str, code: int,
                                                      found: str, names: str) -> None:
    done = box("preflight", cuda=cuda, nccl=nccl)
    assert done.code == code, [each["message"] for each in done.report["findings"] if each["outcome"] == "fail"]
    wrong = done.report["measured"]["wrong"]
    assert ("ping-pong" in {each["trial"] for each in wrong}) is ("lost" in cuda), "a flag that never arrived"
    closed = box("gate")
    assert closed.code == 1
    first = closed.errors.splitlines()[0]
    assert f"{found.partition('/')[0]}: " in first and names in first, closed.errors
    assert measured(tmp_path)["exit_code"] == code and found in measured(tmp_path)["codes"]  # type: ignore[operator]
    if code == 4:
        (hang,) = done.report["measured"]["hangs"]
        blamed = [*hang["culprits"], *hang["victims"]]
        assert blamed and [each for each in blamed if each not in closed.errors] == [] and [
            name for name in done.left if name.endswith(".tar.zst")], "blamed, and the bundle is there"
    assert box("preflight").code == 0 and box("gate").code == 0


def test_gpus_in_use_are_not_measured_and_what_was_measured_stays(box: Box, tmp_path: Path) -> None:
    assert box("preflight").code == 0
    before = measured(tmp_path)
    done = box("preflight", "--quick", used=True)
    assert done.code == 3 and done.codes("trial-hang") == {"not-finished"}
    assert re.search(r"\b4321\b", done.message("trial-hang"))
    assert "--force" not in done.message("trial-hang"), "preflight has no such option"
    assert measured(tmp_path) == before
    closed = box("gate")
    assert closed.code == 1 and re.search(r"trial-hang: .*\b4321\b", closed.errors)


def test_what_holds_is_not_measured_again(box: Box, tmp_path: Path) -> None:
    assert box("preflight").code == 0
    before = measured(tmp_path)
    again = box("preflight", "--full", "--if-needed")
    assert again.code == 0 and f"{tmp_path}/measured.json" in again.errors and measured(tmp_path) == before
    link = "/sys/bus/pci/devices/0000:04:00.0/current_link_width"
    closed = box("gate", reads={link: "8\n"})
    assert closed.code == 1
    assert re.search(r"0000:02:01\.0-0000:04:00\.0 x16 Gen5.*0000:02:01\.0-0000:04:00\.0 x8 Gen5", closed.errors)
    assert box("preflight", "--quick", "--if-needed").code == 0, "the same box again"
    (tmp_path / "measured.json").write_text("{")
    assert f"{tmp_path}/measured.json: " in box("gate").errors
    assert box("preflight", "--quick", "--if-needed").code == 0 and measured(tmp_path)["kind"] == "quick"


def test_preflight_that_fails_does_not_load_the_gpus(box: Box, tmp_path: Path) -> None:
    """A box that does not even look right could wedge."""
    done = box("preflight", reads={"/sys/bus/pci/devices/0000:04:00.0/current_link_width": "4\n"})
    assert done.code == 1 and "measured" not in done.report
    assert not (tmp_path / "measured.json").exists()
    assert "link-width" in box("gate").errors


def test_a_box_that_stays_down_is_started_again(box: Box, libraries: Path, tmp_path: Path) -> None:
    """What an incident left behind is told, and never keeps the gate closed: the start is the way out of it."""
    journal, unit = "/var/lib/tunecheck/incidents/journal.jsonl", "tunecheck-inference.service"
    records = [{"schema": "tunecheck/incident/1", "incident": "a", "at": 1795150000.0 + number, "boot_id": "boot-0",
                "step": step, "why": why, "unit": unit, "invocation": "1", "codes": ["tokens-frozen"], "text": ""}
               for number, (step, why) in enumerate((("noticed", ""), ("stays-down", "too-many")))]
    journal_end = "".join(f"{json.dumps(each)}\n" for each in records)
    down: dict[str, object] = {
        "realpaths": {journal: journal, str(Path(journal).parent): str(Path(journal).parent),
                      "/etc/systemd/system/tunecheck-watch.service": "/etc/systemd/system/tunecheck-watch.service"},
        "runs": {f"tail -c 131072 -- {journal}": journal_end,
                 f"systemctl show --property=Id,LoadState,ActiveState,InvocationID -- {unit}":
                     f"Id={unit}\nLoadState=loaded\nActiveState=failed\nInvocationID=1\n"}}
    told = {"/proc/uptime": "100.0 200.0\n", BOOT: "boot-1\n", PATH: SPEC}
    alone = whole_box.run(libraries, tmp_path, "preflight", reads=told, **down)  # type: ignore[arg-type]
    assert (alone.code, alone.codes("incidents")) == (1, {"stays-down"}), alone.errors
    done = box("preflight", **down)
    assert (done.code, done.codes("incidents")) == (0, {"before-start"}), done.errors
    assert box("gate", **down).code == 0
