"""What nccl-tests measured, for bench-figures: wrong values, and bus bandwidth against known boards and the way between
the GPUs."""

from __future__ import annotations

from collections.abc import Iterator

from ...model.finding import Finding, Remedy
from ...parsers.nvidia.nccl_tests import NcclTest, Row
from ...spec.boards import Board, board, board_named, linked_by
from ...util.text import some
from ..codes import NO_COMPARISON
from ..context import Case
from ..nvidia.peer_access import NO_PEERS, peers
from ..nvidia.posted_gpus import counted_names, nvlink_words
from ..pcie.peer_ways import ways
from ..pcie.relation_advice import without_peers
from .pair_expected import expected
from .short_of import is_below, share_below

__all__ = ["judged"]

_BAD = 0.8
_NOWHERE = "and no other text tells one: compare it with a box of the same kind"
#: Bus bandwidth of rings over PCIe, as a share of what one way of the slowest pair carries: 0.39 to 0.71 on the boxes
#: of boards.toml, NCCL's defaults and tuned. A tenth is no ring over these links at all.
_LITTLE, _NOTHING = 0.33, 0.1
#: Rings through the host's memory of one machine carry more than this even on Gen3 (copies through the host: 8 to 39).
_HOST_GB_S = 4.0
#: From this size on the time of a start does not count.
_LARGE = 16 << 20
#: From this size on rings over NVLink run at their full speed, whatever is summed.
_WHOLE = 128 << 20
_WAY = Remedy.typed("run the benchmark again with NCCL_DEBUG=INFO: \"via P2P\" names the direct way, SHM and NET do "
                    "not; see p2p-capability, iommu-mode, link-width and link-speed; then: `sudo tunecheck allreduce`")
_LINKS = Remedy.typed("run the benchmark again with NCCL_DEBUG=INFO and without NCCL_P2P_DISABLE: \"via P2P\" or NVLS "
                      "names NVLink, SHM and NET do not; see fabric-state, `nvidia-smi topo -p2p n` and "
                      "`nvidia-smi nvlink -s`")
_FAILED = Remedy.typed("look into `sudo dmesg` for Xid and AER of the same moment, and run it again with "
                       "NCCL_DEBUG=INFO, which names the rank and the call; then: `sudo tunecheck allreduce`")
#: The programs of nccl-tests: what a text calls itself gets into a command only where it is one of these.
_PROGRAMS = tuple(f"{each}_perf" for each in ("all_reduce", "all_gather", "reduce_scatter", "alltoall", "broadcast",
                                              "reduce", "sendrecv", "gather", "scatter", "hypercube"))
_TUNE = Remedy.typed("without NVLink try NCCL_MIN_NCHANNELS=8 and NCCL_P2P_LEVEL=SYS; with it see "
                     "`nvidia-smi nvlink -s`")


