"""NAME.h and NAME.c: the model as a C11 module for custom_ops/src alone. No interpreter, no heap, one static arena."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tflm_memopt.emit.array import ALIGNMENT, byte_lines
from tflm_memopt.emit.kernels import needs
from tflm_memopt.emit.names import comment, guard, identifier
from tflm_memopt.errors import UsageError
from tflm_memopt.model.graph import Tensor
from tflm_memopt.model.reader import Model
from tflm_memopt.results import FrameReport, Optimized, Sample
from tflm_memopt.runtime.host import Arena
from tflm_memopt.runtime.regions import Region, is_region, placement, regions

C_TYPES = {"INT8": "int8_t", "UINT8": "uint8_t", "INT16": "int16_t", "INT32": "int32_t"}


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output: a function that says where it is, and a constant that says how long."""

    function: str
    constant: str
    type: str
    nbytes: int
    offset: int
    """In the arena."""
    about: str


@dataclass(frozen=True, slots=True)
class Module:
    """All that the two files say."""

    name: str
    prefix: str
    program: bytes
    arena: Arena
    workspace: int
    """Bytes."""
    frame: FrameReport | None
    """The input, if it is not in the arena as a whole."""
    inputs: tuple[Port, ...]
    """Those in the arena: of a streamed one, the rows of one push."""
    outputs: tuple[Port, ...]

    @property
    def ports(self) -> tuple[Port, ...]:
        return (*self.inputs, *self.outputs)

    @property
    def macro(self) -> str:
        """The first part of its constants."""
        return self.prefix.upper()

    @property
    def external(self) -> bool:
        return self.frame is not None and not self.frame.pushed

    @property
    def streamed(self) -> bool:
        return self.frame is not None and self.frame.pushed > 0


def module(name: str, model: Model, result: Optimized) -> Module:
    """The module of a rewritten model. Raises UsageError, naming what is left over, unless one region is all of it."""
    region = _whole(model, result)
    arena = placement(model, region)
    tensors, prefix = model.graph.tensors, identifier(name)
    workspace = 0 if region.workspace is None else tensors[region.workspace].nbytes
    inputs = _ports(prefix, "input", [tensors[t] for t in region.inputs], arena.inputs)
    outputs = _ports(prefix, "output", [tensors[t] for t in region.outputs], arena.outputs)
    return Module(name, prefix, region.program, arena, workspace, result.report.frame, inputs, outputs)


def _whole(model: Model, result: Optimized) -> Region:
    found = regions(model)
    if len(found) == 1 and len(model.graph.ops) == 1:
        return found[0]
    if all(is_region(op) for op in model.graph.ops):
        raise UsageError(
            "a C module runs one operator, this model has one for each block",
            code="module_blocks",
            hint="--op-per region",
        )
    kept = ", ".join(f"operator {k.index} {k.operator}" for k in result.report.kept_builtin)
    raise UsageError(
        "without an interpreter nothing runs the operators that stay builtin",
        code="module_builtin",
        where=kept or result.report.why_unchanged,
        hint="--emit cpp, under TensorFlow Lite Micro; inspect says why they stay",
    )


def _ports(prefix: str, side: str, tensors: Sequence[Tensor], offsets: Sequence[int]) -> tuple[Port, ...]:
    stems = [side] if len(tensors) == 1 else [f"{side}_{k}" for k in range(len(tensors))]
    return tuple(
        Port(f"{prefix}_{stem}", f"{prefix}_{stem}_bytes".upper(), C_TYPES[t.dtype], t.nbytes, offset, _about(t))
        for stem, t, offset in zip(stems, tensors, offsets, strict=True)
    )


def _about(tensor: Tensor) -> str:
    q = tensor.quantization
    affine = f", scale {q.scale[0]:.9g}, zero point {q.zero_point[0]}" if q and q.scale else ""
    return f"{tensor.dtype.lower()} {'x'.join(map(str, tensor.shape))}{affine}"


def module_header(m: Module) -> str:
    """NAME.h."""
    include_guard = guard(m.name, "module")
    constants = "\n".join(f"#define {p.constant} {p.nbytes}u /* {p.about} */" for p in m.ports)
    outputs = "\n".join(f"const {p.type} *{p.function}(void);" for p in m.outputs)
    return f"""\
/* {comment(m.name)}.tflite without an interpreter: C11, for tflm-memopt's custom_ops/src. Written by tflm-memopt.
 *
 * The weights stay in flash; all RAM is one static arena, and the stack of an invocation.
 * With {" ".join(needs([m.program]).flags)} the library has nothing but what this model needs.
 * With TMO_SKIP_PROOF this file does not prove again that the program stays inside its buffers: tflm-memopt did. */
#ifndef {include_guard}
#define {include_guard}

#include <stdint.h>

#include "tmo/tmo.h"

#ifdef __cplusplus
extern "C" {{
#endif

#define {m.macro}_ARENA_BYTES {m.arena.nbytes}u /* with -DTMO_RAM_LIMIT=BYTES, more than that does not compile */
{constants}

/* Once, before everything else: whether this library runs this program. tmo_status_text() says what is wrong. */
tmo_status {m.prefix}_init(void);

{_how_to_run(m)}

/* Until it runs again. */
{outputs}

/* Runs a stored input: how many bytes of the output differ from what TFLM gives on a PC; negative: a tmo_status. */
int32_t {m.prefix}_selftest(void);

#ifdef __cplusplus
}}
#endif

#endif /* {include_guard} */
"""


