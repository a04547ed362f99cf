"""Generates from tflm_memopt/format the C header of programs, the table of operator kinds, and docs/program-format.md.

Usage: python scripts/program_format.py
"""

import ast
import enum
import inspect
import itertools
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path
from types import ModuleType

from tflm_memopt.format import limits
from tflm_memopt.format.codes import (
    Flags,
    FloatFunction,
    FloatRange,
    InputPlace,
    LoopCode,
    Part,
    ResizeForm,
    RowLayout,
    SelectForm,
    Sharding,
)
from tflm_memopt.format.fields import CField, layout_of
from tflm_memopt.lower.program import RECORDS
from tflm_memopt.ops.kinds import Kind, traits
from tflm_memopt.ops.packing import Family, Packing

ROOT = Path(__file__).parents[1]
LIBRARY = ROOT / "custom_ops"
PAGE = ROOT / "docs/program-format.md"
COLUMNS = 150
LICENSE_LINE = "/* SPDX-License-Identifier: Apache-2.0 */"
C_TYPES = {
    "u1": "uint8_t", "i1": "int8_t", "<u2": "uint16_t", "<i2": "int16_t", "<u4": "uint32_t", "<i4": "int32_t",
    "<u8": "uint64_t",
}  # fmt: skip
CODES: Mapping[str, type[enum.IntEnum] | type[enum.IntFlag]] = {
    "TARGET": Family, "PACKING": Packing, "LAYOUT": RowLayout, "INPUT": InputPlace, "FLAG": Flags, "LOOP": LoopCode,
    "SHARDING": Sharding, "RANGE": FloatRange, "FUNCTION": FloatFunction, "RESIZE": ResizeForm, "SELECT": SelectForm,
    "PART": Part,
}  # fmt: skip
"""The names of C constants begin with TMO_ and a key, such as the key RESIZE in TMO_RESIZE_NEAREST."""
GLUE = "\0"
WORD, BYTE = 4, 9
"""Each line of a drawing shows WORD bytes of a struct. In a drawing, a byte is at
least BYTE characters wide.
"""
NO_KERNEL = "TMO_NO_KERNEL"
ROWS: Mapping[Kind, Sequence[str]] = {
    Kind.CONV: ("filter", "tmo_conv_row_s8", "tmo_conv_pixel_s8"),
    Kind.DEPTHWISE: ("filter", "tmo_depthwise_row_s8", "tmo_depthwise_pixel_s8"),
    Kind.ADD: ("binary", "tmo_add_s8"),
    Kind.AVERAGE_POOL: ("pool", "tmo_pool_row_s8", "tmo_pool_pixel_s8"),
    Kind.MAX_POOL: ("pool", "tmo_pool_row_s8", "tmo_pool_pixel_s8"),
    Kind.MEAN: ("pool", "tmo_pool_row_s8", "tmo_pool_pixel_s8"),
    Kind.SOFTMAX: ("softmax", "tmo_softmax_s8"),
    Kind.LOOKUP: ("lookup", "tmo_lookup_s8"),
    Kind.SUB: ("binary", "tmo_add_scalars_s8"),
    Kind.MUL: ("binary", "tmo_mul_s8"),
    Kind.MAXIMUM: ("binary", "tmo_greater_s8"),
    Kind.MINIMUM: ("binary", "tmo_greater_s8"),
    Kind.SQUARED_DIFFERENCE: ("binary", "tmo_squared_difference_s8"),
    Kind.PRELU: ("binary", "tmo_prelu_s8"),
    Kind.COMPARE: ("binary", "tmo_compare_s8"),
    Kind.SUMS: ("sums", "tmo_sums_row_s8", "tmo_sums_pixel_s8"),
    Kind.ADD_SUMS: ("add_sums", "tmo_add_sums_row_s8"),
    Kind.COPY: ("copy", "tmo_copy_s8"),
    Kind.RESIZE_BILINEAR: ("resize", "tmo_resize_bilinear_row_s8"),
    Kind.TRANSPOSE_CONV: ("transpose_conv", "tmo_transpose_conv_row_s8"),
    Kind.BATCH_MATMUL: ("batch_matmul", "tmo_batch_matmul_row_s8"),
    Kind.LSTM: ("lstm", "tmo_lstm_row_s8"),
    Kind.SLIDING_SUM: ("sliding_sum", "tmo_sliding_sum_row_s8"),
    Kind.CONV_S16: ("filter", "tmo_conv_row_s16", "tmo_conv_pixel_s16"),
    Kind.DEPTHWISE_S16: ("filter", "tmo_conv_row_s16", "tmo_conv_pixel_s16"),
    Kind.ADD_S16: ("binary", "tmo_add_s16"),
    Kind.SUB_S16: ("binary", "tmo_add_s16"),
    Kind.LEAKY_RELU_S16: ("mapped", "tmo_leaky_relu_s16"),
    Kind.TRANSPOSE_CONV_S16: ("transpose_conv", "tmo_transpose_conv_row_s16"),
    Kind.MAX_POOL_S16: ("pool", "tmo_pool_row_s16", "tmo_pool_pixel_s16"),
    Kind.AVERAGE_POOL_S16: ("pool", "tmo_pool_row_s16", "tmo_pool_pixel_s16"),
    Kind.MEAN_S16: ("pool", "tmo_pool_row_s16", "tmo_pool_pixel_s16"),
    Kind.MUL_S16: ("binary", "tmo_mul_s16"),
    Kind.MAXIMUM_S16: ("binary", "tmo_greater_s16"),
    Kind.MINIMUM_S16: ("binary", "tmo_greater_s16"),
    Kind.BATCH_MATMUL_S16: ("batch_matmul", "tmo_batch_matmul_row_s16"),
    Kind.SOFTMAX_S16: ("softmax", "tmo_softmax_s16"),
    Kind.CURVE_S16: ("mapped", "tmo_curve_s16"),
    Kind.CONV_F32: ("filter", "tmo_conv_row_f32", "tmo_conv_pixel_f32"),
    Kind.DEPTHWISE_F32: ("filter", "tmo_conv_row_f32", "tmo_conv_pixel_f32"),
    Kind.TRANSPOSE_CONV_F32: ("transpose_conv", "tmo_transpose_conv_row_f32"),
    Kind.AVERAGE_POOL_F32: ("pool", "tmo_pool_row_f32", "tmo_pool_pixel_f32"),
    Kind.MAX_POOL_F32: ("pool", "tmo_pool_row_f32", "tmo_pool_pixel_f32"),
    Kind.ARITHMETIC_F32: ("binary", "tmo_arithmetic_f32"),
    Kind.CLAMP_F32: ("mapped", "tmo_clamp_f32"),
    Kind.CURVE_F32: ("mapped", "tmo_curve_f32"),
    Kind.SOFTMAX_F32: ("softmax", "tmo_softmax_f32"),
    Kind.LOG_SOFTMAX_F32: ("softmax", "tmo_log_softmax_f32"),
    Kind.SUM_F32: ("pool", "tmo_pool_row_f32", "tmo_pool_pixel_f32"),
    Kind.MIN_POOL_F32: ("pool", "tmo_pool_row_f32", "tmo_pool_pixel_f32"),
    Kind.RESIZE_BILINEAR_F32: ("resize_f32", "tmo_resize_bilinear_row_f32"),
    Kind.SELECT: ("select", "tmo_select_row"),
    Kind.BATCH_MATMUL_F32: ("batch_matmul", "tmo_batch_matmul_row_f32"),
    Kind.BINARY_32: ("binary", "tmo_binary_32"),
    Kind.COMPARE_32: ("binary", "tmo_compare_32"),
    Kind.ARG_MAX_ALONG: ("pool", "tmo_arg_max_along_row", "tmo_arg_max_along_pixel"),
    Kind.ARG_MAX_F32: ("pool", "tmo_arg_max_along_row", "tmo_arg_max_along_pixel"),
    Kind.GATHER_ND: ("gather_nd",),
    Kind.GATHER: ("gather",),
    Kind.LOG_SOFTMAX: ("softmax", "tmo_log_softmax_s8"),
    Kind.ARG_MAX: ("arg_max", "tmo_arg_max_s8"),
    Kind.QUANTIZE: ("convert", "tmo_quantize"),
    Kind.QUANTIZE_S16: ("convert", "tmo_quantize_s16"),
    Kind.DEQUANTIZE: ("convert", "tmo_dequantize"),
    Kind.DEQUANTIZE_S16: ("convert", "tmo_dequantize_s16"),
    Kind.WIDEN: ("convert", "tmo_widen"),
    Kind.NARROW: ("convert", "tmo_narrow"),
    Kind.RESCALE_S16: ("convert", "tmo_rescale_s16"),
    Kind.SEND: ("link",),
    Kind.RECEIVE: ("link",),
    Kind.OWN: ("own", "tmo_own_s8"),
}
"""Maps each kind of operator to the names of three C functions: validator, kernel for rows, and kernel for pixels."""
WRITTEN = "Written by scripts/program_format.py."
HEADER = f"""This header describes programs, which the converter writes and tmo_run() executes in place. {WRITTEN}

A program is little-endian and begins at a multiple of 16. A program has a header, then tables of tensors, operators and
groups, and then constants. The offset of a table or constant counts bytes from the start of the program. An offset of 0
means that the program does not have the table or constant. docs/program-format.md draws the records and says what each
kind of operator computes."""
KINDS_HEAD = f"""This table has a row for each kind of operator, for the executor and the validator. {WRITTEN}

The columns of the table are arguments of the macro KIND. Column "value" has the number that stands for the kind in
programs. Columns "reads" and "writes" have the size in bytes of an input element and of an output element. Column
"operands" has the number of operands, or TMO_ANY_NUMBER. Column "scales" has the number of multipliers, which is also
the number of shifts. TMO_PER_CHANNEL allows one scale for all channels, and also one scale for each output channel.
tmo_check_kind.c has a function for each family. For kinds with channel groups, column "channels" states which input
channels an output channel needs. OWN means the same channel, FILTERED means one channel and a depthwise filter, and
SUMMED means a weighted sum of all channels. Kinds without channel groups have the value ANY. Column "row kernel" names
the function that computes whole rows. Column "pixel kernel" names the function that computes one pixel. TMO_NO_KERNEL
means that the row kernel also computes single pixels."""
KIND_TITLES = (
    "name", "value", "reads", "writes", "operands", "scales", "family", "channels", "row kernel", "pixel kernel"
)  # fmt: skip


