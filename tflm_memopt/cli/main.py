# PYTHON_ARGCOMPLETE_OK
"""The command line: its flags, and the values that they take. COMMANDS says where the commands are.

A command's module is imported when that command runs, and `--help` loads no array, no graph and no solver.

Exit codes: 0 done, 1 a check failed or a limit is exceeded, 2 bad usage or bad input.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import argcomplete

import tflm_memopt
from tflm_memopt.analysis.costs import COSTS, DEFAULT, tables
from tflm_memopt.cli import arguments, console, interrupts
from tflm_memopt.emit.printing import to_json
from tflm_memopt.errors import UsageError, near
from tflm_memopt.model.c_array import SUFFIXES
from tflm_memopt.ops.packing import GENERIC, TARGETS
from tflm_memopt.plan.choices import MOVES, OPS, PER_REGION, SWITCHES
from tflm_memopt.plan.effort import LEVELS, NORMAL
from tflm_memopt.tflm.choices import KERNELS

PROGRAM = console.PROGRAM
DONE, NO, BAD = console.DONE, console.NO, console.BAD
INTERRUPTED = 130
"""Exit code 128 + SIGINT, as in shells."""

COMMANDS = {
    "inspect": "inspection",
    "optimize": "devices",
    "explore": "devices",
    "fit": "commands",
    "verify": "devices",
    "registers": "registers",
}
"""Module of each command. Its function of the command's name runs it."""
ABOUT = "Rewrites .tflite models so that TensorFlow Lite Micro needs a fraction of the RAM, with the same output bits."
EXAMPLES = f"""\
examples:
  {PROGRAM} inspect  person.tflite
  {PROGRAM} optimize person.tflite -o out
  {PROGRAM} optimize person.tflite -o out --int8-io --json > person.json
  {PROGRAM} optimize person.tflite -o out --ram-limit 20kB
  {PROGRAM} optimize person.tflite -o out --board nano33ble --plot memory.svg
  {PROGRAM} optimize person.tflite -o out --devices 2
  {PROGRAM} optimize models -o out
  {PROGRAM} optimize person.keras  -o out --calibrate faces.npy
  {PROGRAM} fit      person.tflite
  {PROGRAM} explore  person.tflite --plot person.svg --plans plans
  {PROGRAM} verify   person.tflite out/person.tflite --runs 100 --inputs faces.npy
  {PROGRAM} verify   person.tflite out/person.tflite --c out
  {PROGRAM} registers spi.c chip.svd -o out

exit codes: 0 done, 1 the answer is no (different bytes, or nothing fits), 2 bad usage or bad input
tab completion: eval "$(register-python-argcomplete {PROGRAM})"
"""


