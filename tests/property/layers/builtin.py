"""Each function adds a layer with an operator that the converter leaves to TFLM."""

import math

import moving
from ai_edge_litert import schema_py_generated as schema
from models import Net
from property.layers.layer import Layer


def normalized(net: Net, _layer: Layer, x: int, _: int) -> list[int]:
    return [net.normalized(x)]


def summed(net: Net, layer: Layer, x: int, other: int) -> list[int]:
    """Add up two tensors, or copies of the first tensor if the second has another shape or scale."""
    alike = net.shape(x) == net.shape(other) and net.affine(x) == net.affine(other)
    return [net.add_n(*([x, other] if alike else [x] * (2 + layer.channels % 3)))]


def in_float(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    inner = net.unary("DEQUANTIZE", x, dtype="FLOAT32", out=None)
    if layer.flag:
        inner = net.unary("RELU", inner, dtype="FLOAT32", out=None)
    return [net.unary("QUANTIZE", inner, out=(net.affine(x)[0], layer.zero_point))]


def needed_shape(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    """Add two RESHAPEs whose new shape is computed, one on quantized values and one on float32 values."""
    shape = (1, math.prod(net.shape(x)[1:-1]), net.shape(x)[-1])
    target = moving.computed_shape(net, x, shape, form=layer.channels % 3)
    inner = net.unary("DEQUANTIZE", x, dtype="FLOAT32", out=None)
    inner = net.op("RESHAPE", [inner, target], [net.tensor(shape, "FLOAT32", None)])
    return [moving.reshape_by(net, x, target, shape), net.unary("QUANTIZE", inner, out=net.affine(x))]


def branched(net: Net, layer: Layer, x: int, _: int) -> list[int]:
    shape, affine, number = net.shape(x), net.affine(x), len(net.tree.subgraphs)
    main, others = net.graph, net.tree.subgraphs
    for length in (1, 1 + layer.channels % 3):
        net.graph = schema.SubGraphT(tensors=[], inputs=[], outputs=[], operators=[], name=f"branch{len(others)}")
        net.tree.subgraphs = [net.graph]
        y = net.input(shape, affine)
        for _ in range(length):
            y = net.add(y, net.unary("RELU", y, out=affine), out=affine)
        net.graph.outputs = [y]
        others.append(net.graph)
    net.graph, net.tree.subgraphs = main, others
    for _ in range(1 + layer.flag):
        mean = net.mean(x, range(1, len(shape)), out=(min(affine[0], 0.5), affine[1]))  # GREATER needs scales below 1.
        high = net.op("GREATER", [mean, net.tensor((1,), data=[0])], [net.tensor(net.shape(mean), "BOOL", None)])
        options = schema.IfOptionsT(thenSubgraphIndex=number, elseSubgraphIndex=number + 1)
        x = net.op("IF", [high, x], [net.tensor(shape, affine=affine)], options)
    return [x]
