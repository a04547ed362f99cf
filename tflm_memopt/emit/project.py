"""Projects that build as they are: a program around the model, for Arduino, PlatformIO and ESP-IDF.

The program tests itself on a stored input first: the outputs have to be those of TFLM on a PC. Then it says what comes
out, of a camera's pictures or of the stored input; another sensor, and an action, are its author's to add.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from functools import partial

from tflm_memopt.emit import library
from tflm_memopt.emit.firmware import firmware
from tflm_memopt.emit.license import FILE, license_text
from tflm_memopt.emit.mlperf import runner
from tflm_memopt.emit.names import identifier
from tflm_memopt.emit.program import HEADER, Platform, Subject, Texts, camera, program, stored
from tflm_memopt.emit.readme import About, about, readme
from tflm_memopt.emit.resolver import arena_bytes
from tflm_memopt.errors import UsageError
from tflm_memopt.model.reader import read
from tflm_memopt.ops.packing import Family
from tflm_memopt.results import Optimized
from tflm_memopt.targets.boards import BoardFit, boards, runs

LIBRARY = "tflm-memopt"
"""The C library's folder."""
TFLM = "spaziochirale/Chirale_TensorFLowLite@^2.0.0"
"""TensorFlow Lite Micro in PlatformIO's registry, for every Arduino core."""
OV767X = "arduino-libraries/Arduino_OV767X@^0.0.2"
"""The driver of the OV7675 there."""

_DWT = """\
#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M' && __ARM_ARCH >= 7
  *reinterpret_cast<volatile uint32_t *>(0xE000EDFC) |= 1u << 24;  /* DEMCR.TRCENA: the unit is on */
  *reinterpret_cast<volatile uint32_t *>(0xE0001FB0) = 0xC5ACCE55; /* DWT_LAR: a Cortex-M7 locks it */
  *reinterpret_cast<volatile uint32_t *>(0xE0001000) |= 1u;        /* DWT_CTRL.CYCCNTENA */
  return *reinterpret_cast<volatile uint32_t *>(0xE0001004);       /* DWT_CYCCNT */
#else
  return 0;
#endif
"""
"""The DWT of Cortex-M3 and later."""

_ON_FREERTOS = """\
#ifdef CONFIG_FREERTOS_UNICORE
static tmo_team *second_core() { return nullptr; }
#else
static TaskHandle_t core_task[2]; /* of the core that calls Invoke(), and of the other one, which helps */

static void wake_core(void *, int core) { xTaskNotifyGive(core_task[core]); }

static void wait_on_core(void *, int) {
  while (ulTaskNotifyTake(pdFALSE, portMAX_DELAY) == 0) {
  }
}

static tmo_team team = {wake_core, wait_on_core, nullptr, nullptr, nullptr, nullptr, TMO_OK, nullptr};

static void help(void *) {
  for (;;) tmo_run_worker(&team);
}

/* NULL where there is no memory for its task: then one core runs it all. */
static tmo_team *second_core() {
  if (core_task[1] != nullptr) return &team;
  core_task[0] = xTaskGetCurrentTaskHandle();
  const int other = 1 - xPortGetCoreID();
  return xTaskCreatePinnedToCore(help, "tmo", 4096, nullptr, 5, &core_task[1], other) == pdPASS ? &team : nullptr;
}
#endif
"""
"""An ESP32's other core: a task that waits for notifications."""
_ON_ARDUINO = f"""\
#if defined(ARDUINO_ARCH_RP2040) && !defined(ARDUINO_ARCH_MBED)
#include <tmo/spin.h>

static tmo_spin spin;
static tmo_team team = {{tmo_spin_wake, tmo_spin_wait, &spin, nullptr, nullptr, nullptr, TMO_OK, nullptr}};

static tmo_team *second_core() {{ return &team; }}

void loop1() {{ tmo_run_worker(&team); }} /* arduino-pico: core 1 calls it again and again */
#elif defined(ARDUINO_ARCH_ESP32)
{_ON_FREERTOS}#else
static tmo_team *second_core() {{ return nullptr; }} /* one core runs it all */
#endif
"""
"""The same, and the RP2040's or RP2350's, which has nothing else to do."""
_ARDUINO = Platform(
    ("<Chirale_TensorFlowLite.h>", HEADER),
    "micros()",
    "Serial.println(line);",
    """\
void setup() { Serial.begin(115200); }

void loop() {
  if (ready()) once();
  delay(1000);
}
""",
    counter=_DWT,
    team=_ON_ARDUINO,
)
_PLATFORMIO = replace(_ARDUINO, first="Arduino.h")
_ESP_IDF = Platform(
    ('"esp_cpu.h"', '"esp_timer.h"', '"freertos/FreeRTOS.h"', '"freertos/task.h"'),
    "esp_timer_get_time()",
    'printf("%s\\n", line);',
    """\
extern "C" void app_main() {
  for (;;) {
    if (ready()) once();
    vTaskDelay(pdMS_TO_TICKS(1000));
  }
}
""",
    counter="  return static_cast<uint32_t>(esp_cpu_get_cycle_count());\n",
    team=_ON_FREERTOS,
)
_SDKCONFIG = """\
# Settings that the program wants; idf.py menuconfig changes them. Written by tflm-memopt.
CONFIG_COMPILER_OPTIMIZATION_PERF=y
CONFIG_ESP_MAIN_TASK_STACK_SIZE=8192
# A single application of up to 1.5 MB: interpreter, kernels and model.
CONFIG_PARTITION_TABLE_SINGLE_APP_LARGE=y
"""
_SDKCONFIG_OF = {
    "esp32": "CONFIG_ESP_DEFAULT_CPU_FREQ_MHZ_240=y\n",
    "esp32s3": "CONFIG_ESP_DEFAULT_CPU_FREQ_MHZ_240=y\n",
}
"""By target: what all of them do not have."""
_ESP_CAMERA = """\
dependencies:
  # for TMO_CAMERA_ESP32
  espressif/esp32-camera:
    version: "^2.0.4"
    rules:
      - if: "target in [esp32, esp32s2, esp32s3]"
"""

