"""The table of types that TFLM's kernels accept agrees with the official TFLM wheel."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from ai_edge_litert import schema_py_generated as schema
from conftest import thinned
from models import Net
from moving import concatenation, constant, integers, resize, strided_slice, tile
from typed import Base, bases, retyped, runs
from unit.analysis.arena_zoo import ZOO

import tflm_memopt
from tflm_memopt.cli import main as cli
from tflm_memopt.errors import ModelError
from tflm_memopt.model.reader import CUSTOM, read
from tflm_memopt.tflm.accepted import FORMS, Form, Operand, accepts
from tflm_memopt.tflm.refused import CONSTANTS, refusals

pytest.importorskip("tflite_micro", reason="the official TFLM wheel is not installed")

TYPES = ("FLOAT32", "FLOAT16", "INT8", "UINT8", "INT16", "INT32", "INT64", "BOOL", "UINT32")
CONTROL = frozenset({"ASSIGN_VARIABLE", "CALL_ONCE", "IF", "READ_VARIABLE", "VAR_HANDLE", "WHILE"})
UNCHECKED = frozenset({"LOGICAL_AND", "LOGICAL_OR", "TRANSPOSE_CONV"})


def case(form: Form, common: str, base: Base) -> tuple[list[str], list[str]]:
    return _types(form.inputs, base.inputs, common), _types(form.outputs, base.outputs, common)


def _types(operands: Sequence[Operand], own: Sequence[str], common: str) -> list[str]:
    each = [*operands[:-1], *[operands[-1]] * (len(own) - len(operands) + 1)] if operands else []
    return [
        (common if o.types[0] == "T" else o.types[0]) if o.types and mine else mine
        for o, mine in zip(each, own, strict=False)
    ]


def base_of(form: Form, common: str) -> Base:
    found = [b for b in bases()[form.operator] if form.accepts(b.inputs, b.outputs)] or bases()[form.operator]
    return next((b for b in found if common in b.inputs[:2]), found[0])


def alternatives(form: Form, common: str, base: Base) -> Iterator[tuple[list[str], list[str]]]:
    inputs, outputs = case(form, common, base)
    yield inputs, outputs
    for k, operand in enumerate(form.inputs[: len(inputs)]):
        yield from (([*inputs[:k], t, *inputs[k + 1 :]], outputs) for t in operand.types[1:])
    if form.outputs and not form.outputs[0].repeated:
        yield from ((inputs, [t]) for t in form.outputs[0].types[1:])


@pytest.mark.parametrize("operator", thinned(sorted(FORMS.keys() - CONTROL), 8))
def test_as_the_wheel(operator: str) -> None:
    for form in FORMS[operator]:
        for common in form.types:
            base = base_of(form, common)
            for inputs, outputs in alternatives(form, common, base):
                assert runs(retyped(base, inputs, outputs)), (inputs, outputs)
        assert operator in UNCHECKED or not any(runs(retyped(base, *types)) for types in refused(form, base))


def refused(form: Form, base: Base) -> Iterator[tuple[list[str], list[str]]]:
    """The function does not change the type of a bias, because most kernels of TFLM do not check this type."""
    inputs, outputs = case(form, form.types[0], base)
    for other in TYPES:
        changed = form.types[0] or outputs[0]
        ins, outs = ([other if t == changed else t for t in types] for types in (inputs, outputs))
        if len(form.inputs) == len(ins):
            ins = ["" if o.optional else t for o, t in zip(form.inputs, ins, strict=True)]
        if not accepts(form.operator, ins, outs):
            yield ins, outs


def test_models_that_tflm_runs_are_accepted() -> None:
    for name, build in ZOO.items():
        for graph in read(build()).graphs:
            for op in graph.ops:
                base = Base(None, graph, op)
                assert op.type == CUSTOM or accepts(op.type, base.inputs, base.outputs), (name, op)


def refused_forms() -> Iterator[tuple[str, bytes]]:
    for operator, operands in CONSTANTS.items():
        for k in operands:
            base = bases()[operator][0]
            yield f"takes constants only as input {k}", retyped(base, base.inputs, base.outputs, computed=k)
    net = Net()
    yield "takes at most 5 dimensions", net.model(net.transpose(net.input((1, 2, 1, 2, 1, 2)), (0, 1, 2, 3, 5, 4)))
    net = Net()
    yield "takes at most 4 dimensions", net.model(strided_slice(net, net.input((1, 2, 1, 2, 2)), [slice(0, 1)] * 5))
    net = Net()
    yield "takes at most 5 dimensions", net.model(net.pad(net.input((1, 2, 1, 2, 1, 2)), [(0, 1)] * 6))
    net = Net()
    yield "takes at most 10 inputs", net.model(concatenation(net, [net.input((1, 4)) for _ in range(11)], 1))
    net = Net()
    joined = concatenation(net, [net.input((1, 4)), net.input((1, 4))], 1)
    net.graph.operators[-1].builtinOptions.fusedActivationFunction = 1
    yield "takes no fused activation", net.model(joined)
    net = Net()
    resized = resize(net, net.input((1, 4, 4, 2)), (8, 8), bilinear=True, corners=True, half=True)
    yield "takes align_corners or half_pixel_centers", net.model(resized)
    net = Net()
    yield (
        "takes 3 to 4 dimensions, not 2",
        net.model(
            net.op(
                "SPACE_TO_BATCH_ND",
                [net.input((4, 2)), constant(net, [2]), constant(net, [[0, 0]])],
                [net.tensor((8, 1))],
            )
        ),
    )
    for kind in ("ADD", "SUB"):
        for activations in ("INT8", "INT16"):
            net = Net(activations=activations)
            x = net.input((1, 4, 4, 2))
            yield "takes no output scale", net.model(net.binary(kind, x, x, out=(4e-12, 0)))
    net = Net()
    yield "it has no GELU", net.model(net.unary("GELU", net.input((1, 4, 4, 2)), options=schema.GeluOptionsT()))


@pytest.mark.parametrize(
    ("says", "data"), [pytest.param(*form, id=f"{k} {form[0]}") for k, form in enumerate(refused_forms())]
)
def test_limits(says: str, data: bytes) -> None:
    assert says in refusals(read(data))[0].what
    assert not runs(data)


def test_arithmetic_of_a_free_shape_has_a_hint() -> None:
    net = Net()
    shape = net.op("SHAPE", [net.input((1, 4, 4, 2))], [integers(net, (4,))], schema.ShapeOptionsT(outType=2))
    data = net.model(net.op("GATHER", [shape, constant(net, [0, 1])], [integers(net, (2,))], schema.GatherOptionsT()))
    assert "batch_size=1" in refusals(read(data))[0].hint
    net = Net()
    wide = net.op("SHAPE", [net.input((1, 4))], [net.tensor((2,), "INT64", None)], schema.ShapeOptionsT(outType=4))
    assert "batch_size=1" in refusals(read(net.model(wide)))[0].hint


def test_an_operator_that_tflm_lacks_may_run_in_ours() -> None:
    """A model with an operator that TFLM lacks is accepted only if our custom operator can run the operator."""
    net = Net()
    data = net.model(net.conv2d(tile(net, net.conv2d(net.input((1, 8, 8, 3)), 4), (1, 2, 1, 1)), 4))
    done = tflm_memopt.optimize(data, seconds=0)
    assert done.report.changed
    assert "it has no TILE. The rewritten model runs" in done.report.original_refused
    assert not runs(data)
    assert not any(row.original.fits for row in tflm_memopt.fit(done).boards)
    assert any(row.rewritten.fits for row in tflm_memopt.fit(done).boards)
    limited = tflm_memopt.optimize(data, seconds=0, board="nano33ble", ram_limit=done.report.arena.total)
    assert limited.report.changed
    with pytest.raises(ModelError, match="it has no TILE"):
        tflm_memopt.optimize(data, seconds=0, ops="builtin")


@pytest.mark.parametrize("part", [0.99, 1.01])
@pytest.mark.parametrize("beta", [1.0, 0.5])
def test_softmax_of_a_small_scale(part: float, beta: float) -> None:
    net = Net()
    data = net.model(net.softmax(net.input((1, 4), (part / beta * 2.0**-26, 0)), beta=beta))
    assert runs(data) is not bool(refusals(read(data)))
    assert runs(data) is (part > 1)


def test_a_custom_operator_without_a_name() -> None:
    net = Net()
    x = net.input((1, 4))
    data = net.model(net.op("CUSTOM", [x], [net.tensor((1, 4))]))
    assert not runs(data)
    with pytest.raises(ModelError, match="custom operator without a name"):
        tflm_memopt.optimize(data, ops="builtin", ram_limit=900)


@pytest.mark.parametrize("left", [True, False])
def test_a_refused_model_is_an_error(left: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    net = Net()
    x = net.input((1, 64))
    x = x if left else net.fully_connected(x, 10)
    y = net.tensor((1,), "INT64", None)
    options = schema.ArgMaxOptionsT(outputType=schema.TensorType.INT64)
    data = net.model(net.op("ARG_MAX", [x, constant(net, [1])], [y], options))
    with pytest.raises(
        ModelError, match="its ARG_MAX does not take int8, int32 -> int64; it takes T, int32"
    ) as refused:
        tflm_memopt.optimize(data)
    assert (refused.value.code, refused.value.hint) == ("tflm_refuses", "give it output_type=tf.int32")
    assert "its ARG_MAX does not take int8" in tflm_memopt.inspect(data).refused
    (tmp_path / "refused.tflite").write_bytes(data)
    assert cli.main(["inspect", str(tmp_path / "refused.tflite")]) == cli.DONE
    assert "its ARG_MAX does not take int8" in capsys.readouterr().out.splitlines()[1]
