"""Delete parts of evidence and look whether a verdict gets better: the generator behind test_deletions.py and
lab/bench/deletions.py.

What is deleted: a file, a section (a device, a capability, a GPU), a line, every line with one word (``grep -v``), all
but some lines (``grep``, ``lspci -d``), a run of lines, the end or the beginning, the right side of the lines, a cell
of a table; of a recording an answer, a part of NVML's document, the bytes behind a configuration space's first 64 or
256. One deletion, or two; before them faults are planted.

What is an improvement: a check, or what it says of one device, that was fail, warn or unknown and is pass afterwards.
A skip counts as one too where its code says that something is not there (no switch above an accelerator): SKIPS
lists the codes that say "not judged" or "not to be told from this" instead, and no more than that.

What is not deleted: one line out of the middle of a kernel log, and the end of a kernel command line. Nothing tells
that it is missing, so no reader could know; a log's beginning, its end and every whole file are deleted. Of a
recording's kernel log, which tunecheck read itself and to its end, the whole is deleted.
"""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tunecheck.errors import UsageError
from tunecheck.facts.snapshot import Snapshot, gather
from tunecheck.host import Completed
from tunecheck.host.answers import Answers
from tunecheck.host.imported.machine import load_import
from tunecheck.model.absence import Absence
from tunecheck.model.finding import Finding
from tunecheck.rules import codes, judge
from tunecheck.rules.context import Case
from tunecheck.spec.frozen import Frozen

__all__ = ["Base", "Change", "Outcomes", "deleted", "improved", "outcomes", "planted", "snapshot_of"]

Texts = dict[str, str]
Outcomes = dict[tuple[str, str], str]
#: Beside the outcomes: the bridges that are listed, and the root port above each accelerator.
_LISTED, _PORT = "listed", "root port above"
_ORDER = ("fail", "unknown", "warn", "pass", "skip")
_BAD = ("fail", "warn", "unknown")
_BDF = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_GPU = re.compile(r"\bGPU(\d+)\b")
_DEVICE = re.compile(r"(?m)^(?=(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] )")
_SMI_GPU = re.compile(r"(?m)^(?=GPU [0-9A-Fa-f]{8}:)")

#: Skips that claim nothing, by check and code: it was not judged, or it cannot be told from what is here.
SKIPS = {
    ("link-speed", "idle"), ("link-speed", "load-unread"),                              # a trial judges it, under load
    ("link-errors", "nothing-latched"),                                                 # a state and no count
    ("link-errors", "corrected-since-boot"), ("link-errors", "not-counted"),
    ("topo-agreement", "no-table"), ("topo-agreement", codes.NO_DRIVER),                # nothing to compare with
}
#: The same where no specification is given.
_WITHOUT_SPEC = {("acs-persistence", "not-set-by-kernel"), *((check, codes.NOT_DECLARED) for check in (
    "cmdline-conflict", "cmdline-rejected", "cmdline-token", "cpu-governor", "driver-version", "gpu-clocks",
    "iommu-mode", "module-parameter", "smt", "topo-relation"))}

#: Skips of a machine with fewer boards. A root port that is gone with everything below it leaves the whole listing of a
#: smaller machine, which nobody can tell from one; they count where the evidence itself shows that a device is missing.
SMALLER = (codes.NO_ACCELERATOR, codes.NO_GPU, codes.NO_PAIR, codes.NO_PORT, "no-gpu-pair", "no-gpu-wanted",
           "no-nvswitch", "no-port-above", "no-switch", "not-comparable")


@dataclass(frozen=True)
class Base:
    """Evidence to delete from: the texts of a folder, or a recording; ``spec``: what it is judged against."""

    name: str
    texts: Texts = field(default_factory=dict)
    answers: Answers | None = None
    spec: Frozen | None = None


@dataclass(frozen=True)
class Change:
    """What was done, in words, and what is left."""

    words: str
    left: Base


def snapshot_of(base: Base, folder: Path) -> Snapshot | None:
    """What the evidence tells, its texts put into ``folder``. None where nothing is left that can be judged."""
    spec = base.spec.spec if base.spec else None
    if base.answers is not None:
        return gather(base.answers.host(), spec, True)
    for old in folder.iterdir():
        old.unlink()
    for name, text in base.texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    try:
        host = load_import(str(folder))
    except UsageError:
        return None
    return gather(host, spec, True)


