"""Builds bare-metal programs with semihosting, and runs them on machines that QEMU or Spike simulates."""

import functools
import hashlib
import os
import runpy
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from compiling import objects

from tflm_memopt.emit.embedded import kind_list
from tflm_memopt.ops.kinds import Kind, traits
from tflm_memopt.ops.packing import TARGETS, Family
from tflm_memopt.ops.rowop import FLOAT_BYTES
from tflm_memopt.targets import boards

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
LIBRARY = ROOT / "custom_ops"
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")
IMAGE_BYTES = 0x2D000
"""Bytes of ROM that are reserved for the runner's code."""
FLOAT_KINDS = sum(1 << kind for kind in Kind if traits(kind).reads == traits(kind).writes == FLOAT_BYTES)
BEHIND = IMAGE_BYTES, (256 << 10) - IMAGE_BYTES
"""Address and size of the space for test cases in a micro:bit's flash."""
SPIKE = runpy.run_path(str(ROOT / "scripts/spike.py"))
TIMEOUT = 600


@dataclass(frozen=True)
class Core:
    name: str
    machine: str
    flags: tuple[str, ...]
    rom: int
    ram: int
    ram_bytes: int
    blob: int
    """Address at which QEMU loads the file with the test cases."""
    blob_bytes: int
    shift: int
    """Value of QEMU's option -icount: an instruction takes 2^shift nanoseconds."""
    prefix: str = "arm-none-eabi-"
    qemu: str = "qemu-system-arm"
    stack: int = 4096
    most_stack: int = boards.stack("rv32")
    options: tuple[str, ...] = ()
    target: str = "generic"
    known_as: str = ""
    """Name of the core in `costs.json`, or "" if the file lacks the core."""
    spike: int = 0
    """Number of bits of a vector register if the simulator Spike runs the core, or 0 if QEMU runs the core."""
    pair: bool = False

    @property
    def short(self) -> str:
        return self.name.partition("-")[0]

    @property
    def families(self) -> tuple[Family, ...]:
        return TARGETS[self.target].runs

    @property
    def start(self) -> tuple[str, ...]:
        return _START_PAIR if self.pair else _START[self.prefix]

    @property
    def is_arm(self) -> bool:
        return self.prefix.startswith("arm")


_M = 1 << 20
_START = {
    "arm-none-eabi-": ("start_arm.c",),
    "riscv64-unknown-elf-": ("start_rv32.c",),
    "xtensa-lx106-elf-": ("start_xtensa.c", "arithmetic_xtensa.c"),
}
_START_PAIR = ("start_arm.c", "start_second.c")


def _arm(
    name: str, machine: str, cpu: str, *, at: tuple[int, int, int], blob: tuple[int, int] = (0, 0), shift: int = 5
) -> Core:
    """The argument `at` has the ROM's address, the RAM's address and the RAM's size in bytes. The argument `blob` has
    the address and the size of the memory for test cases.
    """
    rom, ram, ram_bytes = at
    flags = (f"-mcpu={cpu}", "-mthumb", *_FLOAT.get(cpu, ()))
    start, nbytes = blob if blob[1] else (rom + IMAGE_BYTES, 4 * _M - IMAGE_BYTES)
    target = cpu if cpu in TARGETS else "generic"
    most = boards.stack(cpu)
    return Core(
        name, machine, flags, rom, ram, ram_bytes, start, nbytes, shift, most_stack=most, target=target, known_as=cpu
    )


_FLOAT = {
    "cortex-m4": ("-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"),
    "cortex-m7": ("-mfloat-abi=hard", "-mfpu=fpv5-d16"),
    "cortex-m33": ("-mfloat-abi=hard", "-mfpu=fpv5-sp-d16"),
    "cortex-m55": ("-mfloat-abi=hard",),
}
_RV32 = ("-march=rv32imac", "-misa-spec=2.2", "-mabi=ilp32", "-mcmodel=medany", "--specs=picolibc.specs")
_NO_BIOS = ("-bios", "none")
_LX106 = ("-mlongcalls", "-mtext-section-literals")


