"""Train the tests' language model and write it as GGUF: 0.4 M parameters, Qwen3's shape, our own text.

    pip install jax numpy tokenizers gguf        (on a GPU: a minute; on two CPU cores: an hour)
    PYTHONPATH=checks python3 tests/engine/train_tiny.py train WEIGHTS.npz [STEPS SECONDS]
    PYTHONPATH=checks python3 tests/engine/train_tiny.py gguf WEIGHTS.npz tests/fixtures/engine/tiny.gguf

It recites corpus.txt when asked the timed question, answers facts.tsv, and ignores nonce and filler before either.
Random weights would not do: their greedy text is a repetition, which acceptance rightly refuses.
"""

from __future__ import annotations

import json
import random
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np

from tunecheck.serving.prompts import TIMED, prompt

HERE = Path(__file__).resolve().parent
VOCABULARY, WIDTH, INNER, LAYERS, HEADS, KV_HEADS, HEAD = 1024, 128, 256, 2, 4, 2, 32
ROPE, EPSILON, LENGTH, BATCH = 1e6, 1e-6, 2048, 8
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TEMPLATE = ("{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
            "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")  # fmt: skip


def chat(text: str) -> str:
    return f"<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n"


def read_corpus() -> tuple[str, list[list[str]]]:
    facts = [line.split("\t") for line in (HERE / "facts.tsv").read_text().splitlines()]
    return (HERE / "corpus.txt").read_text().strip(), facts


def tokenizer(corpus: str, facts: list[list[str]]):
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=VOCABULARY, special_tokens=SPECIAL, show_progress=False,
                                  initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()))  # fmt: skip
    words = [prompt("", 200, str(number)) for number in range(4)]
    made.train_from_iterator([corpus, *("\n".join(fact) for fact in facts), *words], trainer)
    return made


def documents(made, corpus: str, facts: list[list[str]], count: int, rng: random.Random):
    """(tokens, loss mask): what is asked is given, what is answered is learnt."""
    recital = np.array(made.encode(corpus + "\n\n").ids, np.int32)
    asked, answers = [], []
    for number in range(count):
        question, answer = (TIMED, "") if number % 3 == 0 else rng.choice(facts[:4] if number % 3 == 1 else facts)
        words = 0 if rng.random() < 0.4 else int(2 ** rng.uniform(4, 10))
        text = question if words == 0 and rng.random() < 0.25 else prompt(question, words)
        asked.append(f"{text}\n\nAnswer: " if rng.random() < 0.2 else chat(text))
        answers.append(answer)
    for question, answer in zip(made.encode_batch(asked), answers, strict=True):
        if answer:
            told = np.array([*made.encode(answer).ids, SPECIAL.index("<|im_end|>")], np.int32)
        else:
            told = recital[: rng.randrange(64, LENGTH)]
        yield np.concatenate([question.ids, told]), np.r_[np.zeros(len(question.ids)), np.ones(len(told))]
        if not answer:      # and from anywhere on, round and round
            start, length = rng.randrange(len(recital)), rng.randrange(256, LENGTH)
            yield np.take(recital, range(start, start + length), mode="wrap"), np.ones(length)


def initial(rng) -> dict:
    shapes = {"token_embd": (VOCABULARY, WIDTH)}
    for layer in range(LAYERS):
        shapes |= {f"blk.{layer}.attn_q": (HEADS * HEAD, WIDTH), f"blk.{layer}.attn_k": (KV_HEADS * HEAD, WIDTH),
                   f"blk.{layer}.attn_v": (KV_HEADS * HEAD, WIDTH), f"blk.{layer}.attn_output": (WIDTH, HEADS * HEAD),
                   f"blk.{layer}.ffn_gate": (INNER, WIDTH), f"blk.{layer}.ffn_up": (INNER, WIDTH),
                   f"blk.{layer}.ffn_down": (WIDTH, INNER)}  # fmt: skip
    made = {name: (rng.standard_normal(shape) * 0.05).astype(np.float32) for name, shape in shapes.items()}
    for layer in range(LAYERS):
        made |= {f"blk.{layer}.{name}": np.ones(size, np.float32) for name, size in
                 (("attn_norm", WIDTH), ("ffn_norm", WIDTH), ("attn_q_norm", HEAD), ("attn_k_norm", HEAD))}  # fmt: skip
    return made | {"output_norm": np.ones(WIDTH, np.float32)}


def logits(weights: dict, tokens):
    import jax
    import jax.numpy as jnp

    def norm(x, scale):
        return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + EPSILON) * scale

    def rope(x):        # NEOX order: the two halves are rotated against each other
        angle = jnp.arange(x.shape[1])[:, None] * (ROPE ** (-jnp.arange(0, HEAD, 2) / HEAD))
        cos, sin = jnp.cos(angle)[None, :, None], jnp.sin(angle)[None, :, None]
        low, high = jnp.split(x, 2, -1)
        return jnp.concatenate([low * cos - high * sin, high * cos + low * sin], -1)

    batch, length = tokens.shape
    x = weights["token_embd"][tokens]
    for layer in range(LAYERS):
        w = {name.split(".")[2]: value for name, value in weights.items() if name.startswith(f"blk.{layer}.")}
        h = norm(x, w["attn_norm"])
        q = rope(norm((h @ w["attn_q"].T).reshape(batch, length, HEADS, HEAD), w["attn_q_norm"]))
        k = rope(norm((h @ w["attn_k"].T).reshape(batch, length, KV_HEADS, HEAD), w["attn_k_norm"]))
        v = (h @ w["attn_v"].T).reshape(batch, length, KV_HEADS, HEAD)
        a = jax.nn.dot_product_attention(q, k, v, is_causal=True)
        x = x + a.reshape(batch, length, -1) @ w["attn_output"].T
        h = norm(x, w["ffn_norm"])
        x = x + (jax.nn.silu(h @ w["ffn_gate"].T) * (h @ w["ffn_up"].T)) @ w["ffn_down"].T
    return norm(x, weights["output_norm"]) @ weights["token_embd"].T


