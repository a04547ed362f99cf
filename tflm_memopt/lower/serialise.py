"""Encodes a program as bytes, and decodes a program for tests and for inspection."""

import itertools
import math
import struct
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any
from zlib import crc32

import numpy as np

from tflm_memopt.errors import ModelError
from tflm_memopt.format.codes import Flags, RowLayout
from tflm_memopt.format.fields import layout_of
from tflm_memopt.format.limits import CURVE_WORDS, MAGIC, PROGRAM_BASE, TABLE_BYTES, VERSION
from tflm_memopt.lower.codec import ALIGN, ConstantPool, RecordReader, RecordWriter, Shaper, Shapes
from tflm_memopt.lower.pack import constant_sizes
from tflm_memopt.lower.parts import parts
from tflm_memopt.lower.program import (
    ROLLING_BUFFER,
    CopiedWeights,
    CopyRecord,
    Header,
    PoolRecord,
    Program,
    ProgramCores,
    ProgramGroup,
    ProgramOp,
    ProgramRollingBuffer,
    ProgramTensor,
)
from tflm_memopt.ops.kinds import GATES, Kind, traits
from tflm_memopt.ops.packing import VECTOR, Family, Packing
from tflm_memopt.ops.partial import bytes_made
from tflm_memopt.ops.rowop import FLOAT_BYTES, Access

KEYS = 1 << 16


def pack(program: Program) -> bytes:
    """Encode a program. The address of the encoded program must be a multiple of 16.

    Raises PlanError if a number does not fit its field.
    """
    tables = ((ProgramTensor, program.tensors), (ProgramOp, program.ops), (ProgramGroup, program.groups))
    sizes = [layout_of(kind).nbytes * len(rows) for kind, rows in tables]
    pools = (PoolRecord(program.slow),) if program.slow else ()
    first = layout_of(Header).nbytes + layout_of(PoolRecord).nbytes * len(pools)
    tensors, ops, groups, start = itertools.accumulate(sizes, initial=first)
    alignment = VECTOR if program.target == Family.ESP else ALIGN
    known = ConstantPool(start, alignment=alignment)
    identity = crc32(b"".join((*_tables(program, known), bytes(known.data))))
    constants = ConstantPool(start, known.stored, alignment=alignment)
    cores = RecordWriter(constants, "shardings", program.iterations).table((program.cores,)) if program.cores else 0
    buffers = [replace(buffer, key=1 + identity % (KEYS - buffer.depth)) for buffer in program.rolling_buffers]
    end = ProgramRollingBuffer(0, 0, 0, 0, 0)  # A rolling buffer with 0 rows ends the table.
    rolling_buffers = RecordWriter(constants, "rolling_buffers").table((*buffers, end)) if buffers else 0
    data = b"".join(_tables(program, constants))
    header = Header(
        MAGIC, VERSION, program.target, constants.end, program.iterations, program.workspace, program.n_inputs,
        program.n_outputs, len(program.tensors), len(program.ops), len(program.groups), program.input, len(pools),
        tensors, ops, groups, cores, program.state, rolling_buffers, parts(program),
    )  # fmt: skip
    head = b"".join(RecordWriter(constants, "header").record(record) for record in (header, *pools))
    return head + data + bytes(constants.data)


def _tables(program: Program, constants: ConstantPool) -> tuple[bytes, bytes, bytes]:
    groups, tensors, ops = (
        b"".join(RecordWriter(constants, f"{what} {i}").record(record) for i, record in enumerate(records))
        for what, records in (("group", program.groups), ("tensor", program.tensors), ("operator", program.ops))
    )
    return tensors, ops, groups


def unpack(data: bytes) -> Program:
    """Decode a program. Raises ModelError for incomplete data or for another version of the format."""
    try:
        reader = RecordReader(data, SHAPERS)
        header = reader.record(Header, 0)
        if header.magic != MAGIC or header.version != VERSION or header.size > len(data):
            raise ValueError("another version")
        tensors = reader.table(ProgramTensor, header.n_tensors, header.tensors)
        return Program(
            n_inputs=header.n_inputs,
            n_outputs=header.n_outputs,
            workspace=header.workspace,
            iterations=header.iterations,
            tensors=tensors,
            ops=reader.table(ProgramOp, header.n_ops, header.ops, tensors),
            groups=reader.table(ProgramGroup, header.n_groups, header.groups),
            target=header.target,
            input=header.input,
            state=header.state,
            rolling_buffers=tuple(_unpacked_rolling_buffers(reader, header.rolling_buffers)),
            cores=reader.record(ProgramCores, header.cores, header) if header.cores else None,
            slow=reader.record(PoolRecord, layout_of(Header).nbytes).bytes if header.pools else 0,
        )
    except (ValueError, IndexError, struct.error, RecursionError) as cause:
        raise ModelError(
            "the program is damaged or of another version", code="damaged_program", hint="convert the model again"
        ) from cause


