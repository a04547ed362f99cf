"""Writes a project for STM32CubeIDE: a managed build for the chip of a board, without a HAL.

The program uses no drivers, so the user only adds the sources of TensorFlow Lite Micro. The file .cproject has the
chip, the sources, the include paths and the flags.
"""

from collections.abc import Mapping
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Chip:
    mcu: str
    fpu: str = ""
    """Argument of the compiler option -mfpu, or "" for a chip without FPU."""
    ram_origin: int = SRAM


M4F, M7, M7_DOUBLE, M33 = "fpv4-sp-d16", "fpv5-sp-d16", "fpv5-d16", "fpv5-sp-d16"
CHIPS: Mapping[str, Chip] = {
    "nucleo_f072rb": Chip("STM32F072RBTx"),
    "bluepill": Chip("STM32F103C8Tx"),
    "nucleo_f103rb": Chip("STM32F103RBTx"),
    "nucleo_l073rz": Chip("STM32L073RZTx"),
    "nucleo_g431rb": Chip("STM32G431RBTx", M4F),
    "nucleo_g071rb": Chip("STM32G071RBTx"),
    "nucleo_f303re": Chip("STM32F303RETx", M4F),
    "nucleo_l432kc": Chip("STM32L432KCUx", M4F),
    "disco_l475vg_iot01a": Chip("STM32L475VGTx", M4F),
    "nucleo_f401re": Chip("STM32F401RETx", M4F),
    "nucleo_l476rg": Chip("STM32L476RGTx", M4F),
    "blackpill_f411ce": Chip("STM32F411CEUx", M4F),
    "disco_f407vg": Chip("STM32F407VGTx", M4F),
    "nucleo_f411re": Chip("STM32F411RETx", M4F),
    "nucleo_f446re": Chip("STM32F446RETx", M4F),
    "nucleo_g474re": Chip("STM32G474RETx", M4F),
    "nucleo_g0b1re": Chip("STM32G0B1RETx"),
    "disco_f429zi": Chip("STM32F429ZITx", M4F),
    "nucleo_f429zi": Chip("STM32F429ZITx", M4F),
    "nucleo_l552ze_q": Chip("STM32L552ZETxQ", M33),
    "nucleo_f412zg": Chip("STM32F412ZGTx", M4F),
    "disco_f746ng": Chip("STM32F746NGHx", M7),
    "disco_l496ag": Chip("STM32L496AGIx", M4F),
    "nucleo_f746zg": Chip("STM32F746ZGTx", M7),
    "nucleo_h723zg": Chip("STM32H723ZGTx", M7_DOUBLE, AXI_SRAM),
    "disco_f769ni": Chip("STM32F769NIHx", M7_DOUBLE),
    "nucleo_f767zi": Chip("STM32F767ZITx", M7_DOUBLE),
    "disco_l4s5i_iot01a": Chip("STM32L4S5VITx", M4F),
    "nucleo_h563zi": Chip("STM32H563ZITx", M33),
    "nucleo_l4r5zi": Chip("STM32L4R5ZITx", M4F),
    "disco_b_u585i_iot02a": Chip("STM32U585AIIxQ", M33),
    "nucleo_u575zi_q": Chip("STM32U575ZITxQ", M33),
    "nucleo_h743zi": Chip("STM32H743ZITx", M7_DOUBLE, AXI_SRAM),
    "nucleo_h7a3zi_q": Chip("STM32H7A3ZITxQ", M7_DOUBLE, AXI_SRAM),
}
"""Chips by board id. The table has no chips with two programmable cores."""

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
"""Preprocessor symbols for all sources. Without TF_LITE_STATIC_MEMORY, TFLM's arena would be larger."""

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
    on, chip = _chip(project.board)
    if not runs(on, project.packed):
        raise UsageError(
            f"{on.id} cannot run this program: it is packed for other cores",
            code="cannot_emit",
            hint=f"use --board {on.id} without --target",
        )
    name, ours = identifier(project.name), project.library
    script = f"{chip.mcu.upper()}_FLASH.ld"
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
            project=name, mcu=chip.mcu, fpu=chip.fpu, linker_script=script, symbols=SYMBOLS,
            sources=[folder for folder in SOURCES if folder != LIBRARY or ours],
            includes=[f"../{f}" for f in INCLUDES if ours or not f.startswith(LIBRARY)],
        ).lstrip(),
        ".settings/org.eclipse.core.resources.prefs": "eclipse.preferences.version=1\nencoding/<project>=UTF-8\n",
        script: rendered(
            "flash.ld.jinja",
            mcu=chip.mcu, board=on.id, stack=STACK, flash=on.flash, ram=on.largest_block, ram_origin=chip.ram_origin,
        ),
        "tflm/README.md": _TFLM.format(core=on.core.lower().replace("f", "+fp") if chip.fpu else on.core.lower()),
        **below("Core", core),
        **with_library(project, LIBRARY, library.sources),
    }  # fmt: skip


def _chip(name: str) -> tuple[Board, Chip]:
    if name not in CHIPS:
        missing = f"{name} is not one of them" if name else "no board is given"
        raise UsageError(
            f"--emit stm32cube is for some boards with an STM32, but {missing}",
            code="cannot_emit",
            hint=f"use --board {', '.join(sorted(CHIPS))}",
        )
    return boards()[name], CHIPS[name]
