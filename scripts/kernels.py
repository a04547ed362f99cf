"""Writes the C that the library takes from descriptions: custom_ops/src/tmo_described.c, for RISC-V's vectors, its
header, and tmo_described_ref.c, for any core.

python scripts/kernels.py
"""

from __future__ import annotations

from pathlib import Path

from tflm_memopt.kernels.descriptions.activations import lookup
from tflm_memopt.kernels.descriptions.elementwise import add
from tflm_memopt.kernels.descriptions.packed import packed_conv, packed_depthwise, windows
from tflm_memopt.kernels.descriptions.pixels import conv_pixel, depthwise_pixel
from tflm_memopt.kernels.instructions import REF, RVV
from tflm_memopt.kernels.rewrites import jam, scheduled, unroll, vectorise
from tflm_memopt.kernels.write_c import function, library_function, operands_struct

LIBRARY = Path(__file__).parents[1] / "custom_ops"
PIXELS = tuple(scheduled(one, [vectorise(var)]) for one, var in ((conv_pixel, "k"), (depthwise_pixel, "k"), (add, "i")))
"""Vectorised along their outputs: of programs for any core."""
PACKED = (
    ("", scheduled(packed_conv, [vectorise("k"), jam("p", 2, apart=True), unroll("i", 4)])),
    ("_narrow", scheduled(packed_conv, [vectorise("k", group=4), jam("p", 4, apart=True), unroll("i", 4)])),
    ("", scheduled(packed_depthwise, [vectorise("k"), jam("p", 2, apart=True)])),
    ("", scheduled(windows, [vectorise("i")])),
)
"""Of programs that are packed for vectors, with what their names end with. Hosts have them as they are described."""
PLAIN = (packed_conv, packed_depthwise, windows)
LOOK_UP = {"x": "window->pixels[0]", "y": "out", "table": "k->weights", "n": "k->out_width * k->out_channels"}
ANY_CORE = """\
/* Kernels from descriptions (docs/kernel-language.md), for any core. Written by scripts/kernels.py. */
#include "tmo/kernels.h"

"""
HEADER = """\
/* Kernels from descriptions (docs/kernel-language.md). Written by scripts/kernels.py. Internal. */
#ifndef TMO_DESCRIBED_H_
#define TMO_DESCRIBED_H_

#include <stdint.h>

#include "build.h"

#ifdef __cplusplus
extern "C" {
#endif

"""
SOURCE = """\
/* Kernels from descriptions (docs/kernel-language.md). Written by scripts/kernels.py. */
#include "tmo/described.h"

#include "tmo/fixed.h"

#if TMO_RVV

#ifdef __riscv_vector
#error "Compile the library without V in -march: this file turns it on for its own assembly"
#endif
__asm__(".option arch, +zve32x");

"""
TWINS = """
#elif TMO_RUNS_RVV

"""
END = """
#else
typedef int tmo_described_is_not_empty; /* ISO C wants something in every file */
#endif
"""


def written() -> dict[Path, str]:
    """File -> content."""
    vectors = [*(("", one) for one in PIXELS), *PACKED]
    structs = "\n".join(operands_struct(one) for one in (*PIXELS, *PLAIN))
    names = "\n".join(
        f"void tmo_{one.name}{ending}_{table.name}(const tmo_{one.name}_operands *o);"
        for table, kernels in ((RVV, vectors), (REF, [("", one) for one in PLAIN]))
        for ending, one in kernels
    )
    header = f"{HEADER}{structs}\n{names}\n\n#ifdef __cplusplus\n}}\n#endif\n\n#endif /* TMO_DESCRIBED_H_ */\n"
    bodies = "\n".join(function(one, RVV, ending) for ending, one in vectors)
    twins = "\n".join(function(one, REF) for one in PLAIN)
    head = "void tmo_lookup_s8(const tmo_kernel *k, const tmo_window *window, int8_t *out)"
    files = {
        "src/tmo/described.h": header,
        "src/tmo_described.c": f"{SOURCE}{bodies}{TWINS}{twins}{END}",
        "src/tmo_described_ref.c": ANY_CORE + library_function(lookup, REF, head, LOOK_UP.__getitem__),
    }
    return {LIBRARY / name: text for name, text in files.items()}


if __name__ == "__main__":
    for path, text in written().items():
        path.write_text(text, encoding="utf-8")
