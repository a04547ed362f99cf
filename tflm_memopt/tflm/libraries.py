"""Whose kernels the builtin operators run: what these take of the arena differs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from tflm_memopt.errors import UsageError, one_of
from tflm_memopt.ops.packing import Family, family
from tflm_memopt.tflm import builtin_memory, cmsis_nn, esp_nn, orders, reference_2023
from tflm_memopt.tflm.builtin_memory import Kernel
from tflm_memopt.tflm.choices import KERNELS, Kernels
from tflm_memopt.tflm.orders import KernelOrder


@dataclass(frozen=True, slots=True)
class Library:
    """Kernels of TFLM as they are built for some core."""

    name: Kernels
    rows: Mapping[str, Kernel]
    """By operator."""
    orders: Mapping[str, KernelOrder]
    """In which they read and write, where that is known."""


REFERENCE = Library("reference", builtin_memory.KERNELS, orders.REFERENCE)
ANY = Library("reference", builtin_memory.KERNELS, orders.without(orders.CMSIS_NN | orders.ESP_NN))
"""The reference kernels, with nothing that holds for them alone."""
EARLY_2023 = Library("reference", reference_2023.rows(), orders.REFERENCE)
"""The reference kernels of January 2023, as libraries for Arduino still have them."""


@cache
def library(name: Kernels | None, *, mve: bool = False) -> Library:
    """mve: for a core with Helium, where CMSIS-NN wants other buffers. No name: any. Raises UsageError for an unknown
    name.
    """
    match name:
        case None:
            return ANY
        case "reference":
            return REFERENCE
        case "cmsis-nn":
            return Library(name, cmsis_nn.rows(mve=mve), orders.without(orders.CMSIS_NN))
        case "esp-nn":
            return Library(name, esp_nn.rows(), orders.without(orders.ESP_NN))
    raise UsageError(f"unknown kernels: {name!r}", code="bad_option", hint=one_of(name, KERNELS))


def whose_kernels(kernels: Kernels | None, target: str) -> Library:
    """The library of that name, on the target's cores; without a name, whichever it is."""
    return library(kernels, mve=family(target) is Family.MVE)
