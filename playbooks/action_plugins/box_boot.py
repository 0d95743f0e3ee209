"""Action plugin: reboot a box, and wait for it, without a worker of Ansible's for each box that is down.

``requested`` asks the boot ``boot_id`` of one box for a reboot and returns. ``watched`` looks at the ssh ports of all
boxes that are away, from one worker, and returns when some are back. ``asked`` asks one box which boot it runs: a new
one? The play repeats the last two until no box is away. ``away`` is what it knows of such a box:

    name             inventory_hostname
    door             [address, port] of its ssh server; empty where it is not seen from here (jump host, proxy, no ssh)
    gone             its ssh server was seen to be down since the reboot was requested
    boot_id          of the boot that is to end
    stage            what is waited for: boot, return (to the old entry), power (after a power cycle)
    since, until     seconds of the epoch: requested at; the stage is over at
    why              why it did not answer last time"""

from __future__ import annotations

import asyncio
import contextlib
import shlex
import subprocess
import time

from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.plugins.action import ActionBase

_BOOT_ID = "cat /proc/sys/kernel/random/boot_id"
#: sshd (9.8 and later) holds 1 s of penalty against an address for each connection without a login, and shuts it out
#: above 15 s: one look in 2 s never adds up to that.
_LOOK_EVERY = 2.0
_LOOK_SECONDS = 3.0
#: Boxes come back one after another; those that come within this time are worked on together.
_QUIET_SECONDS = 5.0
_CONNECT_SECONDS = 5
#: sshd answers some seconds before it lets anybody log in (pam_nologin).
_LOGIN_SECONDS = 10
_OPTIONS = ("ssh_args", "ssh_common_args", "ssh_extra_args")


async def _answers(door):
    """Whether an ssh server says its name there. A socket of systemd alone takes connections, and says nothing."""
    try:
        reader, writer = await asyncio.wait_for(asyncio.open_connection(*door), _LOOK_SECONDS)
    except (OSError, asyncio.TimeoutError):
        return False
    try:
        return await asyncio.wait_for(reader.readexactly(4), _LOOK_SECONDS) == b"SSH-"
    except (OSError, EOFError, asyncio.TimeoutError):
        return False
    finally:
        writer.close()


async def watch(boxes, seconds):
    """Return (names to ask, names that were seen to be down). It ends when all ``boxes`` are back, when some are and
    no other follows, or after ``seconds``; then those that answered all the time are to be asked, too."""
    end, latest = time.monotonic() + seconds, 0.0
    gone, back = {box["name"] for box in boxes if box["gone"]}, set()
    while True:
        waiting = [box for box in boxes if box["name"] not in back]
        there = await asyncio.gather(*(_answers(box["door"]) for box in waiting))
        now = time.monotonic()
        up = {box["name"] for box, answers in zip(waiting, there, strict=True) if answers}
        gone |= {box["name"] for box in waiting} - up
        if up & gone:
            back, latest = back | (up & gone), now
        if len(back) == len(boxes) or (back and now - latest >= _QUIET_SECONDS):
            return back, gone
        if now >= end:
            return back | up, gone
        await asyncio.sleep(min(_LOOK_EVERY, end - now))


def round_seconds(boxes, now):
    """How long a round may take in which no box comes back: longer and longer, as the play repeats it by including a
    file from itself, but not beyond the end of a stage."""
    waited = now - min(box["since"] for box in boxes)
    return max(0.0, min(max(20.0, waited / 8), min(box["until"] for box in boxes) - now))


