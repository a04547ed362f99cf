"""The guarded executor notices accesses outside its buffers."""

from __future__ import annotations

import pytest
from compiling import run

from kernels.conftest import LIBRARY, SOURCES, Build


@pytest.mark.slow
def test_a_kernel_that_writes_too_much_is_caught(sanitized: Build) -> None:
    library = [path for path in SOURCES if path.name != "tmo_generated_lookup.c"]
    program = sanitized("guard_catches.c", LIBRARY / "host/tmo_guard.c", library=library)
    run(program)
