"""What is asked: timed prompts, filler of a given size, canaries. Every prompt begins with a nonce, since a repeated
prefix comes from the engine's cache: a TTFT of 26.7 ms fell to 2.3 ms that way (measured with llama.cpp)."""

from __future__ import annotations

import random
import secrets

from ..recipes.frozen import Canary

__all__ = ["CANARIES", "NEEDLE", "TIMED", "filler", "needle", "nonce", "prompt"]

#: Asks for far more than a thousand tokens of prose; what is legitimately repetitive (tables, code) is not asked for.
TIMED = ("Explain at length, step by step and in plain words, how a server with several GPUs is made ready for "
         "inference.")

#: Greedy, short, one right answer, and long enough for a model that thinks aloud first. ``context`` is scaled.
CANARIES = (
    Canary("What is 17 + 25? Answer with the number only.", "42", 256),
    Canary("What is the capital of France? Answer with one word.", "Paris", 256),
    Canary("Repeat this word exactly, and nothing else: chrysanthemum", "chrysanthemum", 256),
    Canary("What is the capital of Japan? Answer with one word.", "Tokyo", 256, 8192),
)

_WORDS = (
    "river", "table", "window", "garden", "letter", "market", "winter", "summer", "bridge", "island", "forest",
    "kitchen", "paper", "silver", "yellow", "morning", "evening", "village", "teacher", "doctor", "engine",
    "ticket", "basket", "candle", "mirror", "pocket", "ribbon", "saddle", "tunnel", "valley", "wagon", "anchor",
    "barrel", "copper", "dollar", "feather", "hammer", "jacket", "ladder", "needle", "orange", "pencil", "rabbit",
    "shadow", "temple", "velvet", "whistle", "zebra",
)


#: Two numbers, one before and one in the middle of a long prompt: a prompt that was cut lacks one of them.
NEEDLE = ("What is the code of the red door, and what is the code of the blue door? Answer with these two numbers "
          "only, the red one first.")


def needle(words: int, fresh: str | None = None) -> tuple[str, str]:
    """Return a prompt of about ``words`` words of filler, and the two numbers in it with a blank between."""
    mark = fresh or nonce()
    chosen = random.Random(f"needle {mark}")
    red, blue = chosen.randrange(10000, 99999), chosen.randrange(10000, 99999)
    half = words // 2
    return (f"[{mark}] The code of the red door is {red}. {filler(mark, half)}. The code of the blue door is {blue}. "
            f"{filler(mark[::-1], words - half)}.\n\n{NEEDLE}"), f"{red} {blue}"


def nonce() -> str:
    """Return 16 hexadecimal digits at random, which no earlier prompt held."""
    return secrets.token_hex(8)


def filler(seed: str, words: int) -> str:
    """Return ``words`` common words in an order that only ``seed`` decides."""
    chosen = random.Random(seed)
    return " ".join(chosen.choice(_WORDS) for _ in range(words))


def prompt(text: str, words: int = 0, fresh: str | None = None) -> str:
    """Return a nonce, then filler, then the question. What comes first differs, so nothing of it can be cached."""
    mark = fresh or nonce()
    return f"[{mark}] {filler(mark, words)}\n\n{text}" if words else f"[{mark}] {text}"
