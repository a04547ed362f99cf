# PYTHON_ARGCOMPLETE_OK
"""Defines the flags of the command line and their values.

A command's module is imported only when the command runs, so that `--help` is fast.
"""

import argparse
import gc
import importlib
import os
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import tflm_memopt
from tflm_memopt import units
from tflm_memopt.analysis.costs import COSTS
from tflm_memopt.cli import arguments, console, interrupts
from tflm_memopt.emit.printing import to_json
from tflm_memopt.errors import UsageError, near
from tflm_memopt.options import FUNCTIONS, OPTIONS

PROGRAM = console.PROGRAM
DONE, NO, BAD = console.DONE, console.NO, console.BAD
AS_WRITTEN = argparse.RawDescriptionHelpFormatter
INTERRUPTED = 130
"""Exit code 128 + SIGINT, which shells use for an interrupted command."""

COMMANDS = {
    "inspect": "inspection",
    "optimize": "devices",
    "explore": "devices",
    "fit": "commands",
    "verify": "devices",
    "registers": "registers",
}
"""Maps a command to the module that runs the command."""
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
    """Run one command, and return the command's exit code. Raise SystemExit for --help and --version."""
    console.prepare_streams()
    gc.set_threshold(200_000, 20, 20)  # Conversions run faster with fewer garbage collections.
    with interrupts.listed() as seen:
        try:
            root = parser()
            if "_ARGCOMPLETE" in os.environ:  # The shell requests completions.
                from tflm_memopt.cli import completion  # noqa: PLC0415

                completion.complete(root)
            args = root.parse_args(words)
            return _run(args)
        except BrokenPipeError:  # The program that reads the command's output, such as `head`, has ended.
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
    with interrupts.fatal():
        module = importlib.import_module(f"{__package__}.{COMMANDS[args.command]}")
    if files := getattr(args, "describe", ()):
        from tflm_memopt.cli import custom  # noqa: PLC0415

        for file in files:
            custom.run(file)
    return int(getattr(module, args.command)(args))


def parser() -> argparse.ArgumentParser:
    root = _Parser(prog=PROGRAM, description=ABOUT, epilog=EXAMPLES, formatter_class=AS_WRITTEN)
    root.add_argument("--version", action="version", version=f"%(prog)s {tflm_memopt.__version__}")
    group = root.add_subparsers(title="commands", dest="command", metavar="COMMAND", required=True)

    for add in (_inspect, _optimize, _explore, _fit, _verify, _registers):
        add(group)
    return root


def _inspect(group: Any) -> None:
    inspect = _command(group, "inspect", "list operators, tensors and peak memory, and which operators run row by row")
    _path(inspect, "model", "MODEL", "a .tflite file, or C source that contains it as an array")
    inspect.add_argument(
        "-o", "--output", type=arguments.folder, metavar="DIR", help="write a page with memory map and figures"
    )
    _options(inspect, "target", "abi", "kernels", target="core that the kernels of --kernels cmsis-nn are built for")


def _optimize(group: Any) -> None:
    optimize = _command(group, "optimize", "rewrite a model to need a smaller arena, with the same output bits")
    _path(
        optimize,
        "model",
        "MODEL",
        "a .tflite file or C source that contains it as an array; a folder with .tflite files; a Keras model (.keras, "
        "SavedModel); or app.toml, for several models that share an arena. The file is never changed",
    )
    optimize.add_argument(
        "-o", "--output", type=arguments.folder, metavar="DIR", help="output folder (default: ./NAME_memopt)"
    )
    _options(optimize, *OPTIONS)
    devices = "split the network over N linked devices, with a model for each; the first has input and output"
    _number(optimize, "--devices", "N", 1, devices)
    _link(optimize)
    optimize.add_argument(
        "--cut", type=arguments.operators, metavar="OP,...",
        help="with --devices: each device runs whole operators, and all devices but the first begin at these operators",
    )  # fmt: skip
    _output(optimize)


