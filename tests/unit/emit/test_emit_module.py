"""The C module that `optimize --emit c` writes compiles without warnings and passes its self-test."""

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from compiling import objects
from conftest import ROOT
from models import Net

import tflm_memopt
from tflm_memopt.errors import UsageError

LIBRARY = ROOT / "custom_ops"
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
OPTIONS = ["-O0", f"-I{LIBRARY / 'include'}", f"-I{LIBRARY / 'src'}"]

needs_compiler = pytest.mark.skipif(not shutil.which("gcc") or not shutil.which("g++"), reason="no gcc and g++")


def written(model: bytes, name: str, **settings: object) -> Mapping[str, bytes]:
    return tflm_memopt.optimize(model, name=name, **settings).files("c")  # type: ignore[arg-type]


def small() -> bytes:
    net = Net(6)
    return net.model(net.conv2d(net.conv2d(net.input((1, 20, 20, 3)), 8, kernel=(3, 3)), 4))


@pytest.fixture(scope="module")
def plain() -> Mapping[str, bytes]:
    return written(small(), "plain")


def run(folder: Path, *command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def built(library: Sequence[Path], folder: Path, files: Mapping[str, bytes], name: str, main: str) -> Path:
    for file, data in files.items():
        (folder / file).write_bytes(data)
    (folder / "main.cpp").write_text(f'#include <stdio.h>\n#include "{name}.h"\n#include "{name}.h"\n{main}')
    own = objects(["gcc", "-std=c11", *STRICT, *OPTIONS], [Path(f"{name}.c"), Path(f"{name}_library.c")], folder)
    own += objects(["g++", "-std=c++11", *STRICT, *OPTIONS], [Path("main.cpp")], folder)
    done = run(folder, "g++", *library, *own, "-o", "main")
    assert done.returncode == 0, done.stderr
    return folder / "main"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("library")
    return objects(["gcc", "-std=c11", *OPTIONS], [LIBRARY / "src/tmo_status.c"], folder)


@pytest.mark.slow
@needs_compiler
def test_other_bytes_are_counted_and_a_program_that_is_none_is_refused(
    tmp_path: Path, library: list[Path], plain: Mapping[str, bytes]
) -> None:
    files = dict(plain)
    source = files["plain.c"].decode()
    main = 'int main() { printf("%d", (int)plain_selftest()); }'
    head, _, stored = source.partition("out_0[1600] = {\n")
    values = stored.partition("\n")[0]
    first = values.split(",")[0].strip()
    wrong = values.replace(first, f"{int(first, 16) ^ 1:#04x}")
    files["plain.c"] = f"{head}out_0[1600] = {{\n{stored.replace(values, wrong, 1)}".encode()
    (tmp_path / "a").mkdir()
    assert run(tmp_path, built(library, tmp_path / "a", files, "plain", main)).stdout == str(values.count(first))
    files["plain.c"] = source.replace("0x54,0x4d,0x4f,0x31,", "0x54,0x4d,0x4f,0x32,", 1).encode()
    (tmp_path / "b").mkdir()
    assert (
        run(tmp_path, built(library, tmp_path / "b", files, "plain", main)).stdout == "-2"
    )  # The status TMO_ERROR_MAGIC is -2.


def test_operators_that_stay_builtin_are_named() -> None:
    net = Net(8)
    x = net.conv2d(net.input((1, 12, 12, 4)), 8, kernel=(3, 3))
    y = net.add_n(x, x)
    with pytest.raises(UsageError, match="builtin operators cannot run without an interpreter") as caught:
        written(net.model(net.conv2d(y, 4)), "gate")
    assert caught.value.where == "operator 1 ADD_N"
    assert "--emit cpp" in caught.value.hint
