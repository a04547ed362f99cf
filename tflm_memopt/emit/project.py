"""Projects that build as they are: a program around the model, for Arduino, PlatformIO and ESP-IDF.

The program feeds the model a stored input and compares what comes out with what TFLM gives on a PC; a sensor and an
action are what its author puts in their place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tflm_memopt.boards import boards
from tflm_memopt.emit import library
from tflm_memopt.emit.array import ALIGNMENT, byte_lines
from tflm_memopt.emit.kernels import CONFIG, config_header, needs
from tflm_memopt.emit.names import comment, guard, identifier
from tflm_memopt.model.reader import read
from tflm_memopt.results import FrameReport, Optimized, Sample
from tflm_memopt.runtime.regions import regions

LIBRARY = "tflm-memopt"
"""The C library's folder."""
TFLM = "spaziochirale/Chirale_TensorFLowLite@^2.0.0"
"""TensorFlow Lite Micro in PlatformIO's registry, for every Arduino core."""
NEWLINE = "\n"

Texts = Mapping[str, str]
"""File name or path -> content."""


@dataclass(frozen=True, slots=True)
class Platform:
    """What differs from one platform's program to the other's."""

    includes: tuple[str, ...]
    clock: str
    """An expression: microseconds."""
    say: str
    """A statement that prints the string `line`."""
    entry: str


_ARDUINO = Platform(
    ("<Chirale_TensorFlowLite.h>", "<tflm_memopt.h>"),
    "micros()",
    "Serial.println(line);",
    """\
void setup() {
  Serial.begin(115200);
  ready = begin();
}

void loop() {
  if (ready) once(); /* if not, TFLM has said why */
  delay(1000);
}
""",
)
_ESP_IDF = Platform(
    ('"esp_timer.h"', '"freertos/FreeRTOS.h"', '"freertos/task.h"'),
    "esp_timer_get_time()",
    'printf("%s\\n", line);',
    """\
extern "C" void app_main() {
  ready = begin(); /* if not, TFLM has said why */
  while (ready) {
    once();
    vTaskDelay(pdMS_TO_TICKS(1000));
  }
}
""",
)


def arduino(name: str, model: Texts, result: Optimized, sample: Sample) -> Texts:
    """A sketchbook: a sketch with the model's files, and the library that it needs beside TensorFlow Lite Micro.

    name: stem of the model's files. model: these files. sample: what the program runs, and what has to come out.
    """
    sketch = identifier(name)
    files = {f"{sketch}.ino": _program(name, result, sample, _ARDUINO), **model, **_stored(name, sample)}
    return {
        **_below(sketch, files),
        **_below(f"libraries/{LIBRARY}", {**library.arduino(), **_config(name, result, "src")}),
    }


def platformio(name: str, model: Texts, result: Optimized, sample: Sample) -> Texts:
    """A project with an environment for each board that PlatformIO knows and the model fits on; if none, for each."""
    program = "#include <Arduino.h>\n\n" + _program(name, result, sample, _ARDUINO)
    return {
        "platformio.ini": _environments(result),
        **_below("src", {"main.cpp": program, **model, **_stored(name, sample)}),
        **_below(f"lib/{LIBRARY}", {**library.sources("library.json"), **_config(name, result, "include")}),
    }


def esp_idf(name: str, model: Texts, result: Optimized, sample: Sample) -> Texts:
    """A project with the library as a component; the component manager fetches TensorFlow Lite Micro."""
    project = f"""\
cmake_minimum_required(VERSION 3.16)
include($ENV{{IDF_PATH}}/tools/cmake/project.cmake)
project({identifier(name)})
"""
    main = {
        "CMakeLists.txt": f'idf_component_register(SRCS main.cpp "{name}_model.cpp" INCLUDE_DIRS .)\n',
        "main.cpp": _program(name, result, sample, _ESP_IDF),
    }
    return {
        "CMakeLists.txt": project,
        **_below("main", {**main, **model, **_stored(name, sample)}),
        **_below(
            f"components/{LIBRARY}",
            {
                **library.sources("CMakeLists.txt", "Kconfig", "idf_component.yml"),
                **_config(name, result, "include"),
            },
        ),
    }


def _config(name: str, result: Optimized, include: str) -> Texts:
    """What makes a project's library as small as its model lets it be, below the library's include folder."""
    programs = [region.program for region in regions(read(result.model))]
    return {f"{include}/{CONFIG}": config_header(f"{comment(name)}.tflite", needs(programs))}


def _below(folder: str, files: Texts) -> Texts:
    return {f"{folder}/{name}": text for name, text in files.items()}


def _environments(result: Optimized) -> str:
    """platformio.ini."""
    known = [board for board in boards().values() if board.platformio and board.arduino]
    chosen = [board for board in known if board.id in result.report.boards] or known
    environments = "\n".join(
        f"[env:{board.id}]\nplatform = {platform}\nboard = {place}\n"
        for board in chosen
        for platform, _, place in [board.platformio.partition("/")]
    )
    return f"""\
; pio run -e BOARD -t upload, then pio device monitor. Written by tflm-memopt.
[env]
framework = arduino
monitor_speed = 115200
build_unflags = -std=gnu++11 -std=gnu++14
build_flags = -std=gnu++17
lib_compat_mode = off
lib_deps = {TFLM}

{environments}"""


