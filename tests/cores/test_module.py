"""Run C modules of `optimize --emit c` on emulated microcontrollers that have flash and 16 KB of RAM."""

import importlib
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from conftest import AUTOENCODER, EXAMPLE, KEYWORDS, MOBILENET, ROOT
from cores.core import CORES, HERE, HIFIVE1, Core, build, emulate, missing_tools, sources

import tflm_memopt
from tflm_memopt.emit.names import identifier
from tflm_memopt.runtime import host

FLASH = {"m0": 256 << 10, "hifive1": 4 << 20, "m3": 4 << 20, "m4": 4 << 20}
STACK = 1536
pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Ran:
    wrong: int
    static: int
    stack: int


def module(name: str, model: bytes, **settings: Any) -> tuple[str, Mapping[str, bytes]]:
    return name, tflm_memopt.optimize(model, name=name, **settings).files("c")


@pytest.fixture(scope="module")
def modules() -> Mapping[str, tuple[str, Mapping[str, bytes]]]:
    return {
        EXAMPLE.stem: module(EXAMPLE.stem, EXAMPLE.read_bytes(), max_macs=1.1),
        KEYWORDS.stem: module(KEYWORDS.stem, KEYWORDS.read_bytes()),
    }


def linked() -> list[Path]:
    return [path for path in sources() if path.suffix == ".S" or path.stem in ("tmo_fixed", "tmo_status")]


def execute(core: Core, name: str, files: Mapping[str, bytes], folder: Path, more: Sequence[str] = ()) -> Ran:
    code = (f"{name}.c", f"{name}_library.c")
    for file in (*code, f"{name}.h"):
        (folder / file).write_bytes(files[file])
    (folder / "module.h").write_text(f'#include "{name}.h"\n')
    start = [HERE / name for name in core.start]
    image = folder / "module.elf"
    flags = [
        f"-I{folder}",
        f"-I{HERE}",
        f"-DMODULE={identifier(name)}",
        f"-DTMO_RAM_LIMIT={core.ram_bytes - STACK}",
        *more,
    ]
    own = [HERE / "module_main.c", *start, *(folder / file for file in code)]
    build(replace(core, stack=STACK), [*own, *linked()], image, flags, rom_bytes=FLASH[core.name])
    said = re.fullmatch(r"wrong (-?\d+) static (\d+) stack (\d+)\n", emulate(core, image))
    assert said
    return Ran(*map(int, said.groups()))


def passes(core: Core, name: str, files: Mapping[str, bytes], folder: Path) -> None:
    if reason := missing_tools(core):
        pytest.skip(reason)
    ran = execute(core, name, files, folder)
    print(core.name, name, ran)
    assert ran.wrong == 0
    assert ran.stack < STACK
    assert ran.static + ran.stack <= 16 << 10


@pytest.mark.parametrize("core", [HIFIVE1, CORES["m0"]], ids=lambda core: core.name)
def test_whole_models_pass_their_self_test(
    core: Core, modules: Mapping[str, tuple[str, Mapping[str, bytes]]], tmp_path: Path
) -> None:
    for name, files in modules.values():
        passes(core, name, files, tmp_path)


def test_a_build_without_a_kernel_refuses(
    modules: Mapping[str, tuple[str, Mapping[str, bytes]]], tmp_path: Path
) -> None:
    if reason := missing_tools(HIFIVE1):
        pytest.skip(reason)
    name, files = modules[EXAMPLE.stem]
    library = files[f"{name}_library.c"].decode()
    for part, none, more in (("KIND(CONV)", "", []), ("1ull << TMO_PART_TILES", "0", ["-DTMO_SKIP_PROOF"])):
        assert part in library
        without = {**files, f"{name}_library.c": library.replace(part, none, 1).encode()}
        with pytest.raises(RuntimeError, match=rf"wrong {int(host.Status.KERNEL)} "):
            execute(HIFIVE1, name, without, tmp_path, more)


MAIN = (
    '#include "net.h"\n'
    "int main(void) {{\n"
    "  net_input()[0] = 1;\n"
    "  return net_init() == TMO_OK && net_{run}() == TMO_OK ? net_output()[0] : -1;\n"
    "}}\n"
)


def sections(core: Core, files: Mapping[str, bytes], folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    size, image = importlib.import_module("size"), folder / "image.elf"
    for name, data in files.items():
        (folder / name).write_bytes(data)
    code = [folder / name for name in files if name.endswith(".c")] + [s for s in sources() if s.suffix == ".S"]
    objects = [str(size.compiled(core, "-Os", [f"-I{folder}"], file, folder)) for file in code]
    linker = ["--specs=nano.specs", "-nostartfiles", "-Wl,--gc-sections", "-Wl,-e,main"]
    subprocess.run([f"{core.prefix}gcc", *core.flags, *objects, *linker, "-o", image], check=True)
    said = subprocess.run([f"{core.prefix}size", "-A", image], capture_output=True, text=True, check=True).stdout
    found = re.findall(r"^\.(text|rodata|data|bss)\s+(\d+)", said, re.MULTILINE)
    return {"data": 0} | {name: int(nbytes) for name, nbytes in found}


@pytest.mark.parametrize(
    ("path", "where", "core"), [(KEYWORDS, "arena", "m0"), (AUTOENCODER, "arena", "m4"), (MOBILENET, "stream", "m4")]
)
def test_flash_and_ram_are_those_of_the_linked_program(
    path: Path, where: str, core: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The report's flash is at least the flash of the linked program, and the report's RAM is exact apart from
    alignment.
    """
    on = CORES[core]
    if reason := missing_tools(on):
        pytest.skip(reason)
    options = {"input": where, "target": on.target, "core": on.known_as, "interpreter": False}
    result = tflm_memopt.optimize(path, name="net", **options)
    files = result.files("c")
    main = MAIN.format(run="push" if where == "stream" else "invoke").encode()
    linked = sections(on, {name: files[name] for name in ("net.h", "net.c", "net_library.c")} | {"main.c": main},
                      tmp_path, monkeypatch)  # fmt: skip
    assert result.report.footprint
    told, flash = result.report.footprint.rewritten, linked["text"] + linked["rodata"] + linked["data"]
    print(core, path.stem, linked, told, result.report.arena.total)
    assert told.tflm == 0
    assert told.model < flash <= told.total <= 1.15 * flash
    assert 0 <= linked["data"] + linked["bss"] - result.report.arena.total < 32
