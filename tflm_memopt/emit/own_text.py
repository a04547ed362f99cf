"""Writes the user's custom kernels (ops/own.py) as a C file."""

from collections.abc import Mapping

from tflm_memopt.ops.custom import MADE, OwnKernel

DEFINITIONS = """\
#define TMO_LINKAGE static
#include "tmo/fixed.h"
#include "tmo/own.h"

/* These are the application's custom kernels, generated from their descriptions (docs/own-operator.md). */
{functions}
static const tmo_own_kernel kernels[] = {{
{rows}
}};
"""
FILE = """\
/* This file has the application's custom kernels. Written by tflm-memopt (docs/own-operator.md). */
{definitions}
static tmo_own_table table = {{kernels, sizeof kernels / sizeof kernels[0], 0}};

/* Call this function before you prepare a model. */
void {name}(void);
void {name}(void) {{ tmo_own_use(&table); }}
"""


def source(name: str, made: Mapping[int, OwnKernel] = MADE) -> str:
    """Return a C file with a function `name`, which registers the user's kernels. The C library must be compiled with
    the macro TMO_OWN.
    """
    return FILE.format(name=name, definitions=_definitions(made))


def definitions(made: Mapping[int, OwnKernel]) -> str:
    """Return the C code of the user's kernels. In a C file, the returned code must come before the line that includes
    tmo/embed.h.
    """
    return f"{_definitions(made)}\n#define TMO_OWN 1\n#define TMO_OWN_KERNELS kernels\n"


def _definitions(made: Mapping[int, OwnKernel]) -> str:
    rows = ",\n".join(
        f"  {{{k.identity:#x}u, {k.channels}, {k.operands}, pixel_{k.identity:x}}}" for k in made.values()
    )
    return DEFINITIONS.format(functions="\n".join(k.function for k in made.values()), rows=rows)