class ActionModule(ActionBase):
    """``state``: requested (command, boot_id), watched (boxes), asked (away, watched)."""

    TRANSFERS_FILES = False
    _VALID_ARGS = frozenset(("state", "command", "boot_id", "boxes", "away", "watched"))

    def run(self, tmp=None, task_vars=None):
        result = super().run(tmp, task_vars)
        del tmp
        arguments = self._task.args
        if arguments["state"] == "requested":
            return {**result, **self._request(arguments["command"], arguments["boot_id"])}
        if arguments["state"] == "watched":
            return {**result, **self._watch(arguments["boxes"])}
        return {**result, **self._ask(arguments["away"], arguments["watched"])}

    def _request(self, command, boot_id):
        if self._connection.transport == "local":
            return {"failed": True, "msg": "a reboot over a local connection would end the control node"}
        if self._task.check_mode:
            raise ValueError("a reboot is no matter of check mode")
        door = self._door()
        try:
            # Ansible repeats a command whose connection broke where it is set to (ANSIBLE_SSH_RETRIES). The box may be
            # in its next boot by then, and a second reboot would end the trial.
            done = self._low_level_execute_command(
                '[ "$(%s)" != %s ] || %s' % (_BOOT_ID, shlex.quote(boot_id), command), sudoable=True)
        except AnsibleConnectionFailure:
            # The shutdown ended the connection, or the request never got there. The boot id tells later.
            done = {"rc": 0}
        if done["rc"]:
            said = " ".join((done["stdout"] + done["stderr"]).split())[:300]
            return {"failed": True, "msg": "the box did not take the request to reboot (%s): exit code %d: %s"
                                           % (command, done["rc"], said)}
        return {"changed": True, "door": door, "at": time.time()}

    def _door(self):
        """Address and port of the box's ssh server, as ssh itself resolves them; [] where a look from here cannot reach
        it, now that it is up."""
        if self._connection.transport != "ssh":
            return []
        option = self._connection.get_option
        argv = [option("ssh_executable"), "-G"]
        for name in _OPTIONS:
            argv += shlex.split(option(name) or "")
        for flag, name in (("-p", "port"), ("-l", "remote_user")):
            argv += [flag, str(option(name))] if option(name) else []
        try:
            run = subprocess.run([*argv, option("host")], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                 timeout=10, check=True)
        except (OSError, subprocess.SubprocessError):
            return []
        said = dict(line.split(" ", 1) for line in run.stdout.splitlines() if " " in line)
        through = {said.get(name, "none") for name in ("proxyjump", "proxycommand")}
        if through != {"none"} or "hostname" not in said or not said.get("port", "").isdecimal():
            return []
        door = [said["hostname"], int(said["port"])]
        return door if asyncio.run(_answers(door)) else []

    @staticmethod
    def _watch(boxes):
        seconds = round_seconds(boxes, time.time())
        seen = [box for box in boxes if box["door"]]
        # A box that is not seen is waited for by its own worker, in "asked".
        watched = 0.0 if len(seen) < len(boxes) else seconds
        back, gone = asyncio.run(watch(seen, watched)) if seen else (set(), set())
        return {"back": sorted(back), "gone": sorted(gone), "seconds": seconds}

    def _ask(self, away, watched):
        """``away``: {} where the box is back."""
        name, hidden = away["name"], not away["door"]
        answer = {"boot_id": "", "why": ""}
        if hidden or name in watched["back"]:
            # One that was not seen to go down runs its old boot yet, most likely: it is asked once.
            seconds = watched["seconds"] if hidden else _LOGIN_SECONDS if name in watched["gone"] else 0
            answer = self._boot_id(away, seconds)
        # On its way back to the old entry any answer counts; which boot it is, is looked at behind this.
        arrived = answer["boot_id"] and (answer["boot_id"] != away["boot_id"] or away["stage"] != "boot")
        # One whose server answers and that lets nobody log in is asked again at the end of a round.
        later = {**away, "gone": name in watched["gone"] and name not in watched["back"],
                 "why": answer["why"] or away["why"]}
        return {"away": {} if arrived else later}

    def _boot_id(self, away, seconds):
        end = min(time.time() + seconds, max(away["until"], time.time()))
        while True:
            answer = self._try()
            waits = not answer["boot_id"] or (seconds and not away["door"] and away["stage"] == "boot"
                                              and answer["boot_id"] == away["boot_id"])
            if not waits or time.time() >= end:
                return answer
            time.sleep(_LOOK_EVERY)

    def _try(self):
        with contextlib.suppress(AnsibleError, KeyError):       # a connection of another kind has its own
            self._connection.set_option("timeout", _CONNECT_SECONDS)
        try:
            # A connection that is kept open leads to the boot that has ended.
            getattr(self._connection, "reset", lambda: None)()
            done = self._low_level_execute_command(_BOOT_ID, sudoable=True)
        except AnsibleError as error:
            return {"boot_id": "", "why": " ".join(str(error).split())[:300]}
        if done["rc"]:
            return {"boot_id": "", "why": " ".join(done["stderr"].split())[:300]}
        return {"boot_id": done["stdout"].strip(), "why": ""}
