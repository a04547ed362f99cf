"""Writes complete projects around a model, for Arduino, PlatformIO and ESP-IDF.

The emitted program first compares the outputs of a stored input with TFLM's outputs on a PC. After the comparison, the
program runs the model on pictures of a camera, or on the stored input, and prints the results.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from functools import partial

from tflm_memopt.answers.optimized import Optimized
from tflm_memopt.emit import library
from tflm_memopt.emit.firmware import firmware
from tflm_memopt.emit.license import FILE, license_text
from tflm_memopt.emit.names import identifier
from tflm_memopt.emit.program import HEADER, Platform, Subject, Texts, camera, program, stored
from tflm_memopt.emit.readme import About, about, readme
from tflm_memopt.emit.resolver import arena_bytes
from tflm_memopt.errors import UsageError
from tflm_memopt.model.reader import read
from tflm_memopt.ops.packing import Family
from tflm_memopt.targets.boards import Board, BoardFit, boards, runs

LIBRARY = "tflm-memopt"
TFLM = "spaziochirale/Chirale_TensorFLowLite@^2.0.0"
OV767X = "arduino-libraries/Arduino_OV767X@^0.0.2"
OV767X_BOARDS = ("", "nano33ble")
"""Ids of the boards that support the camera OV7675. The string "" stands for a project without a chosen board."""

_DWT = """\
#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M' && __ARM_ARCH >= 7
  *reinterpret_cast<volatile uint32_t *>(0xE000EDFC) |= 1u << 24;  /* DEMCR.TRCENA enables the unit */
  *reinterpret_cast<volatile uint32_t *>(0xE0001FB0) = 0xC5ACCE55; /* DWT_LAR unlocks it on a Cortex-M7 */
  *reinterpret_cast<volatile uint32_t *>(0xE0001000) |= 1u;        /* DWT_CTRL.CYCCNTENA */
  return *reinterpret_cast<volatile uint32_t *>(0xE0001004);       /* DWT_CYCCNT */
#else
  return 0;
#endif
"""

_ON_FREERTOS = """\
#ifdef CONFIG_FREERTOS_UNICORE
static tmo_team *second_core() { return nullptr; }
#else
static TaskHandle_t core_task[2]; /* the task that calls Invoke(), and the task on the other core */

static void wake_core(void *, int core) { xTaskNotifyGive(core_task[core]); }

static void wait_on_core(void *, int) {
  while (ulTaskNotifyTake(pdFALSE, portMAX_DELAY) == 0) {
  }
}

static tmo_team team = {wake_core, wait_on_core, nullptr, nullptr, nullptr, nullptr, TMO_OK, nullptr};

static void help(void *) {
  for (;;) tmo_run_worker(&team);
}

/* Returns the second core, or NULL if there is no memory for its task. Then one core runs the model. */
static tmo_team *second_core() {
  if (core_task[1] != nullptr) return &team;
  core_task[0] = xTaskGetCurrentTaskHandle();
  const int other = 1 - xPortGetCoreID();
  return xTaskCreatePinnedToCore(help, "tmo", 4096, nullptr, 5, &core_task[1], other) == pdPASS ? &team : nullptr;
}
#endif
"""
"""C++ code for the second core of an ESP32 under FreeRTOS."""
_ON_ARDUINO = f"""\
#if defined(ARDUINO_ARCH_RP2040) && !defined(ARDUINO_ARCH_MBED)
#include <tmo/spin.h>

static tmo_spin spin;
static tmo_team team = {{tmo_spin_wake, tmo_spin_wait, &spin, nullptr, nullptr, nullptr, TMO_OK, nullptr}};

static tmo_team *second_core() {{ return &team; }}

void loop1() {{ tmo_run_worker(&team); }} /* arduino-pico calls loop1() repeatedly on core 1. */
#elif defined(ARDUINO_ARCH_ESP32)
{_ON_FREERTOS}#else
/* One core runs the model. On an RP2040 or RP2350, use arduino-pico for both cores instead of Arduino's mbed core. */
static tmo_team *second_core() {{ return nullptr; }}
#endif
"""
"""C++ code for the second core of an ESP32, RP2040 or RP2350 under Arduino."""
_ESP_MEMORY = """\
#include "esp_heap_caps.h"

/* PSRAM */
static void *slow_memory() { return heap_caps_aligned_alloc(16, BYTES, MALLOC_CAP_SPIRAM); }
"""
_ARDUINO_MEMORY = f"""\
#if defined(ARDUINO_ARCH_ESP32)
{_ESP_MEMORY}#elif defined(ARDUINO_TEENSY41)
EXTMEM alignas(16) static uint8_t slow_bytes[BYTES]; /* PSRAM chips that you have soldered to the board */

static void *slow_memory() {{ return slow_bytes; }}
#else
alignas(16) static uint8_t slow_bytes[BYTES]; /* This memory is in RAM; you can place it in another memory. */