def main(words: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. --help and --version raise SystemExit."""
    console.escape_unprintable()
    gc.set_threshold(50_000, 20, 20)  # conversions make few reference cycles
    with interrupts.listed() as seen:
        try:
            root = parser()
            argcomplete.autocomplete(root)
            args = root.parse_args(words)
            return _run(args)
        except BrokenPipeError:  # `| head` has closed the pipe
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return DONE
        except KeyboardInterrupt:
            return INTERRUPTED
        except Exception as error:
            if seen:
                return INTERRUPTED
            known = console.typed(error)
            if "--json" in (sys.argv[1:] if words is None else words):
                sys.stdout.write(to_json({"error": known.to_json()}))
            return console.say(known)


def _run(args: argparse.Namespace) -> int:
    """Run a command after the files of --describe."""
    with interrupts.fatal():
        module = importlib.import_module(f"{__package__}.{COMMANDS[args.command]}")
    if files := getattr(args, "describe", ()):
        from tflm_memopt.cli import described  # noqa: PLC0415 # few commands need it

        for file in files:
            described.run(file)
    return int(getattr(module, args.command)(args))


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands and flags."""
    root = _Parser(prog=PROGRAM, description=ABOUT, epilog=EXAMPLES, formatter_class=_Raw)
    root.add_argument("--version", action="version", version=f"%(prog)s {tflm_memopt.__version__}")
    group = root.add_subparsers(title="commands", dest="command", metavar="COMMAND", required=True)

    for add in (_inspect, _optimize, _explore, _fit, _verify, _registers):
        add(group)
    return root


def _inspect(group: Any) -> None:
    inspect = _command(group, "inspect", "operators, tensors, peak; what runs row by row, and why not")
    _model(inspect, "model", "the .tflite file, or C source with it as an array")
    _describe(inspect)
    inspect.add_argument("-o", "--output", type=Path, metavar="DIR", help="write a page with memory map and figures")
    inspect.add_argument(
        "--target", choices=tuple(TARGETS), default=GENERIC, help="the core that --kernels cmsis-nn are built for"
    )
    _figures(inspect)


def _optimize(group: Any) -> None:
    optimize = _command(group, "optimize", "rewrite a model: same output bits, a fraction of the arena")
    _model(
        optimize,
        "model",
        "the .tflite file, or C source with it as an array; it is never changed. Or a folder: all in it. Or a Keras "
        "model: .keras, SavedModel. Or app.toml: several models that share an arena",
    )
    _describe(optimize)
    optimize.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="where the files go (default: ./NAME_memopt)"
    )
    _conversion(optimize)
    optimize.add_argument(
        "--devices", type=arguments.count, default=1, metavar="N",
        help="share the network out among N linked devices, a model for each: the first has input and output",
    )  # fmt: skip
    _link(optimize)
    optimize.add_argument(
        "--memory", type=arguments.memory, metavar="RAM[,FLASH]",
        help="with --devices: what each has for arena and model: 20kB, or 20kB,128kB (default: the least to hold)",
    )  # fmt: skip
    optimize.add_argument(
        "--cut", type=arguments.operators, metavar="OP,...",
        help="with --devices: one behind the other, each with all of its operators: the next begins at each of these",
    )  # fmt: skip
    _limits(optimize)
    _output(optimize)


def _limits(optimize: argparse.ArgumentParser) -> None:
    """Add the limits of RAM, flash and time."""
    optimize.add_argument(
        "--max-macs", type=arguments.factor, metavar="F",
        help="the least RAM with at most F times the multiply-accumulates of the original (default: no recompute)",
    )  # fmt: skip
    optimize.add_argument(
        "--ram-limit", type=arguments.size, metavar="SIZE",
        help="the least compute in an arena of at most SIZE: 20480, 20kB (1,000 B each), 64K or 64KiB (1,024 B each)",
    )  # fmt: skip
    optimize.add_argument(
        "--flash-limit", type=arguments.size, metavar="SIZE",
        help="the rewritten model, the C library and TFLM take at most SIZE of flash, the last two by estimate",
    )  # fmt: skip
    optimize.add_argument(
        "--max-instructions", type=arguments.number, metavar="N",
        help="the least RAM with at most N instructions of one inference, estimated: 3200000, 3200k or 3.2M",
    )  # fmt: skip
    optimize.add_argument(
        "--time-limit", type=arguments.time, metavar="TIME",
        help="the least RAM with which an inference takes at most TIME, estimated: 50ms; needs --board or --clock",
    )  # fmt: skip
    optimize.add_argument(
        "--clock",
        type=arguments.clock,
        metavar="MHZ",
        help="of the core, for milliseconds: 64MHz (default: the board's)",
    )
    _core(optimize)


def _output(optimize: argparse.ArgumentParser) -> None:
    """Add the flags for the output and the plan."""
    optimize.add_argument(
        "--emit", type=arguments.kinds, default=("cpp",), metavar="KIND,...",
        help="what to compile in: cpp, for TensorFlow Lite Micro (default); c, a module without an interpreter; "
        "c-specialized, the same as code for this model alone; arduino, platformio, esp-idf, stm32cube, a project; "
        "tflite, nothing",
    )  # fmt: skip
    optimize.add_argument(
        "--labels", type=Path, metavar="FILE.txt",
        help="of a project: names of the first output's values, one a line (default: those of the model's metadata)",
    ).completer = argcomplete.FilesCompleter(("txt",))  # type: ignore[attr-defined]  # fmt: skip
    _arrays(
        optimize, "--inputs", "FILE.npy",
        "of a project or C module: an example to store instead of a random input, an array for each of its inputs",
    )  # fmt: skip
    optimize.add_argument(
        "--manifest", type=Path, metavar="FILE.json",
        help="of a wake word for ESPHome's micro_wake_word: written with the new arena and file beside the model",
    ).completer = argcomplete.FilesCompleter(("json",))  # type: ignore[attr-defined]  # fmt: skip
    optimize.add_argument(
        "--plan", type=Path, metavar="FILE.json", help="use a plan of this model that was saved before"
    ).completer = argcomplete.FilesCompleter(("json",))  # type: ignore[attr-defined]

    _keras(optimize)
    _board(
        optimize, "board",
        help="it has to fit on this board, RAM and flash: whose ABI and target are taken; fit lists them",
    )  # fmt: skip
    optimize.add_argument(
        "--force", action="store_true",
        help="rewrite the model even where that adds more bytes to flash than it saves of RAM",
    )  # fmt: skip
    optimize.add_argument(
        "--fail-unchanged", action="store_true", help="exit code 1 where the model, or one of a folder, stays as it is"
    )
    optimize.add_argument(
        "--frontier",
        action="store_true",
        help="explore as well, and show the point on the frontier in the report",
    )
    optimize.add_argument("--plot", type=Path, metavar="FILE.png|.svg", help="draw the memory before and after")


