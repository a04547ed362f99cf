"""Writes NAME.c as code for one model: the iteration order as calls, and kernels with constants folded."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.emit.dsp_cores import QUAD, Adding, Core, Depthwise, Pairs, Rounding, Widening, assembly
from tflm_memopt.emit.iterations import Loop, executed, looped
from tflm_memopt.emit.module import Module
from tflm_memopt.emit.program import rendered
from tflm_memopt.errors import UsageError
from tflm_memopt.format.codes import InputPlace, RowLayout
from tflm_memopt.format.limits import PROGRAM_BASE
from tflm_memopt.lower.program import HEADER, OP, TENSOR
from tflm_memopt.lower.serialise import unpack
from tflm_memopt.ops.packing import Family, Packing, packed_pixels, packed_values

TURN = 3
"""Taps that a depthwise kernel processes at once."""
SCALES_OF_ADD = 11
"""Number of int32 scales of TMO_PACKING_DSP_ADD."""
LEAST = -128
"""Minimum of int8."""
SIGNATURES: Mapping[type[Core], tuple[str, str, str]] = {
    Pairs: (
        "void",
        "const int16_t *tile, const int8_t *weights, const int32_t *scales, int8_t *out, uint32_t pairs, uint32_t step",
        "pairs_of({0.pixels}, {0.values}, tile, weights, scales, out, pairs, step)",
    ),
    Widening: (
        "int16_t *", "const int8_t *const *from, int16_t *tile", "return widen(from, tile, {0.pixels}, {0.nbytes})"
    ),
    Depthwise: (
        "void",
        "const int8_t *const *taps, const int8_t *constants, int8_t *out, uint32_t pixels, uint32_t n, uint32_t step",
        "depthwise({0.taps}, taps, constants, out, pixels, n, step)",
    ),
    Adding: (
        "void",
        "const int8_t *a, const int8_t *b, const int8_t *end, int8_t *out, both_scaled scaled, const int32_t *scale",
        "add(a, b, end, out, scaled, scale)",
    ),
}  # fmt: skip
"""Return type, parameters, and equivalent C code of each kernel."""


@dataclass(frozen=True)
class Operator:
    """An operator of a group that runs row by row: its program records, and the addresses of its tensors."""

    name: str
    program: str
    """Name of the array with the operator's constants."""
    op: np.void
    source: np.void
    """The first operand."""
    last: np.void
    """The last operand, which may be the first."""
    target: np.void
    at: tuple[int, int, int, int]
    """Offsets in the arena of row 0 of the first operand, the last operand and the output, and of the scratch."""
    bias: NDArray[np.int32]
    """The scales of an ADD; empty for others."""

    @property
    def rounding(self) -> Rounding:
        return Rounding(int(self.op["output_zero_point"]) == int(self.op["act_min"]) == LEAST)

    @property
    def begin(self) -> str:
        """Return code that finds the rows of the window and the output row."""
        o, s = self.op, self.source
        bytes_in = int(s["width"]) * int(s["channels"])
        return f"""\
  const int8_t *rows[{o["kernel_h"]}];
  rows_under(rows, {o["kernel_h"]}, arena + {self.at[0]}, y * {o["stride_h"]} - {o["pad_top"]}, {o["dilation_h"]},
             {s["height"]}, {s["depth"]}, {bytes_in});
{self.out}"""

    @property
    def out(self) -> str:
        return f"  int8_t *const out = (int8_t *)arena + {_row(self.target, self.at[2])};"

    @property
    def end(self) -> str:
        t = self.target
        return f"  limit(out, {t['width'] * t['channels']}, {self.op['act_min']}, {self.op['act_max']});"


