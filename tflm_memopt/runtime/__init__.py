"""Running models: the official TFLM wheel with our operator, and the host build of the C library."""

from tflm_memopt.runtime.wheel import interpreter

__all__ = ["interpreter"]
