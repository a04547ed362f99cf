"""Run two stateful models step by step under TFLM."""

from __future__ import annotations

import numpy as np

from tflm_memopt.model.reader import read
from tflm_memopt.runtime.wheel import interpreter

STEPS = 1000
ARENA = 1 << 18


def differing(
    original: bytes, rewritten: bytes, steps: int, resets: tuple[int, ...], seed: int = 0, *, least: int = 4
) -> int:
    """Count the steps in which the two models differ. Both models are reset before the steps in `resets`. The outputs
    must have at least `least` different values.
    """
    both = [interpreter(model, ARENA) for model in (original, rewritten)]
    graph = read(original).graph
    rng = np.random.default_rng(seed)
    found, seen = 0, set[bytes]()
    for step in range(steps):
        inputs = [rng.integers(-128, 128, graph.tensors[t].shape).astype(np.int8) for t in graph.inputs]
        if step % 7 == 3:
            inputs = [np.full_like(x, 127 if step % 2 else -128) for x in inputs]
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
