"""Compiles the user's own kernels (ops/own.py) for the executors that run programs on this machine."""

import atexit
import ctypes
import functools
import hashlib
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path

from tflm_memopt.emit import library
from tflm_memopt.emit.own_text import source
from tflm_memopt.errors import RuntimeUnavailable
from tflm_memopt.ops.custom import MADE
from tflm_memopt.runtime.native import compiler

FILE = "own.so"
FLAGS = ("-std=c11", "-O2", "-shared", "-fPIC", "-Wall", "-Wextra", "-Wpedantic", "-Werror")
HOST = """\
#define tmo_own_use tmo_own_given
{kernels}

void tmo_own_use(tmo_own_table *given) {{ (void)given; }}

void tmo_own_to(void (*use)(tmo_own_table *));
void tmo_own_to(void (*use)(tmo_own_table *)) {{ use(&table); }}
"""
"""C code that registers the kernels with a single executor of the process."""
_COMPILING = threading.Lock()


def build(folder: Path) -> None:
    if MADE:
        shutil.copy(_built(), folder / FILE)


def use(executor: ctypes.CDLL) -> None:
    if MADE:
        register(executor, _built())


def register(executor: ctypes.CDLL, kernels: Path) -> None:
    ctypes.CDLL(str(kernels)).tmo_own_to(executor.tmo_own_use)


def _built() -> Path:
    with _COMPILING:
        return _compiled(source("tmo_own_all"))


@functools.cache
def _compiled(kernels: str) -> Path:
    target = _folder() / f"{hashlib.sha256(kernels.encode()).hexdigest()[:16]}.so"
    written = target.with_suffix(".c")
    written.write_text(HOST.format(kernels=kernels), encoding="utf-8")
    command = [*compiler(), *FLAGS, *library.include_flags(), str(written), "-o", str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeUnavailable(
            "the custom kernels cannot be compiled", code="bad_kernel", where=done.stderr.strip(), hint="CC"
        )
    return target


@functools.cache
def _folder() -> Path:
    folder = tempfile.mkdtemp(prefix="tflm-memopt-own-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)