def vectors(vlen: int) -> tuple[str, ...]:
    return (*_NO_BIOS, "-cpu", f"rv32,v=true,vext_spec=v1.0,vlen={vlen}")


def in_spike(core: Core, vlen: int) -> Core:
    return replace(core, name=f"{core.name}-spike{vlen}", flags=(*core.flags, "-DCORE_HTIF=1"), spike=vlen)


# "m0-large" runs Cortex-M0 code on a machine with a Cortex-M3, because QEMU's only Cortex-M0 has 16 KB of RAM.
_CORES = (
    _arm("m0", "microbit", "cortex-m0", at=(0, 0x20000000, 16 << 10), blob=BEHIND, shift=6),
    _arm("m0-large", "mps2-an385", "cortex-m0", at=(0, 0x20000000, 4 * _M)),
    _arm("m3", "mps2-an385", "cortex-m3", at=(0, 0x20000000, 4 * _M)),
    _arm("m4", "mps2-an386", "cortex-m4", at=(0, 0x20000000, 4 * _M)),
    _arm("m7", "mps2-an500", "cortex-m7", at=(0, 0x60000000, 16 * _M)),
    _arm("m33", "mps2-an505", "cortex-m33", at=(0x10000000, 0x38000000, 4 * _M)),
    _arm("m55", "mps3-an547", "cortex-m55", at=(0, 0x20000000, 512 << 10), blob=(0x01000000, 2 * _M)),
    Core("rv32", "virt", _RV32, 0x80000000, 0x80200000, 2 * _M, 0x80400000, 16 * _M, 0,
         "riscv64-unknown-elf-", "qemu-system-riscv32", options=_NO_BIOS, known_as="rv32"),
    Core("rv32v", "virt", (*_RV32, "-DTMO_RVV=1"), 0x80000000, 0x80200000, 2 * _M, 0x80400000, 16 * _M, 0,
         "riscv64-unknown-elf-", "qemu-system-riscv32", options=vectors(128), target="rv32-v",
         known_as="rv32-v"),
    Core("lx106", "lx60", _LX106, 0x60000000, 0x60200000, 2 * _M, 0x60400000, 16 * _M, 5,
         "xtensa-lx106-elf-", "qemu-system-xtensa", most_stack=boards.stack("xtensa"), options=("-cpu", "lx106")),
)  # fmt: skip
CORES = {core.name: core for core in _CORES}
MEASURED = {core.short: core for core in _CORES if core.known_as}
"""Benchmarks run whole models on the cores of MEASURED."""


def with_listed_parts(core: Core) -> Core:
    """Return a core on which a program can use only those optional parts of the C library that the program lists."""
    flags = ("-DCORE_PARTS", "-DTMO_PARTS=core_parts", "-include", str(HERE / "parts.h"))
    blob = core.rom + 2 * IMAGE_BYTES
    return replace(core, flags=(*core.flags, *flags), blob=blob, blob_bytes=core.blob_bytes - IMAGE_BYTES)


PAIR = replace(
    CORES["m33"], name="m33-pair", machine="mps2-an521", pair=True,
    options=("-global", "sse-200.CPU0_FPU=on", "-global", "sse-200.CPU0_DSP=on"),
)  # fmt: skip
"""By default, QEMU gives floating point and DSP only to the second core."""

HIFIVE1 = Core(
    "hifive1", "sifive_e",
    ("-march=rv32imac", "-misa-spec=2.2", "-mabi=ilp32", "-mcmodel=medany", "--specs=picolibc.specs"),
    0x20400000, 0x80000000, 16 << 10, 0, 0, 0, "riscv64-unknown-elf-", "qemu-system-riscv32", options=_NO_BIOS,
)  # fmt: skip


def missing_tools(core: Core) -> str:
    if core.spike and SPIKE["missing"]():
        return str(SPIKE["missing"]())
    missing = [tool for tool in (core.prefix + "gcc", core.qemu) if shutil.which(tool) is None]
    return f"{', '.join(missing)} not found: scripts/test installs what it needs on Debian" if missing else ""


