"""Output shapes of TFLM's builtin operators, computed from the shapes of their inputs and from their options.

A rule returns the shape of each output. A rule raises Unknown for shapes that depend on values at run time, and
Diagnostics for inputs whose shapes do not match.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from tflm_memopt.model.graph import Tensor
from tflm_memopt.ops.context import span
from tflm_memopt.tflm.builtin_memory import Node

Shape = tuple[int, ...]
Shapes = tuple[Shape, ...]


class Unknown(Exception):
    """Raised if an output's shape depends on values that are known only at run time."""


class Diagnostics(Exception):
    """Raised if the shapes of an operator's inputs do not match."""


def of(node: Node, name: str) -> Shape:
    return _tensor(node, name).shape


def _tensor(node: Node, name: str) -> Tensor:
    tensor = node.tensor(name)
    if tensor is None:
        raise Diagnostics(f"input {name[1:]} is missing")
    return tensor


def constant(node: Node, name: str) -> tuple[int, ...]:
    data = _tensor(node, name).data
    if data is None:
        raise Unknown
    return tuple(int(value) for value in data.flatten())


def _axis(value: int, rank: int) -> int:
    if not -rank <= value < rank:
        raise Diagnostics(f"axis {value} of {rank} dimensions")
    return value % rank


def _fits(holds: bool, why: str) -> None:
    if not holds:
        raise Diagnostics(why)


def broadcast(node: Node) -> Shapes:
    shapes = [tensor.shape for tensor in node.inputs if tensor is not None]
    try:
        return (np.broadcast_shapes(*shapes),)
    except ValueError:
        raise Diagnostics(f"{_listed(shapes)} cannot be broadcast") from None


def all_same(node: Node) -> Shapes:
    shapes = [tensor.shape for tensor in node.inputs if tensor is not None]
    _fits(len(set(shapes)) == 1, f"{_listed(shapes)} should be equal")
    return (shapes[0],)


def conv(node: Node) -> Shapes:
    batches, h, w, channels = of(node, "i0")
    units, kernel_h, kernel_w, group = of(node, "i1")
    _fits(group > 0 and channels % group == 0, f"the input has {channels} channels, the filter is for {group}")
    _bias(node, "i2", units)
    return ((batches, *_slide(node, (h, w), (kernel_h, kernel_w)), units),)


def depthwise(node: Node) -> Shapes:
    batches, h, w, channels = of(node, "i0")
    _, kernel_h, kernel_w, units = of(node, "i1")
    multiplier = node.options["depthMultiplier"]
    _fits(
        channels * multiplier == units,
        f"the filter has {units} channels for {channels} of the input and a depth multiplier of {multiplier}",
    )
    _bias(node, "i2", units)
    return ((batches, *_slide(node, (h, w), (kernel_h, kernel_w)), units),)


def pool(node: Node) -> Shapes:
    batches, h, w, channels = of(node, "i0")
    kernel = node.options["filterHeight"], node.options["filterWidth"]
    return ((batches, *_slide(node, (h, w), kernel), channels),)


def _slide(node: Node, size: tuple[int, int], kernel: tuple[int, int]) -> Shape:
    strides = node.options["strideH"], node.options["strideW"]
    dilations = node.options.get("dilationHFactor", 1), node.options.get("dilationWFactor", 1)
    return tuple(
        span(*axis, node.options["padding"]).output for axis in zip(size, kernel, strides, dilations, strict=True)
    )


def transpose_conv(node: Node) -> Shapes:
    """Return the output's shape from the file, because TFLM's TRANSPOSE_CONV writes into an output of any shape. A
    convolution of the output with the filter must give the input's shape.
    """
    units, kernel_h, kernel_w, group = of(node, "i1")
    batches, h, w, channels = of(node, "i2")
    stated = of(node, "o0")
    _fits(channels == group, f"the input has {channels} channels, the filter is for {group}")
    _bias(node, "i3", units)
    back = _slide(node, (stated[1], stated[2]), (kernel_h, kernel_w))
    _fits(back == (h, w), f"an output of {list(stated)} comes from {list(back)} pixels, the input has {[h, w]}")
    return ((batches, *stated[1:3], units),)