@cache
def docs(owner: type | ModuleType) -> Mapping[str, str]:
    tree = ast.parse(textwrap.dedent(inspect.getsource(owner)))
    body = tree.body if inspect.ismodule(owner) else tree.body[0].body  # type: ignore[attr-defined]
    found: dict[str, str] = {}
    for node, after in itertools.pairwise(body):
        target = getattr(node, "target", None) or next(iter(getattr(node, "targets", ())), None)
        if isinstance(target, ast.Name) and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            found[target.id] = " ".join(str(after.value.value).split())
    return found


def meaning(field: CField) -> str:
    source = field.source
    if source.base is None:
        return inspect.getdoc(getattr(field.record, source.name)) or "" if hasattr(field.record, source.name) else ""
    return source.also.get(field.name) or docs(field.record).get(source.name, "")


def comment(text: str) -> str:
    return f"/* {text} */"


def with_comments(lines: Sequence[tuple[str, str]]) -> Iterator[str]:
    for code, text in lines:
        if not text:
            yield code
        elif len(code) + len(comment(text)) < COLUMNS:
            yield f"{code} {comment(text)}"
        else:
            indent = " " * (len(code) - len(code.lstrip()))
            yield from wrapped(comment(text), indent)
            yield code


def wrapped(text: str, indent: str = "") -> Iterator[str]:
    for i, paragraph in enumerate(text.split("\n\n")):
        first = f"{indent} * " if i else indent
        if i:
            yield f"{indent} *"
        yield from textwrap.wrap(paragraph, COLUMNS, initial_indent=first, subsequent_indent=f"{indent} * ")


