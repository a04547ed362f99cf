"""Uses TFLM's official Python wheel with the custom operators."""

import contextlib
import ctypes
import functools
import importlib
import io
import platform
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.errors import RuntimeUnavailable
from tflm_memopt.runtime import own
from tflm_memopt.runtime.host import TmoSource, aligned
from tflm_memopt.runtime.native import native_library

DISTRIBUTION = "tflite-micro"
VERSION = "0.dev20261023182759"
"""The only version of TFLM's wheel whose binary layout custom_ops/host/wheel_shim.cpp supports."""

REGISTERER = "TmoRegisterOps"
"""Name of the C function that adds the custom operators. TFLM's wheel finds the function by name."""

INSTALL = f"pip install --pre '{DISTRIBUTION}=={VERSION}' (64-bit Linux on x86, CPython 3.10 to 3.13)"


def interpreter(model: bytes, arena_size: int) -> Any:
    """Return the wheel's `tflite_micro.runtime.Interpreter` for a model, with custom operators and allocated tensors.

    The interpreter's `invoke()` raises RuntimeError on kTfLiteError and returns any other status. Status 0 means
    success, and kTfLiteAbort means that the operator waits for input. Call `set_input()` before every `invoke()`, since
    TFLM reuses the bytes of the input.

    Raises RuntimeUnavailable if the wheel or the compiled operator is missing. Raises RuntimeError if the model does
    not fit the arena or an operator refuses the model. TFLM's messages go to stderr of the process.
    """
    runtime = require()
    model = bytes(model)  # CPython aligns bytes objects to 16 bytes.
    with contextlib.redirect_stdout(io.StringIO()):  # TFLM's wheel prints lines that users do not need.
        return runtime.Interpreter.from_bytes(model, custom_op_registerers=[REGISTERER], arena_size=arena_size)


def set_source(source: TmoSource) -> None:
    """Set the data of external inputs, which the caller must keep in place, for all interpreters of the process."""
    _shim().TmoSetSource(ctypes.byref(source))


def provide_memory(nbytes: int) -> None:
    """Provide `nbytes` bytes of slow memory, filled with noise, for all interpreters of the process."""
    _shim().TmoSetMemory(_noise(nbytes).ctypes.data, nbytes)


@functools.cache
def _noise(nbytes: int) -> NDArray[np.uint8]:
    """The cache keeps the array alive while C code uses its address."""
    return aligned(np.random.default_rng(nbytes).bytes(nbytes))


def set_cores(cores: int, seed: int) -> None:
    """For all interpreters of the process, set how many threads run a program that is made for two cores. The argument
    `seed` is the seed of random delays at barriers, or 0 for no delays.
    """
    _shim().TmoSetCores(cores, seed)


def use_own(kernels: Path) -> None:
    own.register(_shim(), kernels)


class Link:
    def __init__(self, sockets: Sequence[int], device: int, patience: int) -> None:
        """Open a link to other devices. Element k of `sockets` is the file descriptor for device k, or -1 for this
        device. The longest time to wait for a row is `patience`, in milliseconds.
        """
        fds = (ctypes.c_int * len(sockets))(*sockets)
        _shim().TmoOpenLink(fds, device, len(sockets), 1, patience)

    def begin(self) -> None:
        _shim().TmoBeginLink()

    def wait(self) -> bool:
        return int(_shim().TmoWaitLink()) == 0

    @property
    def nbytes(self) -> tuple[int, int]:
        sent, received = ctypes.c_uint(), ctypes.c_uint()
        _shim().TmoLinkBytes(ctypes.byref(sent), ctypes.byref(received))
        return sent.value, received.value


def _shim() -> ctypes.CDLL:
    require()
    shim = ctypes.CDLL(str(native_library("tmo_wheel_shim")))
    shim.TmoSetMemory.argtypes = [ctypes.c_void_p, ctypes.c_uint32]
    return shim


def exists_here() -> bool:
    cpython = sys.implementation.name == "cpython" and (3, 10) <= sys.version_info < (3, 14)
    return cpython and sys.platform == "linux" and platform.machine() == "x86_64"


@functools.cache
def require() -> Any:
    """Load the library of the custom operators with global symbols, and return the wheel's module. Raises
    RuntimeUnavailable with the name of a missing package.
    """
    # Importing importlib.metadata is slow.
    from importlib import metadata  # noqa: PLC0415

    try:
        installed = metadata.version(DISTRIBUTION)
        runtime = importlib.import_module("tflite_micro").runtime
    except (metadata.PackageNotFoundError, ImportError) as error:
        raise RuntimeUnavailable("TensorFlow Lite Micro's Python wheel is not installed", hint=INSTALL) from error
    if installed != VERSION:
        raise RuntimeUnavailable(
            f"the operator needs another build of {DISTRIBUTION}", where=f"installed: {installed}", hint=INSTALL
        )
    shim = native_library("tmo_wheel_shim")
    try:
        ctypes.CDLL(runtime._runtime.__file__, ctypes.RTLD_GLOBAL)  # The library `shim` calls functions of the wheel.
        ctypes.CDLL(str(shim), ctypes.RTLD_GLOBAL)
    except OSError as error:
        raise RuntimeUnavailable(
            f"the operator cannot be loaded: {error}",
            where=str(shim),
            hint="build it again: pip install --force-reinstall --no-deps tflm-memopt",
        ) from error
    return runtime
