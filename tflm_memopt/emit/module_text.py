"""Writes NAME.h and NAME.c, the two files of a C module without interpreter and heap, with one static arena."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tflm_memopt.emit.array import ALIGNMENT, byte_lines
from tflm_memopt.emit.embedded import file_name
from tflm_memopt.emit.module import InApp, Module
from tflm_memopt.emit.names import comment, guard
from tflm_memopt.emit.ports import Port
from tflm_memopt.format.codes import InputPlace
from tflm_memopt.model.graph import TensorId
from tflm_memopt.results import Sample
from tflm_memopt.runtime.regions import CustomOperator

NEWLINE = "\n"
LIMIT = "/* -DTMO_RAM_LIMIT=BYTES makes a larger arena a compile error */"


def module_header(m: Module) -> str:
    """Return the text of NAME.h."""
    include_guard = guard(m.name, "module")
    constants = "\n".join(f"#define {p.constant} {p.nbytes}u /* {p.about}{note} */" for p, note in _noted(m))
    outputs = "\n".join(f"const {p.type} *{p.function}(void);" for p in m.ports.outputs)
    conversions = "".join(f"{p.conversion}\n" for p in m.ports.all if p.conversion)
    return f"""\
/* {comment(m.name)}.tflite without an interpreter: C11, for tflm-memopt's custom_ops. Written by tflm-memopt.
 *
 * Compile {comment(m.name)}.c and {comment(file_name(m.library_stem))}, which contains the kernels that it needs.
 *
 * Inputs and outputs are in the model's order. The weights stay in flash; {_ram(m)} */
#ifndef {include_guard}
#define {include_guard}

#include <stdint.h>

#include "tmo/tmo.h"

#ifdef __cplusplus
extern "C" {{
#endif

{"" if m.shared else f"#define {m.macro}_ARENA_BYTES {m.arena}u {LIMIT}{NEWLINE}"}{constants}
{_slow_header(m)}
/* Call it once, first. It checks that this library can run this program; tmo_status_text() explains errors. */
tmo_status {m.prefix}_init(void);

{_how_to_run(m)}

/* Valid until an input is filled or the model runs again{_until_left(m)}. */
{outputs}

{conversions}
/* Runs a stored input. Returns the number of output bytes that differ from TFLM on a PC, or a negative tmo_status. */
int32_t {m.prefix}_selftest(void);

#ifdef __cplusplus
}}
#endif

#endif /* {include_guard} */
"""


def _slow_header(m: Module) -> str:
    """Return the declarations for slow memory, if the module needs any."""
    if not m.slow:
        return ""
    return f"""
#define {m.macro}_SLOW_BYTES {m.slow}u /* of slow memory, for example PSRAM */

/* Sets the slow memory, 16-byte aligned. Call it before {m.prefix}_init(). */
void {m.prefix}_set_slow(void *memory);
"""


def _ram(m: Module) -> str:
    """Return sentences for a comment about a module's memory."""
    if m.shared:
        return f"""its buffers are in the arena of
 * {m.shared.header}.h, and belong to other models outside its turn.
 * Call tmo_enter({m.shared.turn}) before filling its inputs and tmo_leave() after reading its outputs. Out of turn, its
 * functions run nothing and return TMO_OUT_OF_TURN."""
    return """all RAM is one static arena, and the
 * stack of an invocation."""


def _noted(m: Module) -> Iterator[tuple[Port, str]]:
    """Yield each input and output with a note for its comment."""
    read = {t for region in m.regions for t in region.inputs}
    seen: dict[TensorId, Port] = {}
    for port in m.ports.all:
        note = ""
        if port.tensor in m.constants:
            note = "; a constant"
        elif port.tensor in seen:
            note = f"; the same bytes as {seen[port.tensor].function}()"
        elif port in m.ports.inputs and port.tensor not in read:
            note = "; no operator reads it"
        seen.setdefault(port.tensor, port)
        yield port, note