@dataclass
class Written:
    """Functions for operators, and the kernels that they call."""

    prefix: str
    functions: list[str] = field(default_factory=list)
    cores: dict[str, Core] = field(default_factory=dict)
    edge: int = 1
    """Largest number of bytes in a convolution's row of taps."""
    edges: int = 1
    """Largest number of pixels in a group with missing taps."""

    def core(self, core: Core) -> str:
        self.cores[core.name] = core
        return f"{self.prefix}_{core.name}"

    def convolution(self, o: Operator) -> str:
        """Return the function of a convolution, which processes groups of pixels from left to right."""
        op, channels = o.op, int(o.source["channels"])
        taps = int(op["kernel_w"]) * channels
        self.edge = max(self.edge, taps)
        window = f"{op['kernel_h']}, {op['kernel_w']}, {op['stride_w']}, {channels}, {o.source['width']}"
        parts = "\n".join(self._group(o, *group) for group in _groups(o))
        return f"""\
static void {o.name}(uint32_t y) {{
  static const window w = {{{window}, {op["input_zero_point"][0]}}};
  int16_t *const tile = (int16_t *)(void *)(arena + {o.at[3]});
{o.begin}
{parts}
{o.end}
}}
"""

    def _group(self, o: Operator, first: int, pixels: int, times: int, border: bool) -> str:
        values, channels = _values(o), int(o.target["channels"])
        widen = self.core(Widening(pixels, int(o.op["kernel_w"]) * int(o.source["channels"])))
        multiply = self.core(Pairs(pixels, values, o.rounding))
        column = f"{first * int(o.op['stride_w']) - int(o.op['pad_left'])}"
        if border:
            self.edges = max(self.edges, pixels - _whole(o, first, pixels))
        head, out = "  {", f"out + {first * channels}"
        if times > 1:
            head = f"  for (uint32_t x = {first}; x < {first + times * pixels}; x += {pixels}) {{"
            column, out = f"(int32_t)(x * {o.op['stride_w']}) - {o.op['pad_left']}", f"out + x * {channels}"
        return f"""\
{head}
    gather(&w, rows, {column}, {pixels}, {str(border).lower()}, tile, {widen});
    multiply(tile, {o.program} + {o.op["weights"]}, {o.program} + {o.op["bias"]}, {out}, {channels}, {pixels},
             {values}, {multiply});
  }}"""

    def depthwise(self, o: Operator) -> str:
        """Return the function of a depthwise convolution. Windows that lie inside are processed in one call."""
        op, channels = o.op, int(o.source["channels"])
        taps = -(-int(op["kernel_h"]) * int(op["kernel_w"]) // TURN) * TURN
        first, count = _inside(o)
        return f"""\
static void {o.name}(uint32_t y) {{
  static const taps_of w = {{{op["kernel_h"]}, {op["kernel_w"]}, {op["dilation_w"]}, {channels}, {o.source["width"]}}};
{o.begin}
  int8_t *const zero = (int8_t *)arena + {o.at[3]};
  memset(zero, {op["input_zero_point"][0]}, {channels});
  const int8_t *taps[{taps}];
  for (uint32_t x = 0, n; x < {o.target["width"]}; x += n) {{
    n = x == {first} && rows[0] != NULL && rows[{int(op["kernel_h"]) - 1}] != NULL ? {count} : 1;
    list(&w, rows, (int32_t)(x * {op["stride_w"]}) - {op["pad_left"]}, zero, taps);
    {self.core(Depthwise(taps, o.rounding))}(taps, (const int8_t *){o.program} + {op["weights"]},
        out + x * {channels}, n, {channels}, {int(op["stride_w"]) * channels});
  }}
{o.end}
}}
"""

    def addition(self, o: Operator) -> str:
        """Return the function of an ADD, whose operands are scaled by tables of all int8 values."""
        count = int(o.target["width"]) * int(o.target["channels"])
        *scales, m2, c, e = o.bias.tolist()
        tables = ",\n".join(
            f"    {{{', '.join(map(str, _scaled(zero, *scales[4 * k : 4 * k + 4])))}}}"
            for k, zero in enumerate(o.op["input_zero_point"][:2].tolist())
        )
        core = self.core(Adding(e, o.rounding))
        rest = count % QUAD
        more = f"  add(a + {count - rest}, b + {count - rest}, a + {count}, out + {count - rest}, scaled, scale);\n"
        return f"""\
static void {o.name}(uint32_t y) {{
  static const int32_t scaled[2][256] = {{
{tables}}};
  static const int32_t scale[] = {{{m2}, {c}, {e}}};
  const int8_t *const a = (const int8_t *)arena + {_row(o.source, o.at[0])};
  const int8_t *const b = (const int8_t *)arena + {_row(o.last, o.at[1])};
{o.out}
    {core}(a, b, a + {count - rest}, out, scaled, scale);
{more if rest else ""}{o.end}
}}
"""


Writer = Callable[[Written, Operator], str]


def _row(tensor: np.void, at: int) -> str:
    """Return an expression for the arena offset of row y."""
    row = "y" if tensor["depth"] >= tensor["height"] else f"y % {tensor['depth']}"
    return f"{at} + {row} * {int(tensor['width']) * int(tensor['channels'])}"


def _scaled(zero: int, left: int, m2: int, c: int, e: int) -> Sequence[int]:
    """Return the scaled value of each int8 of an ADD's operand, in the order of uint8."""
    x = (np.arange(256, dtype=np.uint8).view(np.int8).astype(np.int64) - zero) << left
    high = (x * m2 + (1 << 31)) >> 32
    whole: list[int] = ((x + (x >> 31) + c + high).astype(np.int32) >> e).tolist()
    return whole


def run(m: Module) -> str:
    """Return the code that runs a module without the library's executor.

    Raises UsageError for programs with groups that do not run row by row.
    """
    written, bodies = Written(m.prefix), []
    for k, region in enumerate(m.regions):
        bodies.append(_region(m, k, region.program, written))
    convolutions, depthwise, adding = (
        any(isinstance(core, kind) for core in written.cores.values()) for kind in (Pairs, Depthwise, Adding)
    )
    helpers = rendered(
        "specialized.c.jinja",
        convolutions=convolutions, depthwise=depthwise, adding=adding, edge=written.edge, edges=written.edges,
    ) if written.cores else ""  # fmt: skip
    cores = "\n".join(_core(m.prefix, core) for core in written.cores.values())
    calls = "\n".join(f"  if (status == TMO_OK) status = run_{k}();" for k in range(len(m.regions)))
    return f"""\
{helpers}
{cores}
{"".join(f"{text}{chr(10)}" for text in written.functions)}\
{chr(10).join(bodies)}
tmo_status {m.prefix}_invoke(void) {{
  tmo_status status = TMO_OK;
{calls}
  return status;
}}"""


def _core(prefix: str, core: Core) -> str:
    gives, takes, same = SIGNATURES[type(core)]
    head = f"{gives}{'' if gives.endswith('*') else ' '}{prefix}_{core.name}({takes})"
    return f"#if CORES\n{head};\n{assembly(prefix, core)}#else\nstatic {head} {{ {same.format(core)}; }}\n#endif\n"


def _region(m: Module, k: int, data: bytes, written: Written) -> str:
    """Return the function that runs a region, and add the functions that it calls to `written`."""
    program = unpack(data)
    if program.input != InputPlace.ARENA or program.state or any(group.stripes for group in program.groups):
        raise UsageError(
            "c-specialized supports only whole rows, an input in the arena and models without state",
            code="cannot_emit",
            hint="use --emit c, or leave out --input and add --without tiles",
        )
    names: dict[int, str] = {}
    for index, operator, write in _hot(m, k, data):
        names[index] = operator.name
        written.functions.append(write(written, operator))
    number = f"_{k}" if len(m.regions) > 1 else ""
    region = m.regions[k]
    workspace = f"arena + {0 if region.workspace is None else m.at[region.workspace]}"
    calls = "\n".join(_called(loop, names, m.library) for loop in looped(list(executed(program))))
    others = f"""\
  tmo_run_state run;
  tmo_status status;
  {m.library}.begin(&run, program{number}, io{number}, {workspace});
"""
    return f"""\
static tmo_status run_{k}(void) {{
{others if len(names) < len(program.ops) else f"  (void)io{number};{chr(10)}"}{calls}
  return TMO_OK;
}}
"""


def _called(loop: Loop, names: Mapping[int, str], library: str) -> str:
    """Return the code of one iteration or of a loop. library: name of the tmo_library for the other operators."""
    once = loop.times == 1
    lines = []
    for (op, row), step in zip(loop.iterations, loop.steps, strict=True):
        y = str(row) if once or not step else f"{row} + i" if step == 1 else f"{row} + {step} * i"
        if op in names:
            lines.append(f"{names[op]}({y});")
        else:
            cast = y if once or not step else f"(uint16_t)({y})"
            lines.append(f"if ((status = {library}.run_row(&run, {op}, {cast})) != TMO_OK) return status;")
    if once:
        return "\n".join(f"  {line}" for line in lines)
    inside = "\n".join(f"    {line}" for line in lines)
    return f"  for (uint32_t i = 0; i < {loop.times}; ++i) {{\n{inside}\n  }}"


def _hot(m: Module, k: int, data: bytes) -> Iterator[tuple[int, Operator, Writer]]:
    """Yield the index of each operator with its own function, the operator, and the function that writes its code."""
    header = np.frombuffer(data, HEADER, 1)[0]
    if header["target"] != Family.DSP:  # for other targets the library's kernels are the fastest
        return
    tensors = np.frombuffer(data, TENSOR, int(header["n_tensors"]), int(header["tensors"]))
    region = m.regions[k]
    workspace = 0 if region.workspace is None else m.at[region.workspace]
    bases = [workspace, *(m.at[t] for t in (*region.inputs, *region.outputs))]
    number = f"_{k}" if len(m.regions) > 1 else ""
    for index, op in enumerate(np.frombuffer(data, OP, int(header["n_ops"]), int(header["ops"]))):
        near = [tensors[i] for i in (op["input"][0], op["input"][op["n_inputs"] - 1], op["output"])]
        write = _writer(op, near)
        if write is None or max(t["base"] for t in near) >= len(bases):  # slow memory has no constant address
            continue
        first, last, out = (bases[t["base"]] + int(t["offset"]) for t in near)
        bias = np.frombuffer(data, "<i4", SCALES_OF_ADD if op["packing"] == Packing.DSP_ADD else 0, int(op["bias"]))
        place = first, last, out, workspace + int(op["accumulator"])
        yield (
            index,
            Operator(f"op{number}_{index}", f"program{number}", op, near[0], near[1], near[2], place, bias),
            write,
        )


def _writer(op: np.void, near: Sequence[np.void]) -> Writer | None:
    """Return the function that writes an operator's code, or None if the library runs it.

    near: first operand, last operand and output.
    """
    source, _, target = near
    if any(t["layout"] != RowLayout.HWC or t["base"] == PROGRAM_BASE for t in near):
        return None
    match op["packing"]:
        case Packing.DSP_DEPTHWISE:
            return Written.depthwise
        case Packing.DSP_ADD if int(target["width"]) * int(target["channels"]) >= QUAD:
            return Written.addition
        case Packing.DSP_CONV if int(op["kernel_w"]) * int(source["channels"]) >= QUAD and target["width"] > 1:
            return Written.convolution if op["dilation_w"] == 1 else None
    return None


def _values(o: Operator) -> int:
    kernel = int(o.op["kernel_h"]), int(o.op["kernel_w"])
    return packed_values(Packing.DSP_CONV, kernel, int(o.source["channels"]))


def _inside(o: Operator) -> tuple[int, int]:
    """Return the first window that lies inside a row, and the number of such windows."""
    op = o.op
    begins = np.arange(int(o.target["width"])) * int(op["stride_w"]) - int(op["pad_left"])
    extent = (int(op["kernel_w"]) - 1) * int(op["dilation_w"]) + 1
    inside = np.flatnonzero((begins >= 0) & (begins + extent <= int(o.source["width"])))
    return (int(inside[0]), len(inside)) if len(inside) else (0, 1)


def _whole(o: Operator, x: int, pixels: int) -> int:
    """Return how many of these pixels have windows that lie inside the row."""
    op = o.op
    begins = np.arange(x, x + pixels) * int(op["stride_w"]) - int(op["pad_left"])
    return int(np.count_nonzero((begins >= 0) & (begins + int(op["kernel_w"]) <= int(o.source["width"]))))


def _groups(o: Operator) -> Iterator[tuple[int, int, int, bool]]:
    """Yield first pixel, pixels per group, number of groups, and whether their windows reach beyond the row."""
    sizes = _split(o)
    starts = itertools.accumulate(sizes, initial=0)
    found = [(x, pixels, _whole(o, x, pixels) < pixels) for x, pixels in zip(starts, sizes, strict=False)]
    for (pixels, border), same in itertools.groupby(found, key=lambda group: group[1:]):
        each = [x for x, *_ in same]
        if border:
            yield from ((x, pixels, 1, True) for x in each)
        else:
            yield each[0], pixels, len(each), False


def _split(o: Operator) -> Sequence[int]:
    """Split a row's pixels into groups with the fewest instructions that fit into the scratch."""
    values, width, pairs = _values(o), int(o.target["width"]), -(-int(o.target["channels"]) // 2)
    room = packed_pixels(Packing.DSP_CONV, values, width, wide=bool(o.op["wide_tile"]))
    quads = int(o.op["kernel_h"]) * (int(o.op["kernel_w"]) * int(o.source["channels"]) // QUAD)
    costs = {
        pixels: Pairs(pixels, values, o.rounding).instructions(pairs) + quads * (3 * pixels + 2) + 20 * pixels
        for pixels in range(1, room + 1)
    }
    best: list[tuple[int, tuple[int, ...]]] = [(0, ())]
    for done in range(1, width + 1):
        ways = ((best[done - n][0] + cost, (n, *best[done - n][1])) for n, cost in costs.items() if n <= done)
        best.append(min(ways, key=lambda way: way[0]))
    return sorted(best[width][1], reverse=True)
