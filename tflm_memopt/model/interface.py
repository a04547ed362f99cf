"""Describes and compares the inputs and outputs of models. If a rewrite such as `--int8-io` changes inputs or
outputs, the metadata of the rewritten model records the changes.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from tflm_memopt.errors import InterfaceError
from tflm_memopt.model.graph import Graph, Quantization, Tensor
from tflm_memopt.model.reader import text

ANY = "any"
"""Word in `Changes.kernels` for a plan that is valid with all TFLM kernels."""
METADATA = "tflm-memopt"
"""Name of the metadata entry in which the package records its rewrite."""


@dataclass(frozen=True, slots=True)
class Format:
    """Format of an input or output. If the format has a scale, the value q stands for the real number scale * (q -
    zero_point).
    """

    dtype: str
    scale: float | None = None
    zero_point: int | None = None

    def __str__(self) -> str:
        return self.dtype if self.scale is None else f"{self.dtype} scale {self.scale:.9g} zero point {self.zero_point}"


@dataclass(frozen=True, slots=True)
class Change:
    index: int
    name: str
    before: Format
    after: Format


@dataclass(frozen=True, slots=True)
class Changes:
    inputs: tuple[Change, ...] = ()
    outputs: tuple[Change, ...] = ()
    input: str = ""
    """Place of the only input: "stream:ROWS", "sliding:ROWS" or "external" as in `--input`, or "" for the arena."""
    kernels: str = ""
    """TFLM kernels for which a plan with builtin operators is valid, as in `--kernels`, or ANY."""

    def __bool__(self) -> bool:
        return bool(self.inputs or self.outputs or self.input or self.kernels)

    def to_json(self) -> dict[str, Any]:
        return {"inputs": [_change_json(c) for c in self.inputs], "outputs": [_change_json(c) for c in self.outputs]}


def format_of(tensor: Tensor) -> Format:
    """Return the format of an input or output that is quantized per tensor or not quantized."""
    q = tensor.quantization
    return Format(tensor.dtype) if q is None else Format(tensor.dtype, q.scale[0], q.zero_point[0])


def metadata(tree: Any, name: str) -> bytes | None:
    """Return the bytes of the metadata entry `name`, or None if the model has no such entry. The argument `tree` is a
    ModelT of the schema.
    """
    for entry in tree.metadata or ():
        if text(entry.name) == name:
            data = tree.buffers[entry.buffer].data
            return b"" if data is None else bytes(data)
    return None


def record(changes: Changes) -> bytes:
    said = {"input": changes.input, "kernels": changes.kernels}
    return json.dumps({"interface": changes.to_json()} | {key: what for key, what in said.items() if what}).encode()


def changes_of(metadata: bytes | None) -> Changes:
    """Return the changes of inputs and outputs that a model's metadata records."""
    if metadata is None:
        return Changes()
    try:
        document = json.loads(metadata)
        interface = document.get("interface", {})
        inputs, outputs = (tuple(_change(c) for c in interface.get(side, ())) for side in ("inputs", "outputs"))
        return Changes(inputs, outputs, str(document.get("input", "")), str(document.get("kernels", "")))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InterfaceError(
            f"the record of interface changes is unreadable: {error!r}",
            code="damaged_model",
            where=f"metadata '{METADATA}'",
            hint="rewrite the model again",
        ) from error


def with_whole_input(original: Graph, rewritten: Graph, changes: Changes) -> Graph:
    """Return the rewritten graph, changed so that the whole input of the original graph is in the arena. Raises
    InterfaceError if the rewritten model cannot come from the original model.
    """
    if not changes.input:
        return rewritten
    external, where = changes.input == "external", f"metadata '{METADATA}'"
    if len(original.inputs) != 1 or len(rewritten.inputs) != (0 if external else 1):
        raise _differs(f"{len(original.inputs)} inputs", f"{len(rewritten.inputs)}, {changes.input}", where)
    old = original.tensors[original.inputs[0]]
    if not external:
        new = rewritten.tensors[rewritten.inputs[0]]
        slides = changes.input.startswith("sliding")  # a sliding window may have any number of rows
        if not new.elements or (old.elements % new.elements and not slides):
            raise _differs(f"shape {list(old.shape)}", f"pushes of {list(new.shape)}", where)
        return replace(rewritten, tensors={**rewritten.tensors, new.id: replace(new, shape=old.shape)})
    new = replace(old, id=max(rewritten.tensors, default=-1) + 1)
    for change in changes.inputs:
        if change.after.scale is not None and change.after.zero_point is not None:
            quantization = Quantization((change.after.scale,), (change.after.zero_point,))
            new = replace(new, dtype=change.after.dtype, quantization=quantization)
    return replace(rewritten, tensors={**rewritten.tensors, new.id: new}, inputs=(new.id,))


def compare(original: Graph, rewritten: Graph, changes: Changes) -> None:
    """Raise InterfaceError if inputs or outputs of two models differ in anything besides the recorded changes."""
    inputs = ([graph.tensors[i] for i in graph.inputs] for graph in (original, rewritten))
    outputs = ([graph.tensors[i] for i in graph.outputs] for graph in (original, rewritten))
    _compare_side("input", changes.inputs, *inputs)
    _compare_side("output", changes.outputs, *outputs)


def _compare_side(side: str, changes: Sequence[Change], before: Sequence[Tensor], after: Sequence[Tensor]) -> None:
    if len(before) != len(after):
        raise _differs(f"{len(before)} {side}s", f"{len(after)}", f"{side}s")
    changed = {change.index: change for change in changes}
    if changed.keys() - range(len(before)):
        raise _differs(f"{len(before)} {side}s", f"a recorded change of {side} {max(changed)}", f"{side}s")
    for index, (old, new) in enumerate(zip(before, after, strict=True)):
        where = f"{side} {index} '{old.label}'"
        change = changed.get(index)
        if old.shape != new.shape:
            raise _differs(f"shape {list(old.shape)}", f"{list(new.shape)}", where)
        if old.name != new.name:
            raise _differs(f"the name '{old.name}'", f"'{new.name}'", where)
        if change is None and (old.dtype, old.quantization) != (new.dtype, new.quantization):
            raise _differs(str(format_of(old)), str(format_of(new)), where)
        if change is not None and (change.name, change.before) != (old.name, format_of(old)):
            raise _differs(
                f"'{old.name}', {format_of(old)}", f"a recorded change of '{change.name}', {change.before}", where
            )
        if change is not None and change.after != format_of(new):
            raise _differs(f"a recorded change to {change.after}", str(format_of(new)), where)


def _differs(before: str, after: str, where: str) -> InterfaceError:
    return InterfaceError(
        f"the interfaces differ without a recorded change: {before} became {after}",
        where=where,
        hint="compare a model with its own rewrite",
    )


def _change(data: Mapping[str, Any]) -> Change:
    return Change(int(data["index"]), str(data["name"]), _format(data["from"]), _format(data["to"]))


def _change_json(change: Change) -> dict[str, Any]:
    return {
        "index": change.index,
        "name": change.name,
        "from": _format_json(change.before),
        "to": _format_json(change.after),
    }


def _format(data: Mapping[str, Any]) -> Format:
    if data.get("scale") is None:
        return Format(str(data["dtype"]))
    return Format(str(data["dtype"]), float(data["scale"]), int(data["zero_point"]))


def _format_json(form: Format) -> dict[str, Any]:
    return {name: value for name, value in asdict(form).items() if value is not None}
