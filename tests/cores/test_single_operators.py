"""A generic program of one operator takes no more instructions than TFLM's kernel for the operator.

The file benchmarks/builtin_counted.json has the instructions of TFLM's kernels: of CMSIS-NN's kernels on a Cortex-M4,
and of the same kernels without the DSP extension on a Cortex-M3.
"""

import json
import runpy
from pathlib import Path

import pytest
from cores.cases import model_cases, run
from cores.core import CORES, missing_tools

import tflm_memopt

pytestmark = pytest.mark.slow
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
MODELS = runpy.run_path(str(BENCHMARKS / "operator_models.py"))
COUNTED = json.loads((BENCHMARKS / "builtin_counted.json").read_text(encoding="utf-8"))["cores"]
AROUND = 60
"""Instructions of the TFLM operator TMO_REGION around a call of tmo_run()."""


@pytest.mark.parametrize(
    ("core", "family", "number"),
    [
        ("m4", "pool_most", 0),
        ("m4", "pool_most_int16", 1),
        ("m4", "pool_average", 4),
        ("m4", "pool_average", 7),
        ("m4", "transpose_conv", 4),
        ("m4", "transpose_conv", 5),
        ("m4", "transpose_conv", 11),
        ("m4", "batch_matmul", 4),
        ("m4", "depthwise_3x3", 2),
        ("m4", "depthwise_3x3", 5),
        ("m4", "depthwise_3x3", 1),
        ("m4", "depthwise_any", 3),
        ("m4", "depthwise_line", 7),
        ("m4", "depthwise_any_int16", 3),
        ("m4", "depthwise_any_int16", 5),
        ("m4", "depthwise_dilated", 0),
        ("m4", "depthwise_fours", 4),
        ("m4", "depthwise_fours", 7),
        ("m4", "conv_few", 1),
        ("m4", "conv_dilated", 3),
        ("m4", "conv_dilated", 6),
        ("m4", "conv_line", 6),
        ("m4", "conv_line_few", 5),
        ("m4", "conv_point", 0),
        ("m4", "conv_point", 7),
        ("m4", "conv_point_strided", 3),
        ("m4", "conv_point_strided", 4),
        ("m4", "conv_point_strided", 7),
        ("m4", "conv_point_int16", 5),
        ("m4", "dense_batches", 3),
        ("m4", "dense_int16", 6),
        ("m4", "transpose", 4),
        ("m4", "logistic_int16", 4),
        ("m4", "concatenation", 0),
        ("m4", "concatenation", 7),
        ("m4", "concatenation_int16", 4),
        ("m4", "pack", 0),
        ("m4", "depth_to_space", 2),
        ("m4", "depth_to_space", 6),
        ("m4", "resize_nearest", 1),
        ("m4", "pad", 5),
        ("m4", "pad", 7),
        ("m3", "pool_most", 2),
        ("m3", "pool_most", 6),
        ("m3", "transpose_conv", 4),
    ],
)
def test_instructions_are_not_more_than_of_the_kernel(core: str, family: str, number: int) -> None:
    if reason := missing_tools(CORES[core]):
        pytest.skip(reason)
    model = MODELS["model"](family, number, 1)
    (case,) = model_cases(tflm_memopt.optimize(model, if_worthwhile=False).model)
    (outcome,) = run(CORES[core], [case])
    assert outcome.right
    _, kernel, *_ = COUNTED[CORES[core].known_as][family][number]
    assert outcome.instructions + AROUND <= kernel