def outcomes(base: Base, folder: Path, verb: str = "preflight") -> Outcomes | None:
    """The worst outcome by (check, subject): an address, or the words of a subject without one, and "" for the whole
    check. None where nothing is left that can be judged."""
    snapshot = snapshot_of(base, folder)
    if snapshot is None:
        return None
    found: Outcomes = {(_LISTED, bdf): "" for bdf in snapshot.topology.bridges}
    found.update({(_PORT, gpu.bdf): gpu.path[0] for gpu in snapshot.topology.devices if len(gpu.path) > 1})
    for each in judge(Case(snapshot, base.spec), verb):
        outcome = each.outcome
        if outcome == "skip" and (_claims_nothing(each, base) or (
                not snapshot.topology.doubt and _is_smaller(each, snapshot))):
            outcome = "not judged"
        for key in {(each.id, ""), *((each.id, subject) for subject in _subjects(each, snapshot))}:
            if _rank(outcome) < _rank(found.get(key, "")):
                found[key] = outcome
    return found


def _claims_nothing(skip: Finding, base: Base) -> bool:
    """Also what only the machine itself can tell, and what a recording of another verb than `record` does not hold."""
    return (skip.id, skip.code) in SKIPS or (base.spec is None and (skip.id, skip.code) in _WITHOUT_SPEC) or (
        skip.absence is Absence.ONLY_ON_HOST) or (skip.absence is Absence.NOT_RECORDED and base.answers is not None
                                                  and base.answers.verb not in (None, "record"))


def _is_smaller(skip: Finding, snapshot: Snapshot) -> bool:
    return skip.code in SMALLER or (skip.id, skip.code) == ("fabric-manager", "not-needed") or (
        # Its driver has fewer than two of the boards.
        (skip.id, skip.code) == ("p2p-capability", codes.NO_DRIVER) and snapshot.p2p.absence is Absence.NO_BOARDS)


def _rank(outcome: str) -> int:
    return (*_ORDER, "not judged", "").index(outcome)


def _subjects(finding: Finding, snapshot: Snapshot) -> Iterable[str]:
    devices = snapshot.topology.devices

    def named(found: re.Match[str]) -> str:
        return devices[int(found[1])].bdf if int(found[1]) < len(devices) else found[0]

    text = _GPU.sub(named, finding.subject)
    return set(_BDF.findall(text)) or {text}


def improved(before: Outcomes, after: Outcomes) -> list[str]:
    """Every check or device whose verdict became better by a deletion, in words."""
    found = []
    for key, was in before.items():
        now = after.get(key, "")
        if was in _BAD and now in ("pass", "skip") and not _left(key, before, after):
            found.append(f"{key[0]} {key[1]}: {was} -> {now}".replace(" :", ":"))
    return found


def _left(key: tuple[str, str], before: Outcomes, after: Outcomes) -> bool:
    """Whether a check got better because the devices that it was about are not in the evidence any more, which
    accelerator-count then has to say: nothing else is asked of what is said about the devices that are left. It need
    not where their root ports are gone as well: see SMALLER."""
    bad = [subject for check, subject in before if check == key[0] and subject and before[check, subject] in _BAD]
    if key[1] or not bad or not all(_BDF.fullmatch(subject) and (key[0], subject) not in after for subject in bad):
        return False
    return after.get(("accelerator-count", "")) in ("unknown", "fail") or all(
        _gone_with_its_port(subject, before, after) for subject in bad)


def _gone_with_its_port(subject: str, before: Outcomes, after: Outcomes) -> bool:
    """The device with the root port above it; or this root port, with every accelerator below it."""
    below = [bdf for (kind, bdf), port in before.items() if kind == _PORT and port == subject]
    if below:
        return (_LISTED, subject) not in after and not any((_PORT, bdf) in after for bdf in below)
    port = before.get((_PORT, subject), "")
    return bool(port) and (_LISTED, port) not in after


# --- deletions ---------------------------------------------------------------------------------------------------

def deleted(base: Base, chance: random.Random) -> Change:
    """One deletion, or in a third of all cases two."""
    change = _once(base, chance)
    if chance.random() < 0.34:
        again = _once(change.left, chance)
        change = Change(f"{change.words}; {again.words}", again.left)
    return change


