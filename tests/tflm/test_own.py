"""Run docs/own-operator.md unchanged, and test the refusals of custom operators."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from compiling import objects
from conftest import ROOT
from models import Net
from projects import PROJECTS, TFLM, needs_host, told

import tflm_memopt
from tflm_memopt.cli.main import main as command
from tflm_memopt.emit import bundle
from tflm_memopt.errors import KernelError, UsageError
from tflm_memopt.kernels.instructions import SCALAR
from tflm_memopt.lower.reference import reference_program
from tflm_memopt.lower.serialise import pack, unpack
from tflm_memopt.model.reader import read
from tflm_memopt.ops import own
from tflm_memopt.ops.described import DESCRIBED, MADE
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.results import Optimized
from tflm_memopt.rowgraph.supported import to_row_ops
from tflm_memopt.runtime import host
from tflm_memopt.runtime import own as runtime
from tflm_memopt.runtime.regions import regions
from tflm_memopt.runtime.verify import sample

PAGE = (ROOT / "docs/own-operator.md").read_text(encoding="utf-8")
(CODE,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
TWO = (ROOT / "examples/own_operator/add_n.py").read_text(encoding="utf-8")
LIBRARY = ROOT / "custom_ops"
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
DESCRIPTION = CODE.partition("\n\n\nresult =")[0]


def steps(seed: int = 0, *, axis: int = 3, image: tuple[int, int] = (24, 24), **options: bool) -> bytes:
    """The page's model."""
    net = Net(seed)
    y = net.conv2d(net.input((1, *image, 3), (0.03, seed - 5)), 16, kernel=(3, 3))
    operands = [y, net.tensor((), "INT32", None, data=np.array(axis, np.int32))]
    to = net.tensor((1, *image, 16), "INT8", (0.11 + 0.2 * seed, 7 - 9 * seed))
    return net.model(
        net.conv2d(net.op("CUMSUM", operands, [to], schema.CumsumOptionsT(**options)), 8, kernel=(3, 3), stride=(2, 2))
    )


@pytest.fixture(autouse=True)
def nothing_stays() -> Iterator[None]:
    made = dict(MADE)
    yield
    DESCRIBED.clear()
    MADE.clear()
    MADE.update(made)


def described(text: str = DESCRIPTION) -> Any:
    names: dict[str, Any] = {}
    exec(text, names)
    return names


def added(seed: int = 3, *, constant: bool = False, three: bool = False) -> bytes:
    """Both operands of an ADD_N are made row by row."""
    net = Net(seed)
    x = net.conv2d(net.input((1, 12, 9, 3), (0.04, seed)), 8, kernel=(3, 3), out=(0.1, 3 - seed))
    other = net.conv2d(x, 8, kernel=(3, 3), out=net.affine(x))
    if constant:
        other = net.tensor(net.shape(x), affine=net.affine(x), data=np.full(net.shape(x), 5))
    return net.model(net.conv2d(net.add_n(x, other, *([x] if three else [])), 4, kernel=(3, 3)))


def test_the_page_runs_as_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """This includes its printed output, and its figure without the description."""
    monkeypatch.chdir(tmp_path)
    Path("steps.tflite").write_bytes(steps())
    without = tflm_memopt.optimize("steps.tflite").report
    exec(CODE, {})
    (said,) = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    assert capsys.readouterr().out == said
    assert f"would be {without.arena.total:,} B." in PAGE
    assert "#define TMO_OWN_KERNELS kernels" in Path("build/platformio/src/steps_library.c").read_text()
    assert len(CODE.splitlines()) <= 40 and len([line for line in CODE.splitlines() if line.strip()]) <= 31


def converted(model: bytes) -> Optimized:
    described()
    return tflm_memopt.optimize(model)


@pytest.mark.parametrize("seed", [1, 3])
def test_other_scales_and_sizes_have_the_bytes_of_tflm(seed: int) -> None:
    model = steps(seed, image=(5 + seed, 9 - seed))
    result = converted(model)
    assert not result.report.kept_builtin
    verified = tflm_memopt.verify(model, result.model, runs=4)
    assert verified.bit_exact, verified.failure or verified.difference


