"""Run generated kernels on emulated cores and compare their results with NumPy."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from cores.core import CORES, HERE, Core, build, compile_flags, emulate, in_spike, vectors
from numpy.typing import NDArray

from tflm_memopt.kernels.instructions import RVV, InstructionTable
from tflm_memopt.kernels.language import Extents, KernelProgram
from tflm_memopt.kernels.write_c import function, operands_struct

MARCH = "-march=rv32imac_zicsr_zve32x"
ROM_BYTES = 2 << 20
"""Space for the arrays of the cases, which are linked into the program."""
MAIN = """\
#include "core.h"
#include "tmo/elements.h"
#include "tmo/fixed.h"

static void number(const char *name, uint32_t value) {
  char text[12], *end = text + sizeof text;
  *--end = 0;
  do *--end = (char)('0' + value % 10);
  while ((value /= 10) > 0);
  core_write(name);
  core_write(end);
}

extern inline int32_t tmo_wrapping_add(int32_t a, int32_t b);
extern inline int32_t tmo_high_mul(int32_t a, int32_t b);
extern inline int32_t tmo_high_scale(int32_t x, int32_t multiplier);
extern inline int32_t tmo_round_shift(int32_t x, uint32_t exponent);
extern inline int32_t tmo_rescale(int32_t x, int32_t multiplier, int32_t shift);
"""


@dataclass(frozen=True)
class Call:
    """One call of a kernel, and its expected outputs by tensor name."""

    kernel: KernelProgram
    values: Extents
    arrays: Mapping[str, NDArray[np.generic]]
    expected: Mapping[str, NDArray[np.generic]]


def run(calls: Sequence[Call], table: InstructionTable, vlen: int = 128) -> list[int]:
    """Make all calls in one program on RV32, and return the wrong elements of each call: output elements that differ,
    and bytes written after an output. vlen: bits of a vector register for RVV; below 128, the program runs in Spike.
    """
    core = CORES["rv32"]
    if table is RVV:
        core = replace(core, name=f"rvv{vlen}", options=vectors(vlen)) if vlen >= 128 else in_spike(core, vlen)
    kernels = {call.kernel.name: call.kernel for call in calls}
    parts = [MAIN, table.head, *(f"{operands_struct(k)}\n{function(k, table)}" for k in kernels.values())]
    parts += [_case(number, call, table) for number, call in enumerate(calls)]
    start = '  __asm__ volatile("csrs mstatus, %0" : : "r"(0x200)); /* the vector unit is on */\n' if vlen else ""
    body = "".join(f"  case_{number}();\n" for number in range(len(calls)))
    parts.append(f"int main(void) {{\n{start if table is RVV else ''}{body}  return 0;\n}}\n")
    with tempfile.TemporaryDirectory() as folder:
        source, image = Path(folder) / "main.c", Path(folder) / "main.elf"
        source.write_text("\n".join(parts))
        compiled = _compiled(core, source, table)
        build(core, [compiled, *(HERE / name for name in core.start)], image, [f"-I{HERE}"], rom_bytes=ROM_BYTES)
        said = emulate(core, image)
    found = [int(n) for n in re.findall(r"wrong (\d+)", said)]
    if len(found) != len(calls):
        raise RuntimeError(said)
    return found


def _compiled(core: Core, source: Path, table: InstructionTable) -> Path:
    """Compile to an object. GCC 12 has no C library for cores with vectors, but its assembler supports them."""
    target = source.with_suffix(".o")
    flags = [MARCH if flag.startswith("-march") and table is RVV else flag for flag in compile_flags(core)]
    command = [core.prefix + "gcc", *flags, f"-I{HERE}", "-c", str(source), "-o", str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return target


def _case(number: int, call: Call, table: InstructionTable) -> str:
    lines, fields, checks, fills = [], [], [], []
    for tensor in (t for t in call.kernel.tensors if not t.values):
        name, c = f"{tensor.name}_{number}", tensor.type.c
        if tensor.name in call.arrays:
            values = ", ".join(map(str, call.arrays[tensor.name].reshape(-1).tolist()))
            goes_on = tensor.name in call.expected
            lines.append(f"static {'' if goes_on else 'const '}{c} {name}[] = {{{values}}};")
            if goes_on:
                values = ", ".join(map(str, call.expected[tensor.name].reshape(-1).tolist()))
                lines.append(f"static const {c} {name}_expected[] = {{{values}}};")
                size = tensor.elements.at(call.values)
                checks.append(f"  for (uint32_t i = 0; i < {size}; ++i) wrong += {name}[i] != {name}_expected[i];")
            if tensor.pointers:
                rows, apart = tensor.shape[0].at(call.values), tensor.strides[0].at(call.values)
                lines.append(f"static const {c} *{name}_rows[{rows}];")
                fills.append(f"  for (uint32_t i = 0; i < {rows}; ++i) {name}_rows[i] = &{name}[i * {apart}];")
                name = f"{name}_rows"
        else:
            size = tensor.reach.at(call.values)
            lines.append(f"static {c} {name}[{size + 16}];")
            if tensor.written:
                values = ", ".join(map(str, [*call.expected[tensor.name].reshape(-1).tolist(), *[0] * 16]))
                lines.append(f"static const {c} {name}_expected[] = {{{values}}};")
                checks.append(f"  for (uint32_t i = 0; i < {size + 16}; ++i) wrong += {name}[i] != {name}_expected[i];")
        fields.append(f".{tensor.name} = " + (name if tensor.aligned else f"(void *)(uintptr_t){name}"))
    fields += [f".{name} = {call.values[name]}" for name in (*call.kernel.extents, *call.kernel.parameters)]
    body = "\n".join(checks)
    return "\n".join(
        [
            *lines,
            f"static void case_{number}(void) {{",
            *fills,
            f"  const tmo_{call.kernel.name}_operands o = {{{', '.join(fields)}}};",
            "  uint32_t wrong = 0;",
            f"  tmo_{call.kernel.name}_{table.name}(&o);",
            body,
            '  number("wrong ", wrong);',
            '  core_write("\\n");',
            "}",
        ]
    )
