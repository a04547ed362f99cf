"""Flash that an original or rewritten model needs in a device (analysis/flash.py)."""

from __future__ import annotations

import numpy as np

from tflm_memopt.analysis.flash import Firmware
from tflm_memopt.emit.kernels import Needs, Part, needs
from tflm_memopt.lower.records import HEADER
from tflm_memopt.model.names import OURS
from tflm_memopt.model.reader import CUSTOM, Model, read
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.packing import Family, Packing


def firmware(data: bytes) -> Firmware:
    """Return what a .tflite file needs."""
    return firmware_of(read(data), len(data))


def firmware_of(model: Model, nbytes: int) -> Firmware:
    """Return what a model with all its subgraphs needs; `nbytes` is the size of its file."""
    graphs = model.graphs
    mine = [(g, op) for g in graphs for op in g.ops if op.type == CUSTOM and op.options["custom_code"] in OURS]
    constants = [g.tensors[op.inputs[-1]].data for g, op in mine if op.inputs]
    programs = [constant.tobytes() for constant in constants if constant is not None]
    others = (op for g in graphs for op in g.ops if all(op is not ours for _, ours in mine))
    operators = dict.fromkeys(str(op.options["custom_code"]) if op.type == CUSTOM else op.type for op in others)
    packed = frozenset(Family(int(np.frombuffer(program, HEADER, 1)[0]["target"])) for program in programs)
    return Firmware(nbytes, tuple(operators), _parts(needs(programs)), rewritten=bool(mine), packed=packed)


def _parts(needed: Needs) -> tuple[str, ...]:
    """Return the names of the library parts that a program needs."""
    kinds = [kind.name for kind in Kind if needed.kinds >> kind & 1]
    packings = [packing.name for packing in Packing if needed.packings >> packing & 1]
    return (*kinds, *packings, *(part.name for part in Part if needed.parts >> part & 1))
