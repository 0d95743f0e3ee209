"""What the acceptance of a served model can say: every check of it, and its codes with what each means.

The order of the checks is the order in which they decide. A code names what a check says and never changes its meaning,
as in rules/codes.py."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["CODES", "OK"]

#: The plain pass, as in rules/codes.py.
OK = "ok"

CODES: Mapping[str, Mapping[str, str]] = {
    "answers": {
        OK: "Every request was answered to its end.",
        "not-answered": "A request was not answered to its end.",
        "other-finish-reason": "Answers ended by a finish_reason that is neither length nor stop.",
    },
    "usage": {
        OK: "Tokens are counted by the engine's own usage.",
        "no-usage": "A stream carried no usage, so its tokens cannot be counted.",
        "usage-falls": "The usage within one stream grew smaller, so it is not cumulative.",
        "characters-counted": "The file counts characters and calls a quarter of them tokens.",
        "gauge": "The figure is a gauge of the server at one moment, not a count over the wall time.",
        "counting-unknown": "How the tokens of the file were counted is not known.",
        "claimed": "The file says that its tokens are the server's usage, and nothing in it witnesses that.",
        "server-disagrees": "The server's own counter says another rate than the usage in the file.",
        "client-tokenizer": "The tokens were counted by the client's own tokenizer.",
        "asked-not-delivered": "The tokens may be those that were asked for, not those that were delivered.",
        "counted-in-engine": "The tokens were counted inside the engine, not at a client.",
        "contradiction": "The figures of the file contradict each other.",
    },
    "tokens-text": {
        OK: "The text has as many characters for each token as real vocabularies have.",
        "no-text": "Usage claims tokens, and no character was delivered.",
        "implausible-length": "The text has more or fewer characters for each token than any real vocabulary.",
    },
    "tokens-asked": {
        OK: "No answer has more tokens than were asked for, and none ended at its limit with fewer.",
        "more-than-asked": "Usage claims more tokens than were asked for.",
        "fewer-than-limit": "An answer ended at its limit of tokens, and usage claims fewer tokens than the limit.",
        "ended-early": "The model ended a timed answer by itself, so it is too short for a speed.",
    },
    "tokens-witness": {
        OK: "Usage agrees with a second witness of how many tokens there were.",
        "witness-disagrees": "A second witness of how many tokens there were contradicts usage.",
        "no-witness": "Nothing but its own usage says how many tokens the server generated.",
    },
    "tokens-server": {
        OK: "The server's own counter grew by the tokens of usage.",
        "no-counter": "The server has no counter of tokens to compare with.",
        "ended-early": "The acceptance ended early, so the server's counter is not compared.",
        "counter-higher": "The server's counter grew by more tokens than usage claims.",
        "counter-lower": "The server's counter grew by fewer tokens than usage claims.",
    },
    "prompt-size": {
        OK: "The prompts had as many tokens as was asked.",
        "tokenizer-differs": "Usage counts another number of prompt tokens than the server's own tokenizer.",
        "not-counted": "Usage does not count prompt tokens, so the size of the prompts is not known.",
        "prompt-cut": "A prompt had fewer tokens than it was made for.",
        "prompt-longer": "A prompt had more tokens than it was made for.",
    },
    "prompt-cache": {
        OK: "No prompt came from the cache, beyond what the template of every prompt shares.",
        "not-reported": "The server does not say how much of a prompt it had cached.",
        "from-cache": "Prompt tokens came from the cache, so the time to the first token means nothing.",
    },
    "needle": {
        OK: "The numbers in long prompts were found.",
        "short-not-found": "The model does not find the numbers in a short prompt either.",
        "not-found": "A number in a long prompt was not found, and the model finds it in a short one.",
    },
    "canary": {
        OK: "Every question with a known answer was answered right.",
        "no-text": "No request brought any text, so no answer could be judged.",
        "wrong-answer": "A question with a known answer was answered wrong.",
        "not-in-file": "A published file holds no question with a known answer.",
        "none-asked": "No question with a known answer was asked.",
    },
    "output": {
        OK: "The texts look like those of a healthy model.",
        "garbage": "A text is garbage: a healthy model does not write it.",
        "one-answer-to-all": "Different questions got the same answer.",
        "loop": "Much of a text stood in it before.",
    },
    "repeatable": {
        OK: "The same question, asked greedily, got the same answer.",
        "answers-differ": "The same question, asked greedily, got two answers that have nothing in common.",
    },
    "logprobs": {
        OK: "The logprobs are finite, differ, and are those of likely tokens.",
        "no-logprobs": "The server gave no logprobs.",
        "implausible": "The logprobs are not finite, are all alike, or are those of unlikely tokens.",
    },
    "model-name": {
        OK: "The answers name the model that was asked for.",
        "other-model": "The answers name another model than the one that was asked for.",
    },
    "delivery": {
        OK: "The text came as it was generated.",
        "events-not-counted": "The text came as it was generated, and the document holds no count of events.",
        "burst": "The text came in a burst at the end, so only the wall time counts.",
    },
    "speed": {
        OK: "One stream is as fast as expected.",
        "not-counted": "No run was counted, so there is no figure.",
        "no-figure-expected": "One stream was measured, and the recipe expects no figure of it.",
        "too-slow": "One stream is slower than expected.",
        "too-fast": "One stream is faster than expected, which needs an explanation.",
    },
    "spread": {
        OK: "The runs are as close together as the recipe asks.",
        "no-limit": "The recipe gives no limit for how far apart the runs may be.",
        "too-wide": "The runs are farther apart than the recipe allows.",
    },
    "ttft": {
        OK: "The first token came within the expected time.",
        "no-figure-expected": "The first token was timed, and the recipe has no figure for these prompt sizes.",
        "too-late": "The first token came later than expected.",
        "left-out": "The time to the first token was not measured.",
    },
    "concurrency": {
        OK: "Several streams at once are together as fast as expected.",
        "not-asked": "The recipe expects a figure of many streams at once, and none were asked for.",
        "no-figure-expected": "Several streams at once were measured, and the recipe expects no figure of them.",
        "too-slow": "Several streams at once are together slower than expected.",
    },
    "load": {
        OK: "Nearly all requests of a load were answered within the given limits.",
        "no-limits": "A load was measured, and no limits are given.",
        "requests-failed": "Requests of a load failed, or there was none.",
        "server-behind": "The server does not keep up: requests piled up.",
        "outside-limits": "Too many requests of a load were answered later than the given limits.",
        "nvml-silent": "NVML did not always answer during a load, so the clocks of that time are not known.",
        "gpu-missing": "A GPU was not always there during a load, so its clocks of that time are not known.",
        "gpu-slowed-down": "A GPU was slowed down by heat or its power supply during a load.",
    },
}
