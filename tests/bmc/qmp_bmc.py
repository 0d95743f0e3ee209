"""A BMC for a QEMU: sushy-tools' Redfish emulator over TLS, with a driver that speaks QMP in place of libvirt.

    python -m tests.bmc.qmp_bmc FOLDER UUID --certificate FILE --key FILE --users FILE [--serial TEXT]

prints the port of 127.0.0.1 that it listens on, and serves until it is ended. FOLDER holds the socket `qmp.sock`."""

from __future__ import annotations

import argparse
import ssl
from pathlib import Path
from typing import Any

from sushy_tools import error
from sushy_tools.emulator import main as emulator
from sushy_tools.emulator.resources.systems import fakedriver
from sushy_tools.emulator.resources.systems.base import AbstractSystemsDriver
from werkzeug.serving import make_server

from lab import qmp


class QmpDriver(AbstractSystemsDriver):
    """One system, a QEMU. A machine that is off is one whose processors stand: it starts anew from its reset vector."""

    def __init__(self, folder: Path, uuid: str) -> None:
        self._folder, self._uuid = folder, uuid

    @property
    def driver(self) -> str:
        return "<qmp>"

    @property
    def systems(self) -> list[str]:
        return [self._uuid]

    def uuid(self, identity: str) -> str:
        if identity != self._uuid:
            raise error.NotFound(f"there is no system {identity}")
        return self._uuid

    def name(self, identity: str) -> str:
        self.uuid(identity)
        return self._folder.name

    def get_power_state(self, identity: str) -> str:
        self.uuid(identity)
        return "On" if qmp.ask(self._folder, "query-status")["running"] else "Off"

    def set_power_state(self, identity: str, state: str) -> None:
        on = self.get_power_state(identity) == "On"
        if state in ("On", "ForceOn") and not on:
            qmp.ask(self._folder, "system_reset")
            qmp.ask(self._folder, "cont")
        elif state == "ForceRestart" and on:
            qmp.ask(self._folder, "system_reset")
        elif state == "ForceOff" and on:
            qmp.ask(self._folder, "stop")
        elif state == "Nmi":
            qmp.ask(self._folder, "inject-nmi")
        elif state not in ("On", "ForceOn", "ForceOff"):
            raise error.NotSupportedError(f"{state} of a system that is {'on' if on else 'off'}")

    def get_boot_device(self, identity: str) -> str:
        return "Hdd"

    def set_boot_device(self, identity: str, boot_source: str) -> None:
        raise error.NotSupportedError("not here")


def serve(folder: Path, uuid: str, certificate: Path, key: Path, users: Path, serial: str) -> None:
    """Serve until this process is ended."""
    driver = QmpDriver(folder, uuid)
    # sushy-tools has no way to name a driver of somebody else's.
    fakedriver.FakeDriver.initialize = classmethod(lambda cls, config, logger: lambda: driver)
    app = emulator.app
    app.configure(extra_config={"SUSHY_EMULATOR_FAKE_DRIVER": True, "SUSHY_EMULATOR_AUTH_FILE": str(users)})

    @app.after_request
    def _with_serial_number(answer: Any) -> Any:
        if serial and answer.status_code == 200 and answer.is_json and "PowerState" in (said := answer.get_json()):
            answer.set_data(app.json.dumps(said | {"SerialNumber": serial}))
        return answer

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = make_server("127.0.0.1", 0, app, threaded=True, ssl_context=context)
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("uuid")
    for name in ("certificate", "key", "users"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--serial", default="")
    serve(**vars(parser.parse_args()))
