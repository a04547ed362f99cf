"""After the loss of one tensor of an operator, a model is converted, left unchanged, or refused with a typed error."""

import contextlib
from collections.abc import Iterator

import numpy as np
import pytest
from conftest import thinned
from hostile.mutants import corpus

import tflm_memopt
from tflm_memopt.errors import MemoptError, PlanError
from tflm_memopt.model import writer
from tflm_memopt.model.graph import ABSENT
from tflm_memopt.model.reader import read

COMMON = frozenset(op.type for op in read(corpus()[0]).graph.ops)


@pytest.mark.parametrize("number", thinned([*range(4, len(corpus()), 4), *range(4)], 4))
def test_an_operator_without_one_of_its_tensors(number: int) -> None:
    for data in losses(corpus()[number], COMMON if number else frozenset()):
        with contextlib.suppress(MemoptError):
            tflm_memopt.inspect(data)
        try:
            tflm_memopt.optimize(data, seconds=0)
        except PlanError:
            raise
        except MemoptError:
            continue


def losses(data: bytes, but: frozenset[str]) -> Iterator[bytes]:
    model = read(data)
    for op in model.graph.ops:
        if op.type in but:
            continue
        for field, count in (("inputs", len(op.inputs)), ("outputs", len(op.outputs))):
            for k in range(count):
                tree = writer.edit(model)
                operator = tree.subgraphs[0].operators[op.index]
                tensors = getattr(operator, field)
                setattr(operator, field, np.delete(tensors, k))
                yield writer.write(tree)
                if field == "inputs":
                    setattr(operator, field, np.where(np.arange(count) == k, ABSENT, tensors).astype(np.int32))
                    yield writer.write(tree)
