"""NVML through the whole program, against a fake library that is healthy, crashes, hangs, or refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.host import nvml_box
from tests.unit.host.nvml_box import GPUS, findings, tunecheck

from tunecheck.host.recording import load_recording
from tunecheck.parsers.nvidia.nvml_keys import KEYS

TOPO = "\tGPU0\tGPU1\nGPU0\t X \tPIX\nGPU1\tPIX\t X \n"
#: What the fake does not have: FUNCTION_NOT_FOUND, as in an older library.
OLD = {"addressing_mode", "recovery_action", "fabric_state", "fabric_status", "fabric_health", "serial", "mig_mode",
       "mig_pending", "retire_pending", "replay_rollovers", "fan_percent"}


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = nvml_box.library(tmp_path_factory.mktemp("nvml"))
    if not folder:
        pytest.skip("no C compiler (cc) on this machine: the fake libnvidia-ml.so.1 cannot be made")
    return folder


@pytest.fixture
def box(libraries: str, tmp_path: Path) -> Any:
    def run(mode: str, *arguments: str, **options: Any) -> tuple[dict[str, Any], dict[str, Any], float]:
        """The NVML document as recorded ({"error": reason} for none), the findings, the seconds."""
        record = tmp_path / "box.rec"
        options.setdefault("smi", f"cat {tmp_path}/table")
        (tmp_path / "table").write_text(TOPO)
        done, seconds, left = tunecheck(libraries, tmp_path, mode, *(arguments or ("topo",)), "--json", "--record",
                                        str(record), **options)
        assert done.returncode in (0, 1, 3), done.stderr
        assert left == [], "a process outlived the program"
        document = load_recording(str(record))
        return (document._nvml or {"error": document._errors.get("nvml")}), findings(done), seconds

    return run


def outcomes(found: dict[str, Any], check: str) -> list[str]:
    return [each["outcome"] for each in found[check]]


def test_two_healthy_boards(box: Any) -> None:
    document, found, _ = box("gpus=2")
    assert (document["driver"], document["library"], document["errors"]) == ("595.71.05", "13.595.71.05", {})
    assert [(gpu["bdf"], gpu["index"]) for gpu in document["gpus"]] == [(GPUS[0], 0), (GPUS[1], 1)]
    for gpu in document["gpus"]:
        assert set(gpu["errors"]) == OLD
        assert set(gpu["values"]) | OLD == set(KEYS)
    values = document["gpus"][0]["values"]
    assert (values["memory_total_mib"], values["memory_used_mib"], values["bar1_total_mib"]) == (97887, 0, 131072)
    assert (values["ecc_mode"], values["persistence"], values["compute_mode"]) == ("enabled", True, "default")
    assert (values["ids"], values["processes"]) == ("10de:2bb1", [{"pid": 4321, "used_mib": 512}])
    assert [pair["values"] for pair in document["pairs"]] == [{"ancestor": 10, "p2p_read": 0, "p2p_write": 0}] * 2
    for check in ("nvml-answers", "p2p-capability", "topo-agreement"):
        assert outcomes(found, check) == ["pass"], found[check]


@pytest.mark.parametrize("verb", ["topo", "preflight"])
@pytest.mark.parametrize("function", ["nvmlDeviceGetPersistenceMode", "nvmlDeviceGetHandleByIndex_v2",
                                      "nvmlDeviceGetP2PStatus"])
@pytest.mark.parametrize("trouble", ["crash", "hang"])
def test_what_arrived_before_the_trouble_is_kept(box: Any, trouble: str, function: str, verb: str) -> None:
    kind, number = ("CUT_OFF: ", " 11") if trouble == "crash" else ("TIMED_OUT: ", " 1 s")
    document, found, seconds = box(f"{trouble}={function}", verb, deadline=1.0)
    assert seconds < 15
    first = document["gpus"][0]
    assert set(first["errors"]) == OLD, "the board before it answered in full"
    if function.endswith("Index_v2"):
        assert list(document["errors"]) == ["gpu 1"]
        reasons = [document["errors"]["gpu 1"]]
    elif function.endswith("Mode"):
        reasons = [document["gpus"][1]["errors"]["persistence"]]
        assert document["gpus"][1]["values"]["name"].startswith("NVIDIA")
    else:
        reasons = [pair["errors"].get("p2p_read") for pair in document["pairs"]]
        assert len(reasons) == 2
    assert all(reason.startswith(kind) and reason.endswith(number) for reason in reasons), reasons
    assert all(outcome != "pass" for outcome in outcomes(found, "p2p-capability"))
    if not function.endswith("P2PStatus"):
        assert outcomes(found, "nvml-answers") == ["fail"], "the driver has the GPU, and its library does not answer"
        (silent,) = found["nvml-answers"]
        assert (silent["code"], silent["observed"]) == ("gpu-no-answer", reasons[0].removeprefix(kind))
        assert kind not in silent["message"]


def test_a_lost_board_has_its_address(box: Any) -> None:
    document, found, _ = box("lost=1")
    assert document["gpus"][1] == {"bdf": GPUS[1], "index": 1, "values": {},
                                   "errors": dict.fromkeys(KEYS, "GPU_IS_LOST")}
    assert outcomes(found, "nvml-answers") == ["fail"]
    (lost,) = found["nvml-answers"]
    assert (lost["code"], lost["subject"], lost["observed"]) == ("gpu-lost", GPUS[1], "GPU_IS_LOST")
    assert outcomes(found, "p2p-capability") == ["unknown"]


def test_a_library_of_another_version(box: Any) -> None:
    document, found, _ = box("init=18")
    assert document == {"error": "LIB_RM_VERSION_MISMATCH"}
    assert (outcomes(found, "nvml-answers"), outcomes(found, "p2p-capability")) == (["fail"], ["unknown"])


def test_no_library(box: Any, tmp_path: Path) -> None:
    done, _, left = tunecheck(str(tmp_path / "none"), tmp_path, "", "topo", "--json", smi="exit 9")
    assert (outcomes(findings(done), "nvml-answers"), left) == (["fail"], [])


def test_as_many_boards_as_there_may_be_and_a_slow_reader(box: Any) -> None:
    document, _, _ = box("gpus=64", deadline=30.0)
    assert len(document["gpus"]) == 64
    assert len(document["pairs"]) == 64 * 63
    assert not any(pair["errors"] for pair in document["pairs"])


def test_directions_of_a_pair_are_told_apart(box: Any) -> None:
    _, found, _ = box("p2p=1,0,4")
    assert outcomes(found, "p2p-capability") == ["pass", "warn"]
    refused = found["p2p-capability"][1]
    assert (refused["code"], refused["subject"], refused["observed"]) == ("disabled-by-regkey", "GPU1->GPU0 read", "DR")


def test_nvlinks_are_counted(box: Any) -> None:
    document, _, _ = box("links=18")
    assert [gpu["values"]["nvlinks_active"] for gpu in document["gpus"]] == [18, 18]
    assert document["pairs"][0]["values"]["p2p_nvlink"] == 5


@pytest.mark.parametrize(("smi", "absence"), [
    ("sleep 600", "timed-out"), ("trap '' TERM; while :; do sleep 600; done", "timed-out"),
    ("echo 'GPU0\tGPU1'; echo 'GPU0\tX\tPXBNODE'", "not-understood"), ("head -c 100000 /dev/urandom", "not-understood"),
    ("echo 'Erreur : pilote absent' >&2; exit 9", ""), ("kill -11 $$", "")])
def test_nvidia_smi_that_does_not_answer(box: Any, smi: str, absence: str) -> None:
    """NVML still answers; the table is no evidence, and no pass."""
    _, found, seconds = box("gpus=2", smi=smi, deadline=1.0)
    assert seconds < 15
    agreement = found["topo-agreement"]
    assert (agreement[-1]["outcome"], agreement[-1]["code"], agreement[-1]["subject"]) == ("pass", "ok", "pairs")
    assert "nvidia-smi" not in agreement[-1]["message"], "NVML and the tree agree"
    if absence:
        assert (agreement[0]["outcome"], agreement[0]["code"], agreement[0]["absence"]) == (
            "unknown", "table-unread", absence)


def test_nvidia_smi_that_is_not_there(box: Any) -> None:
    _, found, _ = box("gpus=2", smi="")
    assert outcomes(found, "topo-agreement") == ["pass"]


def test_nvidia_smi_is_asked_in_english(box: Any, tmp_path: Path) -> None:
    """In another language it would print other words; the table is the same, and the variable says so."""
    _, found, _ = box("gpus=2", smi=f'[ "$LC_ALL" = C ] || exit 7\ncat {tmp_path}/table')
    assert "nvidia-smi topo -m, NVML" in found["topo-agreement"][0]["message"]


def test_a_table_of_two_hundred(box: Any, tmp_path: Path) -> None:
    names = [f"GPU{number}" for number in range(200)]
    rows = ["\t" + "\t".join(names)] + ["\t".join([a, *(" X " if a == b else "SYS" for b in names)]) for a in names]
    (tmp_path / "large").write_text("\n".join(rows))
    _, found, _ = box("gpus=2", smi=f"cat {tmp_path}/large")
    assert [(each["code"], each["absence"]) for each in found["topo-agreement"]] == [
        ("table-unread", "not-understood"), ("ok", None)]


def test_the_document_is_plain_json(box: Any) -> None:
    document, _, _ = box("gpus=2")
    assert json.loads(json.dumps(document)) == document