def _once(base: Base, chance: random.Random) -> Change:
    if base.answers is not None:
        words, answers = _of_answers(base.answers, chance)
        return Change(words, Base(base.name, {}, answers, base.spec))
    if not base.texts:
        return Change("nothing", base)
    names = sorted(base.texts)
    # A long text has more parts; half of all deletions fall into lspci where there is one.
    name = chance.choice([each for each in names if "lspci" in each] or names) if chance.random() < 0.5 else \
        chance.choice(names)
    text = base.texts[name]
    if len(names) > 1 and chance.random() < 0.06:
        return Change(f"file {name}", Base(base.name, {each: base.texts[each] for each in names if each != name},
                                           None, base.spec))
    kinds = _LOG if _is_log(name) else _LSPCI if "lspci" in name else _SMI if "smi" in name and "topo" not in name \
        else _TABLE if "topo" in name else _WORDS if "cmdline" in name else _PLAIN
    kind = chance.choice(kinds)
    words, text = kind(text, chance)
    return Change(f"{name}: {words}", Base(base.name, {**base.texts, name: text}, None, base.spec))


def _is_log(name: str) -> bool:
    return any(word in name for word in ("dmesg", "journal", "kern"))


def _line(text: str, chance: random.Random) -> tuple[str, str]:
    lines = text.splitlines(keepends=True)
    if not lines:
        return "nothing", text
    at = chance.randrange(len(lines))
    return f"line {at + 1} {lines[at].strip()[:60]!r}", "".join(lines[:at] + lines[at + 1:])


def _grep_v(text: str, chance: random.Random) -> tuple[str, str]:
    """Every line that begins with, or holds, one word of some line."""
    lines = [line for line in text.splitlines(keepends=True) if line.strip()]
    words = re.findall(r"[A-Za-z][\w-]{2,}", chance.choice(lines)) if lines else []
    if not words:
        return "nothing", text
    word = words[0] if chance.random() < 0.6 else chance.choice(words)
    return f"grep -v {word}", "".join(line for line in text.splitlines(keepends=True) if word not in line)


def _grep_lspci(text: str, chance: random.Random) -> tuple[str, str]:
    """What people post: the headers and some registers."""
    words = chance.sample(["LnkSta:", "LnkCap:", "ACSCtl", "ACSCap", "Access Control", "Express", "MaxPayload",
                           "LnkCtl:", "UESta", "CESta", "DevSta", "Bus:", "NUMA", "Kernel driver", "Capabilities",
                           "DevCap:", "RlxdOrd"], chance.randint(1, 9))
    kept = [line for line in text.splitlines(keepends=True)
            if _DEVICE.match(line) or any(word in line for word in words)]
    return f"grep -E '^[0-9a-f]|{'|'.join(words)}'", "".join(kept)


def _blocks(text: str) -> list[str]:
    return _DEVICE.split(text)


def _some_devices(text: str, chance: random.Random) -> tuple[str, str]:
    """`lspci -d 10de:`, `lspci -s ADDRESS`, or some of the devices."""
    blocks = _blocks(text)
    if chance.random() < 0.5:
        return "lspci -d 10de:", "".join(block for block in blocks if "10de:" in block.split("\n")[0])
    kept = [block for block in blocks if chance.random() < 0.6]
    return f"{len(kept)} of {len(blocks)} devices", "".join(kept)


def _device(text: str, chance: random.Random) -> tuple[str, str]:
    blocks = _blocks(text)
    at = chance.randrange(len(blocks))
    return f"device {blocks[at][:40]!r}", "".join(blocks[:at] + blocks[at + 1:])


def _deeper(text: str, chance: random.Random) -> tuple[str, str]:
    """A line with everything that is indented more: a capability, a section of nvidia-smi -q."""
    lines = text.splitlines(keepends=True)
    if not lines:
        return "nothing", text
    heads = [at for at in range(len(lines) - 1) if lines[at].strip() and _indent(lines[at + 1]) > _indent(lines[at])]
    at = chance.choice(heads) if heads else chance.randrange(len(lines))
    end = at + 1
    while end < len(lines) and lines[end].strip() and _indent(lines[end]) > _indent(lines[at]):
        end += 1
    return f"section {lines[at].strip()[:60]!r}", "".join(lines[:at] + lines[end:])


def _indent(line: str) -> int:
    return len(line.expandtabs(8)) - len(line.expandtabs(8).lstrip())


