"""Generate pages of the site from the code: the boards, the flags of all commands, and the JSON Schema of a plan."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tflm_memopt.analysis.flash import kernels, source, tflm
from tflm_memopt.cli import main as cli
from tflm_memopt.ops.packing import LAYOUT, TARGETS
from tflm_memopt.plan.plan import SCHEMA_VERSION, Role
from tflm_memopt.targets.boards import STACK, boards

ROOT = Path(__file__).parents[1]
NOTE = "<!-- written by scripts/reference.py -->\n"


def _cell(text: str) -> str:
    return text.replace("|", r"\|").replace("\n", " ").replace("<", "&lt;")


BOARDS = """This table has the bytes of each board that `fit` and `--board` use. The columns *RAM* and *flash* have all
bytes that a program may use. The column *largest block* has the size of the largest possible array. The column
*external* has the bytes of PSRAM or SDRAM. The column *core* has the RAM and the flash of an empty firmware: start-up
code, serial port, heap and, if there is one, the Arduino core. The column *radio* has the RAM and the flash that the
radio stack adds.

**RAM for an arena** is the board's RAM minus the core's RAM and the stack of one `Invoke()` ({stack}). An arena cannot
exceed the *largest block* of RAM. `fit` does not count your own variables, the objects of interpreter and resolver, or
a stack deeper than the stack of `Invoke()`. If `fit` prints *without radio*, the radio stack is not counted. A model
that only fits in the external RAM counts as a model that does not fit.

**MHz** is the clock in the board's definition or, if the definition has no clock, the chip's highest clock. The column
*waits* has the number of the flash's wait states and the number of bytes of a flash line, if both numbers are known.
The [modelled cycles](cycles.md) depend on the wait states.

**Flash** for inference is the board's flash minus the core's flash. The model, the library and TFLM share the flash.

* The size of the model file is exact.
* A rewritten model needs the C library. The library's size is the sum of the parts that the model needs. The parts were
  measured on Cortex-M0, M3, M4, M55 and RV32 at `-Os` (`benchmarks/flash.py`). If two parts of the library
  share code, the sum counts the shared code twice. M7 and M33 use the sizes measured on Cortex-M4, and Xtensa uses the
  sizes measured on RV32.
* TFLM's interpreter takes {interpreter:,} B of flash. Each TFLM kernel that a model needs takes more flash: the four
  kernels CONV_2D, DEPTHWISE_CONV_2D, FULLY_CONNECTED and SOFTMAX take {four:,} B. TFLM's code was measured on one core:
  {source}. If a kernel was not measured, its size is estimated as the median of all measured kernels. The sizes differ
  for other versions of TFLM, for CMSIS-NN and for larger resolvers.
"""


def board_page() -> str:
    lines = [
        "# Boards",
        "",
        NOTE,
        BOARDS.format(
            stack=", ".join(f"{family} {most:,} B" for family, most in STACK.items()),
            interpreter=tflm(()),
            four=kernels(["CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "SOFTMAX"]),
            source=source(),
        ),
        "| board | chip, core | MHz | waits | RAM | largest block | external | flash | core: RAM, flash | radio |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for b in boards().values():
        outside = f"{b.external_ram:,}" if b.external_ram else "-"
        flash = b.flash_timing
        waits = f"{flash.wait_states}, {flash.line_bytes} B" if flash else "-"
        has = f"{b.mhz} | {waits} | {b.ram:,} | {b.largest_block:,} | {outside} | {b.flash:,}"
        takes = f"{b.core_ram:,}, {b.core_flash:,} | {b.radio_ram:,}, {b.radio_flash:,}"
        lines.append(f"| `{b.id}`<br>{b.name} | {b.chip}<br>{b.core} | {has} | {takes} |")
    lines += ["", "## Sources", ""]
    for b in boards().values():
        links = ", ".join(f"[{what.replace('_', ' ')}]({url})" for what, url in b.sources.items())
        lines.append(f"- **{b.name}.** {b.note} {links}.")
    return "\n".join([*lines, ""])


def flags_page() -> str:
    lines = ["# Flags", "", NOTE, "The option `--help` of a [command](cli.md) prints the same texts."]
    commands = next(a.choices for a in cli.parser()._actions if isinstance(a.choices, dict))
    for name, parser in commands.items():
        lines += ["", f"## {name}", "", "| flag | meaning |", "|---|---|"]
        formatter = parser._get_formatter()
        for action in parser._actions[1:]:
            forms = formatter._format_action_invocation(action)
            lines.append(f"| `{_cell(forms)}` | {_cell(formatter._expand_help(action))} |")
    return "\n".join(lines) + "\n"


def plan_schema() -> Mapping[str, Any]:
    number = {"type": "integer"}
    natural = {"type": "integer", "minimum": 0}

    def record(optional: Mapping[str, Any] = MappingProxyType({}), **required: Any) -> dict[str, Any]:
        properties = {"properties": required | dict(optional), "required": list(required)}
        return {"type": "object", **properties, "additionalProperties": False}

    def several(item: Any) -> dict[str, Any]:
        return {"type": "array", "items": item}

    flag = {"type": "boolean"}
    nest = record(advance=number, end=number, rows=natural, tile=natural, channel_groups=natural, sums=flag)
    stage = record(op=natural, operands=several(natural), iterative=flag, nest=nest, at_once=natural, pixels=natural)
    group = record(
        type={"const": "group"}, region=natural, stages=several(stage), sinks=several(natural), iterations=natural,
        macs=natural, stripes=natural, is_reversed=flag, in_turn=flag, loops={"$ref": "#/$defs/loops"},
    )  # fmt: skip
    builtin = record(type={"const": "builtin"}, op=natural, macs=natural)
    buffer = record(
        role={"enum": [role.value for role in Role]}, key=number, nbytes=natural, first=natural, last=natural,
        align=natural, depth=natural, column_windows=several(record(rows=natural, depth=natural)), offset=natural,
    )  # fmt: skip
    state = record(
        role={"const": "state"}, tensor=number, offset=natural, depth=natural, row_bytes=natural, advance=natural,
        fill=number,
    )  # fmt: skip
    split = record(op=natural, kind=natural, cut=natural)
    sharding = record(step=natural, ops=several(split), barriers=several(natural), serial=several(natural))
    slow = record(tensor=natural, offset=natural, nbytes=natural, first=natural, last=natural)
    optional = {
        "wide": flag, "pauses": several(natural), "shardings": several(sharding), "states": several(state),
        "slow": several(slow),
    }  # fmt: skip
    document = record(
        optional, schema={"const": SCHEMA_VERSION}, head=natural, lower_bound=natural, proven=flag,
        target={"enum": list(TARGETS)}, layout={"const": LAYOUT},
        rematerialisations=several(record(reader=natural, ops=several(natural))),
        tilings=several(record(ops=several(natural), parts=natural, channels=flag)),
        steps=several({"oneOf": [group, builtin]}), buffers=several(buffer),
    )  # fmt: skip
    repeat = record(times=natural, body={"$ref": "#/$defs/loops"})
    skipping = {"type": "array", "items": natural, "minItems": 2, "maxItems": 2}
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "A plan of tflm-memopt"}
    return {**head, "$defs": {"loops": several({"oneOf": [natural, skipping, repeat]})}, **document}


SITE: Mapping[str, Callable[[], str]] = {
    "boards.md": board_page,
    "flags.md": flags_page,
    "plan.schema.json": lambda: json.dumps(plan_schema(), indent=2) + "\n",
}