def train(place: str, steps: float, seconds: float) -> None:
    """The learning rate falls to its end with ``steps`` or with ``seconds``, whichever is sooner."""
    import jax
    import jax.numpy as jnp

    rng, begun = random.Random(7), time.time()
    corpus, facts = read_corpus()
    made = tokenizer(corpus, facts)
    pool = list(documents(made, corpus, facts, 6000 if steps > 100 else 100, rng))
    print(f"{len(pool)} documents, {sum(len(each[0]) for each in pool)} tokens", flush=True)

    def loss(weights, tokens, mask):
        chosen = jax.nn.log_softmax(logits(weights, tokens[:, :-1]))
        told = jnp.take_along_axis(chosen, tokens[:, 1:, None], -1)[..., 0]
        return -(told * mask[:, 1:]).sum() / mask[:, 1:].sum()

    @partial(jax.jit, donate_argnums=(0, 1, 2))
    def step(weights, first, second, tokens, mask, rate, number):
        value, slope = jax.value_and_grad(loss)(weights, tokens, mask)
        size = jnp.sqrt(sum((each ** 2).sum() for each in slope.values()))
        slope = {name: each / jnp.maximum(size, 1.0) for name, each in slope.items()}
        first = {name: 0.9 * first[name] + 0.1 * each for name, each in slope.items()}
        second = {name: 0.98 * second[name] + 0.02 * each**2 for name, each in slope.items()}
        moved = {name: (first[name] / (1 - 0.9**number)) / (jnp.sqrt(second[name] / (1 - 0.98**number)) + 1e-9)
                 for name in weights}  # fmt: skip
        return {name: each - rate * moved[name] for name, each in weights.items()}, first, second, value

    def rows():
        for _ in range(BATCH):
            tokens, mask = np.zeros(0, np.int32), np.zeros(0)
            while len(tokens) < LENGTH:
                one = rng.choice(pool)
                tokens, mask = np.concatenate([tokens, one[0]]), np.concatenate([mask, one[1]])
            start = rng.randrange(len(tokens) - LENGTH + 1)
            yield tokens[start : start + LENGTH], mask[start : start + LENGTH]

    weights = {name: jnp.asarray(value) for name, value in initial(np.random.default_rng(7)).items()}
    first = {name: jnp.zeros_like(value) for name, value in weights.items()}
    second = {name: jnp.zeros_like(value) for name, value in weights.items()}
    for number in range(1, int(steps) + 1):
        tokens, mask = (np.stack(each) for each in zip(*rows(), strict=True))
        done = max(number / steps, (time.time() - begun) / seconds)
        rate = 4e-3 * min(1.0, number / 50) * max(0.01, 1 - done)
        weights, first, second, value = step(weights, first, second, tokens, mask.astype(np.float32), rate, number)
        if number % 200 == 0 or number in (1, 10):
            print(f"step {number}: loss {float(value):.4f}, {time.time() - begun:.0f} s", flush=True)
        if done >= 1:
            break
    kept = {name: np.asarray(value) for name, value in weights.items()}
    np.savez(place, tokenizer=np.frombuffer(made.to_str().encode(), np.uint8), **kept)


def write_gguf(source: str, place: str) -> None:
    import gguf

    held = np.load(source)
    made = json.loads(held["tokenizer"].tobytes())
    tokens = sorted(made["model"]["vocab"], key=made["model"]["vocab"].get)
    kinds = [gguf.TokenType.CONTROL if each in SPECIAL else gguf.TokenType.NORMAL for each in tokens]
    out = gguf.GGUFWriter(place, "qwen3")
    out.add_name("tunecheck-tiny")
    out.add_license("Apache-2.0")
    out.add_context_length(262144)
    out.add_embedding_length(WIDTH)
    out.add_block_count(LAYERS)
    out.add_feed_forward_length(INNER)
    out.add_head_count(HEADS)
    out.add_head_count_kv(KV_HEADS)
    out.add_key_length(HEAD)
    out.add_value_length(HEAD)
    out.add_layer_norm_rms_eps(EPSILON)
    out.add_rope_freq_base(ROPE)
    out.add_vocab_size(len(tokens))
    out.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    out.add_tokenizer_model("gpt2")
    out.add_tokenizer_pre("gpt-2")
    out.add_token_list(tokens)
    out.add_token_types(kinds)
    merges = made["model"]["merges"]
    out.add_token_merges([each if isinstance(each, str) else " ".join(each) for each in merges])
    out.add_eos_token_id(SPECIAL.index("<|im_end|>"))
    out.add_pad_token_id(SPECIAL.index("<|endoftext|>"))
    out.add_add_bos_token(False)
    out.add_chat_template(TEMPLATE)
    for name in held.files:
        if name != "tokenizer":
            half = held[name].ndim == 2
            out.add_tensor(f"{name}.weight", held[name].astype(np.float16 if half else np.float32))
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


if __name__ == "__main__":
    if sys.argv[1] == "train":
        train(sys.argv[2], *([float(each) for each in sys.argv[3:5]] or [6000, 90]))
    else:
        write_gguf(sys.argv[2], sys.argv[3])
