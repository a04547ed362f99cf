"""Collects the contents of a C11 module that runs a rewritten model: ports, programs and buffer offsets."""

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
    """Names that an application defines for the models that share its arena."""

    header: str
    """Name of the application's header without its suffix."""
    prefix: str
    """Prefix of the application's identifiers."""
    model: str
    """C constant with the model's number among the models that take turns."""
    pauses: tuple[int, ...]
    """The model pauses after the iterations with these numbers."""

    @property
    def turn(self) -> str:
        return f"&{self.prefix}_turns, {self.model}"


@dataclass(frozen=True, slots=True)
class Module:
    """The contents of a module's two files."""

    name: str
    prefix: str
    regions: tuple[CustomOperator, ...]
    """The model's regions in execution order."""
    workspaces: tuple[int, ...]
    """Bytes of each region's workspace."""
    sizes: Mapping[TensorId, int]
    """Bytes of each tensor that a region reads or writes."""
    arena: int
    """Bytes of the arena."""
    at: Mapping[TensorId, int]
    """Arena offsets of the inputs and outputs of the model and of its regions."""
    ports: Ports
    """The inputs and outputs as the .tflite file orders them. A streamed input's tensor has the rows of one push."""
    constants: Mapping[TensorId, bytes]
    """Outputs of the model that are constants outside the arena."""
    source: SourceReport | None
    """The streamed or external input, or None."""
    window: WindowReport | None
    """The sliding window to which the input belongs, or None."""
    shared: InApp | None = None
    """The application whose arena is used, or None if the module has its own arena."""
    slow: int = 0
    """Bytes of slow memory, which the application provides."""

    @property
    def macro(self) -> str:
        """Prefix of the module's constants."""
        return self.prefix.upper()

    @property
    def library_stem(self) -> str:
        """Return the stem of the *_library.c with the module's code."""
        return self.shared.header if self.shared else self.name

    @property
    def library(self) -> str:
        """Return the name of the tmo_library in the *_library.c of the module."""
        return symbol(self.library_stem)

    @property
    def pauses(self) -> tuple[int, ...]:
        """The model pauses after the iterations with these numbers."""
        return self.shared.pauses if self.shared else ()

    @property
    def states(self) -> tuple[TensorId, ...]:
        """The states that are kept between invocations."""
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
    """Return the module of a rewritten model. left: text for the error message, with the model's builtin operators or
    the reason why all operators are builtin. Raises UsageError if the model has builtin operators.
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
