"""Runs a model with a sliding input on a sequence. Each inference gets only the new rows of the sequence."""

from dataclasses import replace

import numpy as np

from tflm_memopt.model.graph import Graph, Tensor
from tflm_memopt.rowgraph.inputs import SLIDING, input_mode
from tflm_memopt.runtime.stimuli import Array, Run, Steps, sequence


def step_elements(graph: Graph, where: str) -> int:
    slides = bool(where) and input_mode(where).where == SLIDING
    return graph.tensors[graph.inputs[0]].elements if slides else 0


def whole(window: Array, elements: int) -> Array:
    """Divide a full window into the rows of consecutive inferences. Each inference gets `elements` elements. If the
    number of elements of the window is not a multiple of `elements`, the first inference begins with zeros.
    """
    values = np.ascontiguousarray(window).ravel()
    return np.concatenate([np.zeros(-len(values) % elements, values.dtype), values]).reshape(-1, elements)


class Slide:
    """Finds the new rows in a sequence of sliding inputs. Each inference has `elements` new elements."""

    def __init__(self, elements: int) -> None:
        self._elements = elements
        self._before: bytes | None = None

    def forget(self) -> None:
        self._before = None

    def steps_to(self, window: Array) -> tuple[Array, bool]:
        new, values = self._elements * window.itemsize, np.ascontiguousarray(window).tobytes()
        before, self._before = self._before, values
        rows = whole(window, self._elements)
        return (rows[-1:] if before is not None and before[new:] == values[:-new] else rows), before is None


def windows(graph: Graph, window: Tensor, elements: int, steps: Steps, seed: int) -> list[Run]:
    """Return consecutive inputs of a model with a sliding input."""
    if not steps.count:
        return []
    fill = -(-window.elements // elements)
    pushes = sequence(graph, [replace(window, shape=(elements,))], Steps(fill - 1 + steps.count), seed)
    rows = np.concatenate([push.values[0] for push in pushes])
    ends = (elements * (fill + step) for step in range(steps.count))
    return [
        Run(
            f"step {step}",
            (rows[end - window.elements : end].reshape(window.shape),),
            step % (steps.reset_every or steps.count) == 0,
        )
        for step, end in enumerate(ends)
    ]
