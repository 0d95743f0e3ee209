"""What is a log of an engine, and what only names one; which texts are told what they are and what to give instead."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.imports.test_seams import _BOX
from tests.unit.refusing import refused

from tunecheck.facts.snapshot import gather
from tunecheck.host.imported.machine import load_import
from tunecheck.host.imported.posts import kinds
from tunecheck.parsers.text.damage import Damage


@pytest.mark.parametrize("name", ["VLLM::Worker_TP0", "VLLM::EngineCore", "sglang::scheduler_TP0", "vllm/serve.py"])
def test_processes_of_an_engine_are_no_log_of_it(name: str) -> None:
    assert list(kinds(_BOX.replace("python3", name))) == ["nvidia-smi"]


@pytest.mark.parametrize(("line", "engine", "found"), [
    ("(Worker_TP0 pid=5) ERROR 03-04 05:06:07 [x.py:1] torch.OutOfMemoryError: CUDA out of memory.", "vLLM",
     ["out of memory"]),
    ("ERROR 03-04 05:06:07 [core.py:1] RuntimeError: CUDA error: out of memory", "vLLM", ["out of memory"]),
    ("ERROR 03-04 05:06:07 [core.py:1] Error 802: system not yet initialized", "vLLM", ["not ready"]),
    ("[2026-03-04 05:06:07 TP0] Error 802: system not yet initialized", "SGLang", ["not ready"]),
    ("[2026-03-04 05:06:07 DP0 TP0] Custom allreduce is disabled because your platform lacks GPU P2P capability",
     "SGLang", ["p2p refused"]),
    ("(Worker_TP1 pid=5) [rank1]:[E1124 03:12:01.1 ProcessGroupNCCL.cpp:632] [Rank 1] Watchdog caught collective "
     "operation timeout: WorkNCCL(SeqNum=1234)", "vLLM", ["collective timeout"]),
    ("[2026-03-04 05:06:07 TP3] RuntimeError: CUDA error: misaligned address", "SGLang", ["cuda error"]),
    ("[2026-03-04 05:06:07] SIGQUIT received. signum=None, frame=None.", "SGLang", ["worker died"]),
    ("vllm.engine.async_llm_engine.AsyncEngineDeadError: Background loop has errored already.", "vLLM",
     ["engine died"]),
    ("ERROR 03-04 05:06:07 [core.py:1] TimeoutError: RPC call to execute_model timed out.", "vLLM", ["hanging"]),
    ("ERROR 03-04 05:06:07 [m.py:1] Worker proc VllmWorker-1 died unexpectedly", "vLLM", ["worker died"]),
    ("(Worker_TP0 pid=5) INFO 03-04 05:06:07 [x.py:1] vLLM is using nccl==2.27.3 watchdog_timeout=300, WorkerProc up",
     "vLLM", []),
])
def test_one_line_of_an_engine_is_a_log_of_it(line: str, engine: str, found: list[str], tmp_path: Path) -> None:
    (tmp_path / "a").write_text(line + "\n")
    (log,) = gather(load_import(str(tmp_path / "a")), None, True).posted.engines
    assert (log.engine, [each.kind for each in log.decisions]) == (engine, found)


_ROOT = Path(__file__).parents[3]
_PAGES = (*_ROOT.glob("*.md"), *_ROOT.glob("docs/**/*.md"), *_ROOT.glob("roles/*/README.md"))


@pytest.mark.parametrize("text", [
    *(pytest.param(page.read_text(), id=str(page.relative_to(_ROOT))) for page in _PAGES),
    "We serve it with vLLM 0.11 or SGLang (custom all-reduce off, see custom_all_reduce.py: peer access).\n",
    "image: vllm/vllm-openai:v0.11.0\ncommand: python -m sglang.launch_server --port 30000  # (Worker) serve.py: x\n",
    "After `EngineDeadError: it ended` or `SIGQUIT received. signum` set `disable_custom_all_reduce=True`.\n"])
def test_prose_that_names_an_engine_or_quotes_it_is_no_log_of_it(text: str) -> None:
    assert "engine log" not in list(kinds(text))


@pytest.mark.parametrize("page", _PAGES, ids=lambda path: str(path.relative_to(_ROOT)))
def test_a_page_given_by_mistake_is_refused_as_a_document(page: Path) -> None:
    with refused(Damage.TOO_LITTLE, page.name) as told:
        load_import(str(page))
    assert "a document" in str(told.value) and "sudo dmesg" in str(told.value)


@pytest.mark.parametrize("text", [
    "# what I did\nIt ends with Xid 79.\n", "Xid 79, see [here](https://example.org) and `dmesg`\n",
    "## Problem\n\n`nvidia-smi` says Xid 79\n"])
def test_a_note_is_none(text: str, tmp_path: Path) -> None:
    (tmp_path / "note").write_text(text)
    with refused(Damage.TOO_LITTLE, "note") as told:
        load_import(str(tmp_path / "note"))
    assert "a document" not in str(told.value) and 'tunecheck explain "Xid 79"' in str(told.value)


@pytest.mark.parametrize("line", [
    "[2026-03-04 05:06:07] server_args=ServerArgs(model_path='x', tp_size=4)",
    "WARNING: Custom allreduce is disabled due to an unsupported world size: 3.",
    "2026-03-04T05:06:07Z vLLM API server version 0.11.0 (APIServer)"])
def test_what_an_engine_says_without_its_front_is_a_log_of_it(line: str) -> None:
    assert list(kinds(line + "\n")) == ["engine log"]


def test_the_end_of_a_long_log_is_read(tmp_path: Path) -> None:
    line = "INFO 03-04 05:06:07 [loggers.py:1] Avg generation throughput: 1.0 tokens/s, Running: 1 reqs\n"
    (tmp_path / "a").write_text(line * 100_000 + "ERROR 03-04 05:06:07 [core.py:1] EngineDeadError: it ended\n")
    (log,) = gather(load_import(str(tmp_path / "a")), None, True).posted.engines
    assert [each.kind for each in log.decisions] == ["engine died"]


_GERMAN = ("Architektur:                x86_64\nCPU(s):                     8\nListe der Online-CPU(s):    0-7\n"
           "NUMA-Knoten0 CPU(s):        0-7\n")


@pytest.mark.parametrize(("text", "words"), [
    (_GERMAN, ("another language", "LC_ALL=C lscpu")),
    ('{"time":"x","line":"NVRM: Xid (PCI:0000:06:00): 79, GPU has fallen off the bus."}\n', ("JSON", "sudo dmesg")),
])
def test_a_text_in_another_form_is_told_what_it_is(text: str, words: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "a").write_text(text)
    with refused(Damage.TOO_LITTLE, *words):
        load_import(str(tmp_path / "a"))
