"""The C library compiles in strict C11 without Python and TFLM."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from models import Net

import tflm_memopt

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "custom_ops"


CONSUMER = (Path(__file__).parent / "consumer.cmake").read_text(encoding="utf-8")


@pytest.mark.slow
def test_cmake_s_targets_build_an_emitted_module(tmp_path: Path) -> None:
    if not shutil.which("cmake") or not shutil.which("cc"):
        pytest.skip("no cmake, or no C compiler")
    net = Net(2)
    model = net.model(net.conv2d(net.conv2d(net.input((1, 12, 12, 2)), 4, kernel=(3, 3)), 2))
    tflm_memopt.optimize(model, name="net").save(tmp_path, "c")
    (tmp_path / "main.c").write_text('#include "net.h"\nint main(void) { return (int)net_selftest(); }\n')
    (tmp_path / "CMakeLists.txt").write_text(CONSUMER.format(library=LIBRARY))
    build = tmp_path / "build"
    said = subprocess.run(["cmake", "-S", tmp_path, "-B", build], capture_output=True, text=True, check=True).stdout
    adapter, links, options = re.findall(r"adapter;(.*?);(.*?);(.*)", said)[0]
    assert (Path(adapter), links) == (LIBRARY / "tflm/tmo_tflm.cpp", "tmo") and "-Werror" not in options
    subprocess.run(["cmake", "--build", build, "--parallel", "2"], capture_output=True, check=True)
    subprocess.run([build / "program"], check=True)


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
@pytest.mark.parametrize("level", ["-O1", "-O2"])
def test_one_file_can_hold_the_whole_library(level: str, tmp_path: Path) -> None:
    """An emitted NAME_library.c includes all sources, so no two sources may define the same static name. If all
    sources are in one file, the compiler inlines more functions, and considers more variables uninitialized.
    """
    library = "const tmo_library all = {.check = tmo_check_embedded, .run = tmo_run};"
    (tmp_path / "all.c").write_text(f'#include "tmo/embed.h"\nextern const tmo_library all;\n{library}\n')
    strict = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", level, "-c", f"-o{tmp_path}/all.o"]
    folders = [f"-I{LIBRARY / folder}" for folder in ("include", "src")]
    done = subprocess.run(["cc", *strict, *folders, tmp_path / "all.c"], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
