"""Test specialized code: order of executed, no warnings, passes its self-test here, refused where impossible."""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from compiling import objects
from conftest import ROOT
from models import Net
from specialized_nets import NETS, saved, written

import tflm_memopt
from tflm_memopt.emit.iterations import executed
from tflm_memopt.errors import UsageError
from tflm_memopt.lower.program import Program
from tflm_memopt.lower.serialise import pack, unpack
from tflm_memopt.model.reader import read
from tflm_memopt.runtime import host
from tflm_memopt.runtime.regions import regions

LIBRARY = ROOT / "custom_ops"
STRICT = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
SANITIZED = ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Library files that are linked."""
    folder = tmp_path_factory.mktemp("library")
    return objects(["gcc", *STRICT, *SANITIZED, f"-I{LIBRARY / 'include'}"], [LIBRARY / "src/tmo_status.c"], folder)


def selftest(folder: Path, name: str, library: list[Path]) -> int:
    """Return the result of a module's self-test on this machine."""
    main = folder / "main.c"
    main.write_text(
        f'#include <stdio.h>\n#include "{name}.h"\nint main(void) {{ printf("%d", (int){name}_selftest()); }}'
    )
    files = [main, folder / f"{name}.c", folder / f"{name}_library.c", *library]
    include = [f"-I{LIBRARY / 'include'}", f"-I{LIBRARY / 'src'}"]
    command = ["gcc", *STRICT, *SANITIZED, *include, *files, "-o", folder / "main"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return int(subprocess.run([folder / "main"], capture_output=True, text=True, check=True).stdout)


@functools.cache
def whole() -> Program:
    """A program of rows only, in several groups."""
    (region,) = regions(read(tflm_memopt.optimize(NETS["residual"](), target="cortex-m4").model))
    return unpack(region.program)


def test_the_order_is_that_of_the_program() -> None:
    program = whole()
    found = list(executed(program))
    assert len(found) == program.iterations
    assert len(set(found)) == len(found)
    inputs = [np.zeros(t.height * t.width * t.channels, np.int8) for t in program.tensors if t.base == 1]
    sizes = [t.height * t.width * t.channels for t in program.tensors if t.base == 2]
    assert [
        (iteration.op, iteration.row) for iteration in host.iteration_order(pack(program), inputs[:1], sizes[:1])
    ] == found


needs_compiler = pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc")


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("target", ["cortex-m4", "generic"])
@pytest.mark.parametrize("name", NETS)
def test_it_is_right_by_its_own_test(tmp_path: Path, library: list[Path], name: str, target: str) -> None:
    saved(tmp_path, NETS[name](), name, target=target, without=["tiles"])
    assert selftest(tmp_path, name, library) == 0
    own = re.findall(r"^static void (op_\d+)\(", (tmp_path / f"{name}.c").read_text(), re.MULTILINE)
    assert bool(own) == (target == "cortex-m4")


@pytest.mark.slow
@needs_compiler
def test_another_byte_is_seen(tmp_path: Path, library: list[Path]) -> None:
    """The changed module skips a pair of channels."""
    saved(tmp_path, NETS["odd"](), "net", target="cortex-m4")
    source, all_pairs = (tmp_path / "net.c").read_text(), "core(tile, w, s, out, pairs, channels)"
    assert all_pairs in source
    (tmp_path / "net.c").write_text(source.replace(all_pairs, all_pairs.replace("pairs", "pairs - 1")))
    assert selftest(tmp_path, "net", library) > 0


@pytest.mark.parametrize("settings", [{"input": "stream"}, {"input": "external"}])
def test_other_programs_are_refused(settings: dict[str, str]) -> None:
    net = Net(6)
    model = net.model(net.conv2d(net.conv2d(net.input((1, 8, 8, 3)), 8, kernel=(3, 3)), 4))
    with pytest.raises(UsageError, match="an input in the arena and models without state") as caught:
        written(model, "net", **settings)
    assert caught.value.code == "cannot_emit"
