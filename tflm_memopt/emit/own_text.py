"""Kernels of the user's own (ops/own.py) as a C file."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tflm_memopt.emit import library
from tflm_memopt.ops.described import MADE, OwnKernel

HEADERS = ("compiler.h", "fixed.h")
"""What kernels calculate with: headers of the library, each of which includes the one before."""
FILE = """\
/* Kernels of the application's own, from their descriptions. Written by tflm-memopt (docs/own-operator.md). */
#include "tmo/own.h"

/* What follows is of the library's own headers, which are not beside this file. */
{arithmetic}
{functions}
static const tmo_own_kernel kernels[] = {{
{rows}
}};
static tmo_own_table table = {{kernels, sizeof kernels / sizeof kernels[0], 0}};

/* Call it before a model is prepared. */
void {name}(void);
void {name}(void) {{ tmo_own_use(&table); }}
"""


def source(name: str, made: Mapping[int, OwnKernel] = MADE) -> str:
    """A C file with a function of that name, which lets programs run the kernels."""
    rows = ",\n".join(
        f"  {{{k.identity:#x}u, {k.channels}, {k.operands}, pixel_{k.identity:x}}}" for k in made.values()
    )
    functions = "\n".join(k.function for k in made.values())
    return FILE.format(name=name, arithmetic=_arithmetic(), functions=functions, rows=rows)


def _arithmetic() -> str:
    """One file of HEADERS, whose functions are static: the library has what is not put in line."""
    compiler, fixed = ((library.folder() / "src/tmo" / name).read_text(encoding="utf-8") for name in HEADERS)
    return re.sub("^inline", "static inline", fixed.replace(f'#include "{HEADERS[0]}"\n', compiler), flags=re.MULTILINE)
