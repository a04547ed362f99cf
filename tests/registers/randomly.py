"""Run random drivers through the generator, and both versions on the bus."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from registers.draws import Drawn, calls, draw, rows, svd
from registers.simulated import HERE, Row
from registers.simulated import rows as svd_rows

from tflm_memopt.registers.generate import generate

PLAIN = """\
static uint32_t plain_get(uint32_t address, uint32_t bit, uint32_t bits) {
  return (mmio_read32(address) >> bit) & (bits == 32 ? 0xFFFFFFFFu : (1u << bits) - 1u);
}
static uint32_t plain_set(uint32_t address, uint32_t bit, uint32_t bits, int reads, uint32_t keep, uint32_t value) {
  const uint32_t mask = bits == 32 ? 0xFFFFFFFFu : (1u << bits) - 1u;
  const uint32_t old = reads ? mmio_read32(address) : 0;
  mmio_write32(address, (old & keep & ~(mask << bit)) | ((value & mask) << bit));
  return value & mask;
}
"""
HEADER = """\
#include "bus.h"
typedef struct {
  unsigned seed, interrupt_at;
  const bus_field *fields[2];
  uint32_t (*run[2])(void);
  void (*interrupt[2])(void);
} random_case;
extern const random_case random_cases[];
extern const unsigned random_case_count;
void outside(uint32_t value);
"""
UNUSED = [
    "-Wno-unused-function",
    "-Wno-unused-variable",
    "-Wno-unused-but-set-variable",
    "-Wno-unused-parameter",
    "-Wno-implicit-fallthrough",
]


@dataclass(frozen=True)
class Result:
    seed: int
    is_equal: bool
    plain: int
    generated: int


def run(seeds: Iterable[int], folder: Path, *, verbose: bool = False) -> list[Result]:
    """Compile plain and generated drivers of these seeds into one program and run it. Raises if one does not
    compile.
    """
    cases = [draw(seed) for seed in seeds]
    most = max((rows(case) for case in cases), key=len)
    parts = [HEADER, PLAIN, "".join(_case(case, folder, len(most)) for case in cases)]
    parts.append(_shared(most))
    entries = "\n".join(_entry(case) for case in cases)
    parts.append(
        f"const random_case random_cases[] = {{\n{entries}\n}};\nconst unsigned random_case_count = {len(cases)};\n"
    )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cases.h").write_text(f"#ifndef CASES_H_\n#define CASES_H_\n{HEADER}#endif\n")
    (folder / "cases.c").write_text("\n".join(parts))
    hooks = ["-DREG_READ32(a)=mmio_read32(a)", "-DREG_WRITE32(a,v)=mmio_write32(a,v)"]
    files = [folder / "cases.c", HERE / "bus.c", HERE / "random_main.c"]
    built = folder / "random"
    warnings = ["-Wall", "-Wextra", "-Werror", *UNUSED]
    subprocess.run(
        ["cc", "-std=c11", "-O1", *warnings, *hooks, f"-I{HERE}", f"-I{folder}", *files, "-o", built], check=True
    )
    done = subprocess.run([built, *(["-v"] if verbose else [])], capture_output=True, text=True, check=False)
    found = re.findall(r"^case (\d+) (\w+) (\d+) (\d+)$", done.stdout, re.MULTILINE)
    if verbose:
        print(done.stdout)
    if len(found) != len(cases):
        raise RuntimeError(f"{len(found)} of {len(cases)} cases have run: {done.stderr}")
    return [Result(int(seed), word == "equal", int(plain), int(made)) for seed, word, plain, made in found]


def _shared(most: list[Row]) -> str:
    """Table shared by all cases; each case's own table supplies its names and initial values by index."""
    names = "\n".join(f'  "field{index}",' for index in range(len(most)))
    return (
        "const bus_field *bus_fields;\n"
        f"const char *const bus_names[] = {{\n{names}\n}};\n"
        f"const uint32_t bus_initial[{len(most)}] = {{{', '.join(str(row.initial) + 'u' for row in most)}}};\n"
        f"const unsigned bus_count = {len(most)};\n"
    )


def source(case: Drawn) -> str:
    text = "\n".join(case.text)
    return f"#include <stdint.h>\nvoid outside(uint32_t value);\n{text}\n"


def _case(case: Drawn, folder: Path, room: int) -> str:
    made = generate(
        folder / f"case{case.seed}.c", source(case), folder / f"case{case.seed}.svd", svd(case), place=case.place
    )
    name = f"case{case.seed}_registers"
    text = made.files[f"{name}.h"] + made.files[made.driver].replace(f'#include "{name}.h"', "")
    plain = rows(case)
    placed = _placed(case, plain, made.files[f"{name}.svd"]) if case.place else plain
    runs = [_run(case, "plain_"), _run(case, "")]
    tables = [_table(case, "plain", plain, room), _table(case, "made", placed, room)]
    return "\n".join([text, "\n".join(case.plain), *runs, *tables, ""])


def _placed(case: Drawn, plain: list[Row], text: str) -> list[Row]:
    """Reorder the layout's rows like the plain ones."""
    by_name = {row.name: row for row in svd_rows(text, with_registers=False)}
    found = []
    for row in plain:
        at = by_name.get(row.name)
        if at is None:  # the driver does not use the field
            raise RuntimeError(f"seed {case.seed}: {row.name} is not in the layout: {sorted(by_name)}")
        found.append(Row(row.name, at.address, at.bit, row.bits, row.access, row.flags, row.initial))
    return found


def _run(case: Drawn, prefix: str) -> str:
    lines = "\n".join(f"  sum = sum * 31u ^ {prefix}{name}({a}u, {b}u);" for name, a, b in calls(case))
    name = f"{prefix or 'made_'}run{case.seed}"
    return f"static uint32_t {name}(void) {{\n  uint32_t sum = 0;\n{lines}\n  return sum;\n}}"


def _table(case: Drawn, name: str, fields: list[Row], room: int) -> str:
    """Pad the table of fields to `room` entries, because the simulated bus has tables of one size."""
    entries = "\n".join(
        f"  {{{row.address:#x}u, {row.bit}, {row.bits}, {row.access}, {' | '.join(row.flags) or '0'}}},"
        for row in fields
    )
    return f"static const bus_field {name}_fields{case.seed}[{room}] = {{\n{entries}\n}};"


def _entry(case: Drawn) -> str:
    interrupts = f"plain_isr{case.seed}, isr{case.seed}" if case.has_interrupt else "0, 0"
    return (
        f"  {{{case.seed}u, {case.seed % 5 if case.has_interrupt else 0}u, "
        f"{{plain_fields{case.seed}, made_fields{case.seed}}}, {{plain_run{case.seed}, made_run{case.seed}}}, "
        f"{{{interrupts}}}}},"
    )
