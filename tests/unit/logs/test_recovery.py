"""How the kernel's recovery from a PCIe error ended belongs to the error that it followed, and to no other."""

from __future__ import annotations

from itertools import chain

import pytest

from tunecheck.parsers.kernel.kernel_log import parse

PORT, GPU, ROOT, OTHER = "0000:80:01.1", "0000:81:00.0", "0000:80:00.1", "0000:c0:03.1"
FAILED, WORKED = "AER: device recovery failed", "AER: device recovery successful"


def corrected(device: str, port: str = "") -> list[str]:
    told = [f"pcieport {port}: AER: Correctable error message received from {device}"] if port else []
    return [*told, f"pcieport {device}: PCIe Bus Error: severity=Correctable, type=Data Link Layer, (Transmitter ID)",
            f"pcieport {device}:   device [1022:14ab] error status/mask=00001000/00006000"]


def uncorrected(device: str, port: str, kind: str = "Fatal", driver: str = "nvidia") -> list[str]:
    return [f"pcieport {port}: AER: Uncorrectable ({kind}) error message received from {device}",
            f"{driver} {device}: PCIe Bus Error: severity=Uncorrectable ({kind}), type=Transaction Layer, "
            "(Receiver ID)",
            f"{driver} {device}:   device [10de:2bb5] error status/mask=00004000/00000000"]


def ended(device: str, how: str = FAILED) -> list[str]:
    return [f"pcieport {device}: {how}"]


def unrecovered(*messages: list[str]) -> set[tuple[str, str]]:
    lines = [f"[{number + 10}.000000] {text}" for number, text in enumerate(chain(*messages))]
    return {(error.bdf, error.severity) for error in parse("\n".join(lines) + "\n").pcie if error.unrecovered}


BEFORE = [
    [], corrected(PORT), corrected(GPU, PORT), corrected(OTHER), corrected(PORT, PORT) + corrected(GPU, PORT),
    uncorrected(OTHER, OTHER, driver="pcieport") + ended(OTHER, WORKED),
    uncorrected(GPU, PORT, "Non-Fatal") + ended(PORT, WORKED),
]


@pytest.mark.parametrize("kind", ["Fatal", "Non-Fatal"])
@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("after", [[], *BEFORE[1:5]])
@pytest.mark.parametrize("end", [ended(PORT), [f"nvidia {GPU}: AER: can't recover (no error_detected callback)"]])
def test_it_is_the_uncorrectable_error_before_it(kind: str, before: list[str], after: list[str],
                                                 end: list[str]) -> None:
    error = (GPU, kind.lower())
    assert unrecovered(before, uncorrected(GPU, PORT, kind), end, after) == {error}
    # Correctable ones of other devices come between them.
    assert unrecovered(before, uncorrected(GPU, PORT, kind), after, end) == {error}


def test_below_a_switch_the_root_port_announces_and_another_port_recovers() -> None:
    assert unrecovered(corrected(PORT), uncorrected(GPU, ROOT), ended(PORT)) == {(GPU, "fatal")}


def test_the_port_of_an_error_tells_which_of_two() -> None:
    two = uncorrected(GPU, PORT) + uncorrected("0000:c1:00.0", OTHER)
    assert unrecovered(two, ended(PORT)) == {(GPU, "fatal")}
    assert unrecovered(two, ended(PORT, WORKED), ended(OTHER)) == {("0000:c1:00.0", "fatal")}


def test_one_that_was_recovered_is_not_unrecovered() -> None:
    assert unrecovered(uncorrected(GPU, PORT), ended(PORT, WORKED)) == set()
    assert unrecovered(uncorrected(GPU, PORT), ended(PORT, WORKED), corrected(PORT), ended(PORT)) == {
        (PORT, "uncorrectable")}


def test_where_the_log_lost_the_error_the_failure_stays() -> None:
    assert unrecovered(corrected(PORT), ended(PORT)) == {(PORT, "uncorrectable")}
    # Another PCI domain has nothing to do with it.
    assert unrecovered(uncorrected("0001:41:00.0", "0001:40:01.1"), ended(PORT)) == {(PORT, "uncorrectable")}