def judged(check: str, case: Case, test: NcclTest) -> Iterator[Finding]:
    """Yield the finding about one run of nccl-tests."""
    name = test.name or "nccl-tests"
    ranks = len(test.ranks)
    large = max(test.rows, key=lambda row: row.size, default=None)
    who = f"{name}, {ranks} rank{'' if ranks == 1 else 's'}" if ranks else name
    figure = f"{large.busbw:.1f} GB/s bus bandwidth at {large.size >> 20} MiB" \
        if large and large.size >= 1 << 20 else ""
    text, behind = f"{who}: {figure}" if figure else who, f"; {figure}" if figure else ""
    if test.wrong:
        yield Finding(check, "wrong-values", name, "fail", "behaviour",
                      f"{text}: {_wrong(test)}", str(test.wrong), "0",
                      (name,), Remedy.typed("the data path is broken: see acs-redirect, iommu-mode, link-errors and "
                                            "xid; then: `sudo tunecheck p2p`"))
        return
    if test.failures:
        told = some(test.failures, 3)
        yield Finding(check, "test-failed", name, "fail", "behaviour", f"{text}: it ended with an error: {told}", told,
                      "a run to its end", (name,), _FAILED)
        return
    if test.broken > 1:
        yield Finding(check, "cut", name, "unknown", "behaviour", f"{text}: rows of its table are broken, as "
                      "a narrow window does, so its figures cannot be told; give it as a file: "
                      f"{test.name or 'all_reduce_perf'} > nccl.txt", str(test.broken), "0", (name,))
        return
    known = _board(case, test)
    prior = getattr(known, f"bus_{ranks}_gb_s", None) if known and "all_reduce" in name else None
    little = _too_little(check, case, test, large, text, name) if prior is None and large is not None else None
    if little is not None:
        yield little
    elif test.cut:
        yield Finding(check, "cut", name, "unknown", "behaviour",
                      f"{who}: the text is cut before its last lines{behind}", "", "",
                      (name,), Remedy("give the text of the run to its last line, \"# Avg bus bandwidth\""))
    elif large is not None and prior is not None and large.size >= _WHOLE and is_below(large.busbw, _BAD * prior):
        part = share_below(large.busbw / prior, _BAD)
        yield Finding(check, "below-known", name, "warn", "behaviour", f"{text}, {part} of the {prior} that "
                      f"{known.name if known else ''} reached", f"{large.busbw:.1f}",
                      f"{_BAD:.0%} of {prior} GB/s, or more", (name,), _tune(case))
    elif (large is None or large.size < _WHOLE) and "all_reduce" in name and (more := _larger(case, test)):
        yield Finding(check, "larger-is-judged", name, "skip", "behaviour", f"{who}: too small to compare, and the "
                      f"run with {_size(more)} of as many ranks on such boards is judged{behind}", "", "", (name,))
    elif (large is None or large.size < _WHOLE) and "all_reduce" in name:
        yield _too_small(check, test, large, who, known, prior)
    elif prior is None or large is None or large.size < _WHOLE or any(row.wrong is None for row in test.rows):
        why = f"no figure of {len(test.ranks)} x {known.name} is known here, {_NOWHERE}" if known else \
            _unknown_boards(test)
        if test.rows and any(row.wrong is None for row in test.rows):
            yield _unchecked(check, test, who, behind, f"nothing to compare its speed with: {why}" if prior is None or
                             large is None or known is None else
                             f"its speed is as expected, {large.busbw / prior:.0%} of the {prior} GB/s that "
                             f"{known.name} reached")
        else:
            yield Finding(check, NO_COMPARISON, name, "unknown", "behaviour",
                          f"{who}: nothing to compare {figure or 'it'} with: {why}", "", "", (name,))
    else:
        least = f"{_BAD * prior:.0f} GB/s or more"
        yield Finding(check, "ok", name, "pass", "behaviour", f"{text}, no value wrong; expected {least}, {_BAD:.0%} "
                      f"of the {prior} that {known.name if known else ''} reached", f"{large.busbw:.1f}", least,
                      (name,))


def _tune(case: Case) -> Remedy:
    known = peers(case)
    return without_peers(known) if known.whole in NO_PEERS else _TUNE


def _unchecked(check: str, test: NcclTest, who: str, figure: str, speed: str) -> Finding:
    """Return the finding about a run that did not look whether what arrived is right."""
    fix = Remedy.typed("check the sums: `{program} -b 128M -e 1G -f 2 -c 1 -g {ranks}`", program=test.name,
                       ranks=str(len(test.ranks))) \
        if _on_one_machine(test) and test.name in _PROGRAMS else \
        Remedy("check the sums: run it again as it was run, with -c 1")
    return Finding(check, "sums-not-checked", test.name or "nccl-tests", "unknown", "behaviour",
                   f"{who}: whether its values are right is not known, the sums were not checked{figure}; {speed}", "",
                   "every value checked", (test.name or "nccl-tests",), fix)


