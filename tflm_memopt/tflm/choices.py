"""Names of the libraries that provide TFLM's builtin kernels, for the option `--kernels`."""

from typing import Literal, get_args

Kernels = Literal["reference", "cmsis-nn", "esp-nn"]
KERNELS: tuple[Kernels, ...] = get_args(Kernels)
