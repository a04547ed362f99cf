"""Reads the programs of a rewritten model, and the addresses of their buffers in the model's memory plan."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tflm_memopt.errors import ModelError
from tflm_memopt.format.codes import InputPlace
from tflm_memopt.format.limits import ALIGNMENT
from tflm_memopt.lower.serialise import unpack
from tflm_memopt.model import interface
from tflm_memopt.model.graph import Graph, Op, TensorId
from tflm_memopt.model.names import OFFLINE_PLAN, ONLINE
from tflm_memopt.model.reader import Model, describe, is_region
from tflm_memopt.ops.kinds import traits
from tflm_memopt.runtime import host

PAUSING = 2
"""An operator that pauses has two additional inputs: the places of the pauses, and the progress."""
OFFLINE_HEADER = 3
"""An offline memory plan has three int32 values before its offsets: a version, a number of subgraphs and a number of
tensors.
"""


@dataclass(frozen=True, slots=True)
class CustomOperator:
    op: Op
    program: bytes
    inputs: tuple[TensorId, ...]
    outputs: tuple[TensorId, ...]
    workspace: TensorId | None
    state: TensorId | None = None
    input: int = InputPlace.ARENA
    """Place of the program's first input, as a value of InputPlace; an external input is not in `inputs`."""
    pauses: bool = False

    @property
    def own(self) -> tuple[TensorId, ...]:
        return tuple(t for t in (self.workspace, self.state) if t is not None)


def region_of(graph: Graph, op: Op) -> CustomOperator:
    constant = graph.tensors[op.inputs[-1]].data if op.inputs else None
    if constant is None:
        raise ModelError(
            "its last input must be the program, a constant",
            code="damaged_program",
            where=f"operator {op.index}",
            hint="convert the model again",
        )
    data = constant.tobytes()
    mode = host.input_mode(data)
    stateful = host.state_bytes(data) > 0
    here = len(op.inputs) - 1 + (mode == InputPlace.EXTERNAL)
    waits = mode in (InputPlace.STREAM, InputPlace.LINK)
    pauses = not stateful and not waits and here == host.inputs_of(data) + PAUSING
    variables = PAUSING if pauses else int(waits or stateful)
    workspace = op.outputs[-1] if host.workspace_bytes(data) else None
    outputs = op.outputs if workspace is None else op.outputs[:-1]
    return CustomOperator(
        op, data, op.inputs[: -1 - variables], outputs, workspace, op.inputs[-2] if stateful else None, mode, pauses
    )


def regions(model: Model) -> list[CustomOperator]:
    return [region_of(model.graph, op) for op in model.graph.ops if is_region(op)]


def demand_sound(model: Model) -> None:
    """Raise ModelError if the C library would refuse a program of a rewritten model.

    A program with a user's kernel is accepted even if the process lacks the description of the kernel. Raises
    RuntimeUnavailable if the compiled host library is missing.
    """
    for region in regions(model):
        tensors, external = model.graph.tensors, [0] * (region.input == InputPlace.EXTERNAL)
        inputs, outputs = ([tensors[t].nbytes for t in ids] for ids in (region.inputs, region.outputs))
        workspace = 0 if region.workspace is None else tensors[region.workspace].nbytes
        status = host.check(region.program, [*external, *inputs], outputs, workspace)
        own = status is host.Status.KERNEL and any(traits(op.kind).named for op in unpack(region.program).ops)
        if status is not host.Status.OK and not own:
            raise ModelError(
                f"the program of the rewritten model cannot run: {status.text}",
                code="damaged_program",
                where=describe(region.op),
                hint="optimize the original model again",
            )


def external_shape(own: Iterable[CustomOperator]) -> tuple[int, int, int]:
    return next(host.source_shape(region.program) for region in own if region.input == InputPlace.EXTERNAL)


def placement(model: Model, region: CustomOperator) -> host.DeviceArena:
    nbytes, at = addresses(model, (*region.inputs, *region.outputs, *region.own))
    return host.DeviceArena(
        nbytes=nbytes,
        inputs=tuple(at[t] for t in region.inputs),
        outputs=tuple(at[t] for t in region.outputs),
        workspace=0 if region.workspace is None else at[region.workspace],
        state=None if region.state is None else at[region.state],
    )


def _planned(model: Model, tensors: Iterable[TensorId]) -> dict[TensorId, int]:
    plan = interface.metadata(model.tree, OFFLINE_PLAN)
    offsets = [] if plan is None else np.frombuffer(plan, "<i4")[OFFLINE_HEADER:].tolist()
    return {t: offsets[t] for t in tensors if t < len(offsets) and offsets[t] != ONLINE}


def addresses(model: Model, tensors: Iterable[TensorId], *, relative: bool = True) -> tuple[int, dict[TensorId, int]]:
    """Return the size in bytes of an arena with the given tensors, and the offset of each tensor.

    Tensors without an offset in the model's metadata come last. If `relative` is true, offsets count from the lowest
    planned offset.
    """
    wanted = tuple(tensors)
    fixed = _planned(model, wanted)
    lowest = min(fixed.values(), default=0) if relative else 0
    at = {t: offset - lowest for t, offset in fixed.items()}
    end = max((at[t] + model.graph.tensors[t].nbytes for t in at), default=0)
    for t in wanted:
        if t not in at:
            at[t] = -(-end // ALIGNMENT) * ALIGNMENT
            end = at[t] + model.graph.tensors[t].nbytes
    return end, at