def _explore(group: Any) -> None:
    explore = _command(group, "explore", "the least arena at every compute budget, as table and plot")
    _model(explore, "model", "the .tflite file; or app.toml: the frontier of all its models together")
    _describe(explore)
    _conversion(explore)
    explore.add_argument(
        "--cost", choices=COSTS,
        help="what points are compared by beside bytes; instructions and time are estimates. Default: time with a "
        "--board whose core has modelled cycles, instructions with another --board, --target or --core, else macs",
    )  # fmt: skip
    explore.add_argument(
        "--devices", type=arguments.count, default=1, metavar="N",
        help="on N linked devices: the memory of the largest one against the time of an inference",
    )  # fmt: skip
    _link(explore)
    explore.add_argument("--clock", type=arguments.clock, metavar="MHZ", help="with --devices: of their core, 64MHz")
    _core(explore)
    _board(explore, "board", help="what each point leaves of a board, whose ABI and target are taken")
    explore.add_argument("--csv", type=Path, metavar="FILE", help="write the frontier as comma-separated values")
    explore.add_argument("--plot", type=Path, metavar="FILE.png|.svg", help="draw the frontier")
    explore.add_argument("--plans", type=Path, metavar="DIR", help="write each point's plan, for optimize --plan")


def _fit(group: Any) -> None:
    fit = _command(group, "fit", "on which boards a model fits, as it is and rewritten")
    _model(fit, "model", "the .tflite file; or app.toml: all its models in one arena")
    _describe(fit)
    _board(fit, "boards", action="append", default=[], help="this board only; exit code 1 if it is too small")
    fit.add_argument(
        "--ram-limit", type=arguments.size, metavar="SIZE",
        help="the least compute in an arena of at most SIZE, as optimize has it; exit code 1 if there is none",
    )  # fmt: skip
    fit.add_argument("--all", action="store_true", help="show all boards, not only those closest to what it needs")
    fit.add_argument("--markdown", action="store_true", help="a table for a comment or a summary of CI")
    _conversion(fit)


def _verify(group: Any) -> None:
    verify = _command(group, "verify", "run both models and compare every output byte")
    _model(verify, "original", "the .tflite file as it was; or app.toml, for all its models")
    _model(verify, "rewritten", "the .tflite file that optimize wrote; of app.toml, or of several devices, the folder")
    _describe(verify)
    verify.add_argument(
        "--runs", type=arguments.count, metavar="N",
        help="random inputs (default: as many inputs as run in about two seconds, at least 10; in 256 of them each "
        "input byte takes every value)",
    )  # fmt: skip
    verify.add_argument(
        "--steps",
        type=arguments.count,
        default=0,
        metavar="N",
        help="inferences one after the other, for models with state and windows that slide",
    )
    verify.add_argument(
        "--reset-every",
        type=arguments.count,
        default=0,
        metavar="N",
        help="of these, from one reset to the next (default: never)",
    )
    verify.add_argument(
        "--cores", type=int, choices=(1, 2),
        help="threads that run the rewritten model (default: one and, if it was optimized with --cores 2, two as well)",
    )  # fmt: skip
    verify.add_argument(
        "--seed", type=arguments.count, default=0, metavar="S", help="of the random inputs (default: 0)"
    )
    verify.add_argument(
        "--inputs", type=Path, nargs="+", action="extend", default=[], metavar="FILE.npy",
        help="your own inputs, one array for each input of the model; runs may be stacked along the first axis",
    ).completer = argcomplete.FilesCompleter(("npy",))  # type: ignore[attr-defined]  # fmt: skip
    verify.add_argument(
        "--c", type=Path, metavar="DIR",
        help="the folder of optimize --emit c: the module in it is compiled for this machine and compared as well",
    )  # fmt: skip