def defines() -> Iterator[str]:
    tree = ast.parse(inspect.getsource(limits))
    lines = []
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name, text = node.targets[0].id, ast.get_source_segment(inspect.getsource(limits), node.value) or ""
            value = getattr(limits, name)
            number = f"{text}u" if text.startswith("0x") else f"{value}u" if value > 0xFFFF else str(value)
            lines.append((f"#define TMO_{name} {number}", docs(limits).get(name, "")))
    yield from with_comments(lines)


def enumeration(prefix: str, kind: type[enum.IntEnum] | type[enum.IntFlag]) -> Iterator[str]:
    known = docs(kind)
    yield from wrapped(comment(about(kind)))
    values = [
        (f"  TMO_{prefix}_{name} = {hex(one) if one > 99 else int(one)},", known.get(name, ""))
        for name, one in kind.__members__.items()
    ]
    yield from ["enum {", *with_comments(values), "};"]


def c_fields(record: type) -> Iterator[tuple[str, str]]:
    """Fields that share bytes are in a C union. Consecutive fields without comments are in the same line of C. Padding
    between fields is declared as a field, because some compilers do not align fields.
    """
    layout, end = layout_of(record), 0
    cases = [[*group] for _, group in groupby(layout.fields, lambda field: field.offset)]
    for (alone, kind, text), group in groupby(cases, lambda same: (len(same) == 1, same[0].code, meaning(same[0]))):
        together = [*group]
        yield from _gap(end, together[0][0].offset)
        end = max(f.offset + f.nbytes for same in together for f in same)
        if alone and not text:
            yield f"  {C_TYPES[kind]} {', '.join(c_name(same[0]) for same in together)};", ""
            continue
        for same in together:
            indent = "    " if len(same) > 1 else "  "
            lines = [(f"{indent}{C_TYPES[f.code]} {c_name(f)};", meaning(f)) for f in same]
            yield from [("  union {", ""), *lines, ("  };", "")] if len(same) > 1 else lines
    yield from _gap(end, layout.nbytes)