_ESP_TFLM = """\
dependencies:
  espressif/esp-tflite-micro: "^1.3.1"
"""
"""The C library's own dependency, where it is not there."""


@dataclass(frozen=True, slots=True)
class Project:
    """What a project is made around: a model, or an application."""

    name: str
    main: Callable[[Platform, str], str]
    """The program for a platform; it can be a device under a runner whose header this is."""
    files: Texts
    """Models, operators and stored inputs, beside the program."""
    library: bool
    """It needs the C library."""
    boards: Collection[str]
    """Boards on which it fits; if there are none, those that run it."""
    board: str = ""
    """The one that was asked for."""
    camera: Texts = field(default_factory=dict)
    """Beside the program where there are cameras."""
    packed: frozenset[Family] = frozenset()
    """Cores that its programs are packed for."""
    about: About | None = None
    """None: there is no README.md."""
    runner: Texts = field(default_factory=dict)
    """The interface of a benchmark's runner."""


def of_model(subject: Subject, model: Texts, result: Optimized) -> Project:
    """model: the model's files."""
    return Project(
        name=subject.name,
        main=partial(program, subject),
        files={**model, **stored(subject)},
        library=not subject.builtin_only,
        boards=suited(result.fits),
        packed=firmware(result.model).packed,
        about=about(subject, arena_bytes(read(result.model), result.report)),
        board=result.report.board.board if result.report.board else "",
        camera=camera(subject),
        runner=runner(subject),
    )


def arduino(project: Project) -> Texts:
    """A sketchbook: a sketch with the model's files, and the library that it needs beside TensorFlow Lite Micro."""
    sketch = identifier(project.name)
    files = {f"{sketch}.ino": project.main(_ARDUINO, ""), **project.files, **project.camera}
    steps = (
        "Open Arduino's IDE, choose this folder in File, Preferences, Sketchbook location, and open the sketch\n"
        f"`{sketch}`. Install Chirale_TensorFLowLite from the library manager, choose the board, upload, and open\n"
        "the serial monitor at 115,200 baud."
    )
    return {
        **readme(project.about, "Arduino", steps, f"{sketch}/{sketch}.ino", library=project.library),
        **below(sketch, files),
        **beside(project, f"libraries/{LIBRARY}", library.arduino),
    }


