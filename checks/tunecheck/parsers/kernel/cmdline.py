"""The kernel command line as a list of tokens.

The kernel splits at white space outside double quotes (lib/cmdline.c: next_arg()) and calls the ``pci=`` parser
once for every ``pci=`` token and every comma-separated word in it (drivers/pci/pci.c: pci_setup()): repeated
tokens add up. Ownership is therefore judged by *word*, never by comparing whole lines.
"""

from __future__ import annotations

__all__ = ["COMMAND_LINE_SIZE", "CONFIRM_KEY", "INITRD_KEY", "KEXEC_KEY", "TRIAL_KEY", "acts", "by_kexec",
           "confirm_token", "count", "merge", "missing", "panic_token", "present", "tokenize", "trial_id",
           "trial_parameters", "trial_token", "without_trial", "words"]

#: x86 kernels cut the line here without a word (arch/x86/include/asm/setup.h).
COMMAND_LINE_SIZE = 2048

#: Marks a trial boot. A dotted name is taken for a module parameter, so the kernel neither complains about it
#: nor hands it to init.
TRIAL_KEY = "tunecheck.trial"
#: After how many seconds a trial boot that nobody committed returns to the old entry (tunecheck-trial.service).
CONFIRM_KEY = "tunecheck.confirm"
#: Names the initramfs of its own that a trial entry loads; only where it has one. Not "...initrd": the kernel's EFI
#: stub takes "initrd=" anywhere in the line for a file that it has to load, and does not start without it.
INITRD_KEY = "tunecheck.initramfs"
#: Says that a trial was started by kexec. It stands behind the mark.
KEXEC_KEY = "tunecheck.kexec"
#: Parameters that a trial entry has behind its mark (playbooks/module_utils/trial_hang.py).
_TRIAL_ONLY = frozenset({CONFIRM_KEY, KEXEC_KEY, "panic", "softlockup_panic", "hung_task_panic", "nmi_watchdog",
                         "systemd.crash_reboot", "systemd.watchdog_sec", "rd.shell", "rd.emergency",
                         "rd.timeout"})


def tokenize(line: str) -> list[str]:
    """Split a kernel command line into tokens as the kernel does; double quotes stay part of the token."""
    tokens: list[str] = []
    current = ""
    quoted = False
    for char in line:
        if char == '"':
            quoted = not quoted
        if char.isspace() and not quoted:
            if current:
                tokens.append(current)
            current = ""
        else:
            current += char
    if current:
        tokens.append(current)
    return tokens


def words(tokens: list[str] | tuple[str, ...]) -> list[str]:
    """Break ``pci=a,b`` into ``pci=a`` and ``pci=b``; every other token stays whole. Order and first use kept."""
    result: list[str] = []
    for token in tokens:
        if token.startswith("pci="):
            parts = ["pci=" + word for word in token[len("pci="):].split(",") if word]
        else:
            parts = [token]
        result.extend(part for part in parts if part not in result)
    return result


def merge(tokens: list[str] | tuple[str, ...]) -> list[str]:
    """Return the same words with all ``pci=`` words joined in one token, where the first of them stood."""
    result: list[str] = []
    pci: list[str] = []
    for word in words(tokens):
        if not word.startswith("pci="):
            result.append(word)
            continue
        if not pci:
            result.append("pci=")
        pci.append(word[len("pci="):])
    return ["pci=" + ",".join(pci) if token == "pci=" else token for token in result]


def missing(wanted: list[str] | tuple[str, ...], running: list[str] | tuple[str, ...]) -> list[str]:
    """Return the words of ``wanted`` that ``running`` lacks, in order."""
    have = set(words(running))
    return [word for word in words(wanted) if word not in have]


def acts(word: str, running: list[str] | tuple[str, ...]) -> bool:
    """Return whether ``running`` has ``word`` and no later token gives the same parameter another value. The words of
    ``pci=`` are parameters of their own."""
    line = [part for token in running for part in words([token])]
    if word not in line:
        return False
    behind = line[len(line) - line[::-1].index(word):]
    name = _parameter(word)
    return "=" not in word or all(_parameter(each) != name for each in behind)


def _parameter(word: str) -> str:
    return "=".join(word.split("=")[:2 if word.startswith("pci=") else 1])


def present(unwanted: list[str] | tuple[str, ...], running: list[str] | tuple[str, ...]) -> list[str]:
    """Return the words of ``unwanted`` that ``running`` has, in order."""
    have = set(words(running))
    return [word for word in words(unwanted) if word in have]


def count(word: str, tokens: list[str] | tuple[str, ...]) -> int:
    """Return how often ``tokens`` set ``word``, counting every word of every ``pci=`` token."""
    return sum(words([token]).count(word) for token in tokens)


def trial_id(running: list[str] | tuple[str, ...]) -> str | None:
    """Return the id of the trial that this command line boots, or None for an ordinary boot."""
    for token in running:
        key, _, value = token.partition("=")
        if key == TRIAL_KEY and value:
            return value
    return None


def by_kexec(running: list[str] | tuple[str, ...]) -> bool:
    """Return whether this command line is of a trial that was started by kexec: no firmware and no boot loader ran."""
    return trial_id(running) is not None and any(token.startswith(KEXEC_KEY + "=") for token in running)


def trial_token(trial: str) -> str:
    """Return the token that marks a boot as trial ``trial``."""
    return TRIAL_KEY + "=" + trial


def confirm_token(seconds: int) -> str:
    """Return the token that ends a trial boot ``seconds`` after its start unless it is committed."""
    return CONFIRM_KEY + "=%d" % seconds


def without_trial(tokens: list[str] | tuple[str, ...]) -> list[str]:
    """Return ``tokens`` without those that only a trial boot has: its mark, its parameters, and behind them what ends a
    hang."""
    marks = [at for at, token in enumerate(tokens) if token.startswith(TRIAL_KEY + "=")]
    if not marks:
        return list(tokens)
    behind = tokens[marks[0] + 1 + len(trial_parameters(tokens)):]
    return [*tokens[:marks[0]], *(token for token in behind if token.partition("=")[0] not in _TRIAL_ONLY)]


def trial_parameters(tokens: list[str] | tuple[str, ...]) -> list[str]:
    """Return the module parameters that a trial's command line carries between the mark and the deadline. They are
    committed elsewhere. The list is empty where there is no mark or no deadline behind it."""
    names = [token.partition("=")[0] for token in tokens]
    if TRIAL_KEY not in names or CONFIRM_KEY not in names[names.index(TRIAL_KEY):]:
        return []
    begin = names.index(TRIAL_KEY) + 1
    return list(tokens[begin:names.index(CONFIRM_KEY, begin)])


def panic_token(seconds: int) -> str:
    """Return the token that makes a panicking kernel reboot after ``seconds``. The last ``panic=`` on the line wins."""
    return "panic=%d" % seconds