def _how_to_run(m: Module) -> str:
    inputs = "\n".join(f"{p.type} *{p.function}(void);" for p in m.ports.inputs)
    if m.window:
        return f"""\
#define {m.macro}_STEPS {m.window.inferences}u /* invocations that fill the window */

/* Fill it before every invocation with the next {_rows(m.window.new)} of an endless sequence, of which the
 * model's input is the last {_rows(m.window.rows)}. An invocation overwrites these bytes, also with outputs. */
{inputs}

/* Returns TMO_WAIT while the window is not full; then the outputs are invalid. Otherwise it returns TMO_OK. */
tmo_status {m.prefix}_invoke(void);

/* Empties the window. */
void {m.prefix}_reset(void);"""
    if m.source is None:
        reset = (
            f"""

/* Clears the state that is kept between invocations. */
void {m.prefix}_reset(void);"""
            if _is_stateful(m)
            else ""
        )
        return f"""\
/* Fill all of them before every invocation, which overwrites these bytes, also with outputs. */
{inputs}

{_pausing(m)}tmo_status {m.prefix}_invoke(void);{reset}"""
    if m.external:
        return f"""\
#define {m.macro}_ROWS {m.source.rows}u
#define {m.macro}_ROW_BYTES {m.source.row_bytes}u

/* Reads the input in place: {m.macro}_ROWS rows of {m.macro}_ROW_BYTES, starting at the source's x and y. */
tmo_status {m.prefix}_invoke(const tmo_source *source);"""
    return f"""\
#define {m.macro}_PUSHES {m.source.rows // m.source.pushed}u

/* Fill it with the next rows of the input before every push: {m.source.pushed} of {m.source.row_bytes} bytes. */
{inputs}

/* Runs as far as these rows allow. Returns TMO_WAIT if more rows must follow, and TMO_OK after the
 * last row; the next push begins a new inference.{_turn_ends(m)} */
tmo_status {m.prefix}_push(void);

/* Discards the rows of an incomplete input. */
void {m.prefix}_restart(void);"""


def _pausing(m: Module) -> str:
    """Return a comment about the statuses of an invocation that pauses."""
    if not (m.shared and m.shared.pauses):
        return ""
    return f"""\
/* Returns TMO_WAIT at each of {len(m.shared.pauses)} pauses, which end its turn; call tmo_enter() and
 * repeat the call to continue. Returns TMO_OK when the outputs are complete. */
"""


def _until_left(m: Module) -> str:
    return ", or another model has its turn, unless app.toml retains them" if m.shared else ""


def _turn_ends(m: Module) -> str:
    return " TMO_WAIT ends its turn." if m.shared else ""


def _rows(count: int) -> str:
    return f"{count} row{'s' * (count > 1)}"


def module_source(m: Module, sample: Sample) -> str:
    """Return the text of NAME.c. sample: the input of the self-test, with the expected outputs."""
    return f"""\
/* {comment(m.name)}.tflite, {sum(len(r.program) for r in m.regions):,} B of program. Written by tflm-memopt. */
#include "{m.shared.header if m.shared else m.name}.h"

#include <string.h>

#include "tmo/library.h"

extern const tmo_library {m.library}; /* {comment(file_name(m.library_stem))} */

{"" if m.shared else ram_limit(m.prefix, m.arena) + NEWLINE * 2}{_programs(m)}

{_arena(m)}

{_io(m)}

{_set_slow(m)}tmo_status {m.prefix}_init(void) {{
{_init(m)}
}}

{_run(m)}

{NEWLINE.join(_accessors(m))}

{NEWLINE.join(_stored(m, sample))}

int32_t {m.prefix}_selftest(void) {{
  tmo_status status = {m.prefix}_init();
  if (status != TMO_OK) return status;
{_selftest(m)}
}}
"""


def _selftest(m: Module) -> str:
    """Return C code that counts the output bytes that differ from the stored outputs."""
    wrong = [f"wrong += differing({p.function}(), out_{k}, sizeof out_{k});" for k, p in enumerate(m.ports.outputs)]
    if m.shared is None:
        return f"""\
{_run_stored(m)}
  if (status != TMO_OK) return status;
  int32_t wrong = 0;
{NEWLINE.join(f"  {line}" for line in wrong)}
  return wrong;"""
    return f"""\
  if (tmo_enter({m.shared.turn}) != TMO_OK) return TMO_OUT_OF_TURN;
{_run_stored(m)}
  int32_t wrong = status;
  if (status == TMO_OK) {{
{NEWLINE.join(f"    {line}" for line in wrong)}
  }}
  tmo_leave({m.shared.turn});
  return wrong;"""


def ram_limit(prefix: str, nbytes: int) -> str:
    """Return a static assertion that fails if the RAM limit is below `nbytes`."""
    return f"""\
#ifdef TMO_RAM_LIMIT
_Static_assert({prefix.upper()}_ARENA_BYTES <= TMO_RAM_LIMIT,
               "{prefix} needs {nbytes} B of static RAM, more than TMO_RAM_LIMIT: convert it with --ram-limit");
#endif"""


def _arena(m: Module) -> str:
    if m.shared:
        return f"#define arena {m.shared.prefix}_arena"
    return f"static _Alignas({ALIGNMENT}) uint8_t arena[{m.macro}_ARENA_BYTES];"


def _number(m: Module, k: int) -> str:
    """Return the suffix of the names of region k's data."""
    return f"_{k}" if len(m.regions) > 1 else ""