def platformio(project: Project) -> Texts:
    """A project with an environment for each board that PlatformIO knows and it fits on; if none, that runs it.

    With MLPerf Tiny's runner interface, where the model is one of that benchmark.
    """
    main = project.main(_PLATFORMIO, next(iter(project.runner), ""))
    board = "" if project.board else " -e BOARD"
    steps = (
        f"Open this folder in PlatformIO, or run `pio run{board} -t upload`, then `pio device monitor`.\n"
        "`platformio.ini` lists the boards."
    )
    return {
        **readme(project.about, "PlatformIO", steps, "src/main.cpp", library=project.library),
        "platformio.ini": _environments(project),
        **below("src", {"main.cpp": main, **project.files, **project.camera, **project.runner}),
        **beside(project, f"lib/{LIBRARY}", partial(library.sources, "library.json")),
    }


def esp_idf(project: Project) -> Texts:
    """A project with the library as a component; the component manager fetches TensorFlow Lite Micro.

    Raises UsageError for programs that no ESP32 runs.
    """
    chips = [board for board in boards().values() if board.platformio.startswith("espressif32/")]
    if not any(runs(chip, project.packed) for chip in chips):
        raise UsageError(
            "no ESP32 runs this program: it is packed for other cores",
            code="esp_idf_target",
            hint="no --target, or --board esp32s3, for example",
        )
    cmake = f"""\
cmake_minimum_required(VERSION 3.16)
include($ENV{{IDF_PATH}}/tools/cmake/project.cmake)
project({identifier(project.name)})
"""
    models = " ".join(f'"{name}"' for name in project.files if name.endswith((".c", ".cpp")))
    main = {
        "CMakeLists.txt": f"idf_component_register(SRCS main.cpp {models} INCLUDE_DIRS .)\n",
        "main.cpp": project.main(_ESP_IDF, ""),
        **({"idf_component.yml": _ESP_CAMERA} if project.camera else {}),
        **({"idf_component.yml": _ESP_TFLM} if not project.library else {}),
    }
    component = partial(library.sources, "CMakeLists.txt", "Kconfig", "idf_component.yml")
    steps = "Run `idf.py set-target esp32s3 build flash monitor` in this folder, with the name of your chip."
    return {
        **readme(project.about, "ESP-IDF", steps, "main/main.cpp", library=project.library),
        "CMakeLists.txt": cmake,
        "sdkconfig.defaults": _SDKCONFIG,
        **{f"sdkconfig.defaults.{target}": text for target, text in _SDKCONFIG_OF.items()},
        **below("main", {**main, **project.files, **project.camera}),
        **beside(project, f"components/{LIBRARY}", component),
    }


def beside(project: Project, folder: str, sources: Callable[[], Texts]) -> Texts:
    """The C library in its folder, with its licence; nothing for a project that does without it."""
    return below(folder, {FILE: license_text(), **sources()}) if project.library else {}


def below(folder: str, files: Texts) -> Texts:
    """The files in a folder."""
    return {f"{folder}/{name}": text for name, text in files.items()}


def suited(fits: Collection[BoardFit]) -> tuple[str, ...]:
    """Ids of the boards on which a model fits; if there are none, of those whose core runs it."""
    fitting = tuple(one.board for one in fits if one.fits)
    return fitting or tuple(one.board for one in fits if one.runs)


def _environments(project: Project) -> str:
    """platformio.ini. Raises UsageError for a board that PlatformIO has no Arduino core for."""
    known = [board for board in boards().values() if board.platformio and board.arduino]
    chosen = [board for board in known if board.id in project.boards or board.id == project.board]
    environments = "\n".join(
        f"[env:{board.id}]\nplatform = {platform}\nboard = {place}\n"
        for board in chosen
        for platform, _, place in [board.platformio.partition("/")]
    )
    if project.board and project.board not in {board.id for board in chosen}:
        raise UsageError(
            f"PlatformIO has no Arduino core for {project.board}",
            code="platformio_board",
            hint="--emit cpp or c, or another board: `tflm-memopt fit` lists them",
        )
    default = f"[platformio]\ndefault_envs = {project.board}\n\n" if project.board else ""
    seen = f"; with an OV7675, one more library: {OV767X}\n" if project.camera else ""
    runs = "; for the runner of MLPerf Tiny: build_flags = -std=gnu++17 -DTMO_MLPERF=1\n" if project.runner else ""
    return f"""\
; pio run{"" if project.board else " -e BOARD"} -t upload, then pio device monitor. Written by tflm-memopt.
{default}[env]
framework = arduino
monitor_speed = 115200
build_unflags = -std=gnu++11 -std=gnu++14
build_flags = -std=gnu++17
lib_compat_mode = off
lib_deps = {TFLM}
{seen}{runs}
{environments}"""
