import dataclasses
import re
import shutil
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from kernels.drawn import depthwise
from models import Net
from unit.analysis.arena_zoo import ZOO
from unit.command import small

import tflm_memopt
from tflm_memopt.emit.kernels import needs
from tflm_memopt.emit.module_text import _until_wrong
from tflm_memopt.emit.project import Project, platformio
from tflm_memopt.emit.quantizers import dequantizer, quantizer
from tflm_memopt.emit.resolver import needed
from tflm_memopt.emit.stm32cube import stm32cube
from tflm_memopt.lower.serialise import pack
from tflm_memopt.model.reader import read
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.packing import Family


@cache
def emitted(kind: str, where: str) -> Mapping[str, bytes]:
    return tflm_memopt.optimize(small(), input=where, name="net").files(kind)


@pytest.mark.parametrize(("dtype", "zero"), [("INT8", -128), ("INT8", 3), ("UINT8", 128), ("INT16", 0)])
@pytest.mark.parametrize("compiler", ["gcc", "g++"])
def test_values_are_quantized_as_tflm_does(dtype: str, zero: int, compiler: str, tmp_path: Path) -> None:
    """Emitted C code rounds halves away from zero, and clamps values to the range of int8."""
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler}")
    net, scale = Net(1), 0.0625
    tensor = read(net.model(net.unary("RELU", net.input((1, 4), (scale, zero), dtype=dtype)))).graph.tensors[0]
    text = "\n".join([*quantizer("net", tensor), *dequantizer("net", tensor)])
    values = [-1e9, -4000.0, -8.0, -0.21875, -0.03125, 0.0, 0.03125, 0.09375, 7.9, 8.1, 5000.0, 1e9, float("nan")]
    numbers = ", ".join("0.0f / zero" if np.isnan(v) else f"{v!r}f" for v in values)
    main = "\n".join(
        [
            "#include <stdint.h>",
            "#include <stdio.h>",
            text,
            "int main(int n, char **args) {",
            f"  const float zero = (float)(n - 1), values[] = {{{numbers}}};",
            "  (void)args;",
            '  for (unsigned i = 0; i < sizeof values / sizeof *values; ++i) printf("%d ", net_quantize(values[i]));',
            '  printf("%.4f", (double)net_real(1));',
            "}",
        ]
    )
    source = tmp_path / ("main.c" if compiler == "gcc" else "main.cpp")
    source.write_text(main)
    strict = ["-Wall", "-Wextra", "-Werror"]
    subprocess.run([compiler, *strict, source, "-o", tmp_path / "main"], check=True)
    *said, real = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True).stdout.split()
    low, high = np.iinfo(dtype.lower()).min, np.iinfo(dtype.lower()).max
    scaled = np.array(values[:-1]) / scale
    rounded = np.trunc(scaled + np.copysign(0.5, scaled)) + zero
    assert list(map(int, said[:-1])) == np.clip(rounded, low, high).astype(int).tolist()
    assert int(said[-1]) == low and float(real) == scale * (1 - zero)


@pytest.mark.parametrize(
    ("kind", "copy"), [("c", "net_library.LICENSE"), ("arduino", "arduino/libraries/tflm-memopt/LICENSE")]
)
def test_c_files_name_their_licence_and_copies_of_the_library_have_it(kind: str, copy: str) -> None:
    files = emitted(kind, "arena")
    code = [data for name, data in files.items() if Path(name).suffix in {".c", ".cpp", ".h", ".ino", ".S"}]
    assert all(b"SPDX-License-Identifier: Apache-2.0" in data[:80] for data in code)
    assert b"Apache License" in files[copy]


def test_operators_of_every_subgraph_are_added() -> None:
    model = read(ZOO["while"]())
    assert {n.operator for n in needed(model, "table")} > {op.type for op in model.graph.ops}


def test_what_programs_need_is_what_any_of_them_needs() -> None:
    plain, helium = (depthwise(3, family).program for family in (Family.GENERIC, Family.MVE))
    (op,) = plain.ops
    conv = dataclasses.replace(plain, ops=(dataclasses.replace(op, kind=Kind.CONV),))
    assert needs([pack(plain)]).kinds == 1 << Kind.DEPTHWISE
    for both in ((plain, conv), (conv, plain)):
        assert needs(map(pack, both)).kinds == 1 << Kind.DEPTHWISE | 1 << Kind.CONV
    assert (needs([pack(helium)]).kinds, needs([pack(helium)]).packings > 0) == (0, True)


def text(kind: str, where: str, file: str) -> str:
    return emitted(kind, where)[file].decode()


def test_an_arena_is_aligned() -> None:
    assert "static _Alignas(16) uint8_t arena[" in text("c", "arena", "net.c")
    assert "alignas(16) extern const unsigned char net_model[net_model_len];" in text("cpp", "arena", "net_model.h")


def test_calls_stop_at_the_first_that_fails() -> None:
    assert _until_wrong(["a()", "b()", "c()"]).splitlines() == [
        "  tmo_status status = a();",
        "  if (status == TMO_OK) status = b();",
        "  if (status != TMO_OK) return status;",
        "  return c();",
    ]
    assert _until_wrong(["a()"]) == "  return a();"


@pytest.mark.parametrize(
    ("board", "ram", "fpu"),
    [
        ("bluepill", "0x20000000", ""),
        ("nucleo_f401re", "0x20000000", "fpv4-sp-d16"),
        ("nucleo_f746zg", "0x20000000", "fpv5-sp-d16"),
        ("nucleo_h743zi", "0x24000000", "fpv5-d16"),
    ],
)
def test_an_stm32_project_has_the_chips_memory_and_fpu(board: str, ram: str, fpu: str) -> None:
    files = stm32cube(Project("net", lambda _: "", {}, library=False, boards=[board], board=board))
    (script,) = (text for name, text in files.items() if name.endswith(".ld"))
    assert re.findall(r"RAM.*ORIGIN = (\w+)", script) == [ram]
    assert re.findall(r"fpu\.value\.([\w-]+)", files[".cproject"])[:1] == [fpu] * bool(fpu)


@pytest.mark.parametrize(("board", "written"), [("", ["esp32s3", "nano33ble"]), ("nano33ble", ["nano33ble"])])
def test_a_platformio_project_has_the_named_board_or_all_suited_boards(board: str, written: list[str]) -> None:
    boards = ("nano33ble", "esp32s3")
    files = platformio(Project("net", lambda _: "", {}, library=False, boards=boards, board=board))
    assert sorted(re.findall(r"^\[env:(.*)]$", files["platformio.ini"], re.MULTILINE)) == written
