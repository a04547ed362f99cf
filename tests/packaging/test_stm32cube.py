"""The project for STM32CubeIDE builds with Arm's compiler, and its start-up code runs in QEMU with the memories of an
STM32F405.
"""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from compiling import objects, run
from conftest import EXAMPLE, ROOT

import tflm_memopt
from tflm_memopt.targets.boards import boards

TFLM = runpy.run_path(str(ROOT / "scripts/tflm2023.py"))
ST = "com.st.stm32cube.ide.mcu.gnu.managedbuild"
CORES = {"Cortex-M0": "cortex-m0", "Cortex-M0+": "cortex-m0plus", "Cortex-M3": "cortex-m3", "Cortex-M4F": "cortex-m4",
         "Cortex-M7": "cortex-m7", "Cortex-M33": "cortex-m33"}  # fmt: skip
STRICT = ["-Wall", "-Wextra", "-Werror"]


@dataclass(frozen=True)
class Build:
    mcu: str
    fpu: str
    float_abi: str
    standard: Mapping[str, str]
    symbols: tuple[str, ...]
    includes: tuple[Path, ...]
    sources: tuple[Path, ...]
    script: Path

    @staticmethod
    def of(project: Path) -> Build:
        root = ET.parse(project / ".cproject").getroot()
        options = {o.get("superClass", ""): o for o in root.iter("option")}

        def value(name: str) -> str:
            found = options.get(f"{ST}.{name}")
            return "" if found is None else found.get("value", "").rpartition(".value.")[2]

        def values(name: str) -> list[str]:
            return [item.get("value", "") for item in options[f"{ST}.{name}"]]

        below = [p for e in root.iter("entry") for p in sorted((project / e.get("name", "")).rglob("*"))]
        script = value("tool.cpp.linker.option.script")
        assert script == value("tool.c.linker.option.script")
        inside = re.fullmatch(r"\$\{workspace_loc:/\$\{ProjName\}/(.*)\}", script)
        assert inside is not None
        return Build(
            value("option.target_mcu"), value("option.fpu"), value("option.floatabi"),
            {tool: value(f"tool.{tool}.compiler.option.languagestandard") for tool in ("c", "cpp")},
            tuple(values("tool.cpp.compiler.option.definedsymbols")),
            tuple((project / "Release" / path).resolve() for path in values("tool.cpp.compiler.option.includepaths")),
            tuple(path for path in below if path.suffix in (".c", ".cpp", ".cc", ".S")),
            project / inside[1],
        )  # fmt: skip

    def flags(self, core: str) -> list[str]:
        fpu = [f"-mfpu={self.fpu}"] if self.fpu else []
        sections = ["-ffunction-sections", "-fdata-sections", "-O2", "-g"]
        paths = [f"-I{path}" for path in self.includes]
        return [f"-mcpu={core}", "-mthumb", f"-mfloat-abi={self.float_abi}", *fpu, *sections, *paths]


@cache
def emitted(board: str) -> Mapping[str, bytes]:
    return tflm_memopt.optimize(EXAMPLE, board=board, name="shapes v1").files("stm32cube")


def unpacked(board: str, folder: Path) -> Path:
    for name, data in emitted(board).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder / "stm32cube"


@pytest.mark.slow
@pytest.mark.skipif(
    bool(TFLM["missing"]()) or not shutil.which("arm-none-eabi-g++"), reason=TFLM["missing"]() or "no arm"
)
@pytest.mark.parametrize("board", ["nucleo_f767zi"])
def test_it_compiles_as_the_project_says(board: str, tmp_path: Path) -> None:
    build = Build.of(unpacked(board, tmp_path))
    ours = [path for path in build.includes if "tflm" not in path.relative_to(tmp_path / "stm32cube").parts[:1]]
    assert len(ours) == 4 and all(path.is_dir() for path in ours)
    assert build.standard == {"c": "gnu11", "cpp": "gnupp17"} and build.symbols == ("TF_LITE_STATIC_MEMORY",)
    assert {"main.cpp", "bare.c", "tmo_run.c", "tmo_tflm.cpp"} <= {path.name for path in build.sources}
    flags = [*build.flags(CORES[boards()[board].core]), *STRICT, *(f"-D{symbol}" for symbol in build.symbols)]
    c = [path for path in build.sources if path.suffix != ".cpp"]
    cpp = [path for path in build.sources if path.suffix == ".cpp"]
    plain = ["-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics", "-fno-use-cxa-atexit"]
    made = objects(["arm-none-eabi-gcc", "-std=gnu11", *flags], c, tmp_path)
    made += objects(["arm-none-eabi-g++", "-std=gnu++17", *plain, *flags, *TFLM["SPRING"].flags], cpp, tmp_path)
    link = ["-nostartfiles", "--specs=nosys.specs", "-Wl,--gc-sections", "-Wl,--unresolved-symbols=ignore-all"]
    fits = ["arm-none-eabi-g++", *build.flags(CORES[boards()[board].core]), *link, f"-T{build.script}"]
    run(*fits, *made, "-o", "program.elf", cwd=tmp_path)


BARE = (Path(__file__).parent / "stm32cube.cpp").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.skipif(
    not shutil.which("arm-none-eabi-g++") or not shutil.which("qemu-system-arm"), reason="no arm, or QEMU"
)
def test_start_up_clock_and_output_work(tmp_path: Path) -> None:
    """The start-up code sets up initialised data, constructors, floating point, SysTick and printing."""
    project = unpacked("disco_f407vg", tmp_path)
    build = Build.of(project)
    (tmp_path / "main.cpp").write_text(BARE)
    bare = project / "Core/bare.c"
    flags = [*build.flags("cortex-m4"), *STRICT, "-DBARE_SEMIHOSTING", "--specs=nano.specs", "--specs=nosys.specs"]
    place = [f"-T{build.script}", "-Wl,--gc-sections"]
    run("arm-none-eabi-g++", *flags, *place, "main.cpp", "-x", "c", bare, "-o", "p", cwd=tmp_path)
    qemu = ["qemu-system-arm", "-machine", "netduinoplus2", "-nographic", "-monitor", "none", "-serial", "none"]
    semihosting = ["-icount", "shift=6", "-semihosting-config", "enable=on,target=native", "-kernel", "p"]
    said = subprocess.run([*qemu, *semihosting], cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
    assert "7 8 0 ticks\nfrom TFLM\n" in said.stdout + said.stderr
