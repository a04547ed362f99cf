"""The C library builds from its manifest alone, as firmware builds it: strict C11, no Python, no CMake, no TFLM."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "custom_ops"
STRICT = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1"]


@pytest.mark.slow
def test_manifest_builds_a_program(tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler (cc) on this machine")
    build = json.loads((LIBRARY / "library.json").read_text())["build"]
    sources = [path for pattern in build["srcFilter"] for path in LIBRARY.glob(pattern[2:-1]) if path.suffix == ".c"]
    sources.append(ROOT / "tests/packaging/link.c")
    program = tmp_path / "program"
    subprocess.run([compiler, *STRICT, f"-I{LIBRARY / build['includeDir']}", *sources, "-o", program], check=True)
    done = subprocess.run([program], capture_output=True, text=True, check=True)
    assert done.stdout.strip()


def test_what_users_include_includes_nothing_private() -> None:
    public = {path.name: path.read_text(encoding="utf-8") for path in (LIBRARY / "include/tmo").iterdir()}
    adapter = "".join(path.read_text(encoding="utf-8") for path in (LIBRARY / "tflm").glob("*.*"))
    outermost = {"spin.h", "own.h"}
    included = re.findall(r'#include "tmo/(.*)"', adapter + "".join(public.values()))
    users = {"tmo.h", "program.h", "kinds.def", "camera.h", "cores.h", "turns.h", "library.h", "linkage.h"}
    assert set(included) == set(public) - outermost == users
