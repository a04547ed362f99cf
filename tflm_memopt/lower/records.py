"""The records of a program's bytes: what custom_ops/include/tmo/program.h defines in C, here as tables.

A test compares every size and offset with the C compiler's.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

MAGIC = 0x314F4D54
VERSION = 2
MAX_INPUTS = 4
TABLE_BYTES = 256
CURVE_WORDS = 128
"""Bytes of a LOOKUP's table."""
ALIGNMENT = 16
"""Alignment of the program's first byte. Inside, tables and int32 constants are 4-aligned."""

FLAG_ITERATIVE = 1
FLAG_PER_CHANNEL = 2
FLAG_SUMS = 4
FLAG_SWAPPED = 8

LOOP_NEAR, LOOP_FAR, LOOP_SKIP, LOOP_REPEAT, LOOP_END = 0xFC, 0xFC, 0xFD, 0xFE, 0xFF
"""Codes of a block's loops; below LOOP_NEAR: an operator fires."""

HEADER = np.dtype([
    ("magic", "<u4"), ("version", "<u2"), ("target", "<u2"), ("size", "<u4"), ("firings", "<u4"), ("workspace", "<u4"),
    ("n_inputs", "<u2"), ("n_outputs", "<u2"), ("n_tensors", "<u2"), ("n_ops", "<u2"), ("n_blocks", "<u2"),
    ("input", "<u2"),
    ("tensors", "<u4"), ("ops", "<u4"), ("blocks", "<u4"), ("cores", "<u4"), ("state", "<u4"), ("rings", "<u4"),
])  # fmt: skip
TENSOR = np.dtype([
    ("offset", "<u4"), ("channels", "<u4"), ("width", "<u2"), ("height", "<u2"), ("depth", "<u2"), ("base", "u1"),
    ("layout", "u1"),
    ("lanes", "<u4"), ("n_lanes", "<u2"), ("advance", "<u2"), ("end", "<i2"), ("rows", "<u2"),
])  # fmt: skip
RING = np.dtype([
    ("offset", "<u4"), ("row", "<u4"), ("depth", "<u2"), ("advance", "<u2"), ("fill", "u1"), ("window", "u1"),
    ("key", "<u2"),
])  # fmt: skip
LANE = np.dtype([("offset", "<u4"), ("depth", "<u4"), ("rows", "<u2"), ("reserved", "<u2")])
OP = np.dtype([
    ("kind", "u1"), ("flags", "u1"), ("input_zero_point", "i1", (MAX_INPUTS,)), ("output_zero_point", "i1"),
    ("act_min", "i1"), ("act_max", "i1"), ("n_inputs", "u1"),
    ("input", "<u2", (MAX_INPUTS,)), ("output", "<u2"), ("tile", "<u2"),
    ("kernel_h", "<u2"), ("kernel_w", "<u2"), ("stride_h", "<u2"), ("stride_w", "<u2"),
    ("dilation_h", "<u2"), ("dilation_w", "<u2"), ("pad_top", "<u2"), ("pad_left", "<u2"),
    ("packing", "<u2"),
    ("param", "<i4"), ("weights", "<u4"), ("bias", "<u4"), ("multipliers", "<u4"), ("shifts", "<u4"),
    ("accumulator", "<u4"), ("groups", "<u2"), ("group_channels", "<u2"), ("access", "<u4"),
])  # fmt: skip
ACCESS = np.dtype([
    ("add", "<i4"), ("mul", "<u2"), ("div", "<u2"), ("extent", "<u2"), ("reserved", "<u2"), ("table", "<u4"),
])  # fmt: skip
CROSSING = np.dtype([("identity", "<u4"), ("step", "<u2"), ("from", "u1"), ("to", "u1")])
COPY = np.dtype([("n_moves", "<u2"), ("fills", "u1"), ("fill", "i1")])
MOVE = np.dtype([
    ("row", "<u2"), ("count", "<u2"), ("bytes", "<u4"), ("source", "<u4"), ("source_step", "<i4"),
    ("phase_step", "<i4"), ("target", "<u4"), ("target_step", "<u4"), ("period", "<u2"), ("shift", "<u2"),
])  # fmt: skip
BLOCK = np.dtype([
    ("first_op", "<u2"), ("n_ops", "<u2"), ("counters", "<u4"), ("strips", "<u2"), ("reserved", "<u2"),
    ("loops", "<u4"),
])  # fmt: skip

SHARE = np.dtype([("how", "<u2"), ("cut", "<u2"), ("accumulator", "<u4")])
CORES = np.dtype([
    ("shares", "<u4"), ("meetings", "<u4"), ("n_meetings", "<u4"), ("alone", "<u4"), ("counters", "<u4"),
])  # fmt: skip

TABLES: Mapping[str, np.dtype[np.void]] = {
    "tmo_header": HEADER,
    "tmo_tensor": TENSOR,
    "tmo_ring": RING,
    "tmo_lane": LANE,
    "tmo_op": OP,
    "tmo_access": ACCESS,
    "tmo_crossing": CROSSING,
    "tmo_copy": COPY,
    "tmo_move": MOVE,
    "tmo_block": BLOCK,
    "tmo_share": SHARE,
    "tmo_cores": CORES,
}