def _programs(m: Module) -> str:
    arrays = {f"program{_number(m, k)}": region.program for k, region in enumerate(m.regions)}
    arrays |= {f"constant_{t}": data for t, data in m.constants.items()}
    return "\n\n".join(
        f"static const _Alignas({ALIGNMENT}) uint8_t {name}[{len(data)}] = {{\n{_bytes(data)}\n}};"
        for name, data in arrays.items()
    )


def _io(m: Module) -> str:
    """Return the io array of each region, in its own order."""
    return "\n".join(
        f"static void *{'' if m.slow else 'const '}io{_number(m, k)}[] = "
        f"{{{', '.join([*(_place(m, t) for t in _handed(r)), *(['0'] if m.slow else [])])}}};"
        for k, r in enumerate(m.regions)
    )


def _set_slow(m: Module) -> str:
    """Return the function that sets the last element of each io array."""
    if not m.slow:
        return ""
    sets = "".join(f"  io{_number(m, k)}[{len(_handed(r))}] = memory;\n" for k, r in enumerate(m.regions))
    return f"void {m.prefix}_set_slow(void *memory) {{\n{sets}}}\n\n"


def _handed(region: CustomOperator) -> tuple[TensorId, ...]:
    """Return the tensors of a region's io array, without an external input."""
    return (*region.inputs, *region.outputs, *(() if region.state is None else (region.state,)))


def _place(m: Module, tensor: TensorId) -> str:
    return f"arena + {m.at[tensor]}"


def _init(m: Module) -> str:
    proofs, tables = [], []
    for k, (region, workspace) in enumerate(zip(m.regions, m.workspaces, strict=True)):
        n, external = _number(m, k), region.input == InputPlace.EXTERNAL
        slow = [m.slow] if m.slow else []
        sizes = [*([0] if external else []), *(m.sizes[t] for t in _handed(region)), *slow]
        rest = f"{len(region.inputs) + external}, {len(region.outputs)}, {workspace}"
        tables.append(f"  static const uint32_t io_bytes{n}[] = {{{', '.join(map(str, sizes))}}};")
        proofs.append(f"{m.library}.check(program{n}, sizeof program{n}, io_bytes{n}, {rest})")
    last = f"io{_number(m, 0)}[{len(_handed(m.regions[0]))}]"
    missing = f"  if ({last} == 0 || (uintptr_t){last} % {ALIGNMENT} != 0) return TMO_ERROR_IO;\n" if m.slow else ""
    return f"{NEWLINE.join(tables)}\n{missing}{_until_wrong(proofs)}"


def _until_wrong(calls: Sequence[str]) -> str:
    """Return statements that make these calls in order, up to the first error, and return the last status."""
    *first, last = calls
    before = [
        f"{'  tmo_status status' if k == 0 else '  if (status == TMO_OK) status'} = {c};" for k, c in enumerate(first)
    ]
    return "\n".join([*before, *(["  if (status != TMO_OK) return status;"] if first else []), f"  return {last};"])


def _run(m: Module) -> str:
    calls = [_call(m, k) for k in range(len(m.regions))]
    if m.source is None:
        return _pauses(m) + _function(m, f"tmo_status {m.prefix}_invoke(void)", calls) + _reset(m)
    if m.external:
        run = _function(m, f"tmo_status {m.prefix}_invoke(const tmo_source *source)", calls)
        return f"""\
/* io[0] of a program is the source, which is only read. */
static tmo_status run_from(const void *program, const tmo_source *source, void *const *io, size_t n, void *workspace) {{
  void *all[{max(len(_handed(r)) for r in m.regions) + 1 + (m.slow > 0)}];
  all[0] = (void *)(uintptr_t)source;
  memcpy(all + 1, io, n * sizeof io[0]);
  return {m.library}.run(program, all, workspace);
}}

{run}"""
    return f"""\
static tmo_stream stream;

{_function(m, f"tmo_status {m.prefix}_push(void)", calls)}
void {m.prefix}_restart(void) {{ memset(&stream, 0, sizeof stream); }}"""


def _is_stateful(m: Module) -> bool:
    """Return whether the module has a state."""
    return any(region.state is not None for region in m.regions)


def _reset(m: Module) -> str:
    """Return the function that clears the state kept between invocations."""
    kept = [f"  memset({_place(m, t)}, 0, {m.sizes[t]});" for r in m.regions if (t := r.state) is not None]
    return "\n".join(["", "", f"void {m.prefix}_reset(void) {{", *kept, "}"]) if kept else ""


def _call(m: Module, k: int) -> str:
    region, n = m.regions[k], _number(m, k)
    workspace = f"arena + {0 if region.workspace is None else m.at[region.workspace]}"
    if region.input == InputPlace.EXTERNAL:
        return f"run_from(program{n}, source, io{n}, sizeof io{n} / sizeof io{n}[0], {workspace})"
    if region.input == InputPlace.STREAM:
        return f"{m.library}.push(program{n}, io{n}, {workspace}, &stream)"
    if m.shared and m.shared.pauses:
        return f"{m.library}.run_paused(program{n}, io{n}, {workspace}, pauses, {len(m.shared.pauses)}, &at)"
    return f"{m.library}.run(program{n}, io{n}, {workspace})"


