"""Lists the builtin operators of TFLM and the types that their kernels accept.

Each row of the table has an operator, the types of its inputs, the types of its outputs, and the types for which T
stands. In a row, `any` is a type that the kernel does not check, `/` separates alternatives, `?` marks an input that
may be absent, and `*` marks an input that may be repeated. TFLM ignores the version of an operator. A test compares the
table with the official wheel (tests/tflm/test_accepted.py).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

_ROWS = """
ABS                          | T | T | float32 int8 int16
ADD                          | T T | T | float32 int8 int16 int32
ADD_N                        | T T* | T | float32 int8
ARG_MAX                      | T int32 | int32 | float32 int8
ARG_MIN                      | T int32 | int32 | float32 int8
ASSIGN_VARIABLE              | resource/int32 any | |
AVERAGE_POOL_2D              | T | T | float32 int8 int16
BATCH_MATMUL                 | T T | T | float32 int8 int16
BATCH_TO_SPACE_ND            | T int32 int32 | T | float32 int8
BROADCAST_ARGS               | T T | T | int32 int64
BROADCAST_TO                 | T int32/int64 | T | float32 float16 int8 uint8 int16 int32 int64 bool uint32
CALL_ONCE                    | | |
CAST                         | T | float32/int8/int16/int32/bool/uint32 | float32 int8 int16 int32 bool uint32
CEIL                         | T | T | float32
CONCATENATION                | T T* | T | float32 int8 int16 int32 int64 bool
CONV_2D                      | float32 float32 float32? | float32 |
CONV_2D                      | int8 int8/int4 int32? | int8 |
CONV_2D                      | int16 int8 int64/int32? | int16 |
COS                          | T | T | float32
CUMSUM                       | T int32 | T | float32 int8
DEPTHWISE_CONV_2D            | float32 float32 float32? | float32 |
DEPTHWISE_CONV_2D            | int8 int8/int4 int32? | int8 |
DEPTHWISE_CONV_2D            | int16 int8 int64/int32? | int16 |
DEPTH_TO_SPACE               | T | T | float32 int8
DEQUANTIZE                   | T | float32 | int8 uint8 int16
DIV                          | T T | T | float32 int8 int32
DYNAMIC_UPDATE_SLICE         | T T int32/int64 | T | float32 int8 int16 int32
ELU                          | T | T | float32 int8
EMBEDDING_LOOKUP             | int32 float32 | float32 |
EMBEDDING_LOOKUP             | int32 int8 | int8/float32 |
EQUAL                        | T T | bool | float32 int8 int32 int64 bool
EXP                          | T | T | float32
EXPAND_DIMS                  | T int32 | T | float32 int8 int16
FILL                         | int32/int64 T | T | float32 int8 int32
FLOOR                        | T | T | float32
FLOOR_DIV                    | T T | T | float32
FLOOR_MOD                    | T T | T | float32
FULLY_CONNECTED              | float32 float32 float32? | float32 |
FULLY_CONNECTED              | int8 int8/int4 int32? | int8 |
FULLY_CONNECTED              | int16 int8 int64/int32? | int16 |
GATHER                       | T int32 | T | float32 int8
GATHER_ND                    | T int32 | T | float32 int8
GREATER                      | T T | bool | float32 int8 int16 int32 int64
GREATER_EQUAL                | T T | bool | float32 int8 int32 int64
HARD_SWISH                   | T | T | float32 int8
IF                           | bool any* | any* |
L2_NORMALIZATION             | T | T | float32 int8
L2_POOL_2D                   | T | T | float32
LEAKY_RELU                   | T | T | float32 int8 int16
LESS                         | T T | bool | float32 int8 int32 int64
LESS_EQUAL                   | T T | bool | float32 int8 int32 int64
LOG                          | T | T | float32
LOGICAL_AND                  | T T | T | bool
LOGICAL_NOT                  | T | T | bool
LOGICAL_OR                   | T T | T | bool
LOGISTIC                     | T | T | float32 int8 int16
LOG_SOFTMAX                  | T | T | float32 int8
MAXIMUM                      | T T | T | float32 int8 int16 int32 int64
MAX_POOL_2D                  | T | T | float32 int8 int16
MEAN                         | T int32 | T | float32 int8 int16
MINIMUM                      | T T | T | float32 int8 int16 int32 int64
MIRROR_PAD                   | T int32/int64 | T | float32 int8
MUL                          | T T | T | float32 int8 int16 int32
NEG                          | T | T | float32
NOT_EQUAL                    | T T | bool | float32 int8 int32 int64 bool
PACK                         | T T* | T | float32 int8 int16 int32 int64
PAD                          | T int32 | T | float32 int8 int16 int32
PADV2                        | T int32 T | T | float32 int8 int16 int32
PRELU                        | T T | T | float32 int8
QUANTIZE                     | T | int8/int16 | float32 int8 int16 int32
QUANTIZE                     | uint8 | int8 |
QUANTIZE                     | int8 | uint8 |
READ_VARIABLE                | resource/int32 | any |
REDUCE_ALL                   | T int32 | T | bool
REDUCE_MAX                   | T int32 | T | float32 int8
REDUCE_MIN                   | T int32 | T | float32 int8
RELU                         | T | T | float32 int8 int16
RELU6                        | T | T | float32 int8 int16
RESHAPE                      | T any? | T | float32 float16 int8 uint8 int16 int32 int64 bool uint32
RESIZE_BILINEAR              | T int32 | T | float32 int8
RESIZE_NEAREST_NEIGHBOR      | T int32 | T | float32 int8 int16
REVERSE_V2                   | T int32 | T | float32 int8 uint8 int16 int32 int64 bool
ROUND                        | T | T | float32
RSQRT                        | T | T | float32 int8 int16
SELECT_V2                    | bool T T | T | float32 int8 int16
SHAPE                        | T | int32 | float32 float16 int8 uint8 int16 int32 int64 bool uint32
SIN                          | T | T | float32
SLICE                        | T int32/int64 int32/int64 | T | float32 int8 int16 int32 bool
SOFTMAX                      | T | T | float32 int8 int16
SOFTMAX                      | int8 | int16 |
SPACE_TO_BATCH_ND            | T int32 int32 | T | float32 int8
SPACE_TO_DEPTH               | T | T | float32 int8
SPLIT                        | int32 T | T* | float32 int8 int16 int32
SPLIT_V                      | T int32 int32 | T* | float32 int8 int16 int32
SQRT                         | T | T | float32
SQUARE                       | T | T | float32
SQUARED_DIFFERENCE           | T T | T | float32 int8 int16 int32
SQUEEZE                      | T | T | float32 float16 int8 uint8 int16 int32 int64 bool uint32
STRIDED_SLICE                | T int32 int32 int32 | T | float32 int8 int16 int32 bool
SUB                          | T T | T | float32 int8 int16 int32
SUM                          | T int32 | T | float32 int8 int16
SVDF                         | float32 float32 float32 float32? float32 | float32 |
SVDF                         | int8 int8 int16 int32 int16 | int8 |
SVDF                         | int8 int8 int8 int32 int8 | int8 |
TANH                         | T | T | float32 int8 int16
TRANSPOSE                    | T int32 | T | float32 int8 int16
TRANSPOSE_CONV               | int32 float32 float32 float32? | float32 |
TRANSPOSE_CONV               | int32 int8 int8 int32? | int8 |
TRANSPOSE_CONV               | int32 int8 int16 int64/int32/int16? | int16 |
UNIDIRECTIONAL_SEQUENCE_LSTM | T any* | T | float32 int8 int16
UNPACK                       | T | T* | float32 int8 int16 int32
VAR_HANDLE                   | | any |
WHILE                        | any* | any* |
ZEROS_LIKE                   | T | T | float32 int8 int32 int64
"""


@dataclass(frozen=True, slots=True)
class Operand:
    types: tuple[str, ...]
    """Accepted types by their names in the schema. ("T",) stands for the types in Form.types, and () for any type."""
    optional: bool = False
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class Form:
    operator: str
    text: str
    inputs: tuple[Operand, ...]
    outputs: tuple[Operand, ...]
    types: tuple[str, ...]
    """Types for which the name T stands, or ("",) if no input or output has the type T."""

    @property
    def readable(self) -> str:
        """Types of inputs and outputs as text.

        >>> FORMS["GATHER"][0].readable, FORMS["CONV_2D"][1].readable
        ('T, int32 -> T (T: float32 or int8)', 'int8, int8 or int4, [int32] -> int8')
        """
        return self.text if self.types == ("",) else f"{self.text} (T: {' or '.join(t.lower() for t in self.types)})"

    def accepts(self, inputs: Sequence[str], outputs: Sequence[str]) -> bool:
        """Return whether a kernel accepts the given types of inputs and outputs. "" stands for an absent input."""
        return any(_match(self.inputs, inputs, t) and _match(self.outputs, outputs, t) for t in self.types)


def _match(operands: Sequence[Operand], given: Sequence[str], common: str) -> bool:
    rest = list(given)
    for operand in operands:
        allowed = tuple(common if name == "T" else name for name in operand.types)
        while rest and (not allowed or rest[0] in allowed or (not rest[0] and operand.optional)):
            rest.pop(0)
            if not operand.repeated:
                break
        else:
            if not (operand.repeated or (operand.optional and not rest)):
                return False
    return not any(rest)


def _operands(text: str) -> tuple[Operand, ...]:
    return tuple(
        Operand(
            ()
            if (name := word.rstrip("?*")) == "any"
            else tuple(t if t == "T" else t.upper() for t in name.split("/")),
            optional=word.endswith("?"),
            repeated=word.endswith("*"),
        )
        for word in text.split()
    )


def _form(line: str) -> Form:
    operator, inputs, outputs, types = (part.strip() for part in line.split("|"))
    names = tuple(types.upper().split()) or ("",)
    return Form(operator, f"{_listed(inputs)} -> {_listed(outputs)}", _operands(inputs), _operands(outputs), names)


def _listed(operands: str) -> str:
    words = (f"[{word[:-1]}]" if word.endswith("?") else word.replace("*", "...") for word in operands.split())
    return ", ".join(words).replace("/", " or ") or "nothing"


FORMS: Mapping[str, tuple[Form, ...]] = {
    operator: tuple(forms)
    for operator, forms in groupby(map(_form, _ROWS.strip().splitlines()), attrgetter("operator"))
}
CUSTOM_OPERATORS = frozenset({
    "CIRCULAR_BUFFER", "SignalDelay", "SignalEnergy", "SignalFftAutoScale", "SignalFilterBank", "SignalFilterBankLog",
    "SignalFilterBankSpectralSubtraction", "SignalFilterBankSquareRoot", "SignalFramer", "SignalIrfft",
    "SignalOverlapAdd", "SignalPCAN", "SignalRfft", "SignalStacker", "SignalWindow", "TFLM_DECODE",
    "TFLite_Detection_PostProcess", "ethos-u",
})  # fmt: skip
"""Codes of the custom operators that are part of TFLM."""


def accepts(operator: str, inputs: Sequence[str], outputs: Sequence[str]) -> bool:
    return any(form.accepts(inputs, outputs) for form in FORMS.get(operator, ()))
