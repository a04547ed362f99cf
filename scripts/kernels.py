"""Generates the C library's kernels from their descriptions (library_kernels.py). The file
custom_ops/src/tmo_generated.c has kernels for RISC-V vectors, and the files tmo_generated_NAME.c have kernels for any
core.

Usage: python scripts/kernels.py
"""

from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path

from library_c import element_function, function, library_function, operands_struct
from library_kernels import FILES, PACKED, PIXELS, PLAIN, LibraryKernel
from vectors import RVV

from tflm_memopt.kernels.instructions import REF

LIBRARY = Path(__file__).parents[1] / "custom_ops"
COLUMNS = 165
LICENSE_LINE = "/* SPDX-License-Identifier: Apache-2.0 */\n"
ANY_CORE = (
    "/* scripts/kernels.py generates this file (docs/kernel-language.md). The kernels run on any core. */\n"
    '#include "tmo/elements.h"\n'
    '#include "tmo/kernels.h"\n'
    "\n"
)
IN_ORDER = (
    "#if defined(__GNUC__) && !defined(__clang__)\n"
    '#pragma GCC optimize("no-tree-reassoc", "no-schedule-insns") '
    "/* without reordering, GCC keeps sums in registers */\n"
    '#pragma GCC optimize("no-tree-vectorize", "no-tree-slp-vectorize")\n'
    "#endif\n"
)
ROUNDED = '#include "tmo/floats.h"\n\n'
ROUNDING = ("float", "float_curves", "float_windows", "compare", "places")
BEGINS = {"conv": IN_ORDER, "depthwise": IN_ORDER, **dict.fromkeys(ROUNDING, ROUNDED)}


def _definition(one: LibraryKernel) -> str:
    head = one.head.format(one.name)

    def given(name: str) -> str:
        return one.given.get(name, name)

    if one.at_once:
        return element_function(one.kernel, REF, one.name, given, one.at_once)
    made = [library_function(kernel, REF, head, given, one.ends) for kernel in (one.many, one.kernel) if kernel]
    calls = [_one_line(f"{head} {{", f"{one.name}({arguments});") for head, arguments in one.calls.items()]
    made[-1] = "\n".join([made[-1], *calls])
    return _either(*made) if one.many else made[0]


def _either(many: str, few: str) -> str:
    """Return one C function from two versions, with a preprocessor condition around the lines that differ."""
    lines, others = many.splitlines(keepends=True), few.splitlines(keepends=True)
    same = list(takewhile(lambda pair: pair[0] == pair[1], zip(lines, others, strict=False)))
    after = list(takewhile(lambda pair: pair[0] == pair[1], zip(lines[::-1], others[::-1], strict=False)))
    begin, end = len(same), len(after)
    more, fewer = "".join(lines[begin:-end]), "".join(others[begin:-end])
    other = f"#else\n{fewer}" if fewer else ""
    return "".join(lines[:begin]) + f"#if TMO_MANY_REGISTERS\n{more}{other}#endif\n" + "".join(lines[-end:])


def _definitions(kernels: Sequence[LibraryKernel]) -> str:
    parts = [("" if one.at_once else "\n") + _definition(one) for one in kernels]
    return "".join(parts).removeprefix("\n")


def _one_line(head: str, statement: str) -> str:
    line = f"{head} {statement} }}\n"
    return line if len(line) <= COLUMNS else f"{head}\n  {statement}\n}}\n"


HEADER = (
    "/* scripts/kernels.py generates this internal header from descriptions of kernels (docs/kernel-language.md). */\n"
    "#ifndef TMO_GENERATED_H_\n"
    "#define TMO_GENERATED_H_\n"
    "\n"
    "#include <stdint.h>\n"
    "\n"
    '#include "build.h"\n'
    "\n"
    "#ifdef __cplusplus\n"
    'extern "C" {\n'
    "#endif\n"
    "\n"
)
SOURCE = (
    "/* scripts/kernels.py generates this file from descriptions of kernels (docs/kernel-language.md). */\n"
    '#include "tmo/generated.h"\n'
    "\n"
    '#include "tmo/fixed.h"\n'
    "\n"
    "#if TMO_RVV\n"
    "\n"
    "#ifdef __riscv_vector\n"
    '#error "Compile the library without V in -march: this file enables V for its own assembly"\n'
    "#endif\n"
    '__asm__(".option arch, +zve32x");\n'
    "\n"
)
TWINS = "\n#elif TMO_RUNS_RVV\n\n"
END = "\n#endif\n"


def written() -> dict[Path, str]:
    vectors = [*(("", one) for one in PIXELS), *PACKED]
    structs = "\n".join(operands_struct(one) for one in (*PIXELS, *PLAIN))
    names = "\n".join(
        f"TMO_LINKAGE void tmo_{one.name}{ending}_{table.name}(const tmo_{one.name}_operands *o);"
        for table, kernels in ((RVV, vectors), (REF, [("", one) for one in PLAIN]))
        for ending, one in kernels
    )
    header = f"{HEADER}{structs}\n{names}\n\n#ifdef __cplusplus\n}}\n#endif\n\n#endif /* TMO_GENERATED_H_ */\n"
    bodies = "\n".join(function(one, RVV, ending) for ending, one in vectors)
    twins = "\n".join(function(one, REF) for one in PLAIN)
    files = {"src/tmo/generated.h": header, "src/tmo_generated.c": f"{SOURCE}{bodies}{TWINS}{twins}{END}"}
    for name, kernels in FILES.items():
        files[f"src/tmo_generated_{name}.c"] = BEGINS.get(name, "") + ANY_CORE + _definitions(kernels)
    return {LIBRARY / name: f"{LICENSE_LINE}{text}" for name, text in files.items()}


if __name__ == "__main__":
    for path, text in written().items():
        path.write_text(text, encoding="utf-8")
