"""Flash that an original or rewritten model needs on a device (analysis/flash.py), and RAM of its C module."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tflm_memopt.analysis.flash import Firmware
from tflm_memopt.format.codes import InputPlace, Part
from tflm_memopt.model.reader import CUSTOM, Model, is_region, read
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.packing import Family, Packing
from tflm_memopt.tflm.arena import Arena
from tflm_memopt.tflm.structs import Abi

if TYPE_CHECKING:
    from tflm_memopt.emit.module import Module

STREAM = 8
"""Bytes of a tmo_stream."""


def firmware(data: bytes, *, interpreter: bool = True) -> Firmware:
    """Return the flash and RAM that a .tflite file needs or, if TFLM does not run it, that its C module needs."""
    return firmware_of(read(data), len(data)) if interpreter else module_firmware(read(data))


def together(each: Sequence[Firmware]) -> Firmware:
    """Return the requirements of one firmware that contains all models. Operators and library parts that several models
    need count once.
    """
    operators = dict.fromkeys(name for one in each for name in one.operators)
    parts = dict.fromkeys(name for one in each for name in one.parts)
    rewritten = any(one.rewritten for one in each)
    packed = frozenset(family for one in each for family in one.packed)
    interpreter = any(one.interpreter for one in each)
    model = sum(one.model for one in each)
    return Firmware(model, tuple(operators), tuple(parts), rewritten, packed, interpreter)


def firmware_of(model: Model, nbytes: int) -> Firmware:
    """Return the requirements of a model with all its subgraphs. nbytes: size of the model's file."""
    graphs = model.graphs
    mine = [(g, op) for g in graphs for op in g.ops if is_region(op)]
    constants = [g.tensors[op.inputs[-1]].data for g, op in mine if op.inputs]
    programs = [constant.tobytes() for constant in constants if constant is not None]
    others = (op for g in graphs for op in g.ops if all(op is not ours for _, ours in mine))
    operators = dict.fromkeys(str(op.options["custom_code"]) if op.type == CUSTOM else op.type for op in others)
    parts, packed = _of_programs(programs) if programs else ((), frozenset())
    return Firmware(nbytes, tuple(operators), parts, rewritten=bool(mine), packed=packed)


def is_module(model: Model) -> bool:
    """Whether a C module can run the model, because all operators of the model are our regions."""
    return bool(model.graph.ops) and all(is_region(op) for op in model.graph.ops)


def module_firmware(model: Model) -> Firmware:
    """Flash used by the C module of a model, without the stored sample, which only the self-test needs."""
    from tflm_memopt.emit.module import module  # noqa: PLC0415 (slow to import, and only C modules need it)

    whole = module("model", model)
    nbytes = sum(len(region.program) for region in whole.regions) + sum(map(len, whole.constants.values()))
    return replace(firmware_of(model, nbytes), interpreter=False)


def module_arena(model: Model, abi: Abi) -> Arena:
    """Static RAM of the C module of a model."""
    from tflm_memopt.emit.module import module  # noqa: PLC0415 (see module_firmware)

    return modules_arena([module("model", model)], abi)


def modules_arena(together: Sequence[Module], abi: Abi) -> Arena:
    """Static RAM of C modules in one arena: the arena, and the state of a run for each streamed input."""
    streams = sum(any(region.input == InputPlace.STREAM for region in one.regions) for one in together)
    head, tail = together[0].arena, STREAM * streams
    return Arena(abi, head=head, tail=tail, total=head + tail, min=head + tail)


def _of_programs(programs: Sequence[bytes]) -> tuple[tuple[str, ...], frozenset[Family]]:
    """Return the names of the library parts that programs need, and the core families for which they are packed."""
    from tflm_memopt.emit.kernels import needs  # noqa: PLC0415 (slow to import, and original models need no part)
    from tflm_memopt.lower.program import HEADER  # noqa: PLC0415 (the same)

    needed = needs(programs)
    kinds = [kind.name for kind in Kind if needed.kinds >> kind & 1]
    packings = [packing.name for packing in Packing if needed.packings >> packing & 1]
    parts = [part.name for part in Part if needed.parts >> part & 1]
    packed = (Family(int(np.frombuffer(program, HEADER, 1)[0]["target"])) for program in programs)
    return (*kinds, *packings, *parts), frozenset(packed)
