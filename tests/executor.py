"""Calls functions of the C executor that only tests call: single iterations, pauses and two threads."""

import ctypes
from collections.abc import Sequence

import numpy as np

from tflm_memopt.format.codes import InputPlace
from tflm_memopt.format.limits import LOOP_DEPTH
from tflm_memopt.runtime import host
from tflm_memopt.runtime.host import WAIT, Bytes, DeviceArena, OpIteration, Status
from tflm_memopt.runtime.stimuli import Array

MORE = 1


class _Loop(ctypes.Structure):
    _fields_ = [("body", ctypes.c_void_p), ("left", ctypes.c_uint32)]


class _RunState(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("program", "io", "workspace", "stream", "group", "at")),
        ("loops", _Loop * LOOP_DEPTH),
        *((name, ctypes.c_uint32) for name in ("rows", "iterations", "depth")),
        ("op", ctypes.c_uint16),
        ("current", host._Iteration),
    ]


def library() -> ctypes.CDLL:
    found, pointer, state = host._library(), ctypes.c_void_p, ctypes.POINTER(_RunState)
    addresses, numbers = ctypes.POINTER(pointer), ctypes.POINTER(ctypes.c_uint32)
    found.tmo_run_paused.argtypes = [pointer, addresses, pointer, numbers, ctypes.c_uint32, pointer]
    found.tmo_begin.argtypes, found.tmo_begin.restype = [state, pointer, addresses, pointer], None
    found.tmo_step.argtypes = [state]
    found.tmo_more_rows.argtypes, found.tmo_more_rows.restype = [state], None
    found.tmo_check_cores.argtypes = [pointer]
    if hasattr(found, "tmo_run_threads"):
        found.tmo_run_threads.argtypes = [pointer, addresses, pointer, ctypes.c_uint32]
    return found


def check_cores(program: bytes) -> Status:
    image = host.aligned(program)
    return Status(library().tmo_check_cores(image.ctypes.data))


def run_shared(
    program: bytes, arena: DeviceArena, inputs: Sequence[Array], output_bytes: Sequence[int], jitter: int = 0
) -> list[Bytes]:
    """Run one inference on two threads, with all buffers at their addresses on the device. Raises ModelError if the
    executor refuses the program.

    The argument `jitter` is the seed of random delays, or 0 for no delays.
    """
    host._accept(host.check(program, [i.nbytes for i in inputs], output_bytes))
    host._accept(check_cores(program))
    arena, slow_at = host._with_slow(arena, host.slow_bytes(program))
    image = host.aligned(program)
    memory = host._filled(arena, inputs, InputPlace.ARENA, host.new_state(program), 0)
    addresses = [memory.ctypes.data + at for at in (*arena.inputs, *arena.outputs, slow_at)]
    io = (ctypes.c_void_p * len(addresses))(*addresses)
    status = library().tmo_run_threads(image.ctypes.data, io, memory.ctypes.data + arena.workspace, jitter)
    host._accept(Status(status))
    return [memory[at : at + n].view(np.int8).copy() for at, n in zip(arena.outputs, output_bytes, strict=True)]


def iteration_order(program: bytes, inputs: Sequence[Array], output_bytes: Sequence[int]) -> list[OpIteration]:
    """Run one inference, and return its iterations in execution order."""
    buffers, state, executor = host._Buffers(program, inputs, output_bytes), _RunState(), library()
    executor.tmo_begin(ctypes.byref(state), buffers.image.ctypes.data, buffers.io, buffers.workspace.ctypes.data)
    order = []
    status, pushes = MORE, iter(buffers.pushes[1:])
    while status in (MORE, WAIT):
        left = state.iterations
        status = executor.tmo_step(ctypes.byref(state))
        if state.iterations < left or status < 0:
            order.append(host._iteration(state))
        if status == WAIT and not buffers.pushes:
            break
        if status == WAIT:
            buffers.inputs[0].ravel().view(np.uint8)[:] = next(pushes)
            executor.tmo_more_rows(ctypes.byref(state))
    host._accept(host._ended(status))
    return order