def _pauses(m: Module) -> str:
    """Return the table of iterations after which the module pauses, and the variable for the position in the
    program.
    """
    if not (m.shared and m.shared.pauses):
        return ""
    return f"static const uint32_t pauses[] = {{{', '.join(map(str, m.shared.pauses))}}};\nstatic tmo_stream at;\n\n"


def _function(m: Module, head: str, calls: Sequence[str]) -> str:
    if m.shared:
        return _in_turn(m, m.shared, head, calls)
    body = _until_wrong(calls)
    return f"{head} {{ {body.strip()} }}" if len(calls) == 1 else f"{head} {{\n{body}\n}}"


def _in_turn(m: Module, shared: InApp, head: str, calls: Sequence[str]) -> str:
    """Return a function that runs only during the model's turn. A pause, or waiting for rows, ends the turn."""
    refusal = f"  if (!tmo_has_turn({shared.turn})) return (tmo_status)TMO_OUT_OF_TURN;"
    ends = "tmo_pause" if shared.pauses else "tmo_leave" if m.streamed else ""
    if not ends:
        return f"{head} {{\n{refusal}\n{_until_wrong(calls)}\n}}"
    first, *rest = calls
    then = "".join(f"  if (status == TMO_OK) status = {call};\n" for call in rest)
    return f"""\
{head} {{
{refusal}
  tmo_status status = {first};
{then}  if (status == TMO_WAIT) {ends}({shared.turn});
  return status;
}}"""


def _run_stored(m: Module) -> str:
    if m.window:
        return f"{_push_stored(m, 'reset', 'invoke')}\n  {m.prefix}_reset();"
    if m.source is None:
        reset = [f"  {m.prefix}_reset();"] if _is_stateful(m) else []
        copies = [f"  memcpy({p.function}(), in_{k}, sizeof in_{k});" for k, p in enumerate(m.ports.inputs)]
        run = f"  status = {m.prefix}_invoke();"
        if m.shared and m.shared.pauses:
            run = f"  while ((status = {m.prefix}_invoke()) == TMO_WAIT) (void)tmo_enter({m.shared.turn});"
        return "\n".join([*reset, *copies, run, *reset])
    if m.external:
        return f"""\
  const tmo_source source = {{in_0, sizeof in_0, {m.macro}_ROW_BYTES, 0, 0, TMO_FORMAT_INT8}};
  status = {m.prefix}_invoke(&source);"""
    return _push_stored(m, "restart", "push")


def _push_stored(m: Module, begin: str, push: str) -> str:
    """Return code that restarts the module and pushes all stored rows."""
    (rows,) = m.ports.inputs
    return f"""\
  {m.prefix}_{begin}();
  status = TMO_WAIT;
  for (const uint8_t *row = in_0; status == TMO_WAIT; row += {rows.constant}) {{
{f"    (void)tmo_enter({m.shared.turn});{NEWLINE}" if m.shared else ""}\
    memcpy({rows.function}(), row, {rows.constant});
    status = {m.prefix}_{push}();
  }}"""


def _accessors(m: Module) -> Iterator[str]:
    for p in m.ports.inputs:
        yield f"{p.type} *{p.function}(void) {{ return ({p.type} *)(void *)({_place(m, p.tensor)}); }}"
    for p in m.ports.outputs:
        place = f"constant_{p.tensor}" if p.tensor in m.constants else f"({_place(m, p.tensor)})"
        yield f"const {p.type} *{p.function}(void) {{ return (const {p.type} *)(const void *){place}; }}"


def _stored(m: Module, sample: Sample) -> Iterator[str]:
    inputs = [_whole_steps(m, data) for data in sample.inputs] if m.window else sample.inputs
    for side, values in (("in", inputs), ("out", sample.outputs)):
        for k, data in enumerate(values):
            yield f"static const uint8_t {side}_{k}[{len(data)}] = {{\n{_bytes(data)}\n}};\n"
    yield """\
static int32_t differing(const void *got, const uint8_t *expected, uint32_t bytes) {
  const uint8_t *byte = (const uint8_t *)got;
  int32_t wrong = 0;
  for (uint32_t i = 0; i < bytes; ++i) wrong += byte[i] != expected[i];
  return wrong;
}"""


def _whole_steps(m: Module, window: bytes) -> bytes:
    """Return the stored window as the input of whole steps. The first step may begin before the window."""
    (rows,) = m.ports.inputs
    return bytes(-len(window) % rows.nbytes) + window


def _bytes(data: bytes) -> str:
    return "\n".join(byte_lines(data))
