"""Writes NAME_model.h and NAME_model.cpp, the model as a constant array for flash."""

from collections.abc import Iterator

from tflm_memopt.emit.names import guard, identifier

ALIGNMENT = 16
"""Alignment in bytes that TFLM requires of the model's address in flash."""
BYTES_PER_LINE = 16


def model_header(name: str, nbytes: int) -> str:
    c = identifier(name)
    return f"""\
// {name}.tflite, {nbytes:,} B, for flash. Written by tflm-memopt. The model's own licence applies to its data.
#ifndef {guard(name, "model")}
#define {guard(name, "model")}

#include <stddef.h>

constexpr size_t {c}_model_len = {nbytes};
alignas({ALIGNMENT}) extern const unsigned char {c}_model[{c}_model_len];

#endif  // {guard(name, "model")}
"""


def model_source(name: str, data: bytes) -> str:
    c = identifier(name)
    lines = "\n".join(byte_lines(data))
    return f"""\
// {name}.tflite, {len(data):,} B. Written by tflm-memopt. The model's own licence applies to its data.
#include "{name}_model.h"

alignas({ALIGNMENT}) const unsigned char {c}_model[{c}_model_len] = {{
{lines}
}};
"""


def byte_lines(data: bytes) -> Iterator[str]:
    text, width = "0x" + data.hex(" ").replace(" ", ",0x") + ",", len("0x00,") * BYTES_PER_LINE
    for line in range(-(-len(data) // BYTES_PER_LINE)):
        yield "  " + text[line * width : (line + 1) * width]