def _output(optimize: argparse.ArgumentParser) -> None:
    optimize.add_argument(
        "--emit", type=arguments.kinds, default=("cpp",), metavar="KIND,...",
        help="kinds of sources to write: cpp, for TensorFlow Lite Micro (default); c, a module without an interpreter; "
        "arduino, platformio, esp-idf or stm32cube, a project; or tflite, for no sources",
    )  # fmt: skip
    labels = "for a project: names of the first output's values, one per line (default: those in the model's metadata)"
    _path(optimize, "--labels", "FILE.txt", labels)
    _arrays(
        optimize, "--inputs", "FILE.npy",
        "for a project or C module: an example to store instead of a random input, as one array per input",
    )  # fmt: skip
    manifest = "manifest of a wake word for ESPHome's micro_wake_word; a copy with the new arena and file is written"
    _path(optimize, "--manifest", "FILE.json", manifest)
    _path(optimize, "--plan", "FILE.json", "use a saved plan of this model")

    _arrays(optimize, "--calibrate", "X.npy", "for a Keras model: some hundred typical inputs, stacked")
    _arrays(
        optimize, "--test", "FILE.npy", "for a Keras model: inputs, then labels, to compare accuracy before and after"
    )
    _switch(optimize, "--verbose", "for a Keras model: also show TensorFlow's log")
    _switch(optimize, "--force", "rewrite the model even if that adds more flash than it saves RAM")
    _switch(optimize, "--fail-unchanged", "exit with 1 if the model, or one of several models, stays unchanged")
    _path(optimize, "--plot", "FILE.svg", "draw memory use before and after")


def _explore(group: Any) -> None:
    explore = _command(group, "explore", "find the smallest arena for every compute budget, as table and plot")
    _path(explore, "model", "MODEL", "a .tflite file; or app.toml, for the joint frontier of its models")
    _options(
        explore, *FUNCTIONS["explore"], board="show what each point leaves of this board, and use its ABI and target"
    )
    _options(explore, "clock", clock="with --devices: clock of their cores, 64MHz")
    explore.add_argument(
        "--cost", choices=COSTS,
        help="cost of a point besides bytes; instructions and time are estimated. Default: time with a --board whose "
        "core has modelled cycles, instructions with another --board, --target or --core, otherwise macs",
    )  # fmt: skip
    devices = "use N linked devices, and compare memory of the largest one with inference time"
    _number(explore, "--devices", "N", 1, devices)
    _link(explore)
    _path(explore, "--plot", "FILE.svg", "draw the frontier")
    _path(explore, "--plans", "DIR", "write the plan of each point, for optimize --plan")


def _fit(group: Any) -> None:
    fit = _command(group, "fit", "list the boards that a model fits on, before and after rewriting")
    _path(fit, "model", "MODEL", "a .tflite file; or app.toml, for its models in one arena")
    fit.add_argument(
        "--board", dest="boards", action="append", default=[], metavar="BOARD",
        help="check only this board; exit with 1 if it is too small",
    )  # fmt: skip
    of_fit = [name for name in FUNCTIONS["explore"] if name not in ("board", "core")]
    ram = "minimise compute in an arena of at most SIZE, as in optimize; exit with 1 if impossible"
    _options(fit, *of_fit, "ram_limit", ram_limit=ram)
    fit.add_argument(
        "--emit", type=arguments.kinds, default=("cpp",), metavar="KIND",
        help="kind of sources whose RAM and flash count, as in optimize; c needs no interpreter",
    )  # fmt: skip
    _switch(fit, "--all", "show all boards, not only those closest to the model's needs")


def _verify(group: Any) -> None:
    verify = _command(group, "verify", "run both models and compare every output byte")
    _path(verify, "original", "ORIGINAL", "the original .tflite file; or app.toml, for all its models")
    _path(
        verify,
        "rewritten",
        "REWRITTEN",
        "the .tflite file that optimize wrote; the folder for app.toml or several devices",
    )
    runs = (
        "number of random inputs (default: as many as run in about two seconds, at least 10; over 256 of them, "
        "each input byte takes every value)"
    )
    _number(verify, "--runs", "N", None, runs)
    _number(verify, "--steps", "N", 0, "number of consecutive inferences, for models with state and sliding windows")
    _number(verify, "--reset-every", "N", 0, "number of steps between resets (default: never)")
    verify.add_argument(
        "--cores", type=int, choices=(1, 2),
        help="number of threads for the rewritten model (default: 1, and also 2 if optimized with --cores 2)",
    )  # fmt: skip
    _number(verify, "--seed", "S", 0, "seed of the random inputs (default: 0)")
    inputs = "your own inputs, one array per input of the model; runs may be stacked along the first axis"
    _arrays(verify, "--inputs", "FILE.npy", inputs)
    module = "folder of optimize --emit c, whose module is also compiled for this machine and compared"
    _path(verify, "--c", "DIR", module)


