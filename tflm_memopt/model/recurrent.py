"""Recognises recurrent layers that a converter wrote as WHILE loops."""

from collections import Counter
from collections.abc import Mapping

from tflm_memopt.model.graph import Graph

_CURVES: Mapping[tuple[int, int], str] = {(3, 2): "LSTM", (2, 1): "GRU", (0, 1): "RNN"}
"""Maps two counts, of the LOGISTIC and of the TANH operators in a time step, to the type of a recurrent layer."""
_PRODUCTS = ("FULLY_CONNECTED", "BATCH_MATMUL", "CONV_2D")
UNROLL = "build the layer with a fixed number of steps and unroll=True"
HINTS: Mapping[str, str] = {
    "LSTM": f"{UNROLL}, or as keras.layers.LSTM with default activations, which becomes UNIDIRECTIONAL_SEQUENCE_LSTM",
    "GRU": UNROLL,
    "RNN": UNROLL,
}


def loops(graph: Graph) -> Mapping[int, str]:
    """Map the index of each WHILE of the main graph that computes a recurrent layer to the type of the layer."""
    bodies = {op.index: int(op.options.get("bodySubgraphIndex", 0)) for op in graph.ops if op.type == "WHILE"}
    graphs = graph.subgraphs
    return {i: layer for i, n in bodies.items() if 0 < n < len(graphs) and (layer := _layer(graphs[n]))}


def described(graph: Graph) -> str:
    """Return a phrase that lists the recurrent layers, or "". A bidirectional layer has two loops."""
    found = tuple(loops(graph).values())
    both = len(found) > 1 and any(op.type == "REVERSE_V2" for op in graph.ops)
    names = [f"{count if count > 1 else 'an' if layer[0] in 'LR' else 'a'} {layer}{'s' * (count > 1)}"
             for layer, count in Counter(found).items()]  # fmt: skip
    words = " and ".join(names)
    loop = f"{words} as WHILE loop{'s' * (len(found) > 1)}"
    return f"{loop}, in both directions" if both else loop if words else ""


def _layer(body: Graph) -> str | None:
    kinds = Counter(op.type for op in body.ops)
    if not any(kinds[product] for product in _PRODUCTS):
        return None
    curves = kinds["LOGISTIC"], kinds["TANH"]
    ratios = (n for n in range(1, 5) if curves[0] % n == curves[1] % n == 0)
    return next((layer for n in ratios if (layer := _CURVES.get((curves[0] // n, curves[1] // n)))), None)
