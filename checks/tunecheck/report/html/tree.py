"""The PCIe tree of a document, from the CPUs to the accelerators: what is below what, and the state of each link."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from ...parsers.pci.bdf import bdf_key
from ...rules.codes import VIRTUAL_PORTS
from ...util.at_first_use import dataclass, regex

__all__ = ["Node", "grow", "link_label", "link_state"]

_GENERATION = {"2.5": 1, "5.0": 2, "8.0": 3, "16.0": 4, "32.0": 5, "64.0": 6}
_SPEED = regex(r"(\d{1,3}(?:\.\d)?) GT/s")
_BDF = regex(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
#: As far as a message is searched for addresses; 64 that a fold names are far less.
_SEARCHED = 16_000
_WORDS = {"root": "root port", "up": "switch upstream", "down": "switch downstream"}


@dataclass
class Node:
    """One box. ``kind``: cpus (the way between NUMA nodes), numa, host, root, up, down, gpu. ``link`` is the label of
    the line to its parent ("": no PCIe link, a way inside of a chip), ``state`` ok, narrow, slow, unknown or inside.
    ``redirects`` is None where the register could not be read. ``blame`` is fail or warn where a finding of that
    outcome names the device by its address, ``blamed_by`` the checks. ``aside``: a port on no path between two
    accelerators; what its ACS does to peer traffic does not matter."""

    id: str
    parent: str | None
    kind: str
    title: str
    detail: str
    link: str = ""
    state: str = "inside"
    redirects: bool | None = False
    mark: str = ""
    blame: str = ""
    blamed_by: list[str] = field(default_factory=list)
    aside: bool = False


def grow(data: dict[str, Any]) -> dict[str, Node]:
    """Return every node by its id, parents before their children, nodes of one parent in address order."""
    boards = sorted(data.get("accelerators", ()), key=lambda board: [bdf_key(bdf) for bdf in board["path"]])
    bridges = {bridge["bdf"]: bridge for bridge in data.get("bridges", ())}
    slow = _slow(data)
    numa = _numa_nodes(boards)
    # Of ports that a hypervisor made up nothing is said: what they redirect is no traffic.
    made_up = any(finding["id"] == "acs-redirect" and finding.get("code") == VIRTUAL_PORTS
                  for finding in data["findings"])
    placed = all(pair["relation"] for pair in data.get("pairs", ()))
    nodes: dict[str, Node] = {}
    if len(set(numa.values())) > 1:
        nodes["cpus"] = Node("cpus", None, "cpus", "CPUs", "NUMA nodes")
    for board in sorted(boards, key=lambda board: (numa[_bridge(board)], bdf_key(board["path"][0]))):
        host = _bridge(board)
        node, title = f"numa {numa[host]}", f"NUMA {numa[host]}" if numa[host] != "?" else "NUMA ?"
        nodes.setdefault(node, Node(node, "cpus" if "cpus" in nodes else None, "numa", title, "node"))
        nodes.setdefault(host, Node(host, node, "host", host.removeprefix("pci"), "host bridge"))
        parent = host
        for depth, bdf in enumerate(board["path"][:-1]):
            if bdf not in nodes and bdf in bridges:
                nodes[bdf] = _port(bridges[bdf], parent, depth, bdf in slow, placed, made_up)
            parent = bdf if bdf in nodes else parent
        nodes.setdefault(board["bdf"], _board(board, parent, board["bdf"] in slow))
    _blame(nodes, data)
    return nodes


def _blame(nodes: dict[str, Node], data: dict[str, Any]) -> None:
    for outcome in ("fail", "warn"):
        for finding in data["findings"]:
            if finding["outcome"] != outcome:
                continue
            said = f"{finding['subject']} {finding['message']}"[:_SEARCHED]
            for bdf in dict.fromkeys(_BDF.findall(said)):
                if bdf in nodes and nodes[bdf].blame in ("", outcome):
                    node = nodes[bdf]
                    node.blame = outcome
                    if finding["id"] not in node.blamed_by:
                        node.blamed_by.append(finding["id"])


def _port(bridge: dict[str, Any], parent: str, depth: int, slow: bool, placed: bool, made_up: bool
          ) -> Node:
    """Return the node of a port. ``placed``: the path of every pair is known; else any port may be on one that is
    not. ``made_up``: it is one of a hypervisor."""
    # Below a root or downstream port is a link, and at its other end an upstream port: they alternate.
    kind = "root" if depth == 0 else "up" if depth % 2 else "down"
    linked = kind == "up"
    acs = bridge["acs"]
    aside = placed and not bridge["pairs"]
    redirects = False if made_up else acs["redirects"]
    mark = "" if aside else "redirects" if redirects else "ACS ?" if redirects is None else ""
    return Node(bridge["bdf"], parent, kind, bridge["bdf"], f"{_WORDS[kind]}",
                link_label(bridge["link"]) if linked else "", link_state(bridge["link"], slow) if linked else "inside",
                redirects, mark, aside=aside)


def _board(board: dict[str, Any], parent: str, slow: bool) -> Node:
    placed = len(board["path"]) > 1
    mark = {None: "", True: "", False: "does not answer"}[board["answers"]]
    state = link_state(board["link"], slow) if placed else "unknown"
    return Node(board["bdf"], parent, "gpu", f"GPU{board['index']} {board['bdf']}",
                board["name"].removeprefix("NVIDIA "), link_label(board["link"]), state, False, mark)


def link_state(link: dict[str, Any], slow: bool) -> str:
    """Return the state of a link: ok, narrow, slow or unknown. Speed counts only where link-speed found it slow: the
    own link of an idle GPU slows down."""
    if link["width"] is None or link["max_width"] is None:
        return "unknown"
    if link["width"] < link["max_width"]:
        return "narrow"
    return "slow" if slow else "ok"


def link_label(link: dict[str, Any]) -> str:
    """Return the label of a link: "x16 Gen5"; "x8/16 Gen1/5" where it could have more lanes or speed."""
    if link["width"] == 0:
        return "no link"
    width = "x?" if link["width"] is None else f"x{link['width']}"
    if link["width"] is not None and link["max_width"] and link["width"] < link["max_width"]:
        width += f"/{link['max_width']}"
    now, most = _generation(link["speed"]), _generation(link["max_speed"])
    speed = f"Gen{now or '?'}" + (f"/{most}" if now and most and now < most else "")
    return f"{width} {speed}"


def _generation(speed: str | None) -> int | None:
    found = _SPEED.match(speed or "")
    return _GENERATION.get(f"{float(found.group(1)):.1f}") if found else None


def _bridge(board: dict[str, Any]) -> str:
    """Return the name of the root bus above a board. It is named by the domain and bus of the devices on it."""
    return "pci" + str(board["path"][0]).rpartition(":")[0]


def _numa_nodes(boards: list[dict[str, Any]]) -> dict[str, str]:
    """Return the NUMA node of each host bridge, "?" where its accelerators do not say or do not agree."""
    said: dict[str, set[int | None]] = {}
    for board in boards:
        said.setdefault(_bridge(board), set()).add(board["numa_node"])
    return {host: str(node) if len(nodes) == 1 and (node := next(iter(nodes))) is not None and node >= 0 else "?"
            for host, nodes in said.items()}


def _slow(data: dict[str, Any]) -> set[str]:
    """Return the addresses at the ends of links that link-speed found slow, and no idle GPU is the reason."""
    return {bdf for finding in data["findings"]
            if finding["id"] == "link-speed" and finding["code"] in ("slow-under-load", "below-peers", "slow-above")
            for bdf in _BDF.findall(finding["observed"][:4000])}
