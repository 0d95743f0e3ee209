"""Fleet reports by hand: a few hosts with one of everything, a thousand hosts, a fleet that lies about its names."""

from __future__ import annotations

import dataclasses
from typing import Any

from tunecheck.model.command import run
from tunecheck_fleet.fleet_report import Cause, FleetReport, HostRow, Since, Split, Waived
from tunecheck_fleet.model import AuditHead, Problem

#: 2026-11-21 05:00:00 UTC, when audit #365 began.
WHEN = 1_795_237_200.0
DAY = 86_400.0
FAMILIES = ("accelerators", "acs", "cmdline", "cpu", "driver", "gpu", "kernel", "links", "modules", "runtime")
HOSTILE = '<img src=x onerror="window.hit=1"></script><script>window.hit=1</script>\x1b[31m\u202e'


def head(number: int = 365, asked: int = 8, **more: Any) -> AuditHead:
    """Audits are a day apart; each took a minute."""
    started = WHEN - (365 - number) * DAY
    return AuditHead(**{"id": number, "started": started, "scope": "prod.yml", "asked": asked, "tunecheck": "0.1.0",
                        "catalogue": 1, "finished": started + 60, **more})


def since(seen: int = 365, after: int | None = 364) -> Since:
    return Since(seen, WHEN - (365 - seen) * DAY, after, None if after is None else WHEN - (365 - after) * DAY)


def cause(**given: Any) -> Cause:
    """A kernel parameter that was lost on three hosts since the audit before, unless told otherwise."""
    return Cause(**{"authority": "desired", "severity": "high", "fact": "kernel.cmdline.iommu", "group": "h100-a",
                    "hosts": ("gpu001", "gpu002", "gpu003"), "value": None, "before": "pt", "expected": "desired pt",
                    "fix": "reboot", "since": since(), "state": "new", **given})


def row(host: str = "gpu001", group: str = "h100-a", **given: Any) -> HostRow:
    """A host that answered and where all is well."""
    return HostRow(**{"host": host, "group": group, "hardware": "SYS-821GE, 8 x H100, x86_64", "status": "ok",
                      "outcomes": dict.fromkeys(FAMILIES, "pass"), "last_ok": 365, "last_ok_at": WHEN, **given})


def play(tags: str, hosts: str) -> dict[str, Any]:
    """Remedy and command of a problem or cause that a play mends."""
    command = run("ansible-playbook site.yml --tags", tags, "-l", hosts, where="control")
    return {"remedy": f"run: {command.shown}", "commands": (command,)}


def problem(**given: Any) -> Problem:
    return Problem(**{"check": "acs-redirect", "subject": "0000:42:08.0", "outcome": "fail",
                      "text": "0000:42:08.0 ACSCtl=0x001d redirects peer traffic on the path GPU0-GPU1",
                      "expected": "ReqRedir- CmpltRedir-", "tags": ("acs",),
                      **play("acs", "gpu001"), **given})


def report(**given: Any) -> FleetReport:
    """Two hosts, nothing wrong, unless told otherwise."""
    hosts = given.pop("hosts", (row("gpu001"), row("gpu002")))
    return FleetReport(**{"audit": head(asked=len(hosts)), "previous": head(364, len(hosts)), "hosts": tuple(hosts),
                          "causes": (), **given})


