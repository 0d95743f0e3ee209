"""A box that hangs so that nothing inside notices: for the tests of what ends it from outside."""

from __future__ import annotations

from tests.lab.box import Box

__all__ = ["HANGS_NOW", "install", "write"]

#: What the console shows when it begins.
HANGS_NOW = "tunecheck_lab: hangs now"
#: The program that hangs; it can be started by hand too.
_PROGRAM = "/usr/local/sbin/hang"
# Every CPU is held by a process of the highest real-time priority, and nothing takes it away again, neither throttling
# nor the fair server of Linux 6.12: interrupts go on, so that the kernel's own detectors see nothing, and process 1
# never runs again.
_HANG = f"""sysctl -w kernel.sched_rt_runtime_us=-1
mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug
for each in /sys/kernel/debug/sched/fair_server/cpu*/runtime; do
  [ ! -e $each ] || echo 0 >$each || closed=yes
done
echo {HANGS_NOW} >/dev/kmsg
# Under lockdown debugfs is closed, and with it the fair server; process 1 is frozen there.
[ -z "$closed" ] || echo 1 >/sys/fs/cgroup/init.scope/cgroup.freeze
for cpu in $(seq 0 $(($(nproc) - 1))); do chrt -f 99 taskset -c $cpu sh -c 'while :; do :; done' & done
wait
"""
# On a busy machine without KVM it takes minutes until systemd has opened the watchdog.
_AFTER_WATCHDOG = """for each in $(seq 240); do
  grep -q ^active /sys/class/watchdog/watchdog0/state && break
  sleep 1
done
"""
# A oneshot before sshd, so that the play cannot prove this boot before it hangs.
_UNIT = f"""[Unit]
ConditionKernelCommandLine=tunecheck_lab.hang
Before=ssh.service
[Service]
Type=oneshot
ExecStart={_PROGRAM}
TimeoutStartSec=infinity
"""


def install(box: Box, watchdog: bool = False) -> str:
    """Let a boot with ``tunecheck_lab.hang`` on its command line hang, with ``watchdog`` once that is open. Return the
    program that hangs at once."""
    write(box, _PROGRAM, "#!/bin/sh\n" + (_AFTER_WATCHDOG if watchdog else "") + _HANG, "0755")
    write(box, "/etc/systemd/system/hang.service", _UNIT)
    box.ssh("ln -sf ../hang.service /etc/systemd/system/multi-user.target.wants/")
    return _PROGRAM


def write(box: Box, path: str, text: str, mode: str = "0644") -> None:
    """Write a file on the box."""
    box.ssh(f"cat >{path} <<'END'\n{text}END\nchmod {mode} {path}")