static void *slow_memory() {{ return slow_bytes; }}
#endif
"""
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
    slow=_ARDUINO_MEMORY,
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
    slow=_ESP_MEMORY,
)
_SDKCONFIG = """\
# Settings of the program; idf.py menuconfig changes them. Written by tflm-memopt.
CONFIG_COMPILER_OPTIMIZATION_PERF=y
CONFIG_ESP_MAIN_TASK_STACK_SIZE=8192
"""
_SINGLE_APP_LARGE = """\
# One application of up to 1.5 MB with interpreter, kernels and model.
CONFIG_PARTITION_TABLE_SINGLE_APP_LARGE=y
"""
_PARTITIONS = """\
# Name,   Type, SubType, Offset, Size
nvs,      data, nvs,     ,       0x6000,
phy_init, data, phy,     ,       0x1000,
factory,  app,  factory, ,       {size}K,
"""
_PROGRAM_BYTES = 512 << 10
_FLASH_MEGABYTES = (4, 8, 16, 32, 64, 128)
_SDKCONFIG_SLOW = """\
# The large tensors are in PSRAM.
CONFIG_SPIRAM=y
"""
_OCTAL = "CONFIG_SPIRAM_MODE_OCT=y"
_ASK_FOR_OCTAL = f"""

Large tensors are in PSRAM. If your ESP32-S3 has octal PSRAM (R8 or R16 in the name of its module), add
`{_OCTAL}` to `sdkconfig.defaults.esp32s3` before you build."""
_240_MHZ = "CONFIG_ESP_DEFAULT_CPU_FREQ_MHZ_240=y\n"
_PSRAM_80_MHZ = "CONFIG_SPIRAM_SPEED_80M=y\n"
_PSRAM = "build_flags = ${env.build_flags} -DBOARD_HAS_PSRAM\n"
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


@dataclass(frozen=True, slots=True)
class Project:
    name: str
    main: Callable[[Platform], str]
    files: Texts
    library: bool
    boards: Collection[str]
    """Ids of boards with enough RAM and flash for the project. If no board has enough RAM and flash, `boards` has the
    ids of all boards with a suitable core.
    """
    board: str = ""
    camera: Texts = field(default_factory=dict)
    packed: frozenset[Family] = frozenset()
    about: About | None = None
    slow: int = 0
    models: int = 0


def of_model(subject: Subject, model: Texts, result: Optimized) -> Project:
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
        slow=subject.slow,
        models=len(result.model),
    )


def arduino(project: Project) -> Texts:
    """Return a sketchbook folder for Arduino's IDE: a sketch, the files of the model, and the C library."""
    sketch = identifier(project.name)
    files = {f"{sketch}.ino": project.main(_ARDUINO), **project.files, **project.camera}
    steps = (
        "Open Arduino's IDE, choose this folder in File, Preferences, Sketchbook location, and open the sketch\n"
        f"`{sketch}`. Install Chirale_TensorFLowLite from the library manager, choose the board, upload, and open\n"
        "the serial monitor at 115,200 baud."
    ) + _without_esp_nn(project)
    return {
        **readme(project.about, "Arduino", steps, f"{sketch}/{sketch}.ino", library=project.library),
        **below(sketch, files),
        **with_library(project, f"libraries/{LIBRARY}", library.arduino),
    }


def _without_esp_nn(project: Project) -> str:
    if Family.ESP not in project.packed:
        return ""
    return (
        "\n\nThis project is built without ESP-NN: convolutions run in C and take longer than the report says.\n"
        "Espressif's package for Arduino contains ESP-NN since 3.0.0. If it has 1.1.1 or later, define `TMO_ESP_NN`\n"
        "for all files: by `-DTMO_ESP_NN` in a file `build_opt.h` beside the sketch, or in `build_flags` of\n"
        "`platformio.ini`. This was not tried on a board. `--emit esp-idf` makes a project that uses ESP-NN as it is."
    )


def platformio(project: Project) -> Texts:
    board = "" if project.board else " -e BOARD"
    steps = (
        f"Open this folder in PlatformIO, or run `pio run{board} -t upload`, then `pio device monitor`."
        + ("" if project.board else "\n`platformio.ini` lists the boards.")
    ) + _without_esp_nn(project)
    return {
        **readme(project.about, "PlatformIO", steps, "src/main.cpp", library=project.library),
        "platformio.ini": _environments(project),
        **below("src", {"main.cpp": project.main(_PLATFORMIO), **project.files, **project.camera}),
        **with_library(project, f"lib/{LIBRARY}", partial(library.sources, "library.json")),
    }


