"""Kernel libraries for the builtin operators, and the memory that their kernels allocate."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from tflm_memopt.errors import UsageError, one_of
from tflm_memopt.ops.packing import Family, family
from tflm_memopt.tflm import access_order, builtin_memory, cmsis_nn, custom_memory, esp_nn
from tflm_memopt.tflm.access_order import KernelOrder
from tflm_memopt.tflm.builtin_memory import Kernel, Node, Persistent, Scratch, Step, temps
from tflm_memopt.tflm.choices import KERNELS, Kernels
from tflm_memopt.tflm.structs import Abi


@dataclass(frozen=True, slots=True)
class Library:
    name: Kernels
    rows: Mapping[str, Kernel]
    orders: Mapping[str, KernelOrder]
    """Known orders in which kernels access their tensors."""


def _rows(builtin: Mapping[str, Kernel]) -> Mapping[str, Kernel]:
    return {**builtin, **custom_memory.KERNELS}


def _lstm_2023(node: Node, abi: Abi) -> Iterator[Step]:
    """Replay Prepare of unidirectional_sequence_lstm.cc before February 2023. Prepare accesses most tensors three
    times, and frees temporary tensors only at its end. Input 18 of an LSTM replaces the intermediate tensor of the
    hidden state, because the two tensors have equal scales.
    """
    cell = node.elements("i19")
    yield from temps(node, "i21 i0 i4 i8 i1 i2 i3 i5 i6 i7 i9 i10 i11 i12 i13 i14 i15 i16 i17 o0 i18 i19 i1")
    if node.dtype("i0") != "INT8":
        yield Scratch(4 * 4 * cell)
        return
    yield from temps(node, "i19 o0 i0 i1 i2 i3 i4 i5 i6 i7 i8 i9 i10 i11 i20 i21 i22 i23 i16 i18 i18")
    for nbytes in (2, 2, 2, 2, 1):
        yield Scratch(nbytes * cell)
    yield from temps(node, "i0 i18 i1 i2 i3 i4 i5 i6 i7 i8 i16 i17 i18")
    for bias in ("i13", "i14", "i15", "i12"):
        yield from temps(node, bias)
        yield Persistent(4 * node.dim("i2", 0))
        yield Persistent(4 * node.dim("i6", 0))


REFERENCE = Library("reference", _rows(builtin_memory.KERNELS), access_order.REFERENCE)
ANY = Library("reference", REFERENCE.rows, access_order.without(access_order.CMSIS_NN | access_order.ESP_NN))
"""Allocations of the reference kernels. An operator has no access order if CMSIS-NN or ESP-NN has its own kernel for
the operator.
"""
LSTM_2023 = Kernel("TfLiteUnidirectionalSequenceLSTMParams", "OpDataLSTM 2023", _lstm_2023)
EARLY_2023 = Library("reference", {**REFERENCE.rows, "UNIDIRECTIONAL_SEQUENCE_LSTM": LSTM_2023}, access_order.REFERENCE)
"""The reference kernels of January 2023, which libraries for Arduino still contain."""


@cache
def library(name: Kernels | None, *, mve: bool = False) -> Library:
    """Return the kernel library `name`, or ANY for None. Set the argument `mve` for a core with Helium, because
    CMSIS-NN needs other buffers for Helium. Raises UsageError for an unknown name.
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
