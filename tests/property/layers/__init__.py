"""Maps the name of each layer in random networks to the function that adds the layer."""

from collections.abc import Mapping

from property.layers import builtin, computing, reshaping
from property.layers.layer import Build, Layer

__all__ = ["BUILTIN", "COLUMNS", "INT16", "KINDS", "MOVING", "SUPPORTED", "TAILS", "Layer"]

MOVING: Mapping[str, Build] = {
    "computed shape": reshaping.computed,
    "concatenation": reshaping.concatenation,
    "heads": reshaping.heads,
    "split": reshaping.split,
    "mirrored": reshaping.mirrored,
    "slice": reshaping.strided_slice,
    "blocks": reshaping.blocks,
    "resize": reshaping.resize,
    "resize nearest": reshaping.resize_nearest,
    "tiled": reshaping.tiled,
    "stacked": reshaping.stacked,
    "transposed": reshaping.transposed,
    "channels first": reshaping.channels_first,
    "repeated": reshaping.repeated,
    "transpose conv": reshaping.transpose_conv,
    "reduce": reshaping.reduce,
}
SUPPORTED: Mapping[str, Build] = {
    "conv": computing.conv,
    "depthwise": computing.depthwise,
    "padded": computing.padded,
    "average": computing.pool("AVERAGE_POOL_2D"),
    "max": computing.pool("MAX_POOL_2D"),
    "global": computing.global_pool,
    "mean": computing.mean,
    "transposed mean": computing.transposed_mean,
    "dense": computing.dense,
    "dense rows": computing.dense_rows,
    "add": computing.add,
    "residual": computing.residual,
    "bottleneck": computing.bottleneck,
    "relu": computing.unary("RELU"),
    "relu6": computing.relu6,
    "quantize": computing.unary("QUANTIZE"),
    "softmax": computing.softmax,
    "log softmax": computing.log_softmax,
    "embedded": computing.embedded,
    "logistic": computing.logistic,
    "tanh": computing.tanh,
    "looked up": computing.looked_up,
    "two": computing.two,
    "difference": computing.difference,
    "leaky": computing.leaky,
    "gated": computing.gated,
    "averaged": computing.averaged,
    "columns": computing.columns,
    "reshape": reshaping.reshape,
    "attention": computing.attention,
    "int4": computing.int4,
    "picked": computing.picked,
    "masked": computing.masked,
    "selected": computing.selected,
    **MOVING,
}
BUILTIN: Mapping[str, Build] = {
    "normalized": builtin.normalized,
    "summed": builtin.summed,
    "float": builtin.in_float,
    "needed shape": builtin.needed_shape,
    "branched": builtin.branched,
}
KINDS: Mapping[str, Build] = {**SUPPORTED, **BUILTIN}
INT16 = (
    "conv", "depthwise", "dense", "dense rows", "add", "residual", "bottleneck", "reshape", "computed shape",
    "padded", "average", "max", "global", "mean", "transposed mean",
    "concatenation", "heads", "split", "slice", "stacked", "transposed", "resize nearest", "tiled", "difference",
    "leaky", "relu", "transpose conv", "softmax", "logistic", "tanh", "gated", "averaged", "attention",
    "columns", "channels first",
)  # fmt: skip
TAILS = (
    "conv", "depthwise", "heads", "transposed", "logistic", "reshape", "slice", "difference", "picked", "masked",
    "selected",
)  # fmt: skip
COLUMNS = (
    "columns", "columns", "columns", "conv", "depthwise", "padded", "average", "max", "resize nearest", "resize",
    "concatenation", "leaky", "logistic", "residual", "global", "selected", "masked", "two", "slice", "mirrored",
)  # fmt: skip
