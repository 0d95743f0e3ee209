"""aiperf against a server, as a step of ours: what it asked, and when it saw what. Tokens are counted by a tokenizer
that makes one token of each word, which the answers of lab/paced_server.py are made of."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from tunecheck.serving.load import Answer, Step
from tunecheck.serving.prompts import TIMED, prompt

__all__ = ["run"]

_WORDS = {
    "tokenizer.json": {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"}, "post_processor": None, "decoder": None,
        "model": {"type": "WordLevel", "vocab": {"[UNK]": 0, "word": 1}, "unk_token": "[UNK]"}},
    "tokenizer_config.json": {"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "[UNK]"},
}


def run(program: str, base: str, model: str, like: Step, tokens: int) -> tuple[dict[str, Any], Step]:
    """Its own figures (profile_export_aiperf.json), and its requests as a step like ours."""
    with tempfile.TemporaryDirectory() as held:
        folder = Path(held)
        for name, content in _WORDS.items():
            (folder / name).write_text(json.dumps(content))
        (folder / "p.jsonl").write_text((json.dumps({"text": prompt(TIMED)}) + "\n") * 8)
        load = ["--concurrency", f"{like.level:g}"] if like.mode == "closed" else [
            "--request-rate", f"{like.level:g}", "--arrival-pattern", "constant"]
        subprocess.run([program, "profile", "-m", model, "--url", base, "--endpoint-type", "chat", "--streaming",
                        *load, "--benchmark-duration", f"{like.seconds:g}", "--tokenizer", str(folder),
                        "--input-file", str(folder / "p.jsonl"), "--custom-dataset-type", "single_turn",
                        "--extra-inputs", f"max_tokens:{tokens}", "--artifact-dir", str(folder / "out"),
                        "--ui", "none"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)
        found: dict[str, Any] = json.loads((folder / "out/profile_export_aiperf.json").read_text())
        rows = [json.loads(line) for line in (folder / "out/profile_export.jsonl").read_text().splitlines()]
    begun = min(each["metadata"]["request_start_ns"] for each in rows)
    return found, Step(like.mode, like.level, like.seconds, tuple(_answer(each, begun) for each in rows))


def _answer(row: dict[str, Any], begun: int) -> Answer:
    sent, seen = (row["metadata"]["request_start_ns"] - begun) / 1e9, row["metrics"]

    def after(name: str) -> float:
        return sent + float(seen[name]["value"]) / 1000

    return Answer(sent, sent, after("time_to_first_token"), after("request_latency"),
                  int(seen["output_sequence_length"]["value"]), error=str(row.get("error") or ""))
