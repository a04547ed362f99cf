"""The allocations of operators that were larger in TFLM's reference kernels of January 2023 than they are today.

Current libraries for Arduino still contain these kernels. Source: unidirectional_sequence_lstm.cc in
tensorflow/lite/micro/kernels before its redesign (February 2023). The Prepare of this LSTM kernel accesses most tensors
three times and frees temporary tensors only at its end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tflm_memopt.tflm.builtin_memory import KERNELS, Kernel, Node, Persistent, Scratch, Step, TempTensor, temps
from tflm_memopt.tflm.structs import Abi


def rows() -> Mapping[str, Kernel]:
    """Return what each operator allocates, by the operator's name in the schema."""
    lstm = Kernel("TfLiteUnidirectionalSequenceLSTMParams", "OpDataLSTM 2023", _lstm)
    return {**KERNELS, "UNIDIRECTIONAL_SEQUENCE_LSTM": lstm}


def _lstm(node: Node, abi: Abi) -> Iterator[Step]:
    cell = node.elements("i19")
    yield from temps(node, "i21 i0 i4 i8 i1 i2 i3 i5 i6 i7 i9 i10 i11 i12 i13 i14 i15 i16 i17 o0 i18 i19 i1")
    if node.dtype("i0") != "INT8":
        yield Scratch(4 * 4 * cell)
        return
    yield from temps(node, "i19 o0 i0 i1 i2 i3 i4 i5 i6 i7 i8 i9 i10 i11 i20 i21 i22 i23 i16 i18")
    yield from _hidden(node)
    for nbytes in (2, 2, 2, 2, 1):
        yield Scratch(nbytes * cell)
    yield from temps(node, "i0 i18 i1 i2 i3 i4 i5 i6 i7 i8 i16 i17")
    yield from _hidden(node)
    for bias in ("i13", "i14", "i15", "i12"):  # the two buffers are for sums of a gate's weights
        yield from temps(node, bias)
        yield Persistent(4 * node.dim("i2", 0))
        yield Persistent(4 * node.dim("i6", 0))


def _hidden(node: Node) -> Iterator[Step]:
    """Access the intermediate tensor of an LSTM's hidden state, with one scale as in the LSTM's output state."""
    state = node.tensor("i18")
    if state is not None:
        yield TempTensor(state)
