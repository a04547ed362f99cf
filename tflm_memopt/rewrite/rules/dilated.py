"""Replaces SPACE_TO_BATCH_ND, a convolution and BATCH_TO_SPACE_ND by a convolution with dilation.

TensorFlow's converter writes all three operators if several dilated convolutions read one tensor.
"""

import math
from dataclasses import replace

from tflm_memopt.model.graph import Graph, Op
from tflm_memopt.ops.context import CONVOLUTIONS
from tflm_memopt.rewrite.rules.rule import NewOps, Ops, integers_of, replace_ops, same_numbers


def _chain(graph: Graph, op: Op) -> Ops | None:
    """Return a BATCH_TO_SPACE_ND, the SPACE_TO_BATCH_ND before it, and all operators between them."""
    if op.type != "BATCH_TO_SPACE_ND":
        return None
    chain = [op]
    for types in (("RESHAPE", *CONVOLUTIONS), CONVOLUTIONS, ("RESHAPE", "SPACE_TO_BATCH_ND"), ("SPACE_TO_BATCH_ND",)):
        producer = graph.producer(chain[-1].inputs[0])
        if producer is not None and producer.type in types:
            chain.append(producer)
    kinds = [one.type for one in chain if one.type != "RESHAPE"]
    complete = len(kinds) == 3 and kinds[1] in CONVOLUTIONS and kinds[2] == "SPACE_TO_BATCH_ND"
    return tuple(chain) if complete else None


def rewrite(graph: Graph, op: Op) -> Graph | None:
    if (ops := _chain(graph, op)) is None:
        return None
    conv, first = next(op for op in ops if op.type in CONVOLUTIONS), ops[-1]
    blocks = integers_of(graph, first, 1)
    borders = [integers_of(graph, op, 2) for op in (first, ops[0])]
    if blocks is None or blocks != integers_of(graph, ops[0], 1) or any(b is None or any(b) for b in borders):
        return None
    named = ("dilationHFactor", "dilationWFactor", "strideH", "strideW")
    if conv.options.get("padding") != "VALID" or any(conv.options.get(name, 1) != 1 for name in named):
        return None
    if not all(
        same_numbers(*(graph.tensors[t] for t in (op.inputs[0], op.outputs[0]))) for op in ops if op is not conv
    ):
        return None
    shapes = _shapes(graph, ops)
    found = _dilated(graph, ops, *shapes).supported() if shapes else None
    for one in ops[1:]:
        if found and not found.consumers(one.outputs[0]) and one.outputs[0] not in found.outputs:
            found = replace_ops(found, {one.index: ()})
    return found


def _shapes(graph: Graph, ops: Ops) -> tuple[tuple[int, ...], tuple[int, int], tuple[int, ...]] | None:
    conv, first = next(op for op in ops if op.type in CONVOLUTIONS), ops[-1]
    blocks = integers_of(graph, first, 1) or []
    inside, outside = graph.tensors[conv.inputs[0]].shape, graph.tensors[conv.outputs[0]].shape
    whole, result = graph.tensors[first.inputs[0]].shape, graph.tensors[ops[0].outputs[0]].shape
    if len(inside) != 4 or len(outside) != 4 or inside[0] != math.prod(blocks) or whole[0] != 1 or len(blocks) > 2:
        return None
    # With a single block size, either the rows or the columns are dilated.
    for dilation in [tuple(blocks)] if len(blocks) == 2 else [(1, blocks[0]), (blocks[0], 1)]:
        read, made = ((1, shape[1] * dilation[0], shape[2] * dilation[1], shape[3]) for shape in (inside, outside))
        alike = [[d for d in shape if d > 1] for shape in (read, whole, made, result)]
        if alike[0] == alike[1] and alike[2] == alike[3] and (len(blocks) == 2 or 1 in read[1:3]):
            return read, (dilation[0], dilation[1]), made
    return None


def _dilated(
    graph: Graph, ops: Ops, read: tuple[int, ...], dilation: tuple[int, int], written: tuple[int, ...]
) -> NewOps:
    conv, first = next(op for op in ops if op.type in CONVOLUTIONS), ops[-1]
    gone = [op for op in ops[1:] if len(graph.consumers(op.outputs[0])) == 1]
    sources = tuple(dict.fromkeys(i for op in (*gone, ops[0]) for i in op.stands_for))
    made = NewOps(graph, replace(ops[0], sources=sources))
    x = made.shaped(first.inputs[0], *read)
    options = {**conv.options, "dilationHFactor": dilation[0], "dilationWFactor": dilation[1]}
    y = made.put(graph.tensors[ops[0].outputs[0]], written)
    made.add(conv.type, [x, *conv.inputs[1:]], y, **options)
    made.add("RESHAPE", [y], ops[0].outputs[0])
    return made
