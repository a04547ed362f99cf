"""Determines what kind of model a file contains, and recommends what to do with the model."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tflm_memopt.model import recurrent
from tflm_memopt.model.formats import PAGE
from tflm_memopt.model.graph import Graph, Op, Tensor
from tflm_memopt.model.names import OURS
from tflm_memopt.model.reader import CUSTOM, Model
from tflm_memopt.model.variables import variables
from tflm_memopt.rewrite.int8_io import int8_io
from tflm_memopt.tflm.refused import WEIGHTS
from tflm_memopt.tflm.shapes import undefined

ETHOS_U = "ethos-u"
"""Custom operator that the compiler Vela makes for Arm's NPU Ethos-U."""
POST_PROCESSING = "TFLite_Detection_PostProcess"
EDGE_TPU = "edgetpu-custom-op"
"""Custom operator that edgetpu_compiler makes for Google's Edge TPU."""
COMPUTED = ("FLOAT32", "INT8", "INT16", "UINT8")
"""Types in which operators compute values."""
CONVERSIONS = ("QUANTIZE", "DEQUANTIZE", "CAST")


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The kind of a model, such as float32, and advice on its conversion."""

    kind: str
    """Name of the model's kind, and of a section of docs/models.md. No new version of the package changes a name."""
    what: str
    advice: str

    def __str__(self) -> str:
        return f"{self.what}: {self.advice}" if self.advice else self.what


def diagnose(model: Model, *, whole: bool = False, int8_interface: bool = False) -> Diagnosis:
    """Determine the kind of a model, such as float32 or int8.

    The argument `whole` is true if no part of the model can be converted.
    """
    graphs, custom = model.graphs, custom_operators(model)
    if ETHOS_U in custom:
        return Diagnosis("ethos_u", "compiled for Arm's Ethos-U", f"Vela has planned its memory; {_see('ethos_u')}")
    if EDGE_TPU in custom:
        return Diagnosis(
            "edge_tpu", "compiled for the Edge TPU", f"optimize what went into its compiler; {_see('edge_tpu')}"
        )
    if custom & OURS:
        return Diagnosis("rewritten", "rewritten by tflm-memopt", "optimize the original instead")
    if broken := undefined(model):
        return Diagnosis("undefined", broken.why, f"{broken.hint}; {_see('undefined')}")
    kind, words = _precision(graphs)
    state = _state(graphs)
    layers = recurrent.described(model.graph)
    several = f"in {len(graphs)} subgraphs" if len(graphs) > 1 else ""
    several = f"with {layers}" if layers else several
    what = ", ".join(part for part in (words, state and f"with state in {state}", several) if part)
    if kind in TO_QUANTIZE:
        return Diagnosis(kind, what, f"{TO_QUANTIZE[kind]}; {_see(kind)}")
    if state:
        left = (
            "it stays unchanged"
            if whole
            else "rows that are read again become rolling buffers, other state stays builtin"
        )
        return Diagnosis("state", what, f"{left}; {_see('state')}")
    if several:
        left = "it stays unchanged" if whole else "TFLM runs IF and WHILE, other operators run row by row"
        advice = recurrent.HINTS[next(iter(recurrent.loops(model.graph).values()))] if layers else left
        return Diagnosis("subgraphs", what, f"{advice}; {_see('subgraphs')}")
    if kind == "int8_io" and not int8_interface:
        return Diagnosis(kind, what, _narrowed(model.graph))
    return Diagnosis(kind, what, ADVICE.get(kind, ""))


def custom_operators(model: Model) -> set[str]:
    return {str(op.options["custom_code"]) for graph in model.graphs for op in graph.ops if op.type == CUSTOM}


TO_QUANTIZE: Mapping[str, str] = {
    "float32": "int8 would take about a quarter of the RAM, if it is accurate enough",
    "float16": "TFLM has no kernels for it, quantize it to int8 instead",
    "dynamic_range": "TFLM has no kernels for it, quantize it to int8 in full",
    "uint8": "quantize it to int8 instead",
    "mixed": "quantize all of it to int8",
}
ADVICE: Mapping[str, str] = {"int16": "int8 would take half the RAM, if it is accurate enough"}


