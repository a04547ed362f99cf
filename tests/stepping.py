"""Runs two models with a state in TFLM, one inference after the other."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.model.graph import Tensor
from tflm_memopt.model.reader import read
from tflm_memopt.runtime.wheel import interpreter

STEPS = 1000
ARENA = 1 << 18


def differing(
    original: bytes, rewritten: bytes, steps: int, resets: tuple[int, ...], seed: int = 0, *, least: int = 4
) -> int:
    """Count the inferences in which the outputs of two models differ. The original model must produce at least `least`
    different outputs.
    """
    both = [interpreter(model, ARENA) for model in (original, rewritten)]
    graph = read(original).graph
    rng = np.random.default_rng(seed)
    found, seen = 0, set[bytes]()
    for step in range(steps):
        inputs = [draw(graph.tensors[t], rng, step) for t in graph.inputs]
        for tflm in both:
            if step in resets:
                tflm.reset()
            for k, x in enumerate(inputs):
                tflm.set_input(x, k)
            assert tflm.invoke() == 0
        outputs = [[tflm.get_output(k).tobytes() for k in range(len(graph.outputs))] for tflm in both]
        found += outputs[0] != outputs[1]
        seen.update(outputs[0])
    assert len(seen) >= least
    return found


def draw(tensor: Tensor, rng: np.random.Generator, step: int) -> NDArray[Any]:
    if tensor.dtype == "FLOAT32":
        return rng.normal(scale=3, size=tensor.shape).astype(np.float32)
    limits = np.iinfo(tensor.dtype.lower())
    if step % 7 == 3:
        return np.full(tensor.shape, limits.max if step % 2 else limits.min, limits.dtype)
    return rng.integers(limits.min, limits.max, tensor.shape, limits.dtype, endpoint=True)