def _how_to_run(m: Module) -> str:
    inputs = "\n".join(f"{p.type} *{p.function}(void);" for p in m.inputs)
    if m.frame is None:
        return f"""\
/* To be filled before every invocation: its bytes are used again. */
{inputs}

tmo_status {m.prefix}_invoke(void);"""
    if m.external:
        return f"""\
#define {m.macro}_ROWS {m.frame.rows}u
#define {m.macro}_ROW_BYTES {m.frame.row_bytes}u

/* Reads the input where it is: {m.macro}_ROWS rows of {m.macro}_ROW_BYTES, from the frame's x and y on. */
tmo_status {m.prefix}_invoke(const tmo_frame *frame);"""
    return f"""\
#define {m.macro}_PUSHES {m.frame.rows // m.frame.pushed}u

/* To be filled with the next rows of the frame before every push: {m.frame.pushed} of {m.frame.row_bytes} bytes. */
{inputs}

/* Runs as far as these rows go. TMO_WAIT: push the rows after them. TMO_OK: they were the last; the next push begins a
 * new frame. */
tmo_status {m.prefix}_push(void);

/* Forgets the rows of a frame that was begun. */
void {m.prefix}_restart(void);"""


def module_source(m: Module, sample: Sample) -> str:
    """NAME.c. `sample`: what the self-test runs, and what has to come out."""
    places = ", ".join(f"arena + {p.offset}" for p in m.ports)
    sizes = ", ".join([*(["0"] if m.external else []), *(p.constant for p in m.ports)])
    return f"""\
/* {comment(m.name)}.tflite, {len(m.program):,} B of program. Written by tflm-memopt. */
#include "{m.name}.h"

#include <string.h>

#ifdef TMO_RAM_LIMIT
_Static_assert({m.macro}_ARENA_BYTES <= TMO_RAM_LIMIT,
               "{m.prefix} needs {m.arena.nbytes} B of static RAM, TMO_RAM_LIMIT is less: convert it with --ram-limit");
#endif

static const _Alignas({ALIGNMENT}) uint8_t program[{len(m.program)}] = {{
{_bytes(m.program)}
}};

static _Alignas({ALIGNMENT}) uint8_t arena[{m.macro}_ARENA_BYTES];

static void *const io[] = {{{places}}};

tmo_status {m.prefix}_init(void) {{
#ifdef TMO_SKIP_PROOF
  return tmo_check_build(program, sizeof program, {len(m.inputs) + m.external}, {len(m.outputs)}, {m.workspace});
#else
  static const uint32_t io_bytes[] = {{{sizes}}};
  return tmo_check(program, sizeof program, io_bytes, {len(m.inputs) + m.external}, {len(m.outputs)}, {m.workspace});
#endif
}}

{_run(m)}

{chr(10).join(_accessors(m))}

{chr(10).join(_stored(m, sample))}

int32_t {m.prefix}_selftest(void) {{
  tmo_status status = {m.prefix}_init();
  if (status != TMO_OK) return status;
{_run_stored(m)}
  if (status != TMO_OK) return status;
  int32_t wrong = 0;
{chr(10).join(f"  wrong += differing({p.function}(), out_{k}, sizeof out_{k});" for k, p in enumerate(m.outputs))}
  return wrong;
}}
"""


def _run(m: Module) -> str:
    workspace = f"arena + {m.arena.workspace}"
    if m.frame is None:
        return f"tmo_status {m.prefix}_invoke(void) {{ return tmo_run(program, io, {workspace}); }}"
    if m.external:
        return f"""\
tmo_status {m.prefix}_invoke(const tmo_frame *frame) {{
  void *all[1 + sizeof io / sizeof io[0]];
  all[0] = (void *)(uintptr_t)frame; /* read only */
  memcpy(all + 1, io, sizeof io);
  return tmo_run(program, all, {workspace});
}}"""
    return f"""\
static tmo_stream stream;

tmo_status {m.prefix}_push(void) {{ return tmo_push(program, io, {workspace}, &stream); }}
void {m.prefix}_restart(void) {{ memset(&stream, 0, sizeof stream); }}"""


def _run_stored(m: Module) -> str:
    if m.frame is None:
        copies = [f"  memcpy({p.function}(), in_{k}, sizeof in_{k});" for k, p in enumerate(m.inputs)]
        return "\n".join([*copies, f"  status = {m.prefix}_invoke();"])
    if m.external:
        return f"""\
  const tmo_frame frame = {{in_0, sizeof in_0, {m.macro}_ROW_BYTES, 0, 0, TMO_FORMAT_INT8}};
  status = {m.prefix}_invoke(&frame);"""
    (rows,) = m.inputs
    return f"""\
  {m.prefix}_restart();
  status = TMO_WAIT;
  for (const uint8_t *row = in_0; status == TMO_WAIT; row += {rows.constant}) {{
    memcpy({rows.function}(), row, {rows.constant});
    status = {m.prefix}_push();
  }}"""


def _accessors(m: Module) -> Iterator[str]:
    for k, port in enumerate(m.ports):
        const = "" if port in m.inputs else "const "
        yield f"{const}{port.type} *{port.function}(void) {{ return ({const}{port.type} *)io[{k}]; }}"


def _stored(m: Module, sample: Sample) -> Iterator[str]:
    for side, values in (("in", sample.inputs), ("out", sample.outputs)):
        for k, data in enumerate(values):
            yield f"static const uint8_t {side}_{k}[{len(data)}] = {{\n{_bytes(data)}\n}};\n"
    yield """\
static int32_t differing(const void *got, const uint8_t *expected, uint32_t bytes) {
  const uint8_t *byte = (const uint8_t *)got;
  int32_t wrong = 0;
  for (uint32_t i = 0; i < bytes; ++i) wrong += byte[i] != expected[i];
  return wrong;
}"""


def _bytes(data: bytes) -> str:
    return "\n".join(byte_lines(data))