def _registers(group: Any) -> None:
    command = _command(group, "registers", "write accessors for a driver's registers, combined where that is safe")
    _path(command, "driver", "DRIVER.c", "C or C++ source that uses fields: gpio->pads[i].dir = 1")
    _path(command, "description", "DESCRIPTION", "a header with bit field groups, or a CMSIS-SVD file")
    command.add_argument(
        "-o", "--output", type=arguments.folder, metavar="DIR", help="output folder (default: ./DRIVER_registers)"
    )
    command.add_argument(
        "-I", dest="folders", type=arguments.path, action="append", default=[], metavar="DIR",
        help="folder with headers of the driver",
    )  # fmt: skip
    place = "for soft cores: ignore the described places of fields, and choose places with the fewest accesses"
    _switch(command, "--place", place)


class _Parser(argparse.ArgumentParser):
    """Raises UsageError with a suggestion for a misspelt name."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown

    def error(self, message: str) -> NoReturn:
        every = f"{self.prog} --help"
        raise UsageError(message, hint=next((f"{n} ({every} has all)" for n in self._near(message)), every))

    def _near(self, message: str) -> list[str]:
        if choice := re.search(r"'(.*)' \(choose from (.*)", message):
            is_model = choice[1].endswith(".tflite")  # The user gave a model, but no command.
            return [f"inspect {choice[1]}"] if is_model else near(choice[1], re.findall(r"[^\s',()]+", choice[2]))
        if flag := re.search(r"unrecognized arguments: (--?[^\s=]+)", message):
            return near(flag[1], [name for action in self._actions for name in action.option_strings])
        return []


def _command(group: Any, name: str, what: str) -> argparse.ArgumentParser:
    lines = [line for line in EXAMPLES.splitlines() if line.startswith(f"  {PROGRAM} {name} ")]
    epilog = "\n".join(["examples:", *lines])
    command: argparse.ArgumentParser = group.add_parser(
        name, help=what, description=what, epilog=epilog, formatter_class=AS_WRITTEN
    )
    _switch(command, "--json", "print only one JSON document to standard output")
    command.add_argument(
        "--quiet", "-q", action="store_true", help="print no result and no progress; write files and set the exit code"
    )
    if name != "registers":
        command.add_argument(
            "--describe", type=arguments.path, action="append", default=[], metavar="FILE.py",
            help="Python file that describes custom operators; it is executed. May be given more than once",
        )  # fmt: skip
    return command


def _options(command: argparse.ArgumentParser, *names: str, **about: str) -> None:
    for name in names:
        option = OPTIONS[name]
        flags = (f"--{name.replace('_', '-')}",) if option.flags is None else option.flags
        if not flags:
            continue
        takes: dict[str, Any] = {"action": "store_false" if option.default else "store_true"}
        if not isinstance(option.default, bool):
            read = arguments.reading(option.read) if option.read else str
            takes = {"metavar": option.metavar, "type": read, "default": option.default}
        if option.choices:
            takes |= {"choices": option.choices, "type": type(option.choices[0])}
        command.add_argument(*flags, dest=name, help=about.get(name, option.about), **takes)


def _switch(command: argparse.ArgumentParser, flag: str, what: str) -> None:
    command.add_argument(flag, action="store_true", help=what)


def _path(command: argparse.ArgumentParser, name: str, metavar: str, what: str) -> None:
    command.add_argument(name, type=arguments.path, metavar=metavar, help=what)


def _number(command: argparse.ArgumentParser, flag: str, metavar: str, default: int | None, what: str) -> None:
    command.add_argument(flag, type=arguments.count, metavar=metavar, default=default, help=what)


def _arrays(command: argparse.ArgumentParser, flag: str, metavar: str, what: str) -> None:
    command.add_argument(flag, type=arguments.path, nargs="+", action="extend", default=[], metavar=metavar, help=what)


def _link(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--link", type=arguments.reading(units.link), metavar="BYTES/S[,LATENCY]",
        help="with --devices: rate and latency of the link between two devices, to estimate inference time: "
        "125kB/s,2ms; needs --clock",
    )  # fmt: skip
