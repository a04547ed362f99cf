"""Activations whose shape is another than follows from the operators: TFLM's bytes, or left alone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest
from conftest import thinned
from hostile.judge import Outcome
from hostile.mutants import corpus
from hostile.server import SECONDS, examine, in_children

from tflm_memopt.model import writer
from tflm_memopt.model.reader import read

pytest.importorskip("tflite_micro", reason="the official TFLM wheel is not installed")
Shape = tuple[int, ...]


@pytest.mark.parametrize("number", thinned(range(len(corpus()) - 1, -1, -1), 1))
def test_a_tensor_of_another_shape(number: int) -> None:
    cases = [*reshaped(corpus()[number])]
    verdicts = [*in_children([partial(examine, data) for _, _, data in cases], SECONDS)]
    for (tensor, shape, _), (answer, failure) in zip(cases, verdicts, strict=True):
        assert answer is not None, (tensor, shape, failure)
        outcome, detail = answer
        assert outcome != Outcome.DEFECT.value, (tensor, shape, detail)


def reshaped(data: bytes) -> Iterator[tuple[int, Shape, bytes]]:
    """The model with another shape for one of its activations, inputs excepted."""
    model = read(data)
    for t, tensor in model.graph.tensors.items():
        if not tensor.constant and t not in model.graph.inputs:
            for shape in sorted({*others(tensor.shape)} - {tensor.shape}):
                tree = writer.edit(model)
                tree.subgraphs[0].tensors[t].shape = np.array(shape, np.int32)
                yield t, shape, writer.write(tree)


def others(shape: Shape) -> Iterator[Shape]:
    """As many values in other dimensions."""
    yield (1, *shape)
    yield (*shape[:-2], math.prod(shape[-2:]))
    for k in range(2, len(shape)):
        yield (*shape[: k - 1], shape[k], shape[k - 1], *shape[k + 1 :])
