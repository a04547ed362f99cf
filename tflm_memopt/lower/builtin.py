"""Writes builtin operators into the rewritten model."""

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from tflm_memopt.errors import PlanError
from tflm_memopt.model import writer
from tflm_memopt.model.graph import OPERANDS, VIEW, Op
from tflm_memopt.rewrite.parts import PART

CUSTOM = "CUSTOM"
_OPTIONS: Mapping[str, Callable[[Op], Any]] = {
    "CONCATENATION": lambda op: schema.ConcatenationOptionsT(axis=op.options["axis"]),
    "PAD": lambda op: schema.PadOptionsT(),
    "SLICE": lambda op: schema.SliceOptionsT(),
}


def operators(tree: Any, op: Op, originals: Sequence[Any]) -> list[Any]:
    """An operator that only changes a shape reads the new shape from a constant. A change of shape that is not in the
    original model becomes a RESHAPE. Raises PlanError if an operator that computes values has other inputs than in the
    original model.
    """
    if PART in op.options:
        return [_part(tree, op, originals)]
    kept = [originals[i] for i in op.stands_for]
    if op.type == VIEW:
        same = [
            one
            for one in kept
            if int(tree.operatorCodes[one.opcodeIndex].builtinCode) in VIEWS
            and (one.inputs[0], one.outputs[0]) == (op.inputs[0], op.outputs[0])
        ]
        if not same:
            return [writer.operator(writer.add_opcode(tree, "RESHAPE"), op.inputs, op.outputs)]
        same[0].inputs = np.array([op.inputs[0], *op.options[OPERANDS]], np.int32)
        return same[:1]
    if not any(np.array_equal(one.inputs, op.inputs) for one in kept):
        raise PlanError(f"operator {op.index} {op.type} stays builtin, but the plan changed its inputs")
    return kept


VIEWS = tuple(getattr(schema.BuiltinOperator, kind) for kind in ("RESHAPE", "SQUEEZE", "EXPAND_DIMS"))


def _part(tree: Any, op: Op, originals: Sequence[Any]) -> Any:
    if op.type == CUSTOM:
        opcode = writer.add_opcode(tree, CUSTOM, custom_code=op.options["custom_code"])
        return writer.operator(opcode, op.inputs, op.outputs, op.options["custom_options"])
    if not op.sources:
        new = writer.operator(writer.add_opcode(tree, op.type), op.inputs, op.outputs)
        new.builtinOptions = _OPTIONS[op.type](op)
        new.builtinOptionsType = getattr(schema.BuiltinOptions, type(new.builtinOptions).__name__.removesuffix("T"))
        return new
    part = copy.deepcopy(originals[op.sources[0]])
    part.inputs, part.outputs = np.asarray(op.inputs, np.int32), np.asarray(op.outputs, np.int32)
    if op.type == "RESHAPE":
        part.builtinOptions = schema.ReshapeOptionsT()
    if "padding" in op.options:
        part.builtinOptions.padding = getattr(schema.Padding, str(op.options["padding"]))
    return part
