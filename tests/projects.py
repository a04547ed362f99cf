"""Builds and runs emitted projects on a PC, with stubs for the boards' functions."""

import atexit
import functools
import re
import runpy
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from compiling import objects, run
from conftest import ROOT

TFLM = runpy.run_path(str(ROOT / "scripts/tflm2023.py"))
STRICT = ["-Wall", "-Wextra", "-Werror", "-O1"]
CORE = ROOT / "tests/packaging/arduino/core"
LIBRARY = ROOT / "custom_ops"
INCLUDE = [f"-I{LIBRARY / name}" for name in ("include", "src", "tflm")]
PROJECTS = ("arduino", "platformio", "esp-idf")

ESP_HEADERS = {
    "esp_cpu.h": """\
#include <stdlib.h>
inline unsigned esp_cpu_get_cycle_count() {
  static unsigned n = 0;
  return n += getenv("CYCLES") ? atoi(getenv("CYCLES")) : 0;
}
""",
    "esp_timer.h": "inline long long esp_timer_get_time() { return 0; }\n",
    "esp_heap_caps.h": """\
#include <stdlib.h>
#define MALLOC_CAP_SPIRAM 1
inline void *heap_caps_aligned_alloc(size_t alignment, size_t bytes, unsigned) {
  return getenv("NO_PSRAM") ? NULL : aligned_alloc(alignment, bytes);
}
""",
    "freertos/FreeRTOS.h": """\
#define pdFALSE 0
#define pdPASS 1
#define portMAX_DELAY 0
#define pdMS_TO_TICKS(t) (t)
""",
    "freertos/task.h": """\
#include <semaphore.h>
#include <stdlib.h>

#include <thread>
struct Task {
  explicit Task(int core) : core(core) { sem_init(&given, 0, 0); }
  int core;
  sem_t given;
};
typedef Task *TaskHandle_t;
inline thread_local TaskHandle_t current = new Task(0);
inline TaskHandle_t xTaskGetCurrentTaskHandle() { return current; }
inline int xPortGetCoreID() { return current->core; }
inline void xTaskNotifyGive(TaskHandle_t task) { sem_post(&task->given); }
inline unsigned ulTaskNotifyTake(int, int) { return sem_wait(&current->given) == 0; }
typedef void (*Run)(void *);
inline int xTaskCreatePinnedToCore(Run run, const char *, int, void *with, int, TaskHandle_t *task, int core) {
  TaskHandle_t const made = *task = new Task(core);
  std::thread([=] { current = made, run(with); }).detach();
  return pdPASS;
}
inline void vTaskDelay(int) {
  static int left = getenv("LOOPS") ? atoi(getenv("LOOPS")) : 1;
  if (--left <= 0) exit(0);
}
""",
    "start.cpp": 'extern "C" void app_main();\nint main() { app_main(); }\n',
}

needs_host = pytest.mark.skipif(
    bool(TFLM["missing"]()) or not shutil.which("g++"), reason=TFLM["missing"]() or "no g++"
)


def unpack(files: Mapping[str, bytes], folder: Path, arena: int = 40_000) -> None:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        larger = re.sub(rb"(?<=arena_size = )\d+", str(arena).encode(), data)
        path.write_bytes(larger if name.endswith(("_ops.h", "_app.h")) else data)


@functools.cache
def repository_library(tflm: Any) -> list[Path]:
    folder = Path(tempfile.mkdtemp(prefix="library"))
    atexit.register(shutil.rmtree, folder)
    cpp = ["g++", "-std=c++11", *STRICT, "-Wpedantic", *INCLUDE, *tflm.flags]
    made = objects(["gcc", "-std=gnu11", *STRICT, *INCLUDE], sorted((LIBRARY / "src").glob("*.c")), folder)
    return made + objects(cpp, [LIBRARY / "tflm/tmo_tflm.cpp"], folder)


def compile_library(source: Path, tflm: Any) -> list[Path]:
    ours = {path.read_bytes() for part in INCLUDE for path in Path(part[2:]).rglob("*") if path.is_file()}
    changed = [path for path in source.rglob("*") if path.is_file() and path.read_bytes() not in ours]
    mine = objects(["gcc", "-std=gnu11", *STRICT, f"-I{source}"], changed, source)
    names = {path.stem for path in source.glob("*.c*")} - {path.stem for path in changed}
    return mine + [path for path in repository_library(tflm) if path.stem in names]


def told(
    project: str, files: Mapping[str, bytes], tflm: Any, folder: Path, *flags: str, loops: int = 1, arena: int = 40_000
) -> str:
    unpack(files, folder, arena)
    source = folder / "arduino/libraries/tflm-memopt/src"
    cpp = ["g++", "-std=gnu++17", *STRICT, f"-I{source}", *tflm.flags]
    library = compile_library(source, tflm)
    (sketch,) = folder.glob("arduino/*/*.ino")
    main = {"arduino": sketch.parent, "platformio": folder / "platformio/src", "esp-idf": folder / "esp-idf/main"}[
        project
    ]
    for name, text in ESP_HEADERS.items():
        (main / name).parent.mkdir(exist_ok=True)
        (main / name).write_text(text)
    platform = [f"-I{main}"]
    if project != "esp-idf":
        shutil.copy(CORE / "main.cpp", main / "start.cpp")
        platform += [f"-I{CORE}", "-include", "Arduino.h"]
    command = [*cpp, *flags, *platform]
    made = objects(command, sorted(main.glob("*.cpp")), main)
    made += objects([*command, "-x", "c++"], main.glob("*.ino"), main)
    made += objects(["gcc", "-std=gnu17", *STRICT, f"-I{source}"], sorted(main.glob("*.c")), main)
    run("g++", *made, *library, *tflm.link, "-pthread", "-o", "program", cwd=main)
    return run(main / "program", cwd=main, LOOPS=str(loops))
