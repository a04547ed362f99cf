"""Writes NAME_ops.h, which has an op resolver for a model's operators, and the size of the arena."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tflm_memopt.answers.report import Report
from tflm_memopt.emit.border import Border, border, scales
from tflm_memopt.emit.embedded import file_name, symbol
from tflm_memopt.emit.kernels import needs
from tflm_memopt.emit.names import comment, guard, identifier
from tflm_memopt.emit.templates import rendered
from tflm_memopt.format.codes import Part
from tflm_memopt.model.names import OURS
from tflm_memopt.model.reader import CUSTOM, Model
from tflm_memopt.ops.packing import Family, family
from tflm_memopt.runtime.regions import regions
from tflm_memopt.tflm.accepted import CUSTOM_OPERATORS, FORMS
from tflm_memopt.tflm.arena import Arena, predict_together
from tflm_memopt.tflm.libraries import EARLY_2023, Library, library
from tflm_memopt.tflm.structs import Abi

ARENA_ALIGNMENT = 16
"""Alignment in bytes of the start and the end of TFLM's arena (MicroArenaBufferAlignment, micro_arena_constants.h)."""


def _method(operator: str) -> str:
    """Return the name of the op resolver's method that adds a builtin operator.

    >>> _method("DEPTHWISE_CONV_2D"), _method("UNIDIRECTIONAL_SEQUENCE_LSTM")
    ('AddDepthwiseConv2D', 'AddUnidirectionalSequenceLSTM')
    """
    words = "".join(word.capitalize() for word in operator.split("_"))
    return "Add" + re.sub("2d$|Lstm$", lambda end: end[0].upper(), words)


BUILTIN_METHODS: Mapping[str, str] = {operator: _method(operator) for operator in FORMS} | {
    "BATCH_MATMUL": "AddBatchMatMul", "CUMSUM": "AddCumSum", "PADV2": "AddPadV2",
}  # fmt: skip
CUSTOM_METHODS: Mapping[str, str] = {name: f"Add{name.removeprefix('Signal')}" for name in sorted(CUSTOM_OPERATORS)} | {
    "CIRCULAR_BUFFER": "AddCircularBuffer", "TFLM_DECODE": "AddDecode",
    "TFLite_Detection_PostProcess": "AddDetectionPostprocess", "ethos-u": "AddEthosU",
}  # fmt: skip
"""Maps the name of a custom operator to the method of TFLM's MicroMutableOpResolver that adds the operator.

Source: tensorflow/lite/micro/micro_mutable_op_resolver.h.
"""

AFTER_2023 = frozenset(("AddDecode", "AddDynamicUpdateSlice", "AddReduceAll", "AddReduceMin", "AddReverseV2"))


@dataclass(frozen=True, slots=True)
class Needed:
    """An operator that the model needs. The C++ code `add` adds the operator to `resolver`, or is "" if the user must
    add it.
    """

    operator: str
    add: str
    note: str = ""


def needed(model: Model, library: str, *, shared: bool = False) -> tuple[Needed, ...]:
    """Return each operator of the model once, even if several subgraphs have the operator.

    The argument `library` is the name of the tmo_library with the code of the custom operators (emit/embedded.py).
    """
    ops = (op for graph in model.graphs for op in graph.ops)
    names = dict.fromkeys(
        (op.type == CUSTOM, str(op.options["custom_code"]) if op.type == CUSTOM else op.type) for op in ops
    )
    return tuple(_needed(name, library, custom=custom, shared=shared) for custom, name in names)


def _needed(name: str, library: str, *, custom: bool, shared: bool) -> Needed:
    if custom and name in OURS:
        registration = f"tmo::RegisterRegion{'Shared' * shared}<&{library}>({'team' * shared})"
        return Needed(name, f'AddCustom("{name}", {registration})')
    method = (CUSTOM_METHODS if custom else BUILTIN_METHODS).get(name)
    if method is None:
        note = "your own custom operator: add it to the returned resolver" if custom else "TFLM has no kernel for it"
        return Needed(name, "", note)
    return Needed(name, f"{method}()", "needs a TFLM later than 2023" if method in AFTER_2023 else "")


def arena_bytes(model: Model, report: Report) -> int:
    """Return an arena size in bytes that suffices for all builds of TFLM with the pointer width of the report."""
    return enough(_builds(model, report))


def _builds(model: Model, report: Report) -> Mapping[str, int]:
    return builds([model], report.arena, [library(report.arena.kernels, mve=family(report.target) is Family.MVE)])


def enough(arenas: Mapping[str, int]) -> int:
    return -(-max(arenas.values()) // ARENA_ALIGNMENT) * ARENA_ALIGNMENT


def builds(models: Sequence[bytes | Model], arena: Arena, libraries: Sequence[Library]) -> Mapping[str, int]:
    """Return the arena size in bytes for each build of TFLM.

    The argument `arena` is for a Cortex-M build. TFLM's structs are larger in Arduino libraries, and on RISC-V and
    Xtensa. TFLM libraries of early 2023 have older kernels.
    """
    full: Abi = "ilp32-full" if arena.abi.startswith("ilp32") else "lp64-full"
    arenas = {
        f"built with TF_LITE_STATIC_MEMORY, {arena.abi}": arena,
        "without it": predict_together(models, full, libraries=libraries),
        "without it, reference kernels of January 2023": predict_together(
            models, full, libraries=[EARLY_2023] * len(models)
        ),
    }
    return {build: max(arena.min, arena.total) for build, arena in arenas.items()}


def ops_header(name: str, model: Model, report: Report, ports: Border | None = None, library: str = "") -> str:
    """The code of the custom operators is in LIBRARY_library.c or, by default, in NAME_library.c."""
    c, stem, shared = identifier(name), library or name, bool(report.cores)
    operators, arenas = needed(model, symbol(stem), shared=shared), _builds(model, report)
    return rendered(
        "ops.h.jinja",
        name=name, c=c, guard=guard(name, "ops"), shared=shared, report=report, operators=operators, arenas=arenas,
        nbytes=enough(arenas), alignment=ARENA_ALIGNMENT, limit=_limit(model), comment=comment,
        ours=any(n.operator in OURS for n in operators), kept=[n.operator for n in operators if n.operator not in OURS],
        scales=list(scales(c, ports or border(model))), table=symbol(stem), library_file=comment(file_name(stem)),
    )  # fmt: skip


def _limit(model: Model) -> str:
    parts = needs(region.program for region in regions(model)).parts
    return "--memory" if parts >> Part.LINK & 1 else "--ram-limit"
