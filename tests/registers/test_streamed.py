"""Feed the camera's rows into a model with a streamed input, on the host and on RV32 in QEMU."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from conftest import EXAMPLE
from cores.core import HERE, build, emulate, missing_tools
from registers.drivers import EXAMPLES, FIXED, fields, seen, written
from registers.on_core import RV32
from registers.plain import PLAIN
from registers.simulated import Ran, parsed, program

import tflm_memopt
from tflm_memopt.emit import bundle
from tflm_memopt.emit.library import include_flags
from tflm_memopt.runtime.process import run_model
from tflm_memopt.runtime.verify import sample

ROM_BYTES = 4 << 20
X, Y = 32, 12
"""The window's corner in examples/registers/stream_main.c."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing_tools(RV32)), reason=missing_tools(RV32)),
]


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the model's C module to a folder."""
    folder = tmp_path_factory.mktemp("module")
    result = tflm_memopt.optimize(EXAMPLE.read_bytes(), name=EXAMPLE.name, input="stream")
    given = bundle.Extras(partial(sample, EXAMPLE.read_bytes(), result.model))
    for name, data in bundle.files(result, EXAMPLE.stem, ("c",), given).items():
        (folder / name).write_bytes(data)
    return folder


def on_host(arguments: Sequence[Path | str], folder: Path) -> str:
    files = [*arguments, Path(__file__).with_name("host.c")]
    subprocess.run(["cc", "-std=c11", "-O1", *files, *include_flags(), "-o", folder / "program"], check=True)
    return subprocess.run([folder / "program"], check=True, capture_output=True, text=True).stdout


def on_core(arguments: Sequence[Path | str], folder: Path) -> str:
    files = [a for a in arguments if isinstance(a, Path)] + [HERE / name for name in RV32.start]
    files += [Path(__file__).with_name("machine.c")]
    flags = [f"-I{HERE}", *include_flags(), *(a for a in arguments if isinstance(a, str))]
    build(RV32, files, folder / "image.elf", flags, rom_bytes=ROM_BYTES)
    return emulate(RV32, folder / "image.elf")


Machine = Callable[[Sequence[Path | str], Path], str]


def run(machine: Machine, driver: Path, module: Path, folder: Path) -> Ran:
    table = fields("camera", FIXED["camera"].description.read_text())
    files = [driver, EXAMPLES / "stream_main.c", *sorted(module.glob("*.c"))]
    arguments = program(folder, "camera", files, table, [module, driver.parent])
    return parsed(machine(["-DSTREAMED", *arguments], folder))


def test_rows_of_the_camera_reach_the_model(module: Path, tmp_path: Path) -> None:
    """The scores match TFLM's with the original model for the camera's frame."""
    expected = run(on_host, PLAIN / "camera.c", module, tmp_path / "plain")
    driver, _ = written(FIXED["camera"], tmp_path / "written")
    for name, machine in (("host", on_host), ("core", on_core)):
        found = run(machine, driver, module, tmp_path / name)
        assert seen(found) == seen(expected), name
        assert found.states == expected.states
        assert found.accesses < expected.accesses
    y, x = np.mgrid[Y : Y + 96, X : X + 96]
    frame = ((17 * y + 3 * x) % 256 - 128).astype(np.int8).reshape(1, 96, 96, 1)
    scores = run_model(EXAMPLE.read_bytes(), [frame[None]], 1, 1).outputs[0].reshape(-1)
    assert int.from_bytes(scores[:4].tobytes(), "big") == expected.result
