"""Runs programs in the C executor on this machine (custom_ops/host)."""

import ctypes
import enum
import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tflm_memopt.errors import ModelError, PlanError
from tflm_memopt.format.codes import InputPlace
from tflm_memopt.format.limits import ALIGNMENT
from tflm_memopt.lower.program import HEADER, POOL, TENSOR
from tflm_memopt.runtime import own
from tflm_memopt.runtime.native import native_library
from tflm_memopt.runtime.stimuli import Array

Bytes = NDArray[np.int8]


class Status(enum.IntEnum):
    OK = 0
    ALIGNMENT = -1
    MAGIC = -2
    VERSION = -3
    TARGET = -4
    TRUNCATED = -5
    IO = -6
    TABLE = -7
    OP = -8
    ITERATIONS = -9
    SOURCE = -10
    KERNEL = -11
    STATE = -14
    INDEX = -20

    @property
    def text(self) -> str:
        return str(_library().tmo_status_text(int(self)).decode())


WAIT = 2
INT8, UINT8 = 0, 1
GUARD_VIOLATION = -100
GUARD_MEMORY = -101


@dataclass(frozen=True, slots=True)
class DeviceArena:
    """Offsets in bytes of a program's buffers, which may overlap, from the start of the device's arena."""

    nbytes: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    workspace: int
    state: int | None = None


class OpIteration(NamedTuple):
    """Index of an operator, and position of one iteration in the operator's output (tmo_iteration). In a group without
    tiles, the field `stripe` is the index of the output row.
    """

    op: int
    stripe: int
    channel_group: int
    tile: int
    row: int


class _Iteration(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint16) for name in ("stripe", "channel_group", "tile", "row")]


