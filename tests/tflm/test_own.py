"""The example of docs/own-operator.md runs unchanged, and wrong descriptions of custom operators are refused."""

import re
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from compiling import objects
from conftest import ROOT
from models import Net

import tflm_memopt
from tflm_memopt.answers.optimized import Optimized
from tflm_memopt.devices.verify import verify_devices
from tflm_memopt.errors import UsageError
from tflm_memopt.lower.serialise import pack, unpack
from tflm_memopt.model.reader import read
from tflm_memopt.ops.custom import CUSTOM_OPERATORS, MADE
from tflm_memopt.runtime import host
from tflm_memopt.runtime.regions import regions

PAGE = (ROOT / "docs/own-operator.md").read_text(encoding="utf-8")
(CODE,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
TWO = (ROOT / "examples/own_operator/add_n.py").read_text(encoding="utf-8")
LIBRARY = ROOT / "custom_ops"
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
DESCRIPTION = CODE.partition("\n\n\nif __name__ ==")[0]


def steps(seed: int = 0, *, axis: int = 3, image: tuple[int, int] = (24, 24), **options: bool) -> bytes:
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
    CUSTOM_OPERATORS.clear()
    MADE.clear()
    MADE.update(made)


def add_operators(text: str = DESCRIPTION) -> Any:
    names: dict[str, Any] = {}
    exec(text, names)
    return names


def added(seed: int = 3, *, constant: bool = False, three: bool = False) -> bytes:
    net = Net(seed)
    x = net.conv2d(net.input((1, 12, 9, 3), (0.04, seed)), 8, kernel=(3, 3), out=(0.1, 3 - seed))
    other = net.conv2d(x, 8, kernel=(3, 3), out=net.affine(x))
    if constant:
        other = net.tensor(net.shape(x), affine=net.affine(x), data=np.full(net.shape(x), 5))
    return net.model(net.conv2d(net.add_n(x, other, *([x] if three else [])), 4, kernel=(3, 3)))


def test_the_page_runs_as_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("steps.tflite").write_bytes(steps())
    exec(CODE, {"__name__": "__main__"})
    (said,) = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    assert capsys.readouterr().out == said
    assert "#define TMO_OWN_KERNELS kernels" in Path("build/platformio/src/steps_library.c").read_text()


def test_a_process_that_did_not_convert_the_model_verifies_it(tmp_path: Path) -> None:
    model = steps()
    result, shared = converted(model), tflm_memopt.optimize_devices(model, 2)
    (tmp_path / "0").write_bytes(shared.models[0].model)
    (tmp_path / "1").write_bytes(shared.models[1].model)
    MADE.clear()
    assert tflm_memopt.verify(model, result.model, runs=1).bit_exact
    MADE.clear()
    assert verify_devices(model, [tmp_path / "0", tmp_path / "1"], runs=1).bit_exact


def test_verify_names_the_option_that_gives_the_description(tmp_path: Path) -> None:
    model = steps()
    result, shared = converted(model), tflm_memopt.optimize_devices(model, 2)
    paths = [tmp_path / "0", tmp_path / "1"]
    for path, one in zip(paths, shared.models, strict=True):
        path.write_bytes(one.model)
    CUSTOM_OPERATORS.clear()
    MADE.clear()
    for run in (lambda: tflm_memopt.verify(model, result.model), lambda: verify_devices(model, paths)):
        with pytest.raises(UsageError, match=r"your custom kernel 0x\w+, which is not registered") as caught:
            run()
        assert "--describe FILE.py" in str(caught.value.hint)


def converted(model: bytes) -> Optimized:
    add_operators()
    return tflm_memopt.optimize(model)


@pytest.mark.parametrize("settings", [{}, {"max_macs": 1.0}, {"max_macs": 1.3}, {"without": ("tiles",)}])
def test_two_operands_have_the_bytes_of_tflm(settings: dict[str, Any]) -> None:
    add_operators(TWO)
    for seed in range(3):
        model = added(seed)
        result = tflm_memopt.optimize(model, **settings)
        assert not result.report.kept_builtin
        verified = tflm_memopt.verify(model, result.model, runs=3)
        assert verified.bit_exact, verified.failure or verified.difference


def test_damaged_programs_have_as_many_operands_as_their_kernel() -> None:
    add_operators(TWO)
    model = added()
    (region,) = regions(read(tflm_memopt.optimize(model, without=("tiles",)).model))
    whole = unpack(region.program)
    k = next(k for k, op in enumerate(whole.ops) if op.param in MADE)
    sizes = [12 * 9 * 3], [12 * 9 * 4]
    assert host.check(region.program, *sizes) is host.Status.OK
    ops = list(whole.ops)
    ops[k] = replace(ops[k], inputs=ops[k].inputs[:1])
    assert host.check(pack(replace(whole, ops=tuple(ops))), *sizes) is host.Status.OP


@pytest.mark.slow
def test_a_c_module_runs_it(tmp_path: Path) -> None:
    for name, text, model in (("steps", DESCRIPTION, steps()), ("added", TWO, added())):
        add_operators(text)
        folder = tmp_path / name
        folder.mkdir()
        tflm_memopt.optimize(model, name=name).save(folder, "c")
        (folder / "main.c").write_text(f'#include "{name}.h"\nint main(void) {{ return {name}_selftest(); }}\n')
        options = ["gcc", "-std=c11", "-O1", *STRICT, f"-I{LIBRARY / 'include'}", f"-I{LIBRARY / 'src'}"]
        library = objects(options, [LIBRARY / "src/tmo_status.c"], folder)
        sources = ["main.c", f"{name}.c", f"{name}_library.c"]
        subprocess.run([*options, *sources, *map(str, library), "-o", "main"], cwd=folder, check=True)
        subprocess.run([folder / "main"], check=True)


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


@pytest.mark.parametrize("form", [{"axis": 2}, {"exclusive": True}, {"reverse": True}])
def test_another_form_stays_builtin(form: dict[str, Any]) -> None:
    (kept,) = converted(steps(**form)).report.kept_builtin
    assert kept.code == "own_form"