def example() -> FleetReport:
    """Eight hosts in two groups with one of everything: new, known, standing, intended, waived and resolved causes, a
    rollout, a split, hosts that did not answer or only in part, notes, and a timeline of 40 audits."""
    failed = {**dict.fromkeys(FAMILIES, "pass"), "acs": "fail", "cmdline": "fail", "cpu": "warn", "runtime": "skip"}
    open_port = problem()
    hosts = (
        row("gpu001", outcomes=failed, drifted=2, problems=(open_port, problem(
            check="cmdline-token", subject="iommu", text="the running kernel lacks iommu=pt", expected="iommu=pt",
            **play("kernel_cmdline", "gpu001"), tags=("kernel_cmdline",),
            needs_reboot=True), problem(check="cpu-governor", subject="policy0", outcome="warn", tags=(), remedy="",
                                        commands=(), text="policy0 runs powersave", expected="performance"))),
        row("gpu002", outcomes=failed, drifted=1, problems=(open_port,)),
        row("gpu003", outcomes=failed, drifted=1, problems=(open_port,), in_change=True),
        row("gpu004", status="partial", reason="nvidia-smi timed out",
            outcomes={**dict.fromkeys(FAMILIES, "pass"), "gpu": "unknown"},
            unknown={f"gpu.{name}": "nvidia-smi timed out" for name in ("driver", "vbios", "ecc", "mig", "power")}),
        row("gpu005", "h100-b", drifted=1, outcomes={**dict.fromkeys(FAMILIES, "pass"), "links": "fail"}),
        row("gpu006", "h100-b"),
        row("gpu007", "h100-b", status="unreachable", reason="ssh: connect to host gpu007 port 22: No route to host",
            outcomes={}, last_ok=361, last_ok_at=WHEN - 4 * DAY),
        row("gpu008", "h100-b", status="timeout", reason="no answer within 60 s", outcomes={}, last_ok=None,
            last_ok_at=None),
    )
    causes = (
        cause(text="the running kernel lacks iommu=pt", subject="iommu",
              **play("kernel_cmdline", "gpu001,gpu002,gpu003")),
        cause(authority="majority", group="h100-b", fact="gpu.pcie_width", hosts=("gpu005",),
              before={"16": 8}, value={"16": 7, "8": 1}, expected="299 of 300 in h100-b have 8 x16", fix="hands-on"),
        cause(authority="previous", severity="medium", fact="gpu.driver", hosts=("gpu001",), state="known",
              before={"580.95.05": 8}, value={"580.82.07": 8}, expected="was 580.95.05", since=since(341, 340),
              flapping=("gpu001",)),
        cause(authority="previous", severity="medium", fact="package.containerd", hosts=("gpu006",), intended=True,
              before="2.1.4", value="2.1.5", expected="was 2.1.4", fix="reload"),
        cause(authority="majority", severity="low", fact="kernel.release", hosts=("gpu001", "gpu002"), rollout=True,
              before="6.8.0-60-generic", value="6.8.0-64-generic", expected="38 of 40 have 6.8.0-60-generic"),
        cause(severity="low", fact="smt", hosts=("gpu006",), group="h100-b", state="known", before=None, value="on",
              expected="desired off", since=since(300, None),
              waived=Waived(7, WHEN + 30 * DAY, "mk", "waits for the BIOS window in December")),
        cause(severity="medium", fact="pci-words", subject="noacs", hosts=("gpu001", "gpu002"), before=None, value=None,
              expected="desired words that this kernel knows", text="the kernel rejects pci=noacs", outcome="warn",
              state="known", since=since(300, None), standing=True),
        cause(severity="medium", fact="cpu.governor", hosts=("gpu004",), state="resolved", before="powersave",
              value="performance", expected="desired performance", fix="none", since=since()),
    )
    split = Split("h100-b", "nic.fw", (("28.43.1014", 171), ("28.45.1020", 129)), "looks like a rollout",
                  ((), tuple(f"node{number:03d}" for number in range(129))))
    timeline = tuple((number, WHEN - (365 - number) * DAY, (number * 7) % 23 + (60 if number == 350 else 0),
                      6 if number % 9 == 0 else 8) for number in range(326, 366))
    return FleetReport(head(), head(364), hosts, causes, (split,), timeline, (
        "the fact registry went from 1 to 2 at #360: 3 facts were re-baselined",
        "waiver 4 (kernel.cmdline.nosmt on gpu9*) matched nothing"))