def _see(kind: str) -> str:
    return f"{PAGE}#{kind.replace('_', '-')}"


def _precision(graphs: Sequence[Graph]) -> tuple[str, str]:
    ops = [(graph, op) for graph in graphs for op in graph.ops if op.options.get("custom_code") != POST_PROCESSING]
    computed = {t.dtype for graph, op in ops if op.type not in CONVERSIONS for t in _activations(graph, op)}
    floats, integers = computed & {"FLOAT32"}, computed & {"INT8", "INT16", "UINT8"}
    stored = {dtype for graph, op in ops for dtype in _stored(graph, op)}
    if floats and "FLOAT16" in stored:
        return "float16", "float32 with float16 weights"
    if floats and not integers:
        if stored - {"FLOAT32"}:
            return "dynamic_range", "float32 with int8 weights (dynamic range quantization)"
        return "float32", "float32"
    if floats:
        each = ((op.type, _activations(g, op)) for g, op in ops if op.type not in CONVERSIONS)
        names = sorted({kind for kind, tensors in each if any(t.dtype == "FLOAT32" for t in tensors)})
        return "mixed", f"{_lower(integers)} and float32 ({', '.join(names[:3])}{', ...' * (len(names) > 3)})"
    for kind in ("UINT8", "INT16"):
        if kind in integers:
            return kind.lower(), f"{kind.lower()} activations"
    border = _border(graphs[0])
    if integers:
        return ("int8_io", f"int8 with {border}") if border else ("int8", "int8 from input to output")
    return "other", "no operators that compute"


def _activations(graph: Graph, op: Op) -> Iterator[Tensor]:
    tensors = (graph.tensors[t] for t in (*op.inputs, *op.outputs) if t in graph.tensors)
    return (t for t in tensors if not t.constant and t.dtype in COMPUTED)


def _stored(graph: Graph, op: Op) -> Iterator[str]:
    """A constant input of DEQUANTIZE counts as a weight."""
    places = (0,) if op.type == "DEQUANTIZE" else WEIGHTS.get(op.type, (0, ()))[1]
    given = (graph.tensors.get(op.inputs[i]) for i in places if i < len(op.inputs))
    return (t.dtype for t in given if t is not None and t.constant)


def _state(graphs: Sequence[Graph]) -> str:
    resources = len(variables(graphs))
    tensors = sum(t.variable for graph in graphs for t in graph.tensors.values())
    parts = ((resources, "resource variable"), (tensors, "variable tensor"))
    return " and ".join(f"{n} {name}{'s' * (n > 1)}" for n, name in parts if n)


def _border(graph: Graph) -> str:
    """Describe those inputs and outputs of an int8 model whose type is float32 or uint8.

    >>> from tflm_memopt.model.graph import Tensor
    >>> x, y = Tensor(0, "x", (1,), "FLOAT32"), Tensor(1, "y", (1,), "UINT8")
    >>> _border(Graph({0: x, 1: y}, (), (0,), (1,))), _border(Graph({0: x}, (), (0,), (0,)))
    ('float32 input and uint8 output', 'float32 input and output')
    """
    sides = {"input": graph.inputs, "output": graph.outputs}
    found = {side: {graph.tensors[t].dtype for t in ids} & {"FLOAT32", "UINT8"} for side, ids in sides.items()}
    ends = [(side, _lower(types)) for side, types in found.items() if types]
    if len(ends) == 2 and ends[0][1] == ends[1][1]:
        return f"{ends[0][1]} input and output"
    return " and ".join(f"{types} {side}" for side, types in ends)


def _lower(types: set[str]) -> str:
    return " and ".join(sorted(t.lower() for t in types))


def _narrowed(graph: Graph) -> str:
    border = int8_io(graph)
    if not border.replaced:
        return f"--int8-io cannot change them ({border.refusals[0].reason})"
    before, after = (sum(graph.tensors[t].nbytes for t in ids) for ids in (border.replaced, border.replaced.values()))
    if before == after:
        return "--int8-io drops the conversions"
    return f"--int8-io saves {before - after:,} of the {before:,} B of inputs and outputs"
