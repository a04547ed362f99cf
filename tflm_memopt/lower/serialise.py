"""A program as bytes, and back.

`pack` lays out header, tables and constants; `unpack` reads them, for tests and for people.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields
from functools import cache
from typing import Any, TypeVar
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.errors import ModelError, PlanError
from tflm_memopt.lower.constants import ConstantPool
from tflm_memopt.lower.pack import Packed, constant_sizes
from tflm_memopt.lower.program import (
    LAYOUT_STATE,
    PROGRAM_BASE,
    PixelRing,
    Program,
    ProgramBlock,
    ProgramCores,
    ProgramOp,
    ProgramRing,
    ProgramShare,
    ProgramTensor,
    WalkRecord,
)
from tflm_memopt.lower.records import (
    ACCESS,
    BLOCK,
    COPY,
    CORES,
    CROSSING,
    CURVE_WORDS,
    FLAG_ITERATIVE,
    FLAG_PER_CHANNEL,
    FLAG_SUMS,
    FLAG_SWAPPED,
    HEADER,
    LANE,
    LOOP_END,
    LOOP_FAR,
    LOOP_NEAR,
    LOOP_REPEAT,
    LOOP_SKIP,
    MAGIC,
    MAX_INPUTS,
    MOVE,
    OP,
    RING,
    SHARE,
    TABLE_BYTES,
    TENSOR,
    VERSION,
)
from tflm_memopt.ops.kinds import GATES, KINDS, Kind
from tflm_memopt.ops.packing import Packing
from tflm_memopt.ops.partial import bytes_made
from tflm_memopt.ops.rowop import Access, Crossing, Move, Moves, Window
from tflm_memopt.plan.loops import MAX_TIMES, Iteration, Loops, Repeat

Array = NDArray[Any]
_WHOLE = ("offset", "height", "width", "channels", "depth", "base", "layout")
_TILES = ("accumulator", "tile", "groups", "group_channels")
KEYS = 1 << 16
_BLOCK = ("first_op", "n_ops", "counters", "strips")
_WINDOW = ("kernel_h", "kernel_w", "stride_h", "stride_w", "dilation_h", "dilation_w", "pad_top", "pad_left")


def pack(program: Program) -> bytes:
    """The program as the executor reads it. Its first byte must get to a 16-byte boundary.

    Raises PlanError when a number does not fit its field: then the operator should have stayed builtin.
    """
    start = _constants_start(program)
    known = ConstantPool(start)
    identity = crc32(b"".join((*_tables(program, known), bytes(known.data))))
    constants = ConstantPool(start, known.stored)
    cores, rings = _cores(program, constants), _rings(program, identity, constants)
    tensors, ops, blocks = _tables(program, constants)
    at = HEADER.itemsize
    header = _record(HEADER, "header", {
        "magic": MAGIC, "version": VERSION, "target": program.target, "size": constants.end,
        "firings": program.firings, "workspace": program.workspace,
        "input": program.input, "n_inputs": program.n_inputs, "n_outputs": program.n_outputs,
        "n_tensors": len(program.tensors), "n_ops": len(program.ops), "n_blocks": len(program.blocks),
        "state": program.state, "rings": rings,
        "tensors": at, "ops": at + len(tensors), "blocks": at + len(tensors) + len(ops), "cores": cores,
    })  # fmt: skip
    return header + tensors + ops + blocks + bytes(constants.data)


def _tables(program: Program, constants: ConstantPool) -> tuple[bytes, bytes, bytes]:
    """The records of tensors, operators and blocks; their constants are added, loops first."""
    blocks = b"".join(_block_record(b, f"block {i}", constants) for i, b in enumerate(program.blocks))
    tensors = b"".join(_tensor_record(t, f"tensor {i}", constants) for i, t in enumerate(program.tensors))
    ops = b"".join(_record(OP, f"operator {i}", _op_fields(op, constants)) for i, op in enumerate(program.ops))
    return tensors, ops, blocks


def _constants_start(program: Program) -> int:
    tables = ((TENSOR, program.tensors), (OP, program.ops), (BLOCK, program.blocks))
    return HEADER.itemsize + sum(layout.itemsize * len(rows) for layout, rows in tables)


def _record(layout: np.dtype[np.void], where: str, values: Mapping[str, Any]) -> bytes:
    record = np.zeros((), layout)
    for name, value in values.items():
        least, most = _limits(layout[name])
        low, high = (value, value) if isinstance(value, int) else (np.min(value), np.max(value))
        if low < least or high > most:
            raise PlanError(f"{name} is {value}, a program holds {least}..{most}", code="bad_plan", where=where)
        record[name] = value
    return record.tobytes()


@cache
def _limits(field: np.dtype[Any]) -> tuple[int, int]:
    """The least and the largest number that a field holds, or each of its numbers."""
    limits = np.iinfo(field.base)
    return int(limits.min), int(limits.max)


def _block_record(block: ProgramBlock, where: str, constants: ConstantPool) -> bytes:
    loops = np.frombuffer(_loop_codes(block.loops) + bytes([LOOP_END]), "u1")
    return _record(BLOCK, where, {
        **{name: getattr(block, name) for name in _BLOCK}, "loops": constants.add(loops, "u1"),
    })  # fmt: skip


def _loop_codes(loops: Loops) -> bytes:
    """The codes of program.h, without the one that ends them."""
    codes = bytearray()
    for item in loops:
        if isinstance(item, Repeat):
            codes += _code(LOOP_REPEAT, item.times) + _loop_codes(item.body) + bytes([LOOP_END])
        elif item.skips:
            codes += _code(LOOP_SKIP, item.stage, item.skips)
        elif item.stage < LOOP_NEAR:
            codes.append(item.stage)
        else:
            codes += _code(LOOP_FAR, item.stage)
    return bytes(codes)


def _code(code: int, *numbers: int) -> bytes:
    if any(not 0 <= number <= MAX_TIMES for number in numbers):
        raise PlanError(f"a loop has the number {max(numbers)}, a program holds 0..{MAX_TIMES}", code="bad_plan")
    return struct.pack(f"<B{len(numbers)}H", code, *numbers)


def _unpacked_loops(data: bytes, at: int) -> tuple[Loops, int]:
    """The codes from `at` on up to the one that ends them, and where the next ones are."""
    items: list[Iteration | Repeat] = []
    while (code := data[at]) != LOOP_END:
        if code == LOOP_REPEAT:
            body, after = _unpacked_loops(data, at + 3)
            items.append(Repeat(struct.unpack_from("<H", data, at + 1)[0], body))
            at = after
        elif code == LOOP_SKIP:
            items.append(Iteration(*struct.unpack_from("<HH", data, at + 1)))
            at += 5
        elif code == LOOP_FAR:
            items.append(Iteration(*struct.unpack_from("<H", data, at + 1)))
            at += 3
        else:
            items.append(Iteration(code))
            at += 1
    return tuple(items), at + 1


def _cores(program: Program, constants: ConstantPool) -> int:
    """Where the shares of two cores are; 0 where one core runs the program."""
    cores = program.cores
    if cores is None:
        return 0
    shares = b"".join(_record(SHARE, f"share {i}", asdict(share)) for i, share in enumerate(cores.shares))
    record = _record(CORES, "shares", {
        "shares": constants.add(np.frombuffer(shares, "<u4"), "<u4"),
        "meetings": constants.add(_bits(cores.meetings, program.firings), "u1"),
        "alone": constants.add(_bits(cores.alone, program.firings), "u1") if cores.alone else 0,
        "n_meetings": len(cores.meetings), "counters": cores.counters,
    })  # fmt: skip
    return constants.add(np.frombuffer(record, "<u4"), "<u4")


def _bits(firings: tuple[int, ...], count: int) -> Array:
    """A bit for each firing of a run, and one more at least."""
    return np.packbits(np.isin(np.arange(count // 8 * 8 + 8), firings), bitorder="little")


def _rings(program: Program, identity: int, constants: ConstantPool) -> int:
    """Where the rings of the state are, one empty record behind them; 0 where there are none.

    identity: of the program. Other programs seldom have the same keys: they refuse its state.
    """
    if not program.rings:
        return 0
    records = [
        _record(RING, f"ring {i}", {**asdict(ring), "key": 1 + identity % (KEYS - ring.depth)})
        for i, ring in enumerate(program.rings)
    ]
    return constants.add(np.frombuffer(b"".join([*records, bytes(RING.itemsize)]), "<u4"), "<u4")


def _tensor_record(t: ProgramTensor, where: str, constants: ConstantPool) -> bytes:
    lanes = b"".join(_record(LANE, where, asdict(lane)) for lane in t.lanes)
    return _record(TENSOR, where, {
        **{name: getattr(t, name) for name in _WHOLE},
        **({"offset": constants.add(np.frombuffer(t.constant, "i1"), "i1")} if t.constant else {}),
        "lanes": constants.add(np.frombuffer(lanes, "<u4") if lanes else None, "<u4"),
        "n_lanes": len(t.lanes),
        **asdict(t.walk or WalkRecord(0, 0, t.pushed or t.older)),
    })  # fmt: skip


def _op_fields(op: ProgramOp, constants: ConstantPool) -> Mapping[str, Any]:
    per_channel = KINDS[op.kind].scales is None and op.multipliers is not None and op.multipliers.size > 1
    return {
        "kind": op.kind,
        "flags": sum(
            (
                FLAG_ITERATIVE * op.iterative,
                FLAG_PER_CHANNEL * per_channel,
                FLAG_SUMS * op.sums,
                FLAG_SWAPPED * op.swapped,
            )
        ),
        "n_inputs": len(op.inputs),
        "input": _operands(op.inputs),
        "input_zero_point": _operands(op.input_zero_points),
        "output": op.output,
        "output_zero_point": op.output_zero_point,
        "act_min": op.activation[0],
        "act_max": op.activation[1],
        **{name: getattr(op.window, name) for name in _WINDOW},
        "param": op.param,
        "packing": op.packed.packing if op.packed else Packing.NONE,
        "weights": constants.add(op.packed.weights if op.packed else _record_of(op), "i1"),
        "bias": constants.add(op.packed.scales if op.packed else op.bias, "<i4"),
        "multipliers": constants.add(op.multipliers, "<i4"),
        "shifts": constants.add(op.shifts, "i1"),
        **{name: getattr(op, name) for name in _TILES},
        "access": constants.add(_access_record(op.access, constants) if op.access else None, "i1"),
    }


def _access_record(access: tuple[Access, ...], constants: ConstantPool) -> Array:
    """One record for each operand, their tables put beside."""
    records = [
        _record(ACCESS, f"operand {k}", {
            "add": a.add, "mul": a.mul, "div": a.div, "extent": a.extent,
            "table": constants.add(None if a.table is None else np.array(a.table), "<u2"),
        })
        for k, a in enumerate(access)
    ]  # fmt: skip
    return np.frombuffer(b"".join(records), "i1")


def _record_of(op: ProgramOp) -> Array | None:
    """What `weights` leads to."""
    if op.crossing is not None:
        c = op.crossing
        values = {"identity": c.identity, "step": c.step, "from": c.sender, "to": c.receiver}
        return np.frombuffer(_record(CROSSING, "crossing", values), "i1")
    return op.weights if op.moves is None else _moves_record(op, op.moves)


def _moves_record(op: ProgramOp, copied: Moves) -> Array:
    """tmo_copy and its moves."""
    moves, rows = copied.moves, [0, *np.cumsum([a.extent for a in op.access]).tolist()]
    head = {"n_moves": len(moves), "fills": copied.fill is not None, "fill": copied.fill or 0}
    records = [
        _record(MOVE, f"move {i}", {
            "row": rows[m.operand] + m.tap, "count": m.count, "bytes": m.nbytes,
            "source": m.source, "source_step": m.source_step, "phase_step": m.phase_step,
            "target": m.target, "target_step": m.target_step, "period": m.period, "shift": m.shift,
        })
        for i, m in enumerate(moves)
    ]  # fmt: skip
    return np.frombuffer(_record(COPY, "moves", head) + b"".join(records), "i1")


def _operands(values: tuple[int, ...]) -> tuple[int, ...]:
    """One value for each of the operands that the record has room for."""
    return (*values, *[0] * (MAX_INPUTS - len(values)))


def unpack(data: bytes) -> Program:
    """The inverse of `pack`. Raises ModelError when the bytes are no program of this version, or end too early."""
    try:
        header = np.frombuffer(data, HEADER, 1)[0]
        if header["magic"] != MAGIC or header["version"] != VERSION or header["size"] > len(data):
            raise ModelError(
                "not a program of this version, or not all of it",
                code="damaged_program",
                hint="convert the model again",
            )
        tensors = tuple(_tensor(r, data) for r in np.frombuffer(data, TENSOR, header["n_tensors"], header["tensors"]))
        blocks = np.frombuffer(data, BLOCK, header["n_blocks"], header["blocks"])
        return Program(
            n_inputs=int(header["n_inputs"]),
            n_outputs=int(header["n_outputs"]),
            workspace=int(header["workspace"]),
            firings=int(header["firings"]),
            tensors=tensors,
            ops=tuple(_op(r, data, tensors) for r in np.frombuffer(data, OP, header["n_ops"], header["ops"])),
            blocks=tuple(_block(r, data) for r in blocks),
            target=int(header["target"]),
            input=int(header["input"]),
            state=int(header["state"]),
            rings=tuple(_unpacked_rings(header, data)),
            cores=_unpacked_cores(header, data),
        )
    except (ValueError, IndexError, struct.error, RecursionError) as cause:
        raise ModelError(
            "the program is truncated or damaged", code="damaged_program", hint="convert the model again"
        ) from cause


def _tensor(r: np.void, data: bytes) -> ProgramTensor:
    lanes = np.frombuffer(data, LANE, r["n_lanes"], r["lanes"]) if r["n_lanes"] else ()
    whole = {name: int(r[name]) for name in _WHOLE}
    constant = b""
    if whole["base"] == PROGRAM_BASE:
        nbytes = whole["height"] * whole["width"] * whole["channels"]
        constant = np.frombuffer(data, "u1", nbytes, whole["offset"]).tobytes()
        whole["offset"] = 0
    return ProgramTensor(
        **whole,
        constant=constant,
        lanes=tuple(_fields(PixelRing, lane) for lane in lanes),
        walk=_fields(WalkRecord, r) if r["advance"] else None,
        **({} if r["advance"] else {"older" if whole["layout"] >= LAYOUT_STATE else "pushed": int(r["rows"])}),
    )


_Record = TypeVar("_Record", PixelRing, ProgramRing, ProgramShare, WalkRecord)


def _fields(record: type[_Record], r: np.void) -> _Record:
    """A dataclass of integers from the fields of the same names."""
    return record(**{f.name: int(r[f.name]) for f in fields(record)})


def _block(r: np.void, data: bytes) -> ProgramBlock:
    return ProgramBlock(**{name: int(r[name]) for name in _BLOCK}, loops=_unpacked_loops(data, int(r["loops"]))[0])


def _unpacked_cores(header: np.void, data: bytes) -> ProgramCores | None:
    if not header["cores"]:
        return None
    cores = np.frombuffer(data, CORES, 1, header["cores"])[0]
    shares = np.frombuffer(data, SHARE, header["n_ops"], cores["shares"])

    def firings(at: int) -> tuple[int, ...]:
        bits = np.frombuffer(data, "u1", header["firings"] // 8 + 1, at)
        return tuple(np.flatnonzero(np.unpackbits(bits, bitorder="little")).tolist()) if at else ()

    table = tuple(_fields(ProgramShare, s) for s in shares)
    return ProgramCores(table, firings(cores["meetings"]), firings(cores["alone"]), int(cores["counters"]))


def _unpacked_rings(header: np.void, data: bytes) -> Iterator[ProgramRing]:
    for at in itertools.count(int(header["rings"]), RING.itemsize):
        r = np.frombuffer(data, RING, 1, at)[0]
        if not header["rings"] or not r["depth"]:
            return
        yield _fields(ProgramRing, r)


def _op(r: np.void, data: bytes, tensors: tuple[ProgramTensor, ...]) -> ProgramOp:
    kind, flags, n = Kind(r["kind"]), int(r["flags"]), int(r["n_inputs"])
    in_channels, out_channels = tensors[r["input"][0]].channels, tensors[r["output"]].channels
    traits, kernel = KINDS[kind], (int(r["kernel_h"]), int(r["kernel_w"]))
    in_channels, out_channels = in_channels // traits.reads, out_channels // _bytes_written(kind, int(r["param"]))
    packing = Packing(int(r["packing"]))
    sizes = {
        "out": out_channels, "kernel_h": kernel[0], "kernel_w": kernel[1], "in": in_channels,
        "row": int(r["param"]), "byte": TABLE_BYTES, "gate": GATES, "in_out": in_channels + out_channels,
    }  # fmt: skip
    shape = tuple(sizes[axis] for axis in traits.constants.value)
    per_channel = out_channels if flags & FLAG_PER_CHANNEL else 1
    scales = per_channel if traits.scales is None else traits.scales

    def constant(name: str, dtype: str, *dims: int) -> Array | None:
        offset = int(r[name])
        return np.frombuffer(data, dtype, int(np.prod(dims)), offset).reshape(dims) if offset else None

    def packed() -> Packed:
        weights, scales = constant_sizes(packing, kernel, in_channels, out_channels)
        at, scales_at = int(r["weights"]), int(r["bias"])
        beside = np.frombuffer(data, "<i4", scales, scales_at) if scales else None
        return Packed(packing, np.frombuffer(data, "i1", weights, at) if weights else None, beside)

    access = _accesses(r, data, tensors)
    biases = CURVE_WORDS + 2 * GATES * out_channels if kind is Kind.LSTM else traits.writes * out_channels
    plain = packing is Packing.NONE
    return ProgramOp(
        kind=kind,
        inputs=tuple(int(i) for i in r["input"][:n]),
        output=int(r["output"]),
        input_zero_points=tuple(int(z) for z in r["input_zero_point"][:n]),
        output_zero_point=int(r["output_zero_point"]),
        window=Window(**{name: int(r[name]) for name in _WINDOW}),
        activation=(int(r["act_min"]), int(r["act_max"])),
        swapped=bool(flags & FLAG_SWAPPED),
        iterative=bool(flags & FLAG_ITERATIVE),
        sums=bool(flags & FLAG_SUMS),
        param=int(r["param"]),
        weights=constant("weights", "i1", *shape) if plain and shape else None,
        bias=constant("bias", "<i4", biases) if plain and (traits.biased or kind is Kind.LSTM) else None,
        multipliers=constant("multipliers", "<i4", scales),
        shifts=constant("shifts", "i1", scales),
        packed=None if plain else packed(),
        **{name: int(r[name]) for name in _TILES},
        access=access,
        moves=_moves(r, data, access) if kind is Kind.COPY else None,
        crossing=_crossing(r, data) if traits.crosses else None,
    )


def _bytes_written(kind: Kind, param: int) -> int:
    """Bytes of an element of the output."""
    if kind is Kind.ADD_SUMS:
        return max(1, bytes_made(param))
    return param if kind is Kind.SUMS else KINDS[kind].writes


def _accesses(r: np.void, data: bytes, tensors: tuple[ProgramTensor, ...]) -> tuple[Access, ...]:
    """An operator's access records."""
    if not r["access"]:
        return ()
    result = []
    for a in np.frombuffer(data, ACCESS, int(r["n_inputs"]), int(r["access"])):
        height = tensors[r["output"]].height
        table = tuple(np.frombuffer(data, "<u2", height, int(a["table"])).tolist()) if a["table"] else None
        result.append(Access(int(a["add"]), int(a["mul"]), int(a["div"]), int(a["extent"]), table))
    return tuple(result)


def _crossing(r: np.void, data: bytes) -> Crossing:
    """What a SEND or RECEIVE says of its tensor."""
    record = np.frombuffer(data, CROSSING, 1, int(r["weights"]))[0]
    return Crossing(*(int(record[name]) for name in ("identity", "step", "from", "to")))


def _moves(r: np.void, data: bytes, access: tuple[Access, ...]) -> Moves:
    """What a COPY moves."""
    at = int(r["weights"])
    head = np.frombuffer(data, COPY, 1, at)[0]
    rows = [(k, tap) for k, a in enumerate(access) for tap in range(a.extent)]
    moves = []
    for m in np.frombuffer(data, MOVE, int(head["n_moves"]), at + COPY.itemsize):
        operand, tap = rows[int(m["row"])]
        moves.append(
            Move(operand, tap, *(int(m[n]) for n in
                 ("source", "target", "bytes", "count", "source_step", "target_step", "phase_step", "period", "shift")))
        )  # fmt: skip
    return Moves(tuple(moves), int(head["fill"]) if head["fills"] else None)
