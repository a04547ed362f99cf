"""A rewritten model as a C11 module for custom_ops/src alone: its ports, its programs, and where their bytes are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tflm_memopt.emit.embedded import symbol
from tflm_memopt.emit.names import identifier
from tflm_memopt.emit.ports import Ports, ports
from tflm_memopt.errors import UsageError
from tflm_memopt.model.graph import TensorId
from tflm_memopt.model.reader import Model
from tflm_memopt.results import FrameReport, WindowReport
from tflm_memopt.runtime.regions import CustomOperator, addresses, is_region, regions


@dataclass(frozen=True, slots=True)
class InApp:
    """What a model has of the application in whose arena it runs."""

    header: str
    """The application's, without its suffix."""
    prefix: str
    """The first part of the application's identifiers."""
    model: str
    """The model among those that take turns."""
    pauses: tuple[int, ...]
    """After so many firings it lets others run."""

    @property
    def turn(self) -> str:
        """Arguments of the functions of tmo/turns.h."""
        return f"&{self.prefix}_turns, {self.model}"


@dataclass(frozen=True, slots=True)
class Module:
    """All that the two files say."""

    name: str
    prefix: str
    regions: tuple[CustomOperator, ...]
    """In the order in which they run. Their tensors are in their own order, not in the model's."""
    workspaces: tuple[int, ...]
    """Bytes, of each region."""
    sizes: Mapping[TensorId, int]
    """Bytes of each tensor that a region reads or writes."""
    arena: int
    """Bytes."""
    at: Mapping[TensorId, int]
    """Offsets in the arena: of all that the regions read and write, and of the model's inputs and outputs."""
    ports: Ports
    """The model's own, in the model's order. Of a streamed input, the rows of one push."""
    constants: Mapping[TensorId, bytes]
    """Outputs of the model that are no part of the arena."""
    frame: FrameReport | None
    """The input, if it is not in the arena as a whole."""
    window: WindowReport | None
    """What the input is a part of, if a window slides."""
    shared: InApp | None = None
    """None: the arena is the module's own."""

    @property
    def macro(self) -> str:
        """The first part of its constants."""
        return self.prefix.upper()

    @property
    def library_stem(self) -> str:
        """Stem of the *_library.c whose code runs it."""
        return self.shared.header if self.shared else self.name

    @property
    def library(self) -> str:
        """The table of that file."""
        return symbol(self.library_stem)

    @property
    def external(self) -> bool:
        return self.frame is not None and not self.frame.pushed

    @property
    def streamed(self) -> bool:
        return self.frame is not None and self.frame.pushed > 0


def module(
    name: str, model: Model, frame: FrameReport | None = None, left: str = "", window: WindowReport | None = None
) -> Module:
    """The module of a rewritten model. Raises UsageError unless all of its operators are tflm-memopt's.

    frame, window: its input, where it is streamed or external, or slides. left: for the message, what stays builtin, or
    why all does.
    """
    found = tuple(regions(model))
    if not found or not all(is_region(op) for op in model.graph.ops):
        raise UsageError(
            "without an interpreter nothing runs the operators that stay builtin",
            code="module_builtin",
            where=left,
            hint="--emit cpp, under TensorFlow Lite Micro; inspect says why they stay",
        )
    tensors, prefix = model.graph.tensors, identifier(name)
    border = ports(prefix, model.graph)
    constants = {
        t: np.ascontiguousarray(d).tobytes() for t in model.graph.outputs if (d := tensors[t].data) is not None
    }
    used = [t for r in found for t in (*r.inputs, *r.outputs, *r.own)]
    arena, at = addresses(model, dict.fromkeys((*used, *(p.tensor for p in border.all if p.tensor not in constants))))
    return Module(
        name,
        prefix,
        found,
        tuple(0 if r.workspace is None else tensors[r.workspace].nbytes for r in found),
        {t: tensors[t].nbytes for t in used},
        arena,
        at,
        border,
        constants,
        frame,
        window,
    )