def _run(text: str, chance: random.Random) -> tuple[str, str]:
    lines = text.splitlines(keepends=True)
    begin = chance.randrange(max(1, len(lines)))
    end = min(len(lines), begin + chance.choice([2, 3, 5, 20, 60]))
    # The front of one device and the back of the next, with nothing twice, are a device: nobody sees where they join.
    # So are those of two GPUs in nvidia-smi -q.
    end = next((at for at in range(begin + 1, end) if _DEVICE.match(lines[at]) or _SMI_GPU.match(lines[at])), end)
    return f"lines {begin + 1} to {end}", "".join(lines[:begin] + lines[end:])


def _tail(text: str, chance: random.Random) -> tuple[str, str]:
    at = chance.randrange(max(1, len(text)))
    return f"from character {at} on", text[:at]


def _tail_lines(text: str, chance: random.Random) -> tuple[str, str]:
    lines = text.splitlines(keepends=True)
    at = chance.randrange(max(1, len(lines)))
    return f"from line {at + 1} on", "".join(lines[:at])


def _head(text: str, chance: random.Random) -> tuple[str, str]:
    lines = text.splitlines(keepends=True)
    at = chance.randrange(max(1, len(lines)))
    return f"up to line {at}", "".join(lines[at:])


def _narrow(text: str, chance: random.Random) -> tuple[str, str]:
    """A terminal that cuts long lines."""
    width = chance.choice([60, 80, 100])
    return f"columns from {width} on", "".join(f"{line[:width]}\n" for line in text.split("\n"))


def _half_line(text: str, chance: random.Random) -> tuple[str, str]:
    lines = text.splitlines(keepends=True)
    if not lines:
        return "nothing", text
    at = chance.randrange(len(lines))
    line = lines[at].rstrip("\n")
    end = chance.randrange(max(1, len(line)))
    return f"the end of line {at + 1} {line.strip()[:60]!r}", "".join([*lines[:at], line[:end] + "\n", *lines[at + 1:]])


def _gpu_block(text: str, chance: random.Random) -> tuple[str, str]:
    blocks = _SMI_GPU.split(text)
    at = chance.randrange(len(blocks))
    return f"GPU {blocks[at][:30]!r}", "".join(blocks[:at] + blocks[at + 1:])


def _cell(text: str, chance: random.Random) -> tuple[str, str]:
    lines = text.splitlines(keepends=True)
    rows = [at for at, line in enumerate(lines) if len(line.split()) > 2]
    if not rows:
        return "nothing", text
    at = chance.choice(rows)
    cells = re.split(r"(\s+)", lines[at])
    words = [place for place in range(len(cells)) if cells[place].strip()]
    place = chance.choice(words)
    gone = cells[place]
    cells[place] = ""
    if chance.random() < 0.5 and place + 1 < len(cells) and "\n" not in cells[place + 1]:
        cells[place + 1] = ""
    return f"cell {gone!r} of line {at + 1}", "".join([*lines[:at], "".join(cells), *lines[at + 1:]])


def _column(text: str, chance: random.Random) -> tuple[str, str]:
    rows = [line.split("\t") for line in text.split("\n")]
    widest = max(len(row) for row in rows)
    at = chance.randrange(widest)
    return f"column {at + 1}", "\n".join("\t".join(row[:at] + row[at + 1:]) if len(row) > at else "\t".join(row)
                                         for row in rows)


Kind = Callable[[str, random.Random], tuple[str, str]]
_LSPCI: tuple[Kind, ...] = (_line, _line, _grep_v, _grep_v, _grep_lspci, _some_devices, _device, _device, _deeper,
                            _deeper, _run, _tail, _head, _narrow, _half_line)
_SMI: tuple[Kind, ...] = (_line, _grep_v, _gpu_block, _deeper, _run, _tail, _head, _half_line)
_TABLE: tuple[Kind, ...] = (_line, _cell, _cell, _column, _tail, _head, _run)
_LOG: tuple[Kind, ...] = (_tail_lines, _head)
_PLAIN: tuple[Kind, ...] = (_line, _grep_v, _run, _tail, _head, _half_line)
_WORDS: tuple[Kind, ...] = (_line, _grep_v, _run, _head)


