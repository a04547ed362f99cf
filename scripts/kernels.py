"""Writes the C that the library takes from descriptions: custom_ops/src/tmo_described.c and src/tmo/described.h.

python scripts/kernels.py
"""

from __future__ import annotations

from pathlib import Path

from tflm_memopt.kernels.descriptions.elementwise import add
from tflm_memopt.kernels.descriptions.pixels import conv_pixel, depthwise_pixel
from tflm_memopt.kernels.instructions import RVV
from tflm_memopt.kernels.rewrites import scheduled, vectorise
from tflm_memopt.kernels.write_c import function, operands_struct

LIBRARY = Path(__file__).parents[1] / "custom_ops"
KERNELS = tuple(
    scheduled(one, [vectorise(var)]) for one, var in ((conv_pixel, "k"), (depthwise_pixel, "k"), (add, "i"))
)
"""Vectorised along their outputs."""
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
    files = {"src/tmo/described.h": header, "src/tmo_described.c": f"{SOURCE}{bodies}{END}"}
    return {LIBRARY / name: text for name, text in files.items()}


if __name__ == "__main__":
    for path, text in written().items():
        path.write_text(text, encoding="utf-8")