def _stored(name: str, sample: Sample) -> Texts:
    """NAME_sample.h: an input, and what TFLM makes of it."""
    c = identifier(name)
    arrays = "\n".join(
        f"alignas({ALIGNMENT}) static const uint8_t {c}_{side}_{k}[{len(data)}] = {{\n{lines}\n}};\n"
        for side, values in (("input", sample.inputs), ("output", sample.outputs))
        for k, data in enumerate(values)
        for lines in ["\n".join(byte_lines(data))]
    )
    include_guard = guard(name, "sample")
    return {
        f"{name}_sample.h": f"""\
// A random input of {comment(name)}, and the output that TensorFlow Lite Micro gives it on a PC.
// Written by tflm-memopt.
#ifndef {include_guard}
#define {include_guard}

#include <stdint.h>

{arrays}
#endif  // {include_guard}
"""
    }


def _program(name: str, result: Optimized, sample: Sample, platform: Platform) -> str:
    c = identifier(name)
    own = (f"{name}_model.h", f"{name}_ops.h", f"{name}_sample.h", "tensorflow/lite/micro/micro_interpreter.h")
    standard = ("<stdint.h>", "<stdio.h>", "<string.h>")
    includes = (*platform.includes, "", *standard, "", *(f'"{path}"' for path in own))
    wrong = "\n".join(
        f"  wrong += differing(interpreter->output({k})->data.data, {c}_output_{k}, sizeof({c}_output_{k}));"
        for k in range(len(sample.outputs))
    )
    frame = result.report.frame
    external = frame is not None and not frame.pushed
    set_frame = " && tmo::SetFrame(only, &frame) == 0" if external else ""
    return f"""\
/* {comment(name)} under TensorFlow Lite Micro. Written by tflm-memopt, for you to change: infer() feeds a stored input,
 * once() looks at what comes out. */
{NEWLINE.join(path and f"#include {path}" for path in includes)}

using namespace {c}_ops; /* TFLM's classes, wherever this version has them */

alignas({ALIGNMENT}) static uint8_t arena[{c}_arena_size];
static MicroInterpreter *interpreter = nullptr;
static bool ready = false;

{_infer(c, frame, len(sample.inputs))}

static bool begin() {{
  static MicroInterpreter only(tflite::GetModel({c}_model), {c}_op_resolver(), arena, sizeof(arena));
  interpreter = &only;
  return only.AllocateTensors() == kTfLiteOk{set_frame};
}}

static int differing(const void *got, const uint8_t *expected, size_t bytes) {{
  int wrong = 0;
  for (size_t i = 0; i < bytes; ++i) wrong += static_cast<const uint8_t *>(got)[i] != expected[i];
  return wrong;
}}

static void once() {{
  static char line[120];
  const unsigned long start = static_cast<unsigned long>({platform.clock});
  const bool done = infer();
  const unsigned long took = static_cast<unsigned long>({platform.clock}) - start;
  int wrong = 0;
{wrong}
  if (!done) {{
    snprintf(line, sizeof(line), "failed; TFLM has said why");
  }} else if (wrong != 0) {{
    snprintf(line, sizeof(line), "%d bytes of the outputs DIFFER from those of a PC", wrong);
  }} else {{
    snprintf(line, sizeof(line), "the same outputs as on a PC, %lu us, arena %lu B", took,
             static_cast<unsigned long>(interpreter->arena_used_bytes()));
  }}
  {platform.say}
}}

{platform.entry}"""


def _infer(c: str, frame: FrameReport | None, inputs: int) -> str:
    """infer(), in C++: one inference of the stored input, true when it went well."""
    if frame is None:
        copies = "\n".join(
            f"  memcpy(interpreter->input({k})->data.data, {c}_input_{k}, sizeof({c}_input_{k}));"
            for k in range(inputs)
        )
        return f"""\
/* The inputs have to be filled before every Invoke(): their bytes are used again. */
static bool infer() {{
{copies}
  return interpreter->Invoke() == kTfLiteOk;
}}"""
    of_input = f"{{{c}_input_0, sizeof({c}_input_0), {c}_row_bytes, 0, 0, TMO_FORMAT_INT8}}"
    if not frame.pushed:
        return f"""\
/* Where the input is: it is read there in every Invoke(). */
static tmo_frame frame = {of_input};

static bool infer() {{ return interpreter->Invoke() == kTfLiteOk; }}"""
    return f"""\
/* The input comes {c}_push_rows row(s) at a time. */
static bool infer() {{
  tmo_frame frame = {of_input};
  tmo::Pushed pushed = tmo::kPushMore;
  for (; pushed == tmo::kPushMore; frame.y += {c}_push_rows) pushed = tmo::PushRows(*interpreter, frame, {c}_row_bytes);
  return pushed == tmo::kPushDone;
}}"""