def fleet(count: int = 1000, audits: int = 365) -> FleetReport:
    """``count`` hosts as after a kernel update that went wrong on some: every 26th lost its command line, every 9th
    redirects, every 50th answers in part, every 300th not at all."""
    groups = ("h100-a", "h100-b", "h200", "l40s", "b200")
    names = [f"gpu{number:04d}" for number in range(1, count + 1)]
    hosts = []
    for number, name in enumerate(names):
        group = groups[number * len(groups) // count]
        outcomes = dict.fromkeys(FAMILIES, "pass")
        problems: list[Problem] = []
        if number % 300 == 299:
            hosts.append(row(name, group, status="unreachable", reason=f"ssh: connect to host {name}: timed out",
                             outcomes={}, last_ok=361, last_ok_at=WHEN - 4 * DAY))
            continue
        if number % 26 == 0:
            outcomes["cmdline"] = "fail"
            problems.append(problem(check="cmdline-token", subject="iommu", text="the running kernel lacks iommu=pt",
                                    **play("kernel_cmdline", name)))
        if number % 9 == 0:
            outcomes["acs"] = "fail"
            for port in range(8):
                bdf = f"0000:{number % 200:02x}:{port:02x}.0"
                problems.append(problem(subject=bdf, text=f"{bdf} ACSCtl=0x001d redirects peer traffic",
                                        **play("acs", name)))
        if number % 7 == 0:
            outcomes["cpu"] = "warn"
        partial = number % 50 == 49
        if partial:
            outcomes["gpu"] = "unknown"
        hosts.append(row(name, group, outcomes=outcomes, problems=tuple(problems), drifted=int(number % 26 == 0),
                         status="partial" if partial else "ok", reason="nvidia-smi timed out" if partial else "",
                         unknown={f"gpu.{at}": "nvidia-smi timed out" for at in range(8)} if partial else {}))
    causes = [cause(group=group, hosts=tuple(each.host for each in hosts if each.group == group
                                             and each.outcomes.get(family) == "fail"), fact=fact)
              for family, fact in (("cmdline", "kernel.cmdline.iommu"), ("acs", "pcie.acs")) for group in groups]
    causes += [cause(authority="majority", severity=("high", "medium", "low")[number % 3], group=groups[number % 5],
                     hosts=(names[number * 7 % count],), fact=f"sysctl.vm.fact_{number}", before="1", value=str(number),
                     expected="199 of 200", state="known", since=since(300 + number % 60, 299 + number % 60))
               for number in range(60)]
    timeline = tuple((number, WHEN - (365 - number) * DAY, (number * 37) % 91, count - number % 5)
                     for number in range(366 - audits, 366))
    return FleetReport(head(asked=count), head(364, count), tuple(hosts), tuple(each for each in causes if each.hosts),
                       (Split("h100-b", "nic.fw", (("28.43.1014", 120), ("28.45.1020", 80)), "looks like a rollout"),),
                       timeline, ("2 versions of tunecheck answered: 0.1.0 (997), 0.0.9 (3)",))


def hostile() -> FleetReport:
    """Every text that a host, an inventory or a spec can bring holds HTML, terminal escapes and a right-to-left
    override."""
    said = problem(check=HOSTILE, subject=HOSTILE, text=HOSTILE, expected=HOSTILE, remedy=f"run: {HOSTILE}",
                   commands=(), tags=(HOSTILE,))
    bad = row(HOSTILE, HOSTILE, hardware=HOSTILE, status="partial", reason=HOSTILE, outcomes={HOSTILE: "fail"},
              unknown={HOSTILE: HOSTILE}, problems=(said,), drifted=1)
    silent = row(HOSTILE + "2", HOSTILE, status="unreachable", reason=HOSTILE, outcomes={}, last_ok=None)
    told = cause(fact=HOSTILE, group=HOSTILE, hosts=(HOSTILE,), value=HOSTILE, before={HOSTILE: [HOSTILE]},
                 expected=HOSTILE, fix=HOSTILE, subject=HOSTILE, text=HOSTILE, remedy=HOSTILE, flapping=(HOSTILE,))
    waived = dataclasses.replace(told, waived=Waived(1, WHEN + DAY, HOSTILE, HOSTILE))
    return report(hosts=(bad, silent), causes=(told, waived, dataclasses.replace(told, state="resolved")),
                  splits=(Split(HOSTILE, HOSTILE, ((HOSTILE, 3), ({HOSTILE: 1}, 2)), HOSTILE,
                                ((), (HOSTILE, HOSTILE + "2"))),), notes=(HOSTILE,),
                  audit=head(asked=2, scope=HOSTILE, tunecheck=HOSTILE, note=HOSTILE))