@pytest.mark.parametrize("settings", [{}, {"max_macs": 1.0}, {"max_macs": 1.3}, {"without": ("tiles",)}])
def test_two_operands_have_the_bytes_of_tflm(settings: dict[str, Any]) -> None:
    """Either operand may be demanded first."""
    described(TWO)
    for seed in range(3):
        model = added(seed)
        result = tflm_memopt.optimize(model, **settings)
        assert not result.report.kept_builtin
        verified = tflm_memopt.verify(model, result.model, runs=3)
        assert verified.bit_exact, verified.failure or verified.difference


@pytest.mark.parametrize("of", [0, 1])
def test_operands_are_not_exchanged(of: int) -> None:
    """The second operand is demanded first."""

    @own.operator("ADD_N", lambda site: {})
    def one_of_both(b: own.Builder) -> None:
        (n,) = b.extents("channels")
        tensors = [b.ram(name, own.Type.INT8, n) for name in ("x", "other")]
        y = b.output("y", own.Type.INT8, n)
        with b.loop("i", n) as i:
            b.ram_store(y, b.ram_load(tensors[of], i), i)

    net, shape = Net(4), (1, 5, 4, 3)
    graph = read(net.model(net.add_n(net.input(shape), net.input(shape)))).graph
    (op,) = to_row_ops(graph).values()
    assert isinstance(op, RowOp)
    whole = unpack(reference_program(op))
    (demanded,) = whole.ops
    exchanged = replace(demanded, inputs=demanded.inputs[::-1], swapped=True)
    both = [np.random.default_rng(k).integers(-128, 128, shape, dtype=np.int8) for k in range(2)]
    for program in (whole, replace(whole, ops=(exchanged,))):
        (out,) = host.run(pack(program), both, [both[0].size])
        assert np.array_equal(out, both[of].reshape(-1))


@pytest.mark.parametrize(("form", "code"), [({"three": True}, "own_form"), ({"constant": True}, "runtime_values")])
def test_two_operands_of_another_form_stay_builtin(form: dict[str, Any], code: str) -> None:
    described(TWO)
    (kept,) = tflm_memopt.optimize(added(**form)).report.kept_builtin
    assert kept.code == code


def test_one_operand_where_two_are_described_stays_builtin() -> None:
    described(TWO)
    net = Net(1)
    (kept,) = tflm_memopt.optimize(net.model(net.conv2d(net.add_n(net.input((1, 4, 4, 3))), 4))).report.kept_builtin
    assert kept.code == "own_operands"


def test_damaged_programs_have_as_many_operands_as_their_kernel() -> None:
    described(TWO)
    model = added()
    (region,) = regions(read(tflm_memopt.optimize(model, without=("tiles",)).model))
    whole = unpack(region.program)
    k = next(k for k, op in enumerate(whole.ops) if op.param in MADE)
    sizes = [12 * 9 * 3], [12 * 9 * 4]
    assert host.check(region.program, *sizes) is host.Status.OK
    ops = list(whole.ops)
    ops[k] = replace(ops[k], inputs=ops[k].inputs[:1])
    assert host.check(pack(replace(whole, ops=tuple(ops))), *sizes) is host.Status.OP


def test_what_the_library_has_keeps_its_kernel() -> None:
    described(DESCRIPTION.replace('"CUMSUM"', '"TANH"'))
    assert not DESCRIBED


def test_the_command_line_runs_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, file = tmp_path / "steps.tflite", tmp_path / "cumsum.py"
    model.write_bytes(steps())
    file.write_text(DESCRIPTION + '\n\nif __name__ == "__main__":\n    raise RuntimeError\n', encoding="utf-8")
    given = ["--describe", str(file)]
    assert command(["optimize", str(model), "-o", str(tmp_path / "out"), "--emit", "c", *given]) == 0
    assert (tmp_path / "out/steps_library.c").is_file()
    assert command(["verify", str(model), str(tmp_path / "out/steps.tflite"), "--runs", "2", *given]) == 0
    capsys.readouterr()


