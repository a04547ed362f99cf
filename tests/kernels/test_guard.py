"""The watched executor notices what it is there for."""

from __future__ import annotations

import subprocess

import pytest
from kernels.conftest import LIBRARY, Build


@pytest.mark.slow
def test_a_kernel_that_writes_too_much_is_caught(sanitized: Build) -> None:
    program = sanitized("guard_catches.c", LIBRARY / "host/tmo_guard.c", without=("tmo_elementwise_ref.c",))
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
