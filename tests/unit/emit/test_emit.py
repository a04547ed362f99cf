import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from compiling import run
from hypothesis import given
from hypothesis import strategies as st
from models import Net
from projects import TFLM

import tflm_memopt
from tflm_memopt.answers.optimized import Optimized
from tflm_memopt.emit.names import comment, file_stem, guard, identifier
from tflm_memopt.emit.resolver import AFTER_2023, BUILTIN_METHODS, CUSTOM_METHODS, arena_bytes, ops_header
from tflm_memopt.model.reader import read
from tflm_memopt.tflm.arena import predict

STRICT = ["g++", "-std=c++11", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
IDENTIFIER = re.compile(r"[a-zA-Z][a-zA-Z0-9]*(_[a-zA-Z0-9]+)*")

needs_compiler = pytest.mark.skipif(not shutil.which("g++"), reason="no g++")


def mixed() -> bytes:
    net = Net(4)
    x = net.conv2d(net.input((1, 12, 12, 4)), 8, kernel=(3, 3), out=(0.1, 0))
    gate = net.normalized(x)
    y = net.add_n(gate, gate)
    y = net.conv2d(net.conv2d(y, 8, kernel=(3, 3)), 4)
    return net.model(net.op("CUSTOM", [y], [net.tensor(net.shape(y))], custom_code="Mine */ \\\n#error"))


@pytest.fixture(scope="module")
def converted() -> Optimized:
    return tflm_memopt.optimize(mixed(), name="mixed.tflite", op_per="group")


def compiled(folder: Path, *arguments: str) -> None:
    run(*STRICT, *arguments, cwd=folder)


@given(st.text())
def test_any_name_gives_valid_names(name: str) -> None:
    assert IDENTIFIER.fullmatch(identifier(name))
    assert re.fullmatch(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*_H_", guard(name, "ops"))
    assert not set('"\\\n\r\0') & set(file_stem(name))
    assert file_stem(name)
    assert "*/" not in comment(name)


def test_the_arena_is_never_too_small(converted: Optimized) -> None:
    report, model = converted.report, read(converted.model)
    widest = predict(model, "ilp32-full").min
    assert report.arena.min < widest <= arena_bytes(model, report) < widest + 16
    for least, total in ((99000, 98990), (99008, 99000), (99001, 99010), (99024, 99024)):
        nbytes = arena_bytes(model, replace(report, arena=replace(report.arena, min=least, total=total)))
        assert max(least, total) <= nbytes < max(least, total) + 16
        assert nbytes % 16 == 0


RECORDER = """
#pragma once
#include <stdio.h>
namespace tflite {{ namespace micro {{}} }}
namespace {namespace} {{
template <unsigned N> struct MicroMutableOpResolver {{
  unsigned count = 0;
  int add(const char *name) {{ printf("%s\\n", name); return ++count <= N ? 0 : 1; }}
  int AddCustom(const char *name, void *) {{ return add(name); }}
{methods}
  bool full() const {{ return count == N; }}
}};
}}
"""
ADAPTER = (
    "#pragma once\n"
    "struct tmo_library;\n"
    "namespace tmo {\n"
    "template <const tmo_library *> void *RegisterRegion() { return nullptr; }\n"
    "}\n"
)
ASK_TWICE = (
    "\n"
    '#include "{stem}_ops.h"\n'
    '#include "{stem}_ops.h"\n'
    "int main() {{\n"
    "  alignas(16) static unsigned char arena[{stem}_arena_size];\n"
    "  return &{stem}_op_resolver() == &{stem}_op_resolver() && {stem}_op_resolver().full() && arena[0] == 0 ? 0 : 1;\n"
    "}}\n"
)


@needs_compiler
@pytest.mark.parametrize("namespace", ["tflite", "tflite { namespace micro"], ids=["until 2026", "after August 2026"])
def test_the_resolver_has_exactly_the_operators(tmp_path: Path, namespace: str) -> None:
    region = tflm_memopt.optimize(without_own_operator())
    model = read(region.model)
    methods = "\n".join(f'  int {method}() {{ return add("{name}"); }}' for name, method in BUILTIN_METHODS.items())
    recorder = RECORDER.format(namespace=namespace, methods=methods) + ("}" if "{" in namespace else "")
    place = tmp_path / "tensorflow/lite/micro/micro_mutable_op_resolver.h"
    place.parent.mkdir(parents=True)
    place.write_text(recorder)
    (tmp_path / "tmo_tflm.h").write_text(ADAPTER)
    (tmp_path / "gate_ops.h").write_text(ops_header("gate", model, region.report))
    (tmp_path / "main.cpp").write_text(ASK_TWICE.format(stem="gate"))
    compiled(tmp_path, "-I.", "main.cpp", "-o", "main")
    said = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True).stdout.split()
    assert len(said) == len(set(said))
    assert set(said) == {op.options.get("custom_code", op.type) for op in model.graph.ops}
    assert {"TMO_REGION", "ADD_N"} <= set(said)


def without_own_operator() -> bytes:
    net = Net(8)
    x = net.conv2d(net.input((1, 12, 12, 4)), 8, kernel=(3, 3))
    y = net.add_n(x, x)
    return net.model(net.conv2d(y, 4))


def pairs(header: str, what: str) -> Sequence[tuple[str, str]]:
    return re.findall(rf"TfLiteStatus (Add\w+)\((?:(?!TfLiteStatus).)*?return {what}", header, re.DOTALL)


@pytest.mark.skipif(not TFLM["AUTUMN"].include.is_dir(), reason=TFLM["missing"]())
def test_the_methods_are_those_of_tflm() -> None:
    path = TFLM["AUTUMN"].include / "tensorflow/lite/micro/micro_mutable_op_resolver.h"
    header = path.read_text(encoding="utf-8")
    builtin = {operator: method for method, operator in pairs(header, r"AddBuiltin\(\s*BuiltinOperator_(\w+)")}
    assert len(builtin) > 90
    assert builtin == {operator: method for operator, method in BUILTIN_METHODS.items() if method not in AFTER_2023}
    custom = {operator: method for method, operator in pairs(header, r'AddCustom\(\s*"([^"]+)"')}
    assert custom == {o: m for o, m in CUSTOM_METHODS.items() if m not in AFTER_2023 and o != "ethos-u"}
    assert "AddEthosU()" in header


def test_an_arena_that_is_not_known_is_the_users_to_say(converted: Optimized) -> None:
    least = arena_bytes(read(converted.model), converted.report)
    header = ops_header("mixed", read(converted.model), converted.report)
    assert "without what Mine * / __#error allocates, which is unknown" in header
    assert f"#error Unknown allocations of Mine * / __#error: define MIXED_ARENA_SIZE as {least} bytes" in header
    assert "constexpr size_t mixed_arena_size = MIXED_ARENA_SIZE;" in header
    assert f"static_assert(mixed_arena_size >= {least}," in header
