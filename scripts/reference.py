"""Generates the site's reference pages that follow from the code: boards, flags, the plan's schema."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
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


BOARDS = """\
This table has what `fit` and `--board` know about each board, in bytes. *RAM* and *flash* are all that a program may
use. No array is larger than the *largest group*. *External* is PSRAM or SDRAM. *Core* is what an empty firmware takes:
start-up code, serial port, heap and the Arduino core where there is one. *Radio* is the radio stack on top of it.

**RAM for an arena** is the board's RAM less the core's and less the stack of one `Invoke()` ({stack}), and at most
the largest group. Your own variables, the objects of interpreter and resolver, and a deeper stack are not counted. The
radio is counted unless the answer says *without radio*. A `--ram-limit` below the board's RAM wins. A model that only
fits in the external RAM counts as one that does not fit.

**MHz** is the clock that the board's definition sets, or the chip's highest. *Waits* are the wait states of the flash
at that clock and the bytes of a line, where they are known. The [modelled cycles](cycles.md) use them.

**Flash** for inference is the board's flash less the core's. It holds

- the model, which is counted exactly;
- the C library, for a rewritten model. The estimate adds up the sizes of the parts that the model needs, measured on
  Cortex-M0, M3, M4, M55 and RV32 at `-Os` (`benchmarks/flash.py`). Code that two parts share is counted twice. The
  figures of Cortex-M4 stand for M7 and M33, those of RV32 for Xtensa;
- TFLM. The estimate is {interpreter:,} B for the interpreter plus the kernels that the model needs
  ({four:,} B for CONV_2D, DEPTHWISE_CONV_2D, FULLY_CONNECTED and SOFTMAX), measured on one core: {source}.
  Kernels that were not measured count as the median. Other versions of TFLM, CMSIS-NN and larger resolvers differ.
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
        "| board | chip, core | MHz | waits | RAM | largest group | external | flash | core: RAM, flash | radio |",
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
    lines = ["# Flags", "", NOTE, "These are the flags of each [command](cli.md), as `--help` prints them."]
    commands = next(a.choices for a in cli.parser()._actions if isinstance(a.choices, dict))
    for name, parser in commands.items():
        lines += ["", f"## {name}", "", "| flag | meaning |", "|---|---|"]
        formatter = parser._get_formatter()
        for action in parser._actions[1:]:
            forms = formatter._format_action_invocation(action)
            lines.append(f"| `{_cell(forms)}` | {_cell(formatter._expand_help(action))} |")
    return "\n".join(lines) + "\n"


def plan_schema() -> Mapping[str, Any]:
    """JSON Schema of NAME.plan.json."""
    number = {"type": "integer"}
    natural = {"type": "integer", "minimum": 0}

    def record(**properties: Any) -> dict[str, Any]:
        return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}

    def several(item: Any) -> dict[str, Any]:
        return {"type": "array", "items": item}

    flag = {"type": "boolean"}
    nest = record(advance=number, end=number, rows=natural, tile=natural, channel_groups=natural, sums=flag)
    stage = record(op=natural, operands=several(natural), iterative=flag, nest=nest, at_once=natural)
    group = record(
        type={"const": "group"}, region=natural, stages=several(stage), sinks=several(natural), iterations=natural,
        macs=natural, stripes=natural, is_reversed=flag, in_turn=flag, loops={"$ref": "#/$defs/loops"},
    )  # fmt: skip
    builtin = record(type={"const": "builtin"}, op=natural, macs=natural)
    buffer = record(
        role={"enum": [role.value for role in Role]}, key=number, nbytes=natural, first=natural, last=natural,
        align=natural, depth=natural, column_windows=several(record(rows=natural, depth=natural)), offset=natural,
    )  # fmt: skip
    document = record(
        schema={"const": SCHEMA_VERSION}, head=natural, lower_bound=natural, proven=flag,
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
"""Pages that are only generated with the site (scripts/docs_nav.py)."""