def _on_one_machine(test: NcclTest) -> bool:
    return len(test.ranks) > 1 and len({rank.host for rank in test.ranks}) == 1


def _larger(case: Case, test: NcclTest) -> int:
    """Return the largest message of another all-reduce in the same input that ran to its end with as many ranks on such
    boards, where it is large enough; else 0. To measure that again would tell nothing new: a run with --graph or with a
    process for each rank moves the same data."""
    like = _kind(test)
    return max((row.size for other in case.snapshot.posted.tests if _kind(other) == like and not other.cut
                and not other.failures and other.broken <= 1 and "all_reduce" in other.name
                for row in other.rows if row.size >= _WHOLE), default=0) if test.ranks else 0


def _kind(test: NcclTest) -> tuple[list[str], int]:
    """Return the boards of the ranks, and how many machines these are in."""
    return sorted(rank.name for rank in test.ranks), len({rank.host for rank in test.ranks})


def _too_small(check: str, test: NcclTest, large: Row | None, who: str, known: Board | None, prior: float | None
               ) -> Finding:
    """Return the finding about a table whose largest message is too small for a comparison."""
    name, ranks = test.name, len(test.ranks)
    most = "no row of its table is whole" if large is None else \
        f"too small to compare, with {_size(large.size)} as its largest message"
    figure = f"; {large.busbw:.1f} GB/s bus bandwidth there" if large and large.size >= 1 << 20 else ""
    wanted = f"{_WHOLE >> 20} MiB or more"
    boards = known.name if known else counted_names([rank.name for rank in test.ranks])
    more = "" if prior is not None else f"; what {ranks} ranks on {boards or 'unnamed boards'} reach is not known " \
        "here, so only a fault can show"
    fix = Remedy.typed("measure 128 MiB to 1 GiB: `all_reduce_perf -b 128M -e 1G -f 2 -g "
                       "{ranks}`", ranks=str(ranks)) \
        if _on_one_machine(test) else \
        Remedy("measure 128 MiB to 1 GiB: run it again as it was run, with -b 128M -e 1G -f 2")
    return Finding(check, "too-small", name, "unknown", "behaviour", f"{who}: {most}: {wanted} is needed{more}{figure}",
                   _size(large.size) if large else "", wanted, (name,), fix)


def _wrong(test: NcclTest) -> str:
    """Return how many values are wrong, and at which sizes."""
    text = f"{test.wrong} value{' is' if test.wrong == 1 else 's are'} wrong"
    bad = [row for row in test.rows if row.wrong]
    if not bad:
        return f"{text}, its rows do not tell at which size"
    sizes, told = sorted({row.size for row in bad}), sum(row.wrong or 0 for row in bad)
    more = f" and {len(sizes) - 1} more size{'' if len(sizes) == 2 else 's'}" if len(sizes) > 1 else ""
    return f"{text}{f', {told} of them' if told < test.wrong else ''} at {_size(sizes[0])}{more}"


def _size(count: int) -> str:
    """Return a number of bytes in the largest unit that leaves no rest, MiB at most."""
    for unit, bits in (("MiB", 20), ("KiB", 10)):
        if count and count % (1 << bits) == 0:
            return f"{count >> bits} {unit}"
    return f"{count} bytes"