def _unpacked_rolling_buffers(reader: RecordReader, at: int) -> Iterator[ProgramRollingBuffer]:
    while at and (buffer := reader.record(ProgramRollingBuffer, at)).depth:
        yield buffer
        at += ROLLING_BUFFER.itemsize


def _tensor_shapes(r: np.void, _: Any) -> Shapes:
    shapes: dict[str, tuple[Any, ...]] = {"column_windows": (int(r["n_column_windows"]),)}
    if r["base"] == PROGRAM_BASE:
        shapes["constant"] = (int(r["height"]) * int(r["width"]) * int(r["channels"]),)
    rows = "nest" if r["advance"] else "older" if r["layout"] >= RowLayout.STATE else "pushed"
    return {**shapes, rows: ()}


def _op_shapes(r: np.void, tensors: tuple[ProgramTensor, ...]) -> Shapes:
    shapes = _shapes_of_kind(r, tensors)
    if not r["flags"] & Flags.COPIES:
        return shapes
    return {**{name: shape for name, shape in shapes.items() if name != "weights"}, "copied": (1,)}


def _shapes_of_kind(r: np.void, tensors: tuple[ProgramTensor, ...]) -> Shapes:
    kind, packing, n = Kind(r["kind"]), Packing(int(r["packing"])), int(r["n_inputs"])
    output, form, kernel = tensors[r["output"]], traits(kind), (int(r["kernel_h"]), int(r["kernel_w"]))
    in_channels = tensors[r["input"][0]].channels // form.reads
    made = {Kind.ADD_SUMS: bytes_made(int(r["operand_bytes"])) or 1, Kind.SUMS: int(r["sum_bytes"])}.get(
        kind, form.writes
    )
    out_channels = output.channels // made
    shapes: dict[str, tuple[Any, ...]] = {"inputs": (n,), "input_zero_points": (n,), "access": (n, output.height)}
    if packing is not Packing.NONE:
        weights, scales = constant_sizes(packing, kernel, in_channels, out_channels)
        return shapes | {name: (size,) for name, size in (("weights", weights), ("scales", scales)) if size is not None}
    sizes = {
        "out": out_channels, "kernel_h": kernel[0], "kernel_w": kernel[1], "in": in_channels,
        "row": int(r["table_rows"]), "byte": TABLE_BYTES, "gate": GATES, "in_out": in_channels + out_channels,
    }  # fmt: skip
    own = {Kind.COPY: "copy", Kind.SEND: "message", Kind.RECEIVE: "message"}.get(kind)
    if own:
        shapes[own] = (1,)
    elif form.constants.value:
        shapes["weights"] = tuple(sizes[axis] for axis in form.constants.value)
        if form.biased and form.reads == FLOAT_BYTES:
            shapes["weights"] = (*shapes["weights"][:-1], FLOAT_BYTES * shapes["weights"][-1])
    if r["flags"] & Flags.NIBBLES:
        shapes["weights"] = (-(-math.prod(shapes["weights"]) // 2),)
    if form.biased or kind is Kind.LSTM:
        shapes["bias"] = (
            CURVE_WORDS + 2 * GATES * out_channels if kind is Kind.LSTM else out_channels * (1 + (form.writes == 2)),
        )
    if kind is Kind.GATHER_ND:
        shapes["bias"] = (tensors[r["input"][1]].channels // np.dtype(np.int32).itemsize,)
    per_channel = out_channels if r["flags"] & Flags.PER_CHANNEL else 1
    scaled = (per_channel if form.scales is None else form.scales,)
    return {**shapes, "multipliers": scaled, "shifts": scaled}


SHAPERS: Mapping[type, Shaper] = {
    ProgramTensor: _tensor_shapes,
    ProgramOp: _op_shapes,
    Access: lambda _, height: {"table": (height,)},
    CopiedWeights: lambda r, _: {"weights": (int(r["bytes"]),)},
    CopyRecord: lambda r, _: {"moves": (int(r["n_moves"]),)},
    ProgramCores: lambda _, header: {"shardings": (header.n_ops,)},
}