@pytest.mark.parametrize(
    ("text", "says"), [("1 / 0", "fails: ZeroDivisionError"), ("x = 1", "describes no operator that the library lacks")]
)
def test_a_file_that_describes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, says: str
) -> None:
    file = tmp_path / "none.py"
    file.write_text(text, encoding="utf-8")
    assert command(["inspect", "none.tflite", "--describe", str(file)]) == 2
    assert says in capsys.readouterr().err


@pytest.mark.slow
def test_a_c_module_runs_it(tmp_path: Path) -> None:
    """Both examples run."""
    for name, text, model in (("steps", DESCRIPTION, steps()), ("added", TWO, added())):
        described(text)
        folder = tmp_path / name
        folder.mkdir()
        result = tflm_memopt.optimize(model)
        files = bundle.files(result, name, ("c",), bundle.Extras(lambda m=model, r=result: sample(m, r.model)))  # type: ignore[misc]
        for file, data in files.items():
            (folder / file).write_bytes(data)
        (folder / "main.c").write_text(f'#include "{name}.h"\nint main(void) {{ return {name}_selftest(); }}\n')
        options = ["gcc", "-std=c11", "-O1", *STRICT, f"-I{LIBRARY / 'include'}", f"-I{LIBRARY / 'src'}"]
        library = objects(options, [LIBRARY / "src/tmo_status.c"], folder)
        sources = ["main.c", f"{name}.c", f"{name}_library.c"]
        subprocess.run([*options, *sources, *map(str, library), "-o", "main"], cwd=folder, check=True)
        subprocess.run([folder / "main"], check=True)


def test_strips_may_be_what_they_are_for_others() -> None:
    described()
    model = steps(1)
    result = tflm_memopt.optimize(model, max_macs=1.3)
    assert result.report.arena.head < converted(model).report.arena.head
    assert tflm_memopt.verify(model, result.model, runs=2).bit_exact


@pytest.mark.parametrize("form", [{"axis": 2}, {"exclusive": True}, {"reverse": True}])
def test_another_form_stays_builtin(form: dict[str, Any]) -> None:
    (kept,) = converted(steps(**form)).report.kept_builtin
    assert kept.code == "own_form"


def test_without_a_description_it_stays_builtin() -> None:
    (kept,) = tflm_memopt.optimize(steps()).report.kept_builtin
    assert kept.code == "no_kernel"


def test_damaged_programs_get_no_other_kernel() -> None:
    (region,) = regions(read(converted(steps()).model))
    whole = unpack(region.program)
    k = next(k for k, op in enumerate(whole.ops) if op.param in MADE)
    sizes = [24 * 24 * 3], [12 * 12 * 8]
    assert host.check(region.program, *sizes) is host.Status.OK

    def damaged(**fields: int) -> host.Status:
        ops = list(whole.ops)
        ops[k] = replace(ops[k], **fields)
        return host.check(pack(replace(whole, ops=tuple(ops))), *sizes)

    assert damaged(param=whole.ops[k].param ^ 1) is host.Status.KERNEL
    converted(_narrow())
    other = next(made.identity for made in MADE.values() if made.channels == 4)
    assert damaged(param=other) is host.Status.OP


def _narrow() -> bytes:
    net = Net(2)
    x = net.conv2d(net.input((1, 6, 6, 2)), 4)
    operands = [x, net.tensor((), "INT32", None, data=np.array(-1, np.int32))]
    return net.model(net.op("CUMSUM", operands, [net.tensor((1, 6, 6, 4))], schema.CumsumOptionsT()))


def test_a_description_that_is_not_of_pixels() -> None:
    names = described()
    builder = names["Builder"]
    for extents, tensors in ((("n",), ("x", "y")), (("channels",), ("y",)), (("channels",), ("a", "y"))):

        def describe(b: Any, extents: tuple[str, ...] = extents, tensors: tuple[str, ...] = tensors) -> None:
            (n,) = b.extents(*extents)
            for name in tensors:
                (b.output if name == "y" else b.ram)(name, own.Type.INT8, n)

        with pytest.raises(KernelError) as refused:
            own.operator("ROUND")(describe)
        assert refused.value.code == "bad_kernel"
    assert builder is own.Builder