def fully_connected(node: Node) -> Shapes:
    *_, units, depth = of(node, "i1")
    elements = node.elements("i0")
    _fits(depth > 0 and elements % depth == 0, f"{elements} inputs are not a multiple of {depth} weights a unit")
    _bias(node, "i2", units)
    return ((elements // depth, units),)


def _bias(node: Node, name: str, units: int) -> None:
    bias = node.tensor(name)
    _fits(bias is None or bias.elements == units, f"the bias has {node.elements(name)} values for {units} channels")


def batch_matmul(node: Node) -> Shapes:
    a, b = of(node, "i0"), of(node, "i1")
    rows, depth = (a[-1], a[-2]) if node.options["adjX"] else (a[-2], a[-1])
    columns, other = (b[-2], b[-1]) if node.options["adjY"] else (b[-1], b[-2])
    _fits(depth == other, f"{list(a)} and {list(b)} cannot be multiplied")
    return ((*np.broadcast_shapes(a[:-2], b[:-2]), rows, columns),)


def reduction(node: Node) -> Shapes:
    shape = of(node, "i0")
    axes = {_axis(a, len(shape)) for a in constant(node, "i1")}
    return (tuple(1 if a in axes else d for a, d in enumerate(shape)),)


def concatenation(node: Node) -> Shapes:
    shapes = [tensor.shape for tensor in node.inputs if tensor is not None]
    axis = _axis(node.options["axis"], len(shapes[0]))
    others = {(*shape[:axis], *shape[axis + 1 :]) for shape in shapes}
    _fits(len(others) == 1, f"{_listed(shapes)} differ in more than dimension {axis}")
    return ((*shapes[0][:axis], sum(shape[axis] for shape in shapes), *shapes[0][axis + 1 :]),)


def pack(node: Node) -> Shapes:
    ((shape),) = all_same(node)
    axis = _axis(node.options["axis"], len(shape) + 1)
    return ((*shape[:axis], len(node.inputs), *shape[axis:]),)


def unpack(node: Node) -> Shapes:
    shape = of(node, "i0")
    axis = _axis(node.options["axis"], len(shape))
    _fits(shape[axis] == len(node.outputs), f"{shape[axis]} pieces, {len(node.outputs)} outputs")
    return ((*shape[:axis], *shape[axis + 1 :]),) * len(node.outputs)


def split(node: Node) -> Shapes:
    shape, pieces = of(node, "i1"), len(node.outputs)
    axis = _axis(constant(node, "i0")[0], len(shape))
    _fits(shape[axis] % pieces == 0, f"a dimension of {shape[axis]} cannot be split into {pieces}")
    return ((*shape[:axis], shape[axis] // pieces, *shape[axis + 1 :]),) * pieces


def split_v(node: Node) -> Shapes:
    shape, sizes = of(node, "i0"), list(constant(node, "i1"))
    axis = _axis(constant(node, "i2")[0], len(shape))
    if -1 in sizes:
        sizes[sizes.index(-1)] = shape[axis] - sum(sizes) - 1
    _fits(sum(sizes) == shape[axis], f"a dimension of {shape[axis]} cannot be split into {sizes}")
    return tuple((*shape[:axis], size, *shape[axis + 1 :]) for size in sizes)


def slice_(node: Node) -> Shapes:
    shape, begins, sizes = of(node, "i0"), constant(node, "i1"), constant(node, "i2")
    ends = [d if s == -1 else b + s for d, b, s in zip(shape, begins, sizes, strict=True)]
    _fits(
        all(0 <= b <= e <= d for b, e, d in zip(begins, ends, shape, strict=True)),
        f"{list(begins)} to {ends} reaches outside of {list(shape)}",
    )
    return (tuple(e - b for b, e in zip(begins, ends, strict=True)),)


def strided_slice(node: Node) -> Shapes:
    """Return the output's shape as in TFLM, which ignores ellipsis_mask and new_axis_mask (strided_slice_common.cc)."""
    shape = of(node, "i0")
    bounds = zip(shape, *(constant(node, name) for name in ("i1", "i2", "i3")), strict=True)
    masks = [int(node.options[name]) for name in ("beginMask", "endMask", "shrinkAxisMask")]
    output = []
    for axis, (size, begin, end, stride) in enumerate(bounds):
        no_begin, no_end, shrink = (mask >> axis & 1 for mask in masks)
        _fits(stride != 0, "its stride is 0")
        if not shrink:
            taken = slice(None if no_begin else begin, None if no_end else end, stride)
            output.append(len(range(*taken.indices(size))))
    return (tuple(output),)


def pad(node: Node) -> Shapes:
    shape, pads = of(node, "i0"), _pairs(node, "i1")
    return (tuple(d + before + after for d, (before, after) in zip(shape, pads, strict=True)),)


def _pairs(node: Node, name: str) -> list[tuple[int, int]]:
    values = constant(node, name)
    return list(zip(values[::2], values[1::2], strict=True))


def transpose(node: Node) -> Shapes:
    shape, order = of(node, "i0"), constant(node, "i1")
    _fits(sorted(order) == list(range(len(shape))), f"order {list(order)} of {len(shape)} dimensions")
    return (tuple(shape[axis] for axis in order),)


def expand_dims(node: Node) -> Shapes:
    shape = of(node, "i0")
    axis = _axis(constant(node, "i1")[0], len(shape) + 1)
    return ((*shape[:axis], 1, *shape[axis:]),)


def broadcast_to(node: Node) -> Shapes:
    shape, wanted = of(node, "i0"), constant(node, "i1")
    _fits(np.broadcast_shapes(shape, wanted) == wanted, f"{list(shape)} cannot be broadcast to {list(wanted)}")
    return (wanted,)


def resize(node: Node) -> Shapes:
    batches, _, _, channels = of(node, "i0")
    return ((batches, *constant(node, "i1"), channels),)


def depth_to_space(node: Node) -> Shapes:
    (n, h, w, c), b = of(node, "i0"), node.options["blockSize"]
    _fits(c % (b * b) == 0, f"{c} channels are not a multiple of {b} x {b}")
    return ((n, h * b, w * b, c // (b * b)),)


def space_to_depth(node: Node) -> Shapes:
    (n, h, w, c), b = of(node, "i0"), node.options["blockSize"]
    _fits(h % b == 0 and w % b == 0, f"{h} x {w} pixels are not a multiple of {b}")
    return ((n, h // b, w // b, c * b * b),)


def space_to_batch(node: Node) -> Shapes:
    shape, blocks, pads = of(node, "i0"), constant(node, "i1"), _pairs(node, "i2")
    padded = [d + sum(pad) for d, pad in zip(_spatial(shape, blocks), pads, strict=True)]
    _fits(all(d % b == 0 for d, b in zip(padded, blocks, strict=True)), f"{padded} is not a multiple of {list(blocks)}")
    return ((shape[0] * math.prod(blocks), *(d // b for d, b in zip(padded, blocks, strict=True)), shape[-1]),)


def batch_to_space(node: Node) -> Shapes:
    shape, blocks, crops = of(node, "i0"), constant(node, "i1"), _pairs(node, "i2")
    together, sizes = math.prod(blocks), zip(_spatial(shape, blocks), blocks, crops, strict=True)
    _fits(shape[0] % together == 0, f"a batch of {shape[0]} is not a multiple of {together}")
    return ((shape[0] // together, *(d * b - sum(crop) for d, b, crop in sizes), shape[-1]),)


def _spatial(shape: Shape, blocks: Sequence[int]) -> Shape:
    _fits(len(blocks) == len(shape) - 2, f"{len(blocks)} block sizes for {len(shape)} dimensions")
    return shape[1:-1]


def gather(node: Node) -> Shapes:
    source, positions = of(node, "i0"), of(node, "i1")
    axis = _axis(node.options["axis"], len(source))
    batches = node.options.get("batchDims", 0) % len(positions) if positions else 0
    return ((*source[:axis], *positions[batches:], *source[axis + 1 :]),)


def gather_nd(node: Node) -> Shapes:
    source, positions = of(node, "i0"), of(node, "i1")
    return ((*positions[:-1], *source[positions[-1] :]),)


def _listed(shapes: Sequence[Shape]) -> str:
    return " and ".join(str(list(shape)) for shape in dict.fromkeys(shapes))


Rule = Callable[[Node], Shapes]
