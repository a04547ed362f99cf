"""Tensors that do not match their operators: the bytes equal TFLM's, or the model is left unchanged."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest
from conftest import thinned
from hostile.judge import Outcome
from hostile.mutants import networks
from hostile.server import SECONDS, examine, in_children, warm

from tflm_memopt.model import writer
from tflm_memopt.model.reader import read

pytest.importorskip("tflite_micro", reason="the official TFLM wheel is not installed")
Shape = tuple[int, ...]


@pytest.mark.slow
@pytest.mark.parametrize("number", thinned(range(len(networks()) - 1, -1, -5), 1))
@pytest.mark.parametrize("change", thinned(["variables", "shapes"], 1))
def test_one_tensor_at_a_time(number: int, change: str) -> None:
    cases = [*{"shapes": shapes, "variables": variables}[change](networks()[number])]
    warm()
    verdicts = [*in_children([partial(examine, data) for _, data in cases], SECONDS)]
    for (what, _), (answer, failure) in zip(cases, verdicts, strict=True):
        assert answer is not None, (what, failure)
        outcome, detail = answer
        assert outcome != Outcome.DEFECT.value, (what, detail)


def shapes(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the model with another shape for one of its activations other than inputs."""
    model = read(data)
    for t, tensor in model.graph.tensors.items():
        if not tensor.constant and t not in model.graph.inputs:
            for shape in sorted({*others(tensor.shape)} - {tensor.shape}):
                tree = writer.edit(model)
                tree.subgraphs[0].tensors[t].shape = np.array(shape, np.int32)
                yield f"tensor {t}: {list(shape)}", writer.write(tree)


def variables(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the model with one control constant turned into a variable, which is zero whatever the file contains."""
    model = read(data)
    for t, tensor in model.graph.tensors.items():
        if tensor.constant and tensor.quantization is None:
            tree = writer.edit(model)
            tree.subgraphs[0].tensors[t].isVariable = True
            yield f"tensor {t}", writer.write(tree)


def others(shape: Shape) -> Iterator[Shape]:
    """Yield shapes with the same number of elements."""
    yield (1, *shape)
    yield (*shape[:-2], math.prod(shape[-2:]))
    for k in range(2, len(shape)):
        yield (*shape[: k - 1], shape[k], shape[k - 1], *shape[k + 1 :])