def _registers(group: Any) -> None:
    command = _command(group, "registers", "accessors for a driver's registers, combined where that is safe")
    command.add_argument(
        "driver", type=Path, metavar="DRIVER.c", help="C or C++ that uses fields: gpio->pads[i].dir = 1"
    )
    command.add_argument(
        "description", type=Path, metavar="DESCRIPTION", help="a header with bit field groups, or a CMSIS-SVD file"
    )
    command.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="where the files go (default: ./DRIVER_registers)"
    )
    command.add_argument(
        "-I", dest="folders", type=Path, action="append", default=[], metavar="DIR", help="with headers of the driver"
    )
    command.add_argument(
        "--place", action="store_true",
        help="choose where fields lie, for the fewest accesses, although the description says it: for soft cores",
    )  # fmt: skip
    command.add_argument(
        "--cc", metavar="COMPILER", help="a compiler with its flags: the report has the driver's bytes of code at -Os"
    )


# --- parser parts


class _Parser(argparse.ArgumentParser):
    """Report usage errors in the common format, with the name that was probably meant."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Reject unknown arguments in the parser of the command, which knows its flags."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown

    def error(self, message: str) -> NoReturn:
        every = f"{self.prog} --help"
        raise UsageError(
            message, code="bad_option", hint=next((f"{n} ({every} has all)" for n in self._near(message)), every)
        )

    def _near(self, message: str) -> list[str]:
        """Return the choices or flags nearest to the wrong one in argparse's message."""
        if choice := re.search(r"'(.*)' \(choose from (.*)", message):
            is_model = choice[1].endswith(".tflite")  # the command is missing
            return [f"inspect {choice[1]}"] if is_model else near(choice[1], re.findall(r"[^\s',()]+", choice[2]))
        if flag := re.search(r"unrecognized arguments: (--?[^\s=]+)", message):
            return near(flag[1], [name for action in self._actions for name in action.option_strings])
        return []


class _Raw(argparse.RawDescriptionHelpFormatter):
    """Keep the line breaks of the examples."""


def _command(group: Any, name: str, what: str) -> argparse.ArgumentParser:
    """Add the parser of a command."""
    lines = [line for line in EXAMPLES.splitlines() if line.startswith(f"  {PROGRAM} {name} ")]
    epilog = "\n".join(["examples:", *lines])
    command: argparse.ArgumentParser = group.add_parser(
        name, help=what, description=what, epilog=epilog, formatter_class=_Raw
    )
    command.add_argument("--json", action="store_true", help="one JSON document on standard output, nothing else")
    command.add_argument(
        "--quiet", "-q", action="store_true", help="no answer and no progress: files and exit code only"
    )
    return command


def _describe(command: argparse.ArgumentParser) -> None:
    argument = command.add_argument(
        "--describe", type=Path, action="append", default=[], metavar="FILE.py",
        help="operators of your own, described in a Python file, which is run; may be given more than once",
    )  # fmt: skip
    argument.completer = argcomplete.FilesCompleter(("py",))  # type: ignore[attr-defined]


def _model(command: argparse.ArgumentParser, name: str, what: str) -> None:
    argument = command.add_argument(name, type=Path, metavar=name.upper(), help=what)
    argument.completer = argcomplete.FilesCompleter(("tflite", *(suffix[1:] for suffix in SUFFIXES)))  # type: ignore[attr-defined]


