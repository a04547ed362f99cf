"""Measures the flash that parts of TFLM and of the C library take.

For the library, the script measures .text and .rodata of a program without kernels (`base`), and of programs with one
kernel each. If two kernels share code, the script counts the shared code twice, so the estimated flash of a model is
rarely too low.

The file of `--tflm` is TFLM's library, built at -Os for Cortex-M4 with -ffunction-sections and -fdata-sections. With
`--tflm`, the script measures a program with an interpreter and one custom operator (`interpreter`), the bytes that each
TFLM kernel adds, and the library's adapter (`adapter`). On average, a kernel has `shared` bytes of code in common with
other kernels.

Usage: python benchmarks/flash.py --write tflm_memopt/analysis/flash.json [--cores m4 rv32]
   or: python benchmarks/flash.py --write FILE --tflm LIBRARY.a --include DIR ... --source TEXT
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import tables
from cores.core import LIBRARY, MEASURED, Core, missing_tools
from size import LEVEL, image

from tflm_memopt.emit.kernels import Needs
from tflm_memopt.emit.resolver import BUILTIN_METHODS
from tflm_memopt.format.codes import Part
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.packings import PACKINGS

CORES = ("m0", "m3", "m4", "m55", "rv32", "rv32v")
TFLM_CORE = "m4"
ADAPTER = sorted((LIBRARY / "tflm").glob("*.cpp"))
TFLM_PROGRAM = """\
#include "tensorflow/lite/micro/micro_interpreter.h"
#include "tensorflow/lite/micro/micro_mutable_op_resolver.h"
namespace tflite { namespace micro {} }
using namespace tflite;
using namespace tflite::micro;
extern "C" { void *__dso_handle; }
extern const unsigned char model[];
extern unsigned char arena[];
extern const TFLMRegistration custom;
using Resolver = MicroMutableOpResolver<128>;
static int run(Resolver &resolver) {
  resolver.AddCustom("TMO_REGION", &custom);
  static MicroInterpreter interpreter(GetModel(model), resolver, arena, 4096);
  if (interpreter.AllocateTensors() != kTfLiteOk) return 1;
  interpreter.input(0)->data.int8[0] = interpreter.output(0)->data.int8[0];
  return interpreter.Invoke();
}
static Resolver resolver;
extern "C" int with_nothing() { return run(resolver); }
"""
RESOLVER = "tensorflow/lite/micro/micro_mutable_op_resolver.h"


def of_library(core: Core) -> dict[str, Any]:
    base = _library(core, Needs())
    packings = sorted({packing for family in core.families for packing in PACKINGS.get(family, ())})
    packed = sum(1 << packing for packing in packings)
    without = _library(core, Needs(packings=packed))
    return {
        "base": base,
        "kinds": {kind.name: _library(core, Needs(kinds=1 << kind)) - base for kind in Kind},
        "packings": {p.name: _library(core, Needs(packings=1 << p)) - base for p in packings},
        "parts": {part.name: _library(core, Needs(packings=packed, parts=1 << part)) - without for part in Part},
    }


def _library(core: Core, needs: Needs) -> int:
    with tempfile.TemporaryDirectory() as folder:
        return _text(image(core, needs, Path(folder)))


def of_tflm(core: Core, archive: Path, include: Sequence[Path]) -> dict[str, Any]:
    header = next(path / RESOLVER for path in include if (path / RESOLVER).is_file()).read_text(encoding="utf-8")
    methods = {name: method for name, method in BUILTIN_METHODS.items() if f"{method}(" in header}
    adds = (
        f'extern "C" int with_{name}() {{ resolver.{method}(); return run(resolver); }}\n'
        for name, method in methods.items()
    )
    with tempfile.TemporaryDirectory() as folder:
        main = Path(folder) / "main.cc"
        main.write_text(TFLM_PROGRAM + "".join(adds), encoding="utf-8")
        objects = [_object(core, include, source, Path(folder)) for source in (main, *ADAPTER)]
        interpreter = _tflm(core, archive, objects[0], "with_nothing")
        if interpreter is None:
            raise RuntimeError(f"no program can be linked with {archive}")
        alone = {name: _tflm(core, archive, objects[0], f"with_{name}") for name in methods}
        kernels = {name: size - interpreter for name, size in alone.items() if size is not None}
        added = "".join(f"resolver.{methods[name]}(); " for name in kernels)
        main.write_text(
            TFLM_PROGRAM + f'extern "C" int with_all() {{ {added}return run(resolver); }}\n', encoding="utf-8"
        )
        together = _tflm(core, archive, _object(core, include, main, Path(folder)), "with_all") or 0
        adapter = sum(map(_text, objects[1:]))
    shared = (sum(kernels.values()) - (together - interpreter)) // (len(kernels) - 1)
    return {"adapter": adapter, "interpreter": interpreter, "shared": shared, "kernels": kernels}


def _tflm(core: Core, archive: Path, program: Path, entry: str) -> int | None:
    """Return the size in bytes of a program that begins at the function `entry`, or None if TFLM lacks some of the
    code.
    """
    image = program.with_suffix(".elf")
    places = [f"-Wl,--defsym={symbol}=0x20000000" for symbol in ("model", "arena", "custom")]
    linker = ("--specs=nano.specs", "--specs=nosys.specs", "-nostartfiles", "-Wl,--gc-sections", f"-Wl,-e,{entry}")
    command = [core.prefix + "g++", *core.flags, LEVEL, str(program), str(archive), *linker, *places, "-o", str(image)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    if built.returncode and "undefined reference" not in built.stderr:
        raise RuntimeError(built.stderr)
    return None if built.returncode else _text(image)


def _object(core: Core, include: Sequence[Path], source: Path, folder: Path) -> Path:
    plain = ("-std=gnu++17", "-fno-rtti", "-fno-exceptions", "-fno-threadsafe-statics", "-DTF_LITE_STATIC_MEMORY")
    paths = [f"-I{path}" for path in (*include, LIBRARY / "include", LIBRARY / "tflm")]
    sections = ("-ffunction-sections", "-fdata-sections")
    to = folder / f"{source.name}.o"
    command = [core.prefix + "g++", *core.flags, LEVEL, *plain, *sections, *paths, "-c", str(source), "-o", str(to)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    if built.returncode:
        raise RuntimeError(built.stderr)
    return to


def _text(image: Path) -> int:
    done = subprocess.run(["arm-none-eabi-size", str(image)], capture_output=True, text=True, check=True)
    return int(done.stdout.splitlines()[1].split()[0])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, required=True, metavar="FILE", help="what it knows already stays")
    parser.add_argument("--cores", nargs="*", choices=CORES, default=CORES)
    parser.add_argument("--tflm", type=Path, metavar="LIBRARY.a")
    parser.add_argument("--include", type=Path, nargs="+", default=[], metavar="DIR")
    parser.add_argument("--source", default="", help="which TFLM it is")
    args = parser.parse_args(arguments)
    known = json.loads(args.write.read_text(encoding="utf-8")) if args.write.exists() else {"library": {}, "tflm": {}}
    try:
        if args.tflm:
            core = MEASURED[TFLM_CORE]
            known["tflm"] = {"source": args.source, "core": core.known_as, **of_tflm(core, args.tflm, args.include)}
        for core in () if args.tflm else [MEASURED[name] for name in args.cores]:
            if reason := missing_tools(core):
                parser.error(reason)
            known["library"][core.known_as] = of_library(core)
    except (OSError, RuntimeError) as error:
        parser.error(str(error))
    args.write.write_text(tables.json_lines(known, 2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
