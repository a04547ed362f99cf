"""Run models under the official TFLM wheel with our operator, and in the host build of the C library."""

from tflm_memopt.runtime.wheel import interpreter

__all__ = ["interpreter"]