def _conversion(command: argparse.ArgumentParser) -> None:
    """Add the settings that optimize and explore share."""
    command.add_argument(
        "--input",
        default="arena",
        metavar="WHERE",
        help="where the model's input lives: arena (default), stream[:ROWS] (pushed ROWS rows at a time, default 1), "
        "external (read from your own buffer), sliding[:ROWS] (a window of an endless sequence: each inference brings "
        "ROWS new rows, default 1)",
    )
    command.add_argument("--int8-io", action="store_true", help="drop QUANTIZE and DEQUANTIZE at the model's border")
    command.add_argument(
        "--ops", "--op-per", choices=OPS, default=PER_REGION,
        help="what takes the place of operators that run row by row: a custom operator for each region (default) or "
        "for each block, to read in Netron; or builtin: none, TFLM's own in another order and at other offsets",
    )  # fmt: skip
    command.add_argument(
        "--allow-ops", type=arguments.switches, default=(), metavar="NAME,...",
        help=f"with --ops builtin, what strips and channel groups may add: {', '.join(MOVES)} (default: only kinds of "
        "operators that the model has)",
    )  # fmt: skip
    command.add_argument(
        "--no-fold", dest="fold", action="store_false",
        help="keep the channels that cannot influence any output, whatever the input",
    )  # fmt: skip
    command.add_argument(
        "--effort", type=arguments.effort, default=NORMAL, metavar="LEVEL",
        help=f"how long to search: {', '.join(LEVELS)}, or a factor of normal (default), which takes seconds",
    )  # fmt: skip
    command.add_argument(
        "--without", type=arguments.switches, default=(), metavar="NAME,...",
        help=f"leave ingredients out, to see their worth: {', '.join(SWITCHES)}",
    )  # fmt: skip
    command.add_argument(
        "--cores", type=int, choices=(1, 2), default=1,
        help="how many cores with one memory run the model: 2 on RP2040, RP2350, ESP32 and ESP32-S3 (default: 1)",
    )  # fmt: skip
    command.add_argument(
        "--share", metavar="A,B",
        help="with --cores 2, of each core's time, what is left for the model (default: 1,1)",
    )  # fmt: skip
    command.add_argument(
        "--target", choices=tuple(TARGETS),
        help="whose kernels the model is packed for: such a model runs on these cores only, and faster (default: that "
        "of --board, else generic, which runs everywhere)",
    )  # fmt: skip
    _figures(command)


def _keras(command: argparse.ArgumentParser) -> None:
    _arrays(command, "--calibrate", "X.npy", "of a Keras model: some hundred typical inputs, stacked")
    _arrays(command, "--test", "FILE.npy", "of a Keras model: inputs, then labels, for the accuracy before and after")
    command.add_argument("--verbose", action="store_true", help="of a Keras model: show TensorFlow's log, too")


def _arrays(command: argparse.ArgumentParser, flag: str, metavar: str, what: str) -> None:
    argument = command.add_argument(flag, type=Path, nargs="+", default=[], metavar=metavar, help=what)
    argument.completer = argcomplete.FilesCompleter(("npy",))  # type: ignore[attr-defined]


def _board(command: argparse.ArgumentParser, name: str, **how: Any) -> None:
    argument = command.add_argument("--board", dest=name, metavar="BOARD", **how)
    argument.completer = _boards  # type: ignore[attr-defined]


def _boards(**_: Any) -> Mapping[str, str]:
    """Return the boards for tab completion."""
    from tflm_memopt.targets.boards import boards  # noqa: PLC0415 # --help does not need them

    return {board.id: board.name for board in boards().values()}


def _link(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--link", type=arguments.link, metavar="BYTES/S[,LATENCY]",
        help="with --devices: how fast each line between two of them is, for the time of an inference: 125kB/s,2ms; "
        "needs --clock",
    )  # fmt: skip


def _core(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--core", choices=tuple(tables()),
        help=f"whose instructions are estimated (default: the target's own; for generic {DEFAULT}, the slowest)",
    )  # fmt: skip


def _figures(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--abi", choices=("ilp32", "lp64"), default="ilp32",
        help="of the arena figures: 32-bit pointers (Arm, RISC-V, Xtensa; default) or 64-bit",
    )  # fmt: skip
    command.add_argument(
        "--kernels", choices=KERNELS,
        help="of the operators that stay builtin, whose scratch the arena figures count: TFLM's own (default), or "
        "those for CMSIS-NN (with the DSP extension, or as --target says) or ESP-NN (ESP32-S3); with --ops builtin, "
        "outputs grow into inputs where these allow it (default: where all do)",
    )  # fmt: skip