def _gap(begin: int, end: int) -> Iterator[tuple[str, str]]:
    if begin < end:
        yield f"  uint8_t reserved_{begin}[{end - begin}];", ""


def c_name(field: CField) -> str:
    return f"{field.name}[{field.count}]" if field.count > 1 else field.name


def struct(name: str, record: type) -> Iterator[str]:
    yield from wrapped(comment(about(record)))
    yield from ["typedef struct {", *with_comments([*c_fields(record)]), f"}} {name};"]


def about(owner: type) -> str:
    return "\n\n".join(" ".join(part.split()) for part in inspect.cleandoc(owner.__doc__ or "").split("\n\n"))


def header() -> str:
    kinds = [
        "typedef enum {",
        "#define TMO_ENUMERATOR(with, name, value, ...) TMO_OP_##name = value,",
        "  TMO_EACH_KIND(TMO_ENUMERATOR, )",
        "#undef TMO_ENUMERATOR",
        "} tmo_op_kind;",
    ]
    parts = [
        [*defines()],
        *([*enumeration(prefix, kind)] for prefix, kind in CODES.items()),
        kinds,
        *([*struct(name, record)] for name, record in RECORDS.items()),
    ]
    guard = ["#ifndef TMO_PROGRAM_H_", "#define TMO_PROGRAM_H_"]
    head = [LICENSE_LINE, *wrapped(comment(HEADER)), *guard, "", "#include <stdint.h>", "", '#include "tmo/kinds.def"']
    return "\n\n".join([*("\n".join(part) for part in (head, *parts)), "#endif /* TMO_PROGRAM_H_ */"]) + "\n"


def layout_header() -> str:
    lines = [
        LICENSE_LINE,
        "/* These assertions prove the layout of a program's structs. scripts/program_format.py writes this header. */",
        "#include <stddef.h>",
        "",
        '#include "tmo/program.h"',
        "",
    ]
    for name, record in RECORDS.items():
        layout = layout_of(record)
        facts = [f"offsetof({name},{GLUE}{field.name}){GLUE}=={GLUE}{field.offset}" for field in layout.fields]
        facts = [f"sizeof({name}){GLUE}=={GLUE}{layout.nbytes}", *facts]
        text = f'_Static_assert({f"{GLUE}&& ".join(facts)}, "{name}");'
        lines += [line.replace(GLUE, " ") for line in textwrap.wrap(text, COLUMNS, subsequent_indent=" " * 15)]
    return "\n".join(lines) + "\n"


