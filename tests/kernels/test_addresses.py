"""Kernels of four-byte elements give the same bytes for aligned and unaligned buffers of the caller."""

import numpy as np
import pytest
from models import Net
from property.floats import drawn, in_float
from property.oracle import original, run

import tflm_memopt
from tflm_memopt.model.reader import read
from tflm_memopt.runtime import host
from tflm_memopt.runtime.host import DeviceArena
from tflm_memopt.runtime.regions import regions

WHOLE = (1, 3, 5, 7)


OTHERS = (WHOLE, (1, 1, 1, 7), (1, 3, 5, 1), (1, 1, 1, 1))
BINARY = [(kind, other) for kind in ("ADD", "SUB", "MUL", "MAXIMUM", "SQUARED_DIFFERENCE") for other in OTHERS]


@pytest.mark.parametrize(("kind", "other"), [*BINARY, ("RELU", None), ("RELU6", None), ("ABS", None)])
def test_any_address(kind: str, other: tuple[int, ...] | None) -> None:
    net = Net(3)
    x = net.input(WHOLE)
    data = in_float(net.model(net.binary(kind, x, net.input(other)) if other else net.unary(kind, x)), 1)
    rng = np.random.default_rng(7)
    inputs = [drawn(rng, read(data).graph.tensors[t].shape, 1, 0.3) for t in read(data).graph.inputs]
    (expected,) = run(original(data), inputs, 1)
    result = tflm_memopt.optimize(data, if_worthwhile=False)
    (region,) = regions(read(result.model))
    size, workspace = 420, host.workspace_bytes(region.program)
    for skew in range(4):
        places = [workspace // 16 * 16 + 32 + 448 * k + skew * (k + 1) for k in range(3)]
        arena = DeviceArena(places[2] + size + 8, tuple(places[: len(inputs)]), (places[2],), 0)
        (found,) = host.run_guarded(region.program, arena, inputs, [size])
        np.testing.assert_array_equal(found.view(np.float32).reshape(WHOLE), expected, err_msg=f"{skew} bytes off")
