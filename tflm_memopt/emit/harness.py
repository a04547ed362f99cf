"""Writes a C program that runs a module on this machine: it reads inputs from a file and writes the outputs of every
run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tflm_memopt.emit.ports import Port, Ports
from tflm_memopt.results import SourceReport

NEWLINE = "\n"
OTHER_MODULE = "not a module of this model"
"""C code that does not compile if the module's ports differ."""
GIVEN_UP = 2
"""Number of the run before which half of another input is pushed and then abandoned."""


def harness(
    header: str, prefix: str, ports: Ports, source: SourceReport | None, *, stateful: bool, slow: bool = False
) -> str:
    """Return main.c. It prints the result of the self-test, then performs N runs; its arguments are N, input and output
    file. The input file holds, for each run, the bytes of each input, with all rows of a streamed input. For an
    external input it holds bytes, pitch, x, y and format of the frame (uint32 each), then the frame's data. The output
    file holds, for each run, the bytes of each output.

    header: the module's header. ports, source: ports that the module must have; other modules do not compile. stateful:
    the module has a state. A run then begins with three uint32: whether to reset, whether the window is still filling
    before the last inference, and the number of inferences. slow: the module needs slow memory.
    """
    return f"""\
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "{header}"

{NEWLINE.join(f'_Static_assert({test}, "{OTHER_MODULE}");' for test in _tests(prefix.upper(), ports.all, source))}

static FILE *source, *target;

static void fill(void *to, size_t bytes) {{
  if (fread(to, 1, bytes, source) == bytes) return;
  fprintf(stderr, "the inputs end too early\\n");
  exit(3);
}}

static void expect(tmo_status status, tmo_status expected) {{
  if (status == expected) return;
  fprintf(stderr, "status %d: %s\\n", (int)status, tmo_status_text(status));
  exit(4);
}}

static void run(int number) {{
  (void)number;
{_infer_stateful(prefix, ports) if stateful else _infer(prefix, ports, source)}
{NEWLINE.join(_take(ports.outputs))}
}}

int main(int argc, char **argv) {{
  if (argc != 4) return 2;
{_provide(prefix) if slow else ""}  expect({prefix}_init(), TMO_OK);
  printf("%d\\n", (int){prefix}_selftest());
  if (!(source = fopen(argv[2], "rb")) || !(target = fopen(argv[3], "wb"))) return 2;
  for (int number = 0; number < atoi(argv[1]); ++number) run(number);
  return fclose(target) != 0;
}}
"""


def _provide(prefix: str) -> str:
    return f"""\
  static _Alignas(16) uint8_t slow[{prefix.upper()}_SLOW_BYTES];
  {prefix}_set_slow(slow);
"""


def _tests(macro: str, ports: Sequence[Port], source: SourceReport | None) -> Iterator[str]:
    yield f"{macro}_ARENA_BYTES > 0"
    for port in ports:
        yield f"{port.constant} == {port.nbytes}u"
    if source and source.pushed:
        yield f"{macro}_PUSHES == {source.rows // source.pushed}u"
    elif source:
        yield f"{macro}_ROWS == {source.rows}u && {macro}_ROW_BYTES == {source.row_bytes}u"


def _infer(prefix: str, ports: Ports, source: SourceReport | None) -> str:
    inputs = "\n".join(f"  {p.type} *const {_local(p)} = {p.function}();" for p in ports.inputs)
    if source is None:
        fills = "\n".join(f"  fill({_local(p)}, {p.constant});" for p in ports.inputs)
        return f"{inputs}\n{fills}\n  expect({prefix}_invoke(), TMO_OK);"
    if not source.pushed:
        return f"""\
  uint32_t words[5];
  fill(words, sizeof words);
  uint8_t *const pixels = (uint8_t *)malloc(words[0]);
  if (!pixels) exit(2);
  fill(pixels, words[0]);
  const tmo_source source = {{pixels, words[0], words[1], words[2], words[3], (uint8_t)words[4]}};
  expect({prefix}_invoke(&source), TMO_OK);
  free(pixels);"""
    (rows,) = ports.inputs
    pushes = source.rows // source.pushed
    return f"""\
{inputs}
  if (number == {GIVEN_UP}) {{ /* an abandoned input, of which nothing may be left */
    for (int push = 0; push < {pushes // 2}; ++push) {{
      memset({_local(rows)}, 90, {rows.constant});
      expect({prefix}_push(), TMO_WAIT);
    }}
    {prefix}_restart();
  }}
  for (int push = 1; push <= {pushes}; ++push) {{
    fill({_local(rows)}, {rows.constant});
    expect({prefix}_push(), push == {pushes} ? TMO_OK : TMO_WAIT);
  }}"""


def _infer_stateful(prefix: str, ports: Ports) -> str:
    fills = "\n".join(f"    fill({p.function}(), {p.constant});" for p in ports.inputs)
    return f"""\
  uint32_t words[3];
  fill(words, sizeof words);
  if (words[0]) {prefix}_reset();
  for (uint32_t left = words[2]; left > 0; --left) {{
{fills}
    expect({prefix}_invoke(), words[1] && left > 1 ? TMO_WAIT : TMO_OK);
  }}"""


def _take(outputs: Sequence[Port]) -> Iterator[str]:
    for port in outputs:
        yield f"  const {port.type} *const {_local(port)} = {port.function}();"
        yield f"  if (fwrite({_local(port)}, 1, {port.constant}, target) != {port.constant}) exit(2);"


def _local(port: Port) -> str:
    return f"{port.function}_bytes"