def _of_answers(answers: Answers, chance: random.Random) -> tuple[str, Answers]:
    left = copy.copy(answers)
    kind = chance.choice(["reads", "reads", "lists", "realpaths", "runs", "errors", "nvml", "config", "folder"])
    if kind == "nvml":
        words, left.nvml = _of_nvml(answers.nvml, chance)
        return words, left
    if kind == "config":
        names = sorted(name for name, content in answers.reads.items()
                       if name.endswith("/config") and len(content) > 64)
        if not names:
            return "nothing", left
        name, size = chance.choice(names), chance.choice([64, 256])
        which = [name] if chance.random() < 0.5 else names
        left.reads = {**answers.reads, **{each: answers.reads[each][:size] for each in which}}
        return f"{name if len(which) == 1 else 'every config'} behind {size}", left
    if kind == "folder":
        folders = sorted({name.rpartition("/")[0] for name in answers.reads if "/pci/devices/" in name})
        if not folders:
            return "nothing", left
        folder = chance.choice(folders)
        left.reads = {name: content for name, content in answers.reads.items() if not name.startswith(folder)}
        left.realpaths = {name: to for name, to in answers.realpaths.items() if not name.startswith(folder)}
        left.errors = {name: why for name, why in answers.errors.items() if f" {folder}" not in name}
        return f"all of {folder}", left
    known = getattr(answers, kind)
    if not known:
        return "nothing", left
    key = chance.choice(sorted(known))
    done = known[key]
    # The kernel's log is read here to its end, and a recording holds it as it was read: only a text can be cut.
    log = key[0] in ("dmesg", "journalctl")
    if kind == "runs" and isinstance(done, Completed) and done.stdout and not log and chance.random() < 0.5:
        kinds = _PLAIN if key[0] != "nvidia-smi" else _TABLE
        words, stdout = chance.choice(kinds)(done.stdout, chance)
        left.runs = {**answers.runs, key: Completed(done.argv, done.returncode, stdout, done.stderr)}
        return f"{' '.join(key)[:60]}: {words}", left
    setattr(left, kind, {each: value for each, value in known.items() if each != key})
    return f"{kind} {key if isinstance(key, str) else ' '.join(key)[:60]}", left


def _of_nvml(document: dict[str, object] | None, chance: random.Random) -> tuple[str, dict[str, object] | None]:
    if document is None:
        return "nothing", None
    left = copy.deepcopy(document)
    gpus, pairs = left.get("gpus"), left.get("pairs")
    choice = chance.random()
    if choice < 0.15 or not isinstance(gpus, list) or not gpus:
        return "NVML", None
    if choice < 0.3:
        gone = gpus.pop(chance.randrange(len(gpus)))
        return f"NVML's {gone['bdf']}", left
    if choice < 0.5 and isinstance(pairs, list) and pairs:
        gone = pairs.pop(chance.randrange(len(pairs)))
        return f"NVML's pair {gone['a']} {gone['b']}", left
    keys = sorted({key for gpu in gpus for key in (*gpu["values"], *gpu["errors"])})
    if not keys:
        return "nothing", left
    key = chance.choice(keys)
    some = gpus if chance.random() < 0.4 else [chance.choice(gpus)]
    for gpu in some:
        gpu["values"].pop(key, None)
        gpu["errors"].pop(key, None)
    return f"NVML's {key} of {len(some)} GPUs", left


# --- faults --------------------------------------------------------------------------------------------------------