class TmoSource(ctypes.Structure):
    """The C struct tmo_source for an input outside the arena, whose `data` the caller must keep alive."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        *((name, ctypes.c_uint32) for name in ("bytes", "pitch", "x", "y")),
        ("format", ctypes.c_uint8),
    ]


class _Stream(ctypes.Structure):
    _fields_ = [("rows", ctypes.c_uint32), ("iterations", ctypes.c_uint32)]


class _Arena(ctypes.Structure):
    _fields_ = [
        ("bytes", ctypes.c_void_p),
        ("size", ctypes.c_uint32),
        ("n_inputs", ctypes.c_uint32),
        ("n_outputs", ctypes.c_uint32),
        ("io_offsets", ctypes.POINTER(ctypes.c_uint32)),
        ("io_bytes", ctypes.POINTER(ctypes.c_uint32)),
        ("workspace_offset", ctypes.c_uint32),
        ("workspace_bytes", ctypes.c_uint32),
        ("source", ctypes.c_void_p),
    ]


class _Report(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_uint32) for name in ("iterations", "op")),
        ("current", _Iteration),
        ("byte", ctypes.c_int32),
    ]


def check(
    program: bytes,
    input_bytes: Sequence[int],
    output_bytes: Sequence[int],
    workspace: int | None = None,
    slow: int | None = None,
) -> Status:
    """Return the result of tmo_check(). The arguments `workspace` and `slow` state how many bytes are available
    (default: as many as the program needs).
    """
    image = aligned(program)
    available = workspace_bytes(program) if workspace is None else workspace
    declared = slow_bytes(program) if slow is None else slow
    state = state_bytes(program)
    sizes = _uint32s([*input_bytes, *output_bytes, *([state] if state else []), declared])
    return Status(
        _library().tmo_check(image.ctypes.data, len(program), sizes, len(input_bytes), len(output_bytes), available)
    )


def run(
    program: bytes, inputs: Sequence[Array], output_bytes: Sequence[int], state: NDArray[np.uint8] | None = None
) -> list[Bytes]:
    """Run one inference with separate buffers, and return the outputs as flat int8 arrays.

    The argument `inputs` has whole inputs, even if an input is streamed or external. If `state` is None, the run uses a
    new state; otherwise, the run changes `state`. Raises ModelError if the executor refuses the program.
    """
    buffers = _Buffers(program, inputs, output_bytes, state)
    arguments = buffers.image.ctypes.data, buffers.io, buffers.workspace.ctypes.data
    if input_mode(program) != InputPlace.STREAM:
        _accept(_ended(_library().tmo_run(*arguments)))
        return buffers.outputs
    stream, status = _Stream(), WAIT
    for rows in buffers.pushes:
        buffers.inputs[0].ravel().view(np.uint8)[:] = rows
        status = _library().tmo_push(*arguments, ctypes.byref(stream))
        if status != WAIT:
            break
    _accept(Status(status))
    return buffers.outputs


def run_guarded(
    program: bytes,
    arena: DeviceArena,
    inputs: Sequence[Array],
    output_bytes: Sequence[int],
    seed: int = 0,
    state: NDArray[np.uint8] | None = None,
) -> list[Bytes]:
    """Run one inference with the buffer addresses of the device, and check to which bytes each iteration writes.

    The arena starts with random bytes. The run changes the bytes of `state`. Raises ModelError if the executor refuses
    the program. Raises PlanError if an iteration writes to bytes outside its output row, sums and counters.
    """
    image, mode = aligned(program), input_mode(program)
    source: Any = None
    if mode != InputPlace.ARENA:
        whole = np.frombuffer(np.ascontiguousarray(inputs[0]).tobytes(), np.uint8)
        external = source_of(program, whole)
        source = whole.ctypes.data if mode == InputPlace.STREAM else ctypes.addressof(external)
    if mode == InputPlace.EXTERNAL:
        arena = replace(arena, inputs=(0, *arena.inputs))
    slow, state = slow_bytes(program), new_state(program) if state is None else state
    arena, slow_at = _with_slow(arena, slow)
    memory, kept_at = _filled(arena, inputs, mode, state, seed), arena.state or 0
    last = [*([(state.size, kept_at)] if state.size else []), (slow, slow_at), (0, 0)][:2]
    sizes = _uint32s([*_handed_bytes(program, inputs), *output_bytes, *(nbytes for nbytes, _ in last)])
    offsets = _uint32s([*arena.inputs, *arena.outputs, *(at for _, at in last)])
    where = _Arena(
        bytes=memory.ctypes.data,
        size=arena.nbytes,
        n_inputs=len(inputs),
        n_outputs=len(output_bytes),
        io_offsets=offsets,
        io_bytes=sizes,
        workspace_offset=arena.workspace,
        workspace_bytes=workspace_bytes(program),
        source=source,
    )
    report = _Report()
    result = _library().tmo_run_guarded(image.ctypes.data, len(program), ctypes.byref(where), ctypes.byref(report))
    if result == GUARD_MEMORY:
        raise MemoryError(f"two copies of an arena of {arena.nbytes} B")
    if result == GUARD_VIOLATION:
        raise PlanError(
            f"{_iteration(report)} wrote byte {report.byte} of the arena: not its own",
            where=f"iteration {report.iterations} of the program",
        )
    _accept(Status(result))
    state[:] = memory[kept_at : kept_at + state.size]
    return [memory[at : at + n].view(np.int8).copy() for at, n in zip(arena.outputs, output_bytes, strict=True)]


def _with_slow(arena: DeviceArena, slow: int) -> tuple[DeviceArena, int]:
    at = -(-arena.nbytes // ALIGNMENT) * ALIGNMENT
    return replace(arena, nbytes=at + slow), at


def _filled(
    arena: DeviceArena, inputs: Sequence[Array], mode: int, state: NDArray[np.uint8], seed: int
) -> NDArray[np.uint8]:
    noise = np.random.default_rng(seed).integers(0, 256, arena.nbytes, dtype=np.uint8)
    memory = aligned(noise.tobytes())
    for k, (offset, values) in enumerate(zip(arena.inputs, inputs, strict=True)):
        if k > 0 or mode == InputPlace.ARENA:
            raw = np.frombuffer(np.ascontiguousarray(values).tobytes(), np.uint8)
            memory[offset : offset + raw.size] = raw
    memory[arena.state or 0 :][: state.size] = state
    return memory


def _header(program: bytes) -> Any:
    return np.frombuffer(program if len(program) >= HEADER.itemsize else bytes(HEADER.itemsize), HEADER, 1)[0]


def workspace_bytes(program: bytes) -> int:
    return int(_header(program)["workspace"])


def state_bytes(program: bytes) -> int:
    return int(_header(program)["state"])


def slow_bytes(program: bytes) -> int:
    has_pool = len(program) >= HEADER.itemsize + POOL.itemsize and _header(program)["pools"]
    return int(np.frombuffer(program, POOL, 1, HEADER.itemsize)[0]["bytes"]) if has_pool else 0


def inputs_of(program: bytes) -> int:
    return int(_header(program)["n_inputs"])


def new_state(program: bytes) -> NDArray[np.uint8]:
    return np.zeros(state_bytes(program), np.uint8)


def input_mode(program: bytes) -> int:
    return int(_header(program)["input"])


def source_shape(program: bytes) -> tuple[int, int, int]:
    """Return the size of an input outside the arena: number of rows, pixels per row, and bytes per pixel."""
    view = _source_view(program)
    return int(view["height"]), int(view["width"]), int(view["channels"])


def source_of(program: bytes, values: NDArray[np.uint8]) -> TmoSource:
    view = _source_view(program)
    return TmoSource(values.ctypes.data, values.nbytes, int(view["width"]) * int(view["channels"]), 0, 0, INT8)


def _source_view(program: bytes) -> Any:
    header = _header(program)
    tensors = np.frombuffer(program, TENSOR, int(header["n_tensors"]), int(header["tensors"]))
    return next(t for t in tensors if t["base"] == 1)


def _handed_bytes(program: bytes, inputs: Sequence[Array]) -> list[int]:
    sizes, mode = [i.nbytes for i in inputs], input_mode(program)
    if mode == InputPlace.STREAM:
        view = _source_view(program)
        sizes[0] = int(view["pushed"]) * int(view["width"]) * int(view["channels"])
    elif mode == InputPlace.EXTERNAL:
        sizes[0] = 0
    return sizes


class _Buffers:
    def __init__(
        self,
        program: bytes,
        inputs: Sequence[Array],
        output_bytes: Sequence[int],
        state: NDArray[np.uint8] | None = None,
    ) -> None:
        _accept(check(program, _handed_bytes(program, inputs), output_bytes))
        self.image, self.workspace = aligned(program), aligned(bytes(workspace_bytes(program)))
        self.inputs = [np.array(i, order="C") for i in inputs]
        self.outputs = [np.zeros(n, np.int8) for n in output_bytes]
        self.pushes: list[NDArray[np.uint8]] = []
        if (mode := input_mode(program)) == InputPlace.STREAM:
            size = _handed_bytes(program, inputs)[0]
            self.pushes = list(self.inputs[0].ravel().view(np.uint8).reshape(-1, size))
            self.inputs[0] = self.pushes[0].copy()
        self.state = new_state(program) if state is None else state
        self.slow = aligned(bytes(slow_bytes(program)))
        last = (*([self.state] if self.state.size else []), self.slow)
        addresses = [b.ctypes.data for b in (*self.inputs, *self.outputs, *last)]
        if mode == InputPlace.EXTERNAL:
            self.source = source_of(program, self.inputs[0].ravel().view(np.uint8))
            addresses[0] = ctypes.addressof(self.source)
        self.io = (ctypes.c_void_p * len(addresses))(*addresses)


def _iteration(record: Any) -> OpIteration:
    current = record.current
    return OpIteration(record.op, current.stripe, current.channel_group, current.tile, current.row)


def _ended(status: int) -> Status:
    return Status.OK if status == WAIT else Status(status)


def _accept(status: Status) -> None:
    if status is not Status.OK:
        what = "the run ends" if status is Status.INDEX else "the executor refuses the program"
        raise ModelError(
            f"{what}: {status.text}", code="damaged_program", hint="optimize the original again: it is damaged"
        )


def aligned(data: bytes) -> NDArray[np.uint8]:
    room = np.zeros(len(data) + ALIGNMENT, np.uint8)
    start = -room.ctypes.data % ALIGNMENT
    copy = room[start : start + len(data)]
    copy[:] = np.frombuffer(data, np.uint8)
    return copy


def _uint32s(values: Sequence[int]) -> ctypes.Array[ctypes.c_uint32]:
    return (ctypes.c_uint32 * len(values))(*values)


def _library() -> ctypes.CDLL:
    own.use(_loaded())
    return _loaded()


@functools.cache
def _loaded() -> ctypes.CDLL:
    library = ctypes.CDLL(str(native_library("tmo_host")))
    size, pointer, uint32s = ctypes.c_size_t, ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint32)
    library.tmo_status_text.argtypes, library.tmo_status_text.restype = [ctypes.c_int], ctypes.c_char_p
    library.tmo_check.argtypes = [pointer, size, uint32s, size, size, size]
    library.tmo_run.argtypes = [pointer, ctypes.POINTER(pointer), pointer]
    library.tmo_push.argtypes = [pointer, ctypes.POINTER(pointer), pointer, ctypes.POINTER(_Stream)]
    library.tmo_run_guarded.argtypes = [pointer, size, ctypes.POINTER(_Arena), ctypes.POINTER(_Report)]
    return library
