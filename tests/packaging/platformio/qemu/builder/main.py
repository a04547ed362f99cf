"""Build a bare-metal program for QEMU, with the start-up code and the linker script of tests/cores."""

from pathlib import Path

from SCons.Script import COMMAND_LINE_TARGETS, AlwaysBuild, Default, DefaultEnvironment

env = DefaultEnvironment()
board = env.BoardConfig()
cores = Path(env.subst("$PROJECT_DIR")) / "tests/cores"
prefix, machine = board.get("build.prefix"), board.get("build.flags").split()

env.Replace(
    AR=f"{prefix}gcc-ar",
    AS=f"{prefix}gcc",
    CC=f"{prefix}gcc",
    CXX=f"{prefix}g++",
    LINK=f"{prefix}gcc",
    RANLIB=f"{prefix}gcc-ranlib",
    SIZETOOL=f"{prefix}size",
    SIZEPROGREGEXP=r"^(?:\.text|\.data|\.ARM\.exidx)\s+(\d+).*",
    SIZEDATAREGEXP=r"^(?:\.data|\.bss|\.stack)\s+(\d+).*",
    SIZECHECKCMD="$SIZETOOL -A -d $SOURCES",
    PROGSUFFIX=".elf",
)
places = {
    "core_rom": board.get("build.rom"),
    "core_rom_bytes": board.get("upload.maximum_size"),
    "core_ram": board.get("build.ram"),
    "core_ram_bytes": board.get("upload.maximum_ram_size"),
    "core_stack_bytes": 1536,
}
env.Append(
    CCFLAGS=[*machine, "-Os", "-ffunction-sections", "-fdata-sections"],
    ASPPFLAGS=machine,
    LINKFLAGS=[
        *machine,
        "-nostartfiles",
        "-Wl,--gc-sections",
        f"-T{cores / 'image.ld'}",
        *(f"-Wl,--defsym={name}={value}" for name, value in places.items()),
    ],
    CPPPATH=[str(cores)],
)
start = env.BuildLibrary("$BUILD_DIR/start", str(cores), f"-<*> +<{board.get('build.start')}>")
env.Append(LIBS=[start], LINKFLAGS=["-Wl,--undefined=core_start"])

program = env.BuildProgram()
Default([program])
AlwaysBuild(env.Alias("size", program, env.VerboseAction("$SIZEPRINTCMD", "Size")))
if "upload" in COMMAND_LINE_TARGETS:
    env.Alias("upload", program)
