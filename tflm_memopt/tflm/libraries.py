"""Kernel libraries for the builtin operators, and the memory that their kernels allocate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from tflm_memopt.errors import UsageError, one_of
from tflm_memopt.ops.packing import Family, family
from tflm_memopt.tflm import access_order, builtin_memory, cmsis_nn, custom_memory, esp_nn, reference_2023
from tflm_memopt.tflm.access_order import KernelOrder
from tflm_memopt.tflm.builtin_memory import Kernel
from tflm_memopt.tflm.choices import KERNELS, Kernels


@dataclass(frozen=True, slots=True)
class Library:
    """A library of TFLM kernels, built for a core."""

    name: Kernels
    rows: Mapping[str, Kernel]
    """Allocations of the library's kernels by operator."""
    orders: Mapping[str, KernelOrder]
    """Order in which an operator's kernel reads and writes its tensors, by operator, if the order is known."""


def _rows(builtin: Mapping[str, Kernel]) -> Mapping[str, Kernel]:
    return {**builtin, **custom_memory.KERNELS}


REFERENCE = Library("reference", _rows(builtin_memory.KERNELS), access_order.REFERENCE)
ANY = Library("reference", REFERENCE.rows, access_order.without(access_order.CMSIS_NN | access_order.ESP_NN))
"""The reference kernels, with only those access orders that all libraries share."""
EARLY_2023 = Library("reference", _rows(reference_2023.rows()), access_order.REFERENCE)
"""The reference kernels of January 2023, which libraries for Arduino still contain."""


@cache
def library(name: Kernels | None, *, mve: bool = False) -> Library:
    """Return the kernel library `name`, or ANY for None. mve: whether the core has Helium, for which CMSIS-NN needs
    other buffers. Raises UsageError for an unknown name.
    """
    match name:
        case None:
            return ANY
        case "reference":
            return REFERENCE
        case "cmsis-nn":
            return Library(name, _rows(cmsis_nn.rows(mve=mve)), access_order.without(access_order.CMSIS_NN))
        case "esp-nn":
            return Library(name, _rows(esp_nn.rows()), access_order.without(access_order.ESP_NN))
    raise UsageError(f"unknown kernels: {name!r}", hint=one_of(name, KERNELS))


def whose_kernels(kernels: Kernels | None, target: str) -> Library:
    """Return the library named `kernels` for the cores of a target, or ANY if the name is None."""
    return library(kernels, mve=family(target) is Family.MVE)
