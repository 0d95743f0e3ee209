"""Look at a system through its BMC, and power-cycle it. sushy (OpenStack Ironic's) speaks Redfish."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

import sushy  # type: ignore[import-untyped]
from sushy import auth, connector, exceptions

from .identity import compare
from .model import BmcError, Code, Request, System, clean
from .transport import Guarded, check_settings

__all__ = ["OFF_SECONDS", "cycle", "look"]

#: How long a system may take to be off after ForceOff.
OFF_SECONDS = 60.0
_SHOWN = 8
_FORCE_OFF_ON = "ForceOff+On"


def look(request: Request) -> System:
    """Return the system, which could be power-cycled now; BmcError where it could not. Nothing is changed."""
    with _opened(request, request.seconds) as (system, _guard):
        return _judged(request, system)


def cycle(request: Request) -> tuple[Code, System]:
    """Power-cycle the system, or switch it on where it is off. BmcError where nothing was done."""
    with _opened(request, request.seconds + OFF_SECONDS) as (system, guard):
        seen = _judged(request, system)
        if seen.identity != request.confirmed:
            raise BmcError(Code.WRONG_SYSTEM, (
                f"the system {seen.id} behind {request.address} is {seen.identity}, and "
                f"{request.confirmed or 'nothing'} was "
                "confirmed: nothing was done. Confirm the number that the BMC says"))
        if seen.power == "Off":
            return _sent(system, "On", Code.SWITCHED_ON), seen
        if seen.reset != _FORCE_OFF_ON:
            return _sent(system, seen.reset, Code.CYCLED), seen
        if _sent(system, "ForceOff", Code.CYCLED) is Code.UNSURE:
            return Code.UNSURE, seen
        _wait_until_off(request, system, guard)
        return _sent(system, "On", Code.CYCLED), seen


def _sent(system: sushy.resources.system.system.System, reset: str, done: Code) -> Code:
    """Sent once: where the answer is lost it may have been done, and a second reset would hit the boot."""
    try:
        system.reset_system(sushy.ResetType(reset))
    except BmcError as error:
        if error.code in (Code.HANGING, Code.UNREACHABLE, Code.TOO_LARGE):
            return Code.UNSURE
        raise
    except exceptions.ServerSideError as error:
        if error.status_code == 503:
            raise
        return Code.UNSURE
    return done


def _wait_until_off(request: Request, system: sushy.resources.system.system.System, guard: Guarded) -> None:
    end = time.monotonic() + OFF_SECONDS
    while True:
        system.refresh()
        if system.power_state == sushy.PowerState.OFF:
            return
        if time.monotonic() > end:
            raise BmcError(Code.REFUSED, (
                f"the BMC {request.address} took ForceOff, and the system is still {_power(system)} after "
                f"{OFF_SECONDS:g} s. "
                "Look at the BMC's page"))
        guard.left()
        time.sleep(1)


class _Auth(auth.SessionOrBasicAuth):  # type: ignore[misc]
    """A session where the service has them: one try, as BMCs lock an account after a few. Without sessions, Basic."""

    def _do_authenticate(self) -> None:
        root = self._root_resource.json
        if not (root.get("SessionService") or root.get("Links", {}).get("Sessions")):
            self._fallback_to_basic_authentication()
            return
        auth.SessionAuth._do_authenticate(self)


@contextlib.contextmanager
def _opened(request: Request, seconds: float) -> Iterator[tuple[sushy.resources.system.system.System, Guarded]]:
    """The system, with every failure of the library as one of ours; the session is ended behind it."""
    guard = Guarded(request, check_settings(request), seconds)
    way = connector.Connector(request.address, server_side_retries=1, server_side_retries_delay=2)
    # Neither a proxy nor .netrc of the environment; what is not https to the one address is refused by the guard.
    way._session.trust_env = False
    way._session.mount("https://", guard)
    way._session.mount("http://", guard)
    who = _Auth(request.user, request.password)
    try:
        try:
            root = sushy.Sushy(request.address, auth=who, connector=way)
            yield root.get_system(_path_of(request, root.get_system_collection().members_identities)), guard
        finally:
            with contextlib.suppress(BmcError, exceptions.SushyError):
                who.close()
            way.close()
    except exceptions.SushyError as error:
        raise _meaning(request, error) from None
    except (ValueError, TypeError, AttributeError, LookupError, RecursionError):
        raise _not_redfish(request) from None


def _path_of(request: Request, paths: tuple[str, ...]) -> str:
    names = {str(path).rstrip("/").rpartition("/")[2]: str(path) for path in paths}
    shown = ", ".join(clean(name) for name in sorted(names)[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
    if not names:
        raise BmcError(Code.NO_SYSTEM, (
            f"the BMC {request.address} knows no system: is it the box's BMC, and no chassis manager?"))
    if request.system:
        if request.system not in names:
            raise BmcError(Code.NO_SYSTEM, (
                f"the BMC {request.address} knows no system {clean(request.system)}; it has {shown}. Correct "
                "boot_trial_bmc_system"))
        return names[request.system]
    if len(names) > 1:
        raise BmcError(Code.SEVERAL_SYSTEMS, (
            f"the BMC {request.address} has several systems ({shown}): name the box's in boot_trial_bmc_system"))
    return next(iter(names.values()))


def _judged(request: Request, system: sushy.resources.system.system.System) -> System:
    seen = System(clean(system.identity), clean(system.name), clean(system.model), clean(system.serial_number),
                  clean(system.sku), clean(system.uuid), _power(system), _reset(request, system))
    compare(request, seen)
    if request.up and seen.power == "Off":
        raise BmcError(Code.OFF, (
            f"the BMC {request.address} says that its system {seen.id} ({seen.identity}) is off, and this box is "
            f"up: it is the "
            "BMC of another machine. Correct boot_trial_bmc_address or boot_trial_bmc_system"))
    return seen


def _power(system: sushy.resources.system.system.System) -> str:
    return str(system.power_state.value) if system.power_state else "unknown"


def _reset(request: Request, system: sushy.resources.system.system.System) -> str:
    """Of the values that the service allows (all, where it names none)."""
    allowed = {each.value for each in system.get_allowed_reset_system_values()}
    for reset in ("ForceRestart", "PowerCycle"):
        if reset in allowed:
            return reset
    if {"ForceOff", "On"} <= allowed:
        return _FORCE_OFF_ON
    raise BmcError(Code.NO_RESET, (
        f"the BMC {request.address} allows neither ForceRestart nor PowerCycle nor ForceOff and On, but "
        f"{clean(', '.join(sorted(allowed))) or 'nothing'}: give the user the operator's role, or use the BMC's own "
        f"page"))


def _not_redfish(request: Request) -> BmcError:
    return BmcError(Code.NOT_REDFISH, (
        f"{request.address} answers, and not as Redfish does: is it the BMC's address, and is Redfish switched on "
        f"there "
        f"(try {request.address}/redfish/v1/)?"))


def _meaning(request: Request, error: exceptions.SushyError) -> BmcError:
    status = getattr(error, "status_code", None)
    said = clean(getattr(error, "detail", "") or "")
    tail = f" ({said})" if said else ""
    if status == 401:
        return BmcError(Code.UNAUTHORIZED, (
            f"the BMC {request.address} does not accept the user {clean(request.user)} with this password: correct "
            "boot_trial_bmc_user and boot_trial_bmc_password, or TUNECHECK_BMC_USER and TUNECHECK_BMC_PASSWORD"))
    if status == 403:
        return BmcError(Code.NO_PRIVILEGE, (
            f"the BMC {request.address} does not allow this to the user {clean(request.user)}{tail}: give that user "
            f"the "
            "operator's role on the BMC"))
    if isinstance(error, exceptions.MissingActionError):
        return BmcError(Code.NO_RESET, (
            f"the BMC {request.address} offers no reset of this system: give the user the operator's role, or renew "
            f"the BMC's "
            "firmware"))
    if isinstance(error, exceptions.ServerSideError):
        return BmcError(Code.NOT_READY, (
            f"the BMC {request.address} answers with HTTP {status}{tail}: it may still start. Wait a minute, then "
            f"try again; "
            "where it stays, restart the BMC (ipmitool mc reset cold)"))
    if status in (None, 404):
        return _not_redfish(request)
    return BmcError(Code.REFUSED, (
        f"the BMC {request.address} refused with HTTP {status}{tail}: look at the BMC's own page"))
