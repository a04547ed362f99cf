"""Compare hand-written drivers with drivers that use generated accessors: bus accesses on a simulated bus, and
instructions on an RV32 core in QEMU.
"""

import tempfile
from pathlib import Path

from registers.drivers import FIXED, LAYOUT, generated, plain
from registers.on_core import cost
from registers.plain import DRIVERS
from tables import markdown

MODES = {"fixed": FIXED, "placed": LAYOUT}


def access_table() -> str:
    titles = ("driver", "accesses, plain", "fixed", "", "placed", "", "memory map, B", "placed")
    rows = []
    for name in DRIVERS:
        with tempfile.TemporaryDirectory() as folder:
            before = plain(name, Path(folder) / "plain").accesses
            after = [generated(name, each[name], Path(folder) / mode).accesses for mode, each in MODES.items()]
        ratios = [text for count in after for text in (str(count), f"x{count / before:.2f}")]
        maps = [f"{each[name].generated().memory_map:,}" for each in MODES.values()]
        rows.append([name, str(before), *ratios, *maps])
    return markdown(titles, rows)


def cost_table() -> str:
    titles = ["driver", "code, plain, B", "fixed", "placed", "instructions, plain", "fixed", "placed"]
    rows = []
    for name in DRIVERS:
        with tempfile.TemporaryDirectory() as folder:
            before = cost(name, None, Path(folder) / "plain")
            after = [cost(name, each[name], Path(folder) / mode) for mode, each in MODES.items()]
        code = [_fall(one.code, before.code) for one in after]
        rows.append([name, str(before.code), *code, str(before.instructions)])
        rows[-1] += [_fall(one.instructions, before.instructions) for one in after]
    return markdown(titles, rows)


def _fall(after: int, before: int) -> str:
    return f"{after} ({100 * (after / before - 1):+.0f} %)"
