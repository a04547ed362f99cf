"""Describes the inputs and outputs of a C module: functions, constants and types."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tflm_memopt.emit.names import comment
from tflm_memopt.emit.quantizers import C_TYPES, dequantizer, quantizer
from tflm_memopt.errors import UsageError
from tflm_memopt.model.graph import Graph, Tensor, TensorId


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output of a C module. The C function `function` returns the address of its bytes, and the C constant
    `constant` is their number.
    """

    function: str
    constant: str
    type: str
    nbytes: int
    tensor: TensorId
    conversion: str
    """Name of the C function that converts between real and quantized values, or "" for a tensor without a scale."""
    about: str
    """Text for a C comment: type, shape, scale and name of the tensor."""


@dataclass(frozen=True, slots=True)
class Ports:
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]

    @property
    def all(self) -> tuple[Port, ...]:
        return (*self.inputs, *self.outputs)


def ports(prefix: str, graph: Graph) -> Ports:
    """Return the inputs and outputs of a C module, with C names that start with `prefix`. Raises UsageError for unknown
    types.
    """
    sides = (("input", graph.inputs), ("output", graph.outputs))
    found = (_side(prefix, side, [graph.tensors[t] for t in tensors]) for side, tensors in sides)
    return Ports(*found)


def _side(prefix: str, side: str, tensors: Sequence[Tensor]) -> tuple[Port, ...]:
    stems = [side] if len(tensors) == 1 else [f"{side}_{k}" for k in range(len(tensors))]
    convert = quantizer if side == "input" else dequantizer
    return tuple(_port(f"{prefix}_{stem}", tensor, convert) for stem, tensor in zip(stems, tensors, strict=True))


def _port(function: str, tensor: Tensor, convert: Callable[[str, Tensor], Iterator[str]]) -> Port:
    if tensor.dtype not in C_TYPES or tensor.variable or not tensor.nbytes:
        what = "a variable" if tensor.variable else f"{tensor.dtype.lower()} {list(tensor.shape)}"
        raise UsageError(
            f"a C module does not support the input or output '{tensor.name}': it is {what}",
            code="cannot_emit",
            where=f"tensor {tensor.id} '{tensor.name}'",
            hint="use --emit cpp, for TensorFlow Lite Micro",
        )
    constant = f"{function}_bytes".upper()
    return Port(
        function,
        constant,
        C_TYPES[tensor.dtype],
        tensor.nbytes,
        tensor.id,
        "\n".join(convert(function, tensor)),
        _about(tensor),
    )


def _about(tensor: Tensor) -> str:
    q = tensor.quantization
    affine = f", scale {q.scale[0]:.9g}, zero point {q.zero_point[0]}" if q and q.scale else ""
    return f"{tensor.dtype.lower()} {'x'.join(map(str, tensor.shape))}{affine}, '{comment(tensor.name)}'"
