"""Result files of other clients, read for one question: how did it count its tokens, and what in the file proves that?

Each reader makes rows of a file; judging is the same for all (``_weighed``). Sources, read 2026-11-22: vLLM 0.33.0
benchmarks/serve.py, SGLang 0.5.23 benchmark/serving.py, guidellm 0.8.1, aiperf 0.13.0, genai-perf 0.0.16, llama.cpp
tools/llama-bench, evalscope perf 1.14.1 (and its names until 1.3). All but llama-bench and llm-inference-bench were
also run against a server of known counts (lab/paced_server.py). No file is accused without evidence in itself: what
cannot be told is unknown.

Less text than tokens accuses nobody by itself: these clients ask to go on behind the end (ignore_eos), and what comes
then may be special tokens without text (inferred, not measured); vLLM's chat client keeps no reasoning. A run of
SGLang's client was published with 833,623 of 4,096,000 tokens in the text (read 2026-11-23). More text than tokens
does."""

from __future__ import annotations

from .llama_bench import measured_of_table
from .recognise import measured_of_foreign, recognised
from .text_block import measured_of_text

__all__ = ["measured_of_foreign", "measured_of_table", "measured_of_text", "recognised"]
