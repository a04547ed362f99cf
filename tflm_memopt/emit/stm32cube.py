"""Writes a project for STM32CubeIDE: a managed build for the chip of a board, without a HAL.

The program of the project uses no drivers, so the user needs to add only the sources of TensorFlow Lite Micro.
"""

from tflm_memopt.emit import library
from tflm_memopt.emit.names import identifier
from tflm_memopt.emit.program import Platform, Texts
from tflm_memopt.emit.project import LIBRARY, Project, below, with_library
from tflm_memopt.emit.readme import readme
from tflm_memopt.emit.templates import rendered
from tflm_memopt.errors import UsageError
from tflm_memopt.targets.boards import Board, boards, runs

SRAM, AXI_SRAM = 0x20000000, 0x24000000
STACK = 4096
"""Bytes that the linker script reserves for the stack."""


FPUS = {"Cortex-M4F": "fpv4-sp-d16", "Cortex-M33": "fpv5-sp-d16", "Cortex-M7": "fpv5-d16"}
"""Maps each core with an FPU to the argument of the compiler option -mfpu."""
SINGLE = "STM32F74"
"""Start of the names of chips whose Cortex-M7 computes only in single precision."""
AXI = "STM32H7"
"""Start of the names of chips whose largest RAM is AXI_SRAM."""

NATURES = (
    "com.st.stm32cube.ide.mcu.MCUProjectNature",
    "org.eclipse.cdt.core.cnature",
    "org.eclipse.cdt.core.ccnature",
    "com.st.stm32cube.ide.mcu.MCUCubeIdeServicesRevAev2ProjectNature",
    "com.st.stm32cube.ide.mcu.MCUAdvancedStructureProjectNature",
    "com.st.stm32cube.ide.mcu.MCUSingleCpuProjectNature",
    "com.st.stm32cube.ide.mcu.MCURootProjectNature",
    "org.eclipse.cdt.managedbuilder.core.managedBuildNature",
    "org.eclipse.cdt.managedbuilder.core.ScannerConfigNature",
)
SOURCES = ("Core", LIBRARY, "tflm")
INCLUDES = (
    "Core",
    f"{LIBRARY}/include",
    f"{LIBRARY}/src",
    f"{LIBRARY}/tflm",
    "tflm",
    *(f"tflm/third_party/{name}" for name in ("flatbuffers/include", "gemmlowp", "ruy", "kissfft", "kissfft/tools")),
    *(f"tflm/third_party/{name}" for name in ("cmsis", "cmsis/CMSIS/Core/Include", "cmsis_nn", "cmsis_nn/Include")),
)
SYMBOLS = ("TF_LITE_STATIC_MEMORY",)
"""Preprocessor symbols that are defined for all source files. Without TF_LITE_STATIC_MEMORY, TFLM's arena would be
larger.
"""

_BARE = Platform(
    ('"bare.h"',),
    "bare_cycles()",
    "bare_say(line);",
    """\
extern "C" void RegisterDebugLogCallback(void (*)(const char *)) __attribute__((weak)); /* in cortex_m_generic */

int main() {
  if (RegisterDebugLogCallback != nullptr) RegisterDebugLogCallback(bare_print);
  for (;;) {
    if (ready()) once();
    for (const uint32_t start = bare_cycles(); bare_cycles() - start < 16000000;) { /* a second at 16 MHz */
    }
  }
}
""",
    unit="cycles",
    cameras=False,
)
NO_ITM = ("Cortex-M0", "Cortex-M0+")
_OUTPUT = "The program prints to port 0 of the SWV ITM data console."
_OUTPUT_WITHOUT_ITM = (
    "A Cortex-M0 or M0+ has no SWV console. Define the symbol `BARE_SEMIHOSTING` so that the program prints to the\n"
    "debugger, or change `bare_print()` in `Core/bare.c`."
)
_TFLM = """\
# Put TensorFlow Lite Micro here

In a checkout of https://github.com/tensorflow/tflite-micro:

    python3 tensorflow/lite/micro/tools/project_generation/create_tflm_tree.py THIS_FOLDER

Afterwards `tensorflow/` and `third_party/` are beside this file. For CMSIS-NN's kernels of builtin operators, add

    --makefile_options="TARGET=cortex_m_generic OPTIMIZED_KERNEL_DIR=cmsis_nn TARGET_ARCH={core}"

and define the symbol `CMSIS_NN` in Properties, C/C++ Build, Settings, for the C and the C++ compiler.
"""


def stm32cube(project: Project) -> Texts:
    """Return a project for STM32CubeIDE. Raises UsageError for an unknown chip, and for a chip that cannot run the
    program.
    """
    on = _board(project.board)
    if not runs(on, project.packed):
        raise UsageError(
            f"{on.id} cannot run this program: it is packed for other cores",
            code="cannot_emit",
            hint=f"use --board {on.id} without --target",
        )
    name, ours, mcu = identifier(project.name), project.library, on.stm32
    fpu = FPUS["Cortex-M33"] if mcu.startswith(SINGLE) else FPUS.get(on.core, "")
    script = f"{mcu.upper()}_FLASH.ld"
    core = {
        "main.cpp": project.main(_BARE),
        "bare.h": rendered("bare.h.jinja"),
        "bare.c": rendered("bare.c.jinja"),
        **project.files,
    }
    steps = (
        "Put TensorFlow Lite Micro into `tflm/` (`tflm/README.md` says how). In STM32CubeIDE choose File, Import,\n"
        "Existing Projects into Workspace, and this folder. Build the project and debug it on the board.\n\n"
        f"{_OUTPUT if on.core not in NO_ITM else _OUTPUT_WITHOUT_ITM}"
    )
    return {
        **readme(project.about, f"STM32CubeIDE, {on.id}", steps, "Core/main.cpp", library=project.library),
        ".project": rendered("project.xml.jinja", project=name, natures=NATURES),
        ".cproject": rendered(
            "cproject.xml.jinja",
            project=name, mcu=mcu, fpu=fpu, linker_script=script, symbols=SYMBOLS,
            sources=[folder for folder in SOURCES if folder != LIBRARY or ours],
            includes=[f"../{f}" for f in INCLUDES if ours or not f.startswith(LIBRARY)],
        ).lstrip(),
        ".settings/org.eclipse.core.resources.prefs": "eclipse.preferences.version=1\nencoding/<project>=UTF-8\n",
        script: rendered(
            "flash.ld.jinja",
            mcu=mcu, board=on.id, stack=STACK, flash=on.flash, ram=on.largest_block,
            ram_origin=AXI_SRAM if mcu.startswith(AXI) else SRAM,
        ),
        "tflm/README.md": _TFLM.format(core=on.core.lower().replace("f", "+fp") if fpu else on.core.lower()),
        **below("Core", core),
        **with_library(project, LIBRARY, library.sources),
    }  # fmt: skip


def _board(name: str) -> Board:
    known = {board.id: board for board in boards().values() if board.stm32}
    if name not in known:
        missing = f"{name} is not one of them" if name else "no board is given"
        raise UsageError(
            f"--emit stm32cube is for some boards with an STM32, but {missing}",
            code="cannot_emit",
            hint=f"use --board {', '.join(sorted(known))}",
        )
    return known[name]