def kinds_def() -> str:
    rows = [KIND_TITLES]
    for kind in Kind:
        t, (family, *kernels) = traits(kind), ROWS[kind]
        operands = "TMO_ANY_NUMBER" if t.operands is None else str(t.operands)
        scales = "TMO_PER_CHANNEL" if t.scales is None else str(t.scales)
        row, pixel = (*kernels, NO_KERNEL, NO_KERNEL)[:2]
        numbers = (str(int(kind)), str(t.reads), str(t.writes), operands, scales)
        rows.append((kind.name, *numbers, family, t.channels.name, row, pixel))
    widths = [max(map(len, column)) + 1 for column in zip(*rows, strict=True)]
    lines = [" ".join(f"{cell},".ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    table = [f"  KIND(with, {line.rstrip().removesuffix(',')})" for line in lines[1:]]
    title = (
        "  /*         " + " ".join(cell.ljust(width) for cell, width in zip(KIND_TITLES, widths, strict=True)).rstrip()
    )
    head = [LICENSE_LINE, *wrapped(comment(KINDS_HEAD))]
    return "\n".join(head) + "\n" + " \\\n".join(["#define TMO_EACH_KIND(KIND, with)", f"{title} */", *table]) + "\n"


def drawing(record: type) -> Iterator[str]:
    """If fields share bytes, a drawing shows the fields' names side by side."""
    layout = layout_of(record)
    names = {at: [*group] for at, group in groupby(layout.fields, lambda field: field.offset)}
    edges = sorted({*names, *(at + group[0].nbytes for at, group in names.items()), layout.nbytes})
    cells = [(at, end, " / ".join(f.name for f in names.get(at, ()))) for at, end in itertools.pairwise(edges)]
    lines = [(at, [*group]) for at, group in groupby(_split(cells), lambda cell: cell[0] // WORD * WORD)]
    width = max(BYTE, *((len(cell[2]) + 2) // (cell[1] - cell[0]) for cell in _split(cells)))
    yield from ["```", " " * 5 + "".join(f" {i}".center(width) + " " for i in range(WORD)).rstrip()]
    border = "     +" + "+".join("-" * width for _ in range(WORD)) + "+"
    for at, group in lines:
        yield border
        yield f"{at:4} |" + "|".join(name.center((end - begin) * (width + 1) - 1) for begin, end, name in group) + "|"
    yield from [border, "```"]


def _split(cells: Iterable[tuple[int, int, str]]) -> Iterator[tuple[int, int, str]]:
    """If a field continues in the next line of a drawing, only the field's first part has the field's name."""
    for begin, end, name in cells:
        for at in (begin, *range(begin - begin % WORD + WORD, end, WORD)):
            yield at, min(end, at - at % WORD + WORD), name if at == begin else ""


def table(record: type) -> Iterator[str]:
    yield from ["| offset | bytes | field | meaning |", "|---:|---:|---|---|"]
    for f in layout_of(record).fields:
        count = f"[{f.count}]" if f.count > 1 else ""
        yield f"| {f.offset} | {f.nbytes} | `{f.name}`{count} | {meaning(f)} |"


def codes_table(prefix: str, kind: type[enum.IntEnum] | type[enum.IntFlag]) -> Iterator[str]:
    known = docs(kind)
    yield from ["| code | value | meaning |", "|---|---:|---|"]
    for name, value in kind.__members__.items():
        yield f"| `TMO_{prefix}_{name}` | {hex(value) if value > 99 else int(value)} | {known.get(name, '')} |"


def page_parts() -> Mapping[str, str]:
    records = {
        name: "\n".join([about(record), "", *drawing(record), "", *table(record)]) for name, record in RECORDS.items()
    }
    return records | {f"TMO_{prefix}": "\n".join(codes_table(prefix, kind)) for prefix, kind in CODES.items()}


def site_page() -> str:
    text = PAGE.read_text(encoding="utf-8")
    for name, part in page_parts().items():
        before, mark, after = text.partition(f"<!-- {name} -->")
        if not mark:
            raise ValueError(f"{PAGE} has no <!-- {name} -->")
        text = before + part + after
    return text


FILES: Mapping[Path, Callable[[], str]] = {
    LIBRARY / "include/tmo/program.h": header,
    LIBRARY / "include/tmo/kinds.def": kinds_def,
    LIBRARY / "src/tmo/layout.h": layout_header,
}


def main() -> int:
    for path, content in FILES.items():
        path.write_text(content(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