def esp_idf(project: Project) -> Texts:
    """Return an ESP-IDF project with the C library as a component. ESP-IDF's component manager downloads TensorFlow
    Lite Micro.

    Raises UsageError for other boards, and for programs that no ESP32 can run.
    """
    board = boards().get(project.board)
    _demand_esp32(board, project.packed)
    cmake = f"""\
cmake_minimum_required(VERSION 3.16)
include($ENV{{IDF_PATH}}/tools/cmake/project.cmake)
project({identifier(project.name)})
"""
    models = " ".join(f'"{name}"' for name in project.files if name.endswith((".c", ".cpp")))
    main = {
        "CMakeLists.txt": f"idf_component_register(SRCS main.cpp {models} INCLUDE_DIRS .)\n",
        "main.cpp": project.main(_ESP_IDF),
        **({"idf_component.yml": _ESP_CAMERA} if project.camera else {}),
        **({"idf_component.yml": _ESP_TFLM} if not project.library else {}),
    }
    component = partial(library.sources, "CMakeLists.txt", "Kconfig", "idf_component.yml")
    flash, partitions = _flash(project.models)
    target = board.chip.lower().replace("-", "") if board else "TARGET"
    remark = " TARGET is the name of your chip, such as esp32s3." if target == "TARGET" else ""
    steps = f"Run `idf.py set-target {target} build flash monitor` in this folder.{remark}"
    psram = _PSRAM_80_MHZ if project.slow else ""
    if project.slow and board and board.external_ram:  # All ESP32-S3 boards of the board list have octal PSRAM.
        psram += f"{_OCTAL}\n"
    elif project.slow:
        steps += _ASK_FOR_OCTAL
    return {
        **readme(project.about, "ESP-IDF", steps, "main/main.cpp", library=project.library),
        "CMakeLists.txt": cmake,
        "sdkconfig.defaults": _SDKCONFIG + flash + (_SDKCONFIG_SLOW if project.slow else ""),
        **partitions,
        "sdkconfig.defaults.esp32": _240_MHZ,
        "sdkconfig.defaults.esp32s3": _240_MHZ + psram,
        **below("main", {**main, **project.files, **project.camera}),
        **with_library(project, f"components/{LIBRARY}", component),
    }


def _demand_esp32(board: Board | None, packed: Collection[Family]) -> None:
    if board and not board.chip.startswith("ESP32"):
        raise UsageError(
            f"--emit esp-idf is for boards with an ESP32, and {board.id} has none",
            code="cannot_emit",
            hint="use --board esp32s3 or another ESP32, or another --emit",
        )
    chips = [board for board in boards().values() if board.platformio.startswith("espressif32/")]
    if not any(runs(chip, packed) for chip in chips):
        raise UsageError(
            "no ESP32 can run this program: it is packed for other cores",
            code="cannot_emit",
            hint="leave out --board and --target, or use for example --board esp32s3 without --target",
        )


def _flash(models: int) -> tuple[str, Texts]:
    kilobytes = -(-(models + _PROGRAM_BYTES) // (64 << 10)) * 64
    if kilobytes <= 1500:
        return _SINGLE_APP_LARGE, {}
    megabytes = next((size for size in _FLASH_MEGABYTES if kilobytes + 64 <= size << 10), None)
    if megabytes is None:
        what = f"{models:,} bytes of models do not fit an ESP32's flash of {_FLASH_MEGABYTES[-1]} MB"
        raise UsageError(what, code="cannot_emit", hint="use a smaller model")
    settings = f"""\
# One application of up to {kilobytes} KB, with all models.
CONFIG_ESPTOOLPY_FLASHSIZE_{megabytes}MB=y
CONFIG_PARTITION_TABLE_CUSTOM=y
CONFIG_PARTITION_TABLE_CUSTOM_FILENAME="partitions.csv"
"""
    return settings, {"partitions.csv": _PARTITIONS.format(size=kilobytes)}


def with_library(project: Project, folder: str, sources: Callable[[], Texts]) -> Texts:
    return below(folder, {FILE: license_text(), **sources()}) if project.library else {}


def below(folder: str, files: Texts) -> Texts:
    return {f"{folder}/{name}": text for name, text in files.items()}


def suited(fits: Collection[BoardFit]) -> tuple[str, ...]:
    fitting = tuple(one.board for one in fits if one.fits)
    return fitting or tuple(one.board for one in fits if one.runs and one.slow_left >= 0)


def _environments(project: Project) -> str:
    known = [board for board in boards().values() if board.platformio and board.arduino]
    chosen = [board for board in known if board.id in ((project.board,) if project.board else project.boards)]
    environments = "\n".join(
        f"[env:{board.id}]\nplatform = {platform}\nboard = {place}\n"
        + (_PSRAM if project.slow and platform == "espressif32" else "")
        for board in chosen
        for platform, _, place in [board.platformio.partition("/")]
    )
    if project.board and not chosen:
        raise UsageError(
            f"PlatformIO has no Arduino core for {project.board}",
            code="cannot_emit",
            hint="use --emit cpp or c, or another board; `fit MODEL --all` lists all boards",
        )
    seen = (
        f"; an OV7675 needs one more library: {OV767X}\n" if project.camera and project.board in OV767X_BOARDS else ""
    )
    return f"""\
; pio run{"" if project.board else " -e BOARD"} -t upload, then pio device monitor. Written by tflm-memopt.
[env]
framework = arduino
monitor_speed = 115200
build_unflags = -std=gnu++11 -std=gnu++14
build_flags = -std=gnu++17
lib_compat_mode = off
lib_deps = {TFLM}
{seen}
{environments}"""
