"""Convert models, and compare their output bytes with those of the original models."""

from typing import Any

import tflm_memopt
from tflm_memopt.answers.optimized import Optimized


def proved(data: bytes, *, runs: int = 1, **options: Any) -> Optimized:
    """Convert a model with the options of optimize(). Raises RuntimeError if an output byte differs under TFLM."""
    done: Optimized = tflm_memopt.optimize(data, **options)
    if done.report.changed and not (said := tflm_memopt.verify(data, done.model, runs=runs)).bit_exact:
        raise RuntimeError(f"{options}: {said.difference or said.failure}")
    return done