#: What to put in place of what, by a part of the name of the text: one place of it, in a half of all cases.
_FAULTS: tuple[tuple[str, str, str], ...] = (
    ("lspci", r"(LnkSta:.*?Width x)16", r"\g<1>8"), ("lspci", r"(LnkSta:.*?Width x)(?!0|1\b)\d+", r"\g<1>1"),
    ("lspci", r"ReqRedir- CmpltRedir-", "ReqRedir+ CmpltRedir+"), ("lspci", r"(UESta:\s*)DLP-", r"\1DLP+"),
    ("lspci", r"MalfTLP- ", "MalfTLP+ "), ("lspci", r"(CESta:.*?)BadTLP-", r"\1BadTLP+"),
    ("lspci", r"MaxPayload (?:256|512) bytes, MaxReadReq", "MaxPayload 128 bytes, MaxReadReq"),
    ("lspci", r"ASPM Disabled;", "ASPM L1 Enabled;"), ("lspci", r"(LnkSta:.*?Speed )(?:32|16|8)GT/s", r"\g<1>2.5GT/s"),
    ("lspci", r"driver in use: nvidia", "driver in use: nouveau"),
    ("lspci", r"(10de:\w{4}\] )\(rev a1\)", r"\1(rev ff)"),
    ("lspci", r"\[1(?:b4b|af4|4e4):\w{4}\](?= .*\n(?:.*\n){1,40}.*Upstream Port)", "[11f8:4052]"),
    ("lspci", r"(?:Ethernet controller|SCSI storage controller) \[\w{4}\]", "Non-Volatile memory controller [0108]"),
    ("lspci", r"NUMA node: \d+", "NUMA node: 7"),
    ("dmesg", r"\Z", "[  900.000001] NVRM: Xid (PCI:0000:03:00): 79, pid=1, name=x, GPU has fallen off the bus.\n"),
    ("dmesg", r"\Z", "[  901.000001] pcieport 0000:00:04.0: AER: Uncorrected (Fatal) error received: 0000:03:00.0\n"),
    ("dmesg", r"\Z", "[  902.000001] INFO: task python3:4711 blocked for more than 120 seconds.\n"),
    ("smi", r"(Persistence Mode\s+: )Enabled", r"\1Disabled"), ("smi", r"(Recovery Action\s+: )None", r"\1Reset"),
    ("smi", r"(HW Thermal Slowdown\s+: )Not Active", r"\1Active"), ("smi", r"(DRAM Uncorrectable\s+: )0", r"\g<1>9"),
    ("smi", r"(MIG Mode\s+Current\s+: )Disabled", r"\1Enabled"),
    ("smi", r"(BAR1 Memory Usage\s+Total\s+: )\d+", r"\g<1>256"),
    ("smi", r"(Compute Mode\s+: )Default", r"\1Exclusive_Process"),
    ("smi", r"(Default Power Limit\s+: )\d+", r"\g<1>999"),
    ("smi", r"(Driver Version\s+: )\S+", r"\g<1>535.1.1"), ("topo", r"\t(?:PIX|NODE|PHB|PXB)\b", "\tSYS"),
    ("cmdline", r"\Z", " pci=nommconf,nosuchword pci=noacs amd_iommu=off pcie_aspm=off"),
    ("lscpu", r"On-line CPU\(s\) list:(\s+)0-\d+", r"On-line CPU(s) list:\g<1>0-3"),
    ("numactl", r"size: [1-9]\d* MB", "size: 0 MB"),
    ("swaps", r"\Z", "/dev/dm-1 partition 8388604 400000 -2\n"), ("memlock", r"infinity|\d+", "65536"),
)


def planted(base: Base, chance: random.Random) -> Change:
    """One to three faults more; a fault whose place is not in the texts is none."""
    texts, words = dict(base.texts), []
    for part, pattern, replacement in chance.sample(_FAULTS, chance.randint(3, 9)):
        for name in (each for each in sorted(texts) if part in each):
            places = list(re.finditer(pattern, texts[name]))
            if not places:
                continue
            found = chance.choice(places)
            where = places if chance.random() < 0.25 else [found]
            for each in reversed(where):
                texts[name] = texts[name][:each.start()] + each.expand(replacement) + texts[name][each.end():]
            words.append(f"{pattern[:30]} {'everywhere' if len(where) > 1 else f'at {found.start()}'} of {name}")
            break
    return Change(", ".join(words), Base(base.name, texts, base.answers, base.spec))


def trials(bases: list[Base], seed: int, folder: Path, count: int | None = None) -> Iterator[tuple[str, list[str]]]:
    """What was done, and what became better by it, trial by trial; without ``count`` for ever."""
    chance, number = random.Random(seed), 0
    while count is None or number < count:
        base = chance.choice(bases)
        fault = planted(base, chance) if base.texts and chance.random() < 0.7 else Change("no fault", base)
        before = outcomes(fault.left, folder)
        if before is None:
            continue
        # Judging the whole is as dear as judging a part of it: several parts of each.
        for _ in range(6):
            change = deleted(fault.left, chance)
            after = outcomes(change.left, folder)
            yield f"{base.name}: planted {fault.words}: deleted {change.words}", improved(before, after or {})
            number += 1
            if count is not None and number >= count:
                return