def test_numbers_that_are_not_the_descriptions() -> None:
    names = described()
    DESCRIBED["CUMSUM"] = DESCRIBED["CUMSUM"]._replace(numbers=lambda site: {"zero_in": 3, "zero": 4})
    with pytest.raises(KernelError, match="differ in right, scale, zero, zero_out") as refused:
        tflm_memopt.optimize(steps())
    assert refused.value.code == "bad_kernel"
    assert names["numbers"]


@pytest.mark.parametrize("called", sorted({f for i in SCALAR for f in re.findall(r"tmo_\w+", i.text)}))
def test_its_c_has_what_instructions_call(called: str) -> None:
    headers = ("compiler.h", "fixed.h")
    text = "".join((LIBRARY / "src/tmo" / name).read_text(encoding="utf-8") for name in headers)
    assert re.search(rf"inline \w+ {called}\(", text)


def test_sums_are_saturated_as_packed_kernels_do(tmp_path: Path) -> None:
    """A file beside a model does not see the library's internal headers."""

    @own.operator("SATURATED", lambda site: {})
    def saturated(b: own.Builder) -> None:
        (n,) = b.extents("channels")
        x, y = b.ram("x", own.Type.INT8, n), b.output("y", own.Type.INT8, n)
        with b.loop("i", n) as i:
            tripled = b.compute("mul", own.Type.INT32, b.ram_load(x, i), own.Index.of(3))
            span = own.Index.of(-100), own.Index.of(100)
            b.ram_store(y, b.saturated(tripled, b.broadcast(own.Type.INT16, own.Index.of(1)), own.Index.of(7), span), i)

    MADE.clear()
    identity = DESCRIBED["SATURATED"].identify({"channels": 4})
    runtime.build(tmp_path)
    assert MADE[identity].channels == 4
    assert (tmp_path / runtime.FILE).is_file()


def test_a_shift_that_no_core_has() -> None:
    described()
    numbers = DESCRIBED["CUMSUM"].numbers
    DESCRIBED["CUMSUM"] = DESCRIBED["CUMSUM"]._replace(numbers=lambda site: {**(numbers(site) or {}), "right": 32})
    with pytest.raises(KernelError, match="round_shift by 32") as refused:
        tflm_memopt.optimize(steps())
    assert refused.value.code == "bad_kernel"


def test_who_emits_it_has_to_know_the_description() -> None:
    result = converted(steps())
    with pytest.raises(UsageError) as refused:
        bundle.files(result, "steps", ("c-specialized",))
    assert refused.value.code == "cannot_emit"
    MADE.clear()
    with pytest.raises(UsageError) as refused:
        bundle.files(result, "steps", ("cpp",))
    assert refused.value.code == "unsupported_operator"


def test_a_compiler_that_does_not_compile_it(monkeypatch: pytest.MonkeyPatch) -> None:
    model = steps(9, image=(4, 4))
    result = converted(model)
    monkeypatch.setenv("CC", "false")
    with pytest.raises(tflm_memopt.MemoptError) as refused:
        tflm_memopt.verify(model, result.model)
    assert refused.value.code == "bad_kernel"


def test_threads_wait_for_the_compiler(tmp_path: Path) -> None:
    """Several models run at the same time, and each finds the complete library."""
    converted(steps(7, image=(4, 4)))
    folders = [tmp_path / str(k) for k in range(6)]
    for folder in folders:
        folder.mkdir()
    with ThreadPoolExecutor(len(folders)) as pool:
        list(pool.map(runtime.build, folders))
    sizes = {(folder / runtime.FILE).stat().st_size for folder in folders}
    assert len(sizes) == 1 and min(sizes) > 0


@pytest.mark.slow
@needs_host
def test_a_project_runs_it(tmp_path: Path) -> None:
    model = steps()
    result = converted(model)
    given = bundle.Extras(lambda: sample(model, result.model), model)
    said = told("platformio", bundle.files(result, "steps", PROJECTS, given), TFLM["SPRING"], tmp_path)
    assert said.endswith("self-test: the same outputs as on a PC\n")
