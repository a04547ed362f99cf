"""The library gives the same outputs if a chip vendor's library computes convolutions.

The files in backends/ replace ESP-NN and CMSIS-NN by functions with TFLM's arithmetic.
"""

import ctypes
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from compiling import run
from conftest import examples
from cores.core import CORES, missing_tools
from property.layers.computing import TWO_OPERANDS
from property.layers.layer import random_layer

from kernels.conftest import LIBRARY, ROOT, compiled
from kernels.drawn import Drawn, agree, alone, packed, pixels, tiled
from tflm_memopt.ops.packing import Family
from tflm_memopt.runtime import host

BACKENDS = ROOT / "tests/kernels/backends"
SHARED = "gcc -std=c11 -Wall -Wextra -Wpedantic -Werror -O0 -shared -fPIC -Wl,-Bsymbolic"
"""With -Bsymbolic, each of several loaded libraries calls its own functions."""
HOST = [LIBRARY / "host/tmo_guard.c"]


def calls(library: Path) -> int:
    return int(ctypes.CDLL(str(library)).vendor_calls())


pytestmark = pytest.mark.slow


@pytest.fixture(params=["CMSIS_NN", "ESP_NN"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return compiled(
        f"{SHARED} -DTMO_{request.param} -I{BACKENDS}", "backends/vendor.c", tmp_path / f"{request.param}.so", *HOST
    )


def agree_in(library: Path, programs: Sequence[Drawn]) -> int:
    with mock.patch.object(host, "native_library", return_value=library):
        host._loaded.cache_clear()
        for seed, found in enumerate(programs):
            agree(found, seed)
    host._loaded.cache_clear()
    return calls(library)


def by_vectors(kind: str, seed: int, **fixed: Any) -> Drawn:
    rng = random.Random(seed)
    shape = (1, rng.randint(1, 7), rng.randint(1, 7), 16 * rng.randint(1, 3))
    return alone(random_layer(rng, (kind,), source=0, other=0, stride=(1, 1), **fixed), shape, seed=seed)


def test_pointwise_convolutions_go_there(backend: Path) -> None:
    programs = [by_vectors("conv", seed, kernel=(1, 1 + seed % 3)) for seed in range(examples(30))]
    assert agree_in(backend, programs) > examples(50)


def test_networks_give_the_same_bytes(backend: Path) -> None:
    assert agree_in(backend, [tiled(seed) for seed in range(20)]) > 20


@pytest.mark.parametrize("backend", ["ESP_NN"], indirect=True)
def test_packed_operators_call_esp_nn(backend: Path) -> None:
    programs = [(pixels if seed % 3 == 0 else packed)(seed, Family.ESP) for seed in range(examples(60))]
    assert agree_in(backend, programs) > examples(250)


@pytest.mark.parametrize("backend", ["ESP_NN"], indirect=True)
@pytest.mark.parametrize("kind", ["add", "two", "max", "average"])
def test_operators_without_weights_call_esp_nn(kind: str, backend: Path) -> None:
    programs = [by_vectors(kind, seed, channels=TWO_OPERANDS.index("MUL")) for seed in range(examples(60))]
    assert agree_in(backend, programs) > examples(30)


@pytest.mark.parametrize("flag", ["TMO_ESP_NN", "ESP_PLATFORM"])
def test_a_chip_without_other_packed_kernels_compiles_without_warnings(flag: str, tmp_path: Path) -> None:
    """Without optimization, calls of unused functions stay in the object file."""
    core = CORES["rv32"]
    if missing := missing_tools(core):
        pytest.skip(missing)
    source = tmp_path / "library.c"
    source.write_text(
        f'#define {flag} 1\n#define TMO_MATH 0\n#include "tmo/embed.h"\nextern const tmo_library t;\n'
        "const tmo_library t = {.check = tmo_check, .run = tmo_run};\n"
    )
    folders = [f"-I{folder}" for folder in (BACKENDS, LIBRARY / "include", LIBRARY / "src")]
    command = [core.prefix + "gcc", *core.flags, "-std=c11", "-O0", "-Wall", "-Wextra", "-Werror", *folders]
    run(*command, "-c", source, "-o", tmp_path / "library.o")
