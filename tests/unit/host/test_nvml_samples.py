"""One sample of one GPU: what each board says of its links, and what is never asked of it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tunecheck.host import nvml_samples

pynvml = pytest.importorskip("pynvml")
NVLINK = (pynvml.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, pynvml.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX)
PCIE = (pynvml.NVML_FI_DEV_PCIE_COUNT_TX_BYTES, pynvml.NVML_FI_DEV_PCIE_COUNT_RX_BYTES)


class Library:
    """``fields``: what each field of the board holds; another one is not supported (3). ``asked``: every
    function that was looked up."""

    NVMLError = pynvml.NVMLError

    def __init__(self, fields: dict[int, int]) -> None:
        self.fields, self.asked = fields, list[str]()

    def _values(self, _: object, fields: list[Any]) -> list[Any]:
        ids = [each[0] if isinstance(each, tuple) else each for each in fields]
        return [SimpleNamespace(nvmlReturn=0 if name in self.fields else 3,
                                value=SimpleNamespace(ullVal=self.fields.get(name, 0))) for name in ids]

    def __getattr__(self, name: str) -> Any:
        self.asked.append(name)
        if name == "nvmlDeviceGetFieldValues":
            return self._values
        raise AttributeError(name)


@pytest.mark.parametrize(("fields", "kib", "over_pcie"), [
    ({NVLINK[0]: 700, NVLINK[1]: 77, PCIE[0]: 1 << 30, PCIE[1]: 1 << 30}, 777, False),
    ({NVLINK[0]: 0, NVLINK[1]: 0, PCIE[0]: 1 << 30, PCIE[1]: 1 << 30}, 0, False),
    ({PCIE[0]: 3 << 10, PCIE[1]: 2 << 10}, 5, True), ({PCIE[0]: 3 << 10}, None, False), ({}, None, False)],
    ids=["NVLinks", "NVLinks that rest", "PCIe alone", "half of PCIe", "neither"])
def test_what_the_links_carried(fields: dict[int, int], kib: int | None, over_pcie: bool) -> None:
    library = Library(fields)
    told = nvml_samples._one(library, "0000:03:00.0", object())
    assert "nvmlDeviceGetPcieThroughput" not in library.asked
    gpu = nvml_samples._gpu(told)
    assert (gpu.link_kib, gpu.over_pcie) == (kib, over_pcie)
