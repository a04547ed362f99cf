"""Writes the C that the library takes from descriptions: custom_ops/src/tmo_described.c, for RISC-V's vectors, its
header, and tmo_described_ref.c, for any core.

python scripts/kernels.py
"""

from __future__ import annotations

from pathlib import Path

from tflm_memopt.kernels.descriptions.activations import lookup
from tflm_memopt.kernels.descriptions.elementwise import add
from tflm_memopt.kernels.descriptions.pixels import conv_pixel, depthwise_pixel
from tflm_memopt.kernels.instructions import REF, RVV
from tflm_memopt.kernels.rewrites import scheduled, vectorise
from tflm_memopt.kernels.write_c import function, library_function, operands_struct

LIBRARY = Path(__file__).parents[1] / "custom_ops"
KERNELS = tuple(
    scheduled(one, [vectorise(var)]) for one, var in ((conv_pixel, "k"), (depthwise_pixel, "k"), (add, "i"))
)
"""Vectorised along their outputs."""
LOOK_UP = {"x": "window->pixels[0]", "y": "out", "table": "k->weights", "n": "k->out_width * k->out_channels"}
PLAIN = """\
/* Kernels from descriptions (docs/kernel-language.md), for any core. Written by scripts/kernels.py. */
#include "tmo/kernels.h"

"""
HEADER = """\
/* Kernels from descriptions (docs/kernel-language.md). Written by scripts/kernels.py. Internal. */
#ifndef TMO_DESCRIBED_H_
#define TMO_DESCRIBED_H_

#include <stdint.h>

/* 1: convolutions on RISC-V's vectors, Zve32x or more; the unit has to be on (mstatus.VS) wherever a model runs. */
#ifndef TMO_RVV
#define TMO_RVV 0
#endif

#ifdef __cplusplus
extern "C" {
#endif

"""
SOURCE = """\
/* Kernels from descriptions (docs/kernel-language.md). Written by scripts/kernels.py. */
#include "tmo/described.h"

#if TMO_RVV

#ifdef __riscv_vector
#error "Compile the library without V in -march: this file turns it on for its own assembly"
#endif
__asm__(".option arch, +zve32x");

"""

END = """
#else
typedef int tmo_described_is_not_empty; /* ISO C wants something in every file */
#endif
"""


def written() -> dict[Path, str]:
    """File -> content."""
    structs = "\n".join(operands_struct(kernel) for kernel in KERNELS)
    names = "\n".join(f"void tmo_{k.name}_{RVV.name}(const tmo_{k.name}_operands *o);" for k in KERNELS)
    header = f"{HEADER}{structs}\n{names}\n\n#ifdef __cplusplus\n}}\n#endif\n\n#endif /* TMO_DESCRIBED_H_ */\n"
    bodies = "\n".join(function(kernel, RVV) for kernel in KERNELS)
    head = "void tmo_lookup_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out)"
    files = {
        "src/tmo/described.h": header,
        "src/tmo_described.c": f"{SOURCE}{bodies}{END}",
        "src/tmo_described_ref.c": PLAIN + library_function(lookup, REF, head, LOOK_UP.__getitem__),
    }
    return {LIBRARY / name: text for name, text in files.items()}


if __name__ == "__main__":
    for path, text in written().items():
        path.write_text(text, encoding="utf-8")
