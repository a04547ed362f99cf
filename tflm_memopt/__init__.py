"""Rewrites .tflite models so that TensorFlow Lite Micro runs them in a fraction of the RAM, with the same output bits."""

from tflm_memopt.api import inspect, optimize, verify

__version__ = "0.1.0"
__all__ = ["inspect", "optimize", "verify"]
