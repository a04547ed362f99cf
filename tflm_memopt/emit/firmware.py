"""Computes the flash that a model takes on a device, and the RAM of a model's C module."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tflm_memopt.analysis.flash import Firmware
from tflm_memopt.emit.kernels import needs
from tflm_memopt.emit.module import Module, module
from tflm_memopt.format.codes import InputPlace, Part
from tflm_memopt.lower.program import HEADER
from tflm_memopt.model.reader import CUSTOM, Model, is_region, read
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.packing import Family, Packing
from tflm_memopt.tflm.arena import Arena
from tflm_memopt.tflm.structs import Abi

STREAM = 8


def firmware(data: bytes, *, interpreter: bool = True) -> Firmware:
    """Return the flash that a .tflite file takes under TFLM or, if `interpreter` is false, as a C module."""
    return firmware_of(read(data), len(data)) if interpreter else module_firmware(read(data))


def together(each: Sequence[Firmware]) -> Firmware:
    """Return the flash of one firmware with several models, which share operators and library code."""
    operators = dict.fromkeys(name for one in each for name in one.operators)
    parts = dict.fromkeys(name for one in each for name in one.parts)
    rewritten = any(one.rewritten for one in each)
    packed = frozenset(family for one in each for family in one.packed)
    interpreter = any(one.interpreter for one in each)
    model = sum(one.model for one in each)
    return Firmware(model, tuple(operators), tuple(parts), rewritten, packed, interpreter)


def firmware_of(model: Model, nbytes: int) -> Firmware:
    graphs = model.graphs
    mine = [(g, op) for g in graphs for op in g.ops if is_region(op)]
    constants = [g.tensors[op.inputs[-1]].data for g, op in mine if op.inputs]
    programs = [constant.tobytes() for constant in constants if constant is not None]
    others = (op for g in graphs for op in g.ops if all(op is not ours for _, ours in mine))
    operators = dict.fromkeys(str(op.options["custom_code"]) if op.type == CUSTOM else op.type for op in others)
    parts, packed = _of_programs(programs) if programs else ((), frozenset())
    return Firmware(nbytes, tuple(operators), parts, rewritten=bool(mine), packed=packed)


def is_module(model: Model) -> bool:
    """Return whether all operators are custom operators of this package, so that a C module can run the model."""
    return bool(model.graph.ops) and all(is_region(op) for op in model.graph.ops)


def module_firmware(model: Model) -> Firmware:
    whole = module("model", model)
    nbytes = sum(len(region.program) for region in whole.regions) + sum(map(len, whole.constants.values()))
    return replace(firmware_of(model, nbytes), interpreter=False)


def module_arena(model: Model, abi: Abi) -> Arena:
    return modules_arena([module("model", model)], abi)


def modules_arena(together: Sequence[Module], abi: Abi) -> Arena:
    """Return the static RAM of C modules that share an arena. The RAM includes a tmo_stream for each module with a
    streamed input.
    """
    streams = sum(any(region.input == InputPlace.STREAM for region in one.regions) for one in together)
    head, tail = together[0].arena, STREAM * streams
    return Arena(abi, head=head, tail=tail, total=head + tail, min=head + tail)


def _of_programs(programs: Sequence[bytes]) -> tuple[tuple[str, ...], frozenset[Family]]:
    needed = needs(programs)
    kinds = [kind.name for kind in Kind if needed.kinds >> kind & 1]
    packings = [packing.name for packing in Packing if needed.packings >> packing & 1]
    parts = [part.name for part in Part if needed.parts >> part & 1]
    packed = (Family(int(np.frombuffer(program, HEADER, 1)[0]["target"])) for program in programs)
    return (*kinds, *packings, *parts), frozenset(packed)
