"""Methods of TFLM's MicroMutableOpResolver, by the name of the operator that each method adds.

Source: tensorflow/lite/micro/micro_mutable_op_resolver.h.
"""

import re
from collections.abc import Mapping

from tflm_memopt.tflm.accepted import CUSTOM_OPERATORS, FORMS


def _method(operator: str) -> str:
    """Return the usual name of a builtin operator's method.

    >>> _method("DEPTHWISE_CONV_2D"), _method("UNIDIRECTIONAL_SEQUENCE_LSTM")
    ('AddDepthwiseConv2D', 'AddUnidirectionalSequenceLSTM')
    """
    words = "".join(word.capitalize() for word in operator.split("_"))
    return "Add" + re.sub("2d$|Lstm$", lambda end: end[0].upper(), words)


BUILTIN: Mapping[str, str] = {operator: _method(operator) for operator in FORMS} | {
    "BATCH_MATMUL": "AddBatchMatMul", "CUMSUM": "AddCumSum", "PADV2": "AddPadV2",
}  # fmt: skip
CUSTOM: Mapping[str, str] = {name: f"Add{name.removeprefix('Signal')}" for name in sorted(CUSTOM_OPERATORS)} | {
    "CIRCULAR_BUFFER": "AddCircularBuffer", "TFLM_DECODE": "AddDecode",
    "TFLite_Detection_PostProcess": "AddDetectionPostprocess", "ethos-u": "AddEthosU",
}  # fmt: skip
"""Custom operators that TFLM provides."""

AFTER_2023 = frozenset(("AddDecode", "AddDynamicUpdateSlice", "AddReduceAll", "AddReduceMin", "AddReverseV2"))
"""Methods that TFLM lacked in October 2023."""
