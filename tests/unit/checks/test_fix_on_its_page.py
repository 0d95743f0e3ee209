"""What a finding says is to be done is on the page of its check, too: whoever reads on finds the same fix."""

from __future__ import annotations

import re

from tests.unit.report.all_reports import reports

from tunecheck.report.check_pages import page

_WORD = re.compile(r"[A-Za-z_][\w.-]{3,}")
#: The play is named by every finding that has one, with the same words.
_PLAY = re.compile(r"(?:or |else )?(?:run: )?ansible-playbook [^;]*")
#: Words of sentences, not of what is done.
_SMALL = frozenset((
    "after", "again", "also", "because", "before", "been", "does", "each", "else", "from", "have", "here", "into",
    "like", "more", "near", "only", "other", "same", "than", "that", "them", "then", "there", "these", "they", "this",
    "those", "until", "what", "when", "where", "which", "will", "with", "would", "your"))
#: A floor: a page says it in other words, and by an example.
_SHARE = 1 / 3


def _words(fix: str) -> list[str]:
    found = (word.lower().strip(".-") for word in _WORD.findall(_PLAY.sub(" ", fix)))
    return [word for word in dict.fromkeys(found) if word not in _SMALL]


def test_the_page_of_a_check_says_what_its_findings_say_is_to_be_done() -> None:
    fixes = {(found.id, re.sub(r"\d+", "0", found.remedy.text)): found.remedy.text for each in reports()
             for found in each.findings if found.remedy and found.outcome in ("fail", "warn")}
    assert len(fixes) > 300
    lost = {}
    for (check, _), fix in fixes.items():
        text, words = page(check).lower(), _words(fix)
        there = [word for word in words if word.removesuffix("s") in text]
        if len(there) < len(words) * _SHARE:
            lost[check, fix] = sorted({*words} - {*there})
    assert lost == {}


def test_the_ways_to_closer_boards_are_on_the_page_of_their_relation() -> None:
    text = page("topo-relation")
    for what in ("inside one", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER=PCI_BUS_ID", "below one switch",
                 "NCCL_P2P_LEVEL=SYS", "allreduce-bus", "copies through host memory", "p2p-capability",
                 "sudo tunecheck preflight --full", "boards that support it"):
        assert what in text, what