def compile_flags(core: Core) -> list[str]:
    freestanding = ["-ffunction-sections", "-fdata-sections", f"-I{LIBRARY / 'include'}", f"-I{LIBRARY / 'src'}"]
    no_libm = [] if core.is_arm else ["-DTMO_MATH=0"]
    return [*core.flags, "-std=c11", "-O2", *WARNINGS, *freestanding, *no_libm]


def sources() -> list[Path]:
    return sorted([*(LIBRARY / "src").glob("*.c"), *(LIBRARY / "src").glob("*.S")])


@functools.cache
def runner(core: Core) -> Path:
    mine = [HERE / "runner.c", *(HERE / name for name in core.start)]
    watched = [*mine, HERE / "core.h", HERE / "image.ld", *sources(), *LIBRARY.rglob("tmo/*.[hd]*")]
    digest = hashlib.sha256(repr(core).encode())
    for path in watched:
        digest.update(path.read_bytes())
    image = Path(tempfile.gettempdir()) / f"tmo_cores_{digest.hexdigest()[:16]}" / f"{core.name}.elf"
    if not image.exists():
        given = [f"-DCORE_BLOB={core.blob:#x}u", f"-I{HERE}", *(["-DCORE_PAIR"] if core.pair else [])]
        if core.prefix == "xtensa-lx106-elf-":  # Debian's libgcc for the lx106 has no float32 functions.
            all_kinds = sum(1 << kind for kind in Kind if kind is not Kind.OWN)
            given.append(f"-DTMO_KINDS(KIND)={kind_list(all_kinds & ~FLOAT_KINDS)}")
        apart = core.blob != core.rom + IMAGE_BYTES
        room = 2 * IMAGE_BYTES if apart else IMAGE_BYTES
        build(core, [*mine, *sources()], image, given, rom_bytes=room)
    return image


def build(
    core: Core, files: Iterable[Path], image: Path, flags: Sequence[str] = (), *, rom_bytes: int = IMAGE_BYTES
) -> None:
    image.parent.mkdir(parents=True, exist_ok=True)
    places = {
        "core_rom": core.rom, "core_rom_bytes": rom_bytes, "core_ram": core.ram, "core_ram_bytes": core.ram_bytes,
        "core_stack_bytes": core.stack,
    }  # fmt: skip
    linker = [f"-Wl,--defsym={name}={value:#x}" for name, value in places.items()]
    linker += ["-nostartfiles", "-Wl,--gc-sections", f"-T{HERE / 'image.ld'}"]
    specs, libm = (["--specs=nano.specs"], ["-lm"]) if core.is_arm else ([], [])
    command = [core.prefix + "gcc", *compile_flags(core), *specs]
    of_library = [flag for flag in flags if flag.startswith("-DTMO_") or not flag.startswith(("-D", "-I"))]
    partial = image.with_suffix(f".{os.getpid()}")  # Two processes may build the same program at the same time.
    with tempfile.TemporaryDirectory() as folder:
        made = []
        for file in files:
            given = of_library if file.parent == LIBRARY / "src" else flags
            made += [file] if file.suffix == ".o" else objects([*command, *given], [file], Path(folder))
        _run([*command, *flags, *map(str, made), *linker, *libm, "-o", str(partial)])
    partial.replace(image)


def emulate(core: Core, image: Path, blob: Path | None = None, options: Sequence[str] = ()) -> str:
    if core.spike:
        return _run([*spike_command(core, blob), *options, str(image)])
    loader = ["-device", f"loader,file={blob},addr={core.blob:#x},force-raw=on"] if blob else []
    return _run([
        core.qemu, "-machine", core.machine, "-nographic", "-monitor", "none", "-serial", "none", *core.options,
        "-icount", f"shift={core.shift}", "-semihosting-config", "enable=on,target=native", "-kernel", str(image),
        *loader, *options,
    ])  # fmt: skip


def spike_command(core: Core, blob: Path | None) -> list[str]:
    """Spike loads the file of test cases as if it were a Linux kernel."""
    isa = f"--isa=rv32imac_zicsr_zicntr_zve32x_zvl{core.spike}b"
    kernel = [f"--kernel={blob}"] if blob else []
    return [str(SPIKE["PROGRAM"]), isa, "-m0x80000000:0x4000000", *kernel]


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr
