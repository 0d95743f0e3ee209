"""Mistakes that people make in recipes: each is rejected, or warned of where the engine's version is not known. The
first block is the review's (2026-11-22), as far as it names them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.recipes.test_load import plain, written

from tunecheck.errors import SpecError, UsageError
from tunecheck.recipes.load import load
from tunecheck.recipes.rules import judge

_VLLM = "qwen35-27b-vllm-dp8-b200"           # vLLM 0.18.0, whose table is known
_FORK = "qwen35-397b-vllm-marlin-4x"         # no version
_SGLANG = "qwen35-397b-sglang-b12x-4x"

#: name: recipe, changes by dotted field, words added to serve.args
_MISTAKES: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "flag typo": (_VLLM, {}, ["--max-nums-seqs", "64"]),
    "flag cut short": (_VLLM, {}, ["--max-num-seq", "64"]),     # taken by vLLM's own parser: a warning
    "flag typo, version unknown": (_FORK, {}, ["--gpu-memory-utilisation", "0.9"]),
    "SGLang's flag for vLLM": (_VLLM, {}, ["--mem-fraction-static", "0.9"]),
    "vLLM's flag for SGLang": (_SGLANG, {}, ["--max-num-seqs", "64"]),
    "llama.cpp's flag for vLLM": (_VLLM, {}, ["--n-gpu-layers", "61"]),
    "kv dtype fp4": (_VLLM, {}, ["--kv-cache-dtype", "fp4"]),
    "kv dtype fp4, SGLang": (_SGLANG, {}, ["--kv-cache-dtype", "fp4"]),
    "share 1.5": (_VLLM, {}, ["--gpu-memory-utilization", "1.5"]),
    "share 90": (_VLLM, {}, ["--gpu-memory-utilization", "90"]),
    "share 0.9x of SGLang": (_SGLANG, {}, ["--mem-fraction-static", "9"]),
    "context of ten millions": (_VLLM, {"max_context": 10_000_000}, []),
    "397B on 32 GiB": (_FORK, {"requires.vram_gib": 32}, []),
    "a token as an option": (_VLLM, {}, ["--hf-token", "hf_abcdefghijklmnop"]),
    "a token in the environment": (_VLLM, {"env": {"HF_TOKEN": "hf_abcdefghijklmnop"}}, []),
    "an AWS key": (_VLLM, {"env": {"AWS_SECRET_ACCESS_KEY": "x"}}, []),
    "an AWS id under another name": (_VLLM, {"env": {"NOTE": "AKIAABCDEFGHIJKLMNOP"}}, []),
    "dflash on 0.18": (_VLLM, {"speculative.method": "dflash"}, []),
    "version is not the tag's": (_VLLM, {"engine.version": "0.19.1"}, []),
    "moe_backend is not the words'": (_FORK, {"engine.moe_backend": "flashinfer_cutlass"}, []),
    "bad JSON": (_VLLM, {}, ["--compilation-config", '{"cudagraph_mode": piecewise}']),
    "one visible GPU": (_FORK, {"env": {"CUDA_VISIBLE_DEVICES": "0"}}, []),
    "GGUF entry not included": ("qwen35-397b-llamacpp-q3-2x", {"model.entry": "other-Q4.gguf"}, []),
    "driver 535": (_FORK, {"requires.driver_min": "535.104"}, []),
    "shm 1 GiB": (_FORK, {"serve.shm_gib": 1}, []),
    # Ours.
    "a variable that nobody reads": (_VLLM, {"env": {"VLLM_MOE_FORCE_MARLIN": "1"}}, []),
    "a variable of a typo, version unknown": (_FORK, {"env": {"VLLM_LOGING_LEVEL": "INFO"}}, []),
    "an option that is gone": (_VLLM, {"engine.version": "0.33.0", "image.ref": None}, ["--calculate-kv-scales"]),
    "unknown quantization": (_VLLM, {}, ["--quantization", "fp3"]),
    "unknown moe backend": (_VLLM, {}, ["--moe-backend", "b12x"]),
    "unknown runner, SGLang": (_SGLANG, {}, ["--moe-runner-backend", "marlyn"]),
    "draft tokens differ": (_VLLM, {"speculative.tokens": 3}, []),
    "draft method differs": (_VLLM, {"speculative.method": "eagle"}, []),
    "speculation only in the field": (_FORK, {"speculative.method": "mtp", "speculative.tokens": 2}, []),
    "speculation only in the words": (_FORK, {}, ["--speculative-config", '{"method": "mtp"}']),
    "tp x pp is not gpus": (_FORK, {"parallel.tp": 2}, []),
    "tool parser of a typo": (_VLLM, {}, ["--enable-auto-tool-choice", "--tool-call-parser", "qwen3_codr"]),
    "reasoning parser of a typo": (_VLLM, {}, ["--reasoning-parser", "qwen_3"]),
    "tool parser without its switch": (_VLLM, {}, ["--tool-call-parser", "qwen3_coder"]),
    "eager": (_FORK, {}, ["--enforce-eager"]),
    "context twice": (_VLLM, {}, ["--max-model-len", "8192"]),
    "a key on the command line": (_VLLM, {}, ["--api-key", "x"]),
    "p2p switched off": (_SGLANG, {"env": {"NCCL_P2P_DISABLE": "1"}}, []),
    "experts over PCIe": (_FORK, {"parallel.ep": 4}, []),
    "flashinfer sampler": (_FORK, {"env": {"VLLM_USE_FLASHINFER_SAMPLER": "1"}}, []),
    "python 3.14": (_FORK, {"engine.python": "3.14"}, []),
}


@pytest.mark.parametrize("name", _MISTAKES)
def test_a_mistake_is_found(tmp_path: Any, name: str) -> None:
    recipe, changes, args = _MISTAKES[name]
    data = plain(recipe)
    before = {(each.rule.id, each.text) for each in judge(load(recipe, pinned=False).frozen)}
    for path, value in changes.items():
        part, _, field = path.partition(".")
        if field:
            data.setdefault(part, {})[field] = value
        else:
            data[part] = {**data.get(part, {}), **value} if isinstance(value, dict) else value
    data["serve"]["args"] = [*(data["serve"]["args"] or ()), *args]
    try:
        frozen = load(written(tmp_path, data, recipe)).frozen
    except (SpecError, UsageError):
        return      # refused before any rule
    new = [each for each in judge(frozen) if (each.rule.id, each.text) not in before]
    assert [each for each in new if each.outcome in ("reject", "warn")], "nothing was said"