def _too_little(check: str, case: Case, test: NcclTest, large: Row, text: str, name: str) -> Finding | None:
    """Return the finding about a bus bandwidth that no such machine has, though no figure of its boards is known."""
    if len(test.ranks) < 2 or large.size < _LARGE or len({rank.host for rank in test.ranks}) != 1:
        return None
    way, over = _slowest_way(case, test), _over_nvlink(case) if large.size >= _WHOLE else None
    if way is None and over is not None and is_below(
            large.busbw, _LITTLE * (over.p2p_one_way_gb_s or 0)):
        share = large.busbw / (over.p2p_one_way_gb_s or 1)
        part = share_below(share, _LITTLE)
        return Finding(check, "below-path", name, "fail" if share < _NOTHING else "warn", "behaviour",
                       f"{text}, {part} of the {over.p2p_one_way_gb_s} GB/s one way that {over.name} reached over "
                       f"NV{over.nvlinks}, which joins every pair in nvidia-smi topo -m: NVLink carries little of it",
                       f"{large.busbw:.1f}", f"{_LITTLE:.0%} of {over.p2p_one_way_gb_s} GB/s, or more", (name,), _LINKS)
    best = max(row.busbw for row in test.rows)
    if way is not None and is_below(large.busbw, _LITTLE * way):
        share = large.busbw / way
        part = share_below(share, _LITTLE)
        return Finding(check, "below-path", name, "fail" if share < _NOTHING else "warn", "behaviour",
                       f"{text}, {part} of the {way:.1f} GB/s one way that are predicted for the slowest pair of "
                       "its ranks", f"{large.busbw:.1f}", f"{_LITTLE:.0%} of {way:.1f} GB/s, or more", (name,), _WAY)
    if way is None and large.busbw < _HOST_GB_S:
        return Finding(check, "below-host", name, "warn", "behaviour", f"{text}: less than rings through the host's "
                       "memory carry", f"{large.busbw:.1f}", f"{_HOST_GB_S:.0f} GB/s or more", (name,), _WAY)
    if large.busbw < 0.5 * best:
        return Finding(check, "drops-with-size", name, "warn", "behaviour", f"{text}, and {best:.1f} at a smaller size",
                       f"{large.busbw / best:.0%}", "as much as at smaller sizes", (name,), _WAY)
    return None


def _slowest_way(case: Case, test: NcclTest) -> float | None:
    """Return what the slowest pair of the ranks should carry one way, in GB/s. None where that is not known of all."""
    number = {device.bdf: index for index, device in enumerate(case.snapshot.topology.devices)}
    gpus = {number.get(rank.bdf) for rank in test.ranks}
    if None in gpus or len(gpus) < 2:
        return None
    rates = [expected(case, path).one_way for path in ways(case) if {path.pair.a, path.pair.b} <= gpus]
    known = [rate for rate in rates if rate is not None]
    return min(known) if known and len(known) == len(rates) else None


def _over_nvlink(case: Case) -> Board | None:
    """Return the measured board with as many NVLinks a pair as the table of `nvidia-smi topo -m` shows of every pair;
    None where there is no such table, or none was measured. More links of a later generation carry no less."""
    words = nvlink_words(case.snapshot)
    word = words.pop() if len(words) == 1 else ""
    return linked_by(int(word[2:])) if word[2:].isdigit() else None


def _board(case: Case, test: NcclTest) -> Board | None:
    """Return what board all ranks are on: by its PCI id where the tree holds it, else by the name that the benchmark
    prints. None where they differ, or are in several machines: what is known is known of one."""
    ids = {device.bdf: device.ids for device in case.snapshot.topology.devices}
    boards = [board(ids[rank.bdf]) if ids.get(rank.bdf) else board_named(rank.name) for rank in test.ranks]
    alike = boards and all(each == boards[0] for each in boards) and len({rank.host for rank in test.ranks}) == 1
    return boards[0] if alike else None


def _unknown_boards(test: NcclTest) -> str:
    """Return why no figure of the boards is known. What they are the benchmark itself says, in its lines "# Rank"; of
    boards that it names no other text tells a figure."""
    names, machines = sorted({rank.name for rank in test.ranks}), len({rank.host for rank in test.ranks})
    if not names:
        return "which boards they are is not given; give the text with its lines \"# Rank\", which name them"
    if machines > 1:
        return f"its ranks are on {machines} machines"
    if len(names) > 1:
        return f"its ranks are on boards of different kinds ({some(names, 3)})"
    return f"no figure of {names[0]} is known here, {_NOWHERE}"
