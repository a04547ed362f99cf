"""Collects the contents of a C11 module that runs a rewritten model: inputs, outputs, programs and buffer offsets."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tflm_memopt.answers.report import SourceReport, WindowReport
from tflm_memopt.emit.embedded import symbol
from tflm_memopt.emit.names import identifier
from tflm_memopt.emit.ports import Ports, ports
from tflm_memopt.errors import UsageError
from tflm_memopt.model.graph import TensorId
from tflm_memopt.model.reader import Model, is_region
from tflm_memopt.runtime import host
from tflm_memopt.runtime.regions import CustomOperator, addresses, regions


@dataclass(frozen=True, slots=True)
class InApp:
    header: str
    prefix: str
    model: str
    pauses: tuple[int, ...]
    """Indices of the iterations after which the model pauses, so that another model can run."""

    @property
    def turn(self) -> str:
        return f"&{self.prefix}_turns, {self.model}"


@dataclass(frozen=True, slots=True)
class Module:
    name: str
    prefix: str
    regions: tuple[CustomOperator, ...]
    workspaces: tuple[int, ...]
    """Size in bytes of the workspace of each custom operator."""
    sizes: Mapping[TensorId, int]
    arena: int
    at: Mapping[TensorId, int]
    """Maps each input and output of the model, and of its custom operators, to the offset in the arena in bytes."""
    ports: Ports
    """Inputs and outputs of the model in the order of the .tflite file. A streamed input has the shape of the rows in
    one push.
    """
    constants: Mapping[TensorId, bytes]
    """Model outputs that are constants, and thus not in the arena."""
    source: SourceReport | None
    window: WindowReport | None
    shared: InApp | None = None
    slow: int = 0
    """Size in bytes of the slow memory, which the application provides."""

    @property
    def macro(self) -> str:
        return self.prefix.upper()

    @property
    def library_stem(self) -> str:
        return self.shared.header if self.shared else self.name

    @property
    def library(self) -> str:
        return symbol(self.library_stem)

    @property
    def pauses(self) -> tuple[int, ...]:
        return self.shared.pauses if self.shared else ()

    @property
    def states(self) -> tuple[TensorId, ...]:
        return tuple(region.state for region in self.regions if region.state is not None)

    @property
    def external(self) -> bool:
        return self.source is not None and not self.source.pushed

    @property
    def streamed(self) -> bool:
        return self.source is not None and self.source.pushed > 0


def module(
    name: str, model: Model, source: SourceReport | None = None, left: str = "", window: WindowReport | None = None
) -> Module:
    """Return the C module of a rewritten model. Raises UsageError for a model with builtin operators. The text `left`
    names the builtin operators of the model, or tells why all operators are builtin.
    """
    found = tuple(regions(model))
    if not found or not all(is_region(op) for op in model.graph.ops):
        raise UsageError(
            "builtin operators cannot run without an interpreter",
            code="unsupported_operator",
            where=left,
            hint="use --emit cpp, for TensorFlow Lite Micro; `inspect` says why they stay builtin",
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
        source,
        window,
        slow=max(host.slow_bytes(region.program) for region in found),
    )
