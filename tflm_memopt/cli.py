# PYTHON_ARGCOMPLETE_OK
"""The command line: flags in, files and one answer out.

Exit codes: 0 done, 1 the answer is no, 2 bad usage or bad input.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import argcomplete
from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

import tflm_memopt
from tflm_memopt import emit
from tflm_memopt.errors import MemoptError, RuntimeUnavailable, UsageError
from tflm_memopt.files import read_file, write_files
from tflm_memopt.frontier import SWITCHES
from tflm_memopt.model.reader import read
from tflm_memopt.report import table, text
from tflm_memopt.results import Exploration
from tflm_memopt.runtime import stimuli

PROGRAM = "tflm-memopt"
DONE, NO, BAD = 0, 1, 2
INTERRUPTED = 130
"""As shells have it: 128 + SIGINT."""

PAGE = 120
"""Columns where the output is no terminal."""

EXAMPLES = f"""\
examples:
  {PROGRAM} inspect  person.tflite
  {PROGRAM} optimize person.tflite -o out
  {PROGRAM} optimize person.tflite -o out --int8-io --json > person.json
  {PROGRAM} optimize person.tflite -o out --ram-limit 20kB
  {PROGRAM} explore  person.tflite --plot person.svg --plans plans
  {PROGRAM} verify   person.tflite out/person.tflite --runs 100 --inputs faces.npy

exit codes: 0 done, 1 the answer is no (different bytes, or nothing fits), 2 bad usage or bad input
tab completion: eval "$(register-python-argcomplete {PROGRAM})"
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and gives its exit code; --help and --version leave through SystemExit."""
    _escape_unprintable()
    try:
        root = parser()
        argcomplete.autocomplete(root)
        args = root.parse_args(arguments)
        return int(args.run(args))
    except MemoptError as error:
        return _say(error)
    except BrokenPipeError:  # the reader of stdout has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BAD
    except OSError as error:
        return _say(UsageError(error.strerror or str(error), where=str(error.filename or "")))
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # a defect must not look like the answer "no"
        traceback.print_exc()
        hint = "please report it, with the model if you can"
        return _say(MemoptError(f"a defect of {PROGRAM}: {type(error).__name__}: {error}", hint=hint))


def parser() -> argparse.ArgumentParser:
    """All commands and flags."""
    root = _Parser(prog=PROGRAM, description=tflm_memopt.__doc__, epilog=EXAMPLES, formatter_class=_Raw)
    root.add_argument("--version", action="version", version=f"%(prog)s {tflm_memopt.__version__}")
    commands = root.add_subparsers(title="commands", metavar="COMMAND", required=True)

    inspect = _command(commands, "inspect", _inspect, "operators, tensors, peak; what runs row by row, and why not")
    _model(inspect, "model", "the .tflite file")
    _abi(inspect)

    optimize = _command(commands, "optimize", _optimize, "rewrite a model: same output bits, a fraction of the arena")
    _model(optimize, "model", "the .tflite file; it is never changed")
    optimize.add_argument(
        "-o", "--output", type=Path, metavar="DIR", help="where the files go (default: ./NAME_memopt)"
    )
    _conversion(optimize)
    optimize.add_argument(
        "--max-macs", type=factor, metavar="F",
        help="the least RAM with at most F times the multiply-accumulates of the original (default: no recompute)",
    )  # fmt: skip
    optimize.add_argument(
        "--ram-limit", type=size, metavar="SIZE",
        help="the least compute in an arena of at most SIZE: 20480, 20kB (1,000 B each) or 64KiB (1,024 B each)",
    )  # fmt: skip
    optimize.add_argument(
        "--plan", type=Path, metavar="FILE.json", help="use a plan of this model that was saved before"
    ).completer = argcomplete.FilesCompleter(("json",))  # type: ignore[attr-defined]

    explore = _command(commands, "explore", _explore, "the least arena at every compute budget, as table and plot")
    _model(explore, "model", "the .tflite file")
    _conversion(explore)
    explore.add_argument("--csv", type=Path, metavar="FILE", help="write the frontier as comma-separated values")
    explore.add_argument("--plot", type=Path, metavar="FILE.png|.svg", help="draw the frontier")
    explore.add_argument("--plans", type=Path, metavar="DIR", help="write each point's plan, for optimize --plan")

    verify = _command(commands, "verify", _verify, "run both models and compare every output byte")
    _model(verify, "original", "the .tflite file as it was")
    _model(verify, "rewritten", "the .tflite file that optimize wrote")
    verify.add_argument("--runs", type=count, default=10, metavar="N", help="random inputs (default: 10)")
    verify.add_argument("--seed", type=count, default=0, metavar="S", help="of the random inputs (default: 0)")
    verify.add_argument(
        "--inputs", type=Path, nargs="+", action="extend", default=[], metavar="FILE.npy",
        help="your own inputs, one array for each input of the model; runs may be stacked along the first axis",
    ).completer = argcomplete.FilesCompleter(("npy",))  # type: ignore[attr-defined]  # fmt: skip
    return root


# --- commands


def _inspect(args: argparse.Namespace) -> int:
    data = read_file(args.model)
    with _about(args.model):
        result = tflm_memopt.inspect(data, name=args.model.name, abi=args.abi)
    _answer(args, result.to_json(), text.inspection(result))
    return DONE


def _optimize(args: argparse.Namespace) -> int:
    data, name = read_file(args.model), args.model.stem
    folder = args.output or Path(f"{name}_memopt")
    saved = _saved(args.plan) if args.plan else None
    with _about(args.model), _busy(args, f"optimizing {args.model.name}"):
        result = tflm_memopt.optimize(
            data, name=args.model.name, **_settings(args), max_macs=args.max_macs, ram_limit=args.ram_limit, plan=saved
        )
        files = {folder / file: content for file, content in emit.files(result, name).items()}
    _keep(args.model, files)
    write_files(files)
    _answer(args, result.report.to_json(), text.optimized(result.report, folder, [path.name for path in files]))
    return DONE


def _explore(args: argparse.Namespace) -> int:
    data, name = read_file(args.model), args.model.stem
    plot = _plotter(args.plot) if args.plot else None
    with _about(args.model), _counted(args, f"exploring {args.model.name}") as progress:
        result = tflm_memopt.explore(data, name=args.model.name, **_settings(args), progress=progress)
    files: dict[Path, bytes] = {}
    if args.csv:
        files[args.csv] = table.csv(result).encode()
    if args.plot and plot:
        files[args.plot] = plot(result)
    if args.plans:
        files |= {args.plans / file: content for file, content in emit.plans(result, name).items()}
    _keep(args.model, files)
    write_files(files)
    _answer(args, result.to_json(), text.exploration(result, list(map(str, files))))
    return DONE


def _settings(args: argparse.Namespace) -> dict[str, Any]:
    """The arguments that optimize() and explore() share."""
    return {key: getattr(args, key) for key in ("input", "int8_io", "op_per", "abi", "fold", "without")}


def _saved(path: Path) -> Mapping[str, Any]:
    try:
        document = json.loads(read_file(path))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is no JSON document", hint="NAME.plan.json, or a file of explore --plans") from error
    if not isinstance(document, dict):
        raise UsageError(f"{path} holds no plan", hint="NAME.plan.json, or a file of explore --plans")
    return document


def _plotter(path: Path) -> Callable[[Exploration], bytes]:
    """What draws; it says what is missing before the work, not after it."""
    form = path.suffix.lower().removeprefix(".")
    if form not in ("png", "svg"):
        raise UsageError(f"a plot is a .png or an .svg file, not {path}", hint=f"--plot {path.stem}.svg")
    from tflm_memopt.report import plot  # noqa: PLC0415 (an optional dependency)

    plot.require()
    return lambda result: plot.exploration(result, form)


def _verify(args: argparse.Namespace) -> int:
    original, rewritten = (read_file(path) for path in (args.original, args.rewritten))
    for path, data in ((args.original, original), (args.rewritten, rewritten)):
        with _about(path):
            read(data)
    arrays = stimuli.load(args.inputs)
    with _about(args.original, args.rewritten), _busy(args, f"running {args.original.name} and {args.rewritten.name}"):
        result = tflm_memopt.verify(original, rewritten, runs=args.runs, seed=args.seed, inputs=arrays)
    _answer(args, result.to_json(), text.verification(result))
    return DONE if result.bit_exact else NO


def _keep(model: Path, files: Mapping[Path, bytes]) -> None:
    """Refuses to write over the model that is being read."""
    for path in files:
        if path.exists() and path.samefile(model):
            raise UsageError(f"{path} is the model itself and would be overwritten", hint="another folder: -o DIR")


# --- argument types


def count(argument: str) -> int:
    """A whole number from 0."""
    if not argument.isascii() or not argument.isdigit():
        raise argparse.ArgumentTypeError(f"'{argument}' is not a whole number from 0")
    return int(argument)


def factor(argument: str) -> float:
    """A finite number above 0."""
    try:
        value = float(argument)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"'{argument}' is no factor: 1.1 is 10 % more than the original")
    return value


def switches(argument: str) -> tuple[str, ...]:
    """Names with commas between them."""
    return tuple(name.strip() for name in argument.split(",") if name.strip())


UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "kib": 2**10, "mib": 2**20}


def size(argument: str) -> int:
    """Bytes: 20kB is 20,000, 64KiB is 65,536, a number alone is bytes.

    >>> size("20kB"), size("64KiB"), size("1.5 kB"), size("512")
    (20000, 65536, 1500, 512)
    """
    parts = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]*)", argument.strip().lower(), re.ASCII)
    unit = UNITS.get(parts[2]) if parts else None
    if parts is None or unit is None:
        raise argparse.ArgumentTypeError(f"'{argument}' is no size: 20480, 20kB (1,000 B each) or 64KiB (1,024 B each)")
    return round(float(parts[1]) * unit)


# --- parser parts


class _Parser(argparse.ArgumentParser):
    """Says usage errors as all others are said."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, hint=f"{self.prog} --help")


class _Raw(argparse.RawDescriptionHelpFormatter):
    """Keeps the lines of the examples."""


def _command(commands: Any, name: str, run: Any, what: str) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(name, help=what, description=what)
    command.set_defaults(run=run)
    command.add_argument("--json", action="store_true", help="one JSON document on standard output, nothing else")
    return command


def _model(command: argparse.ArgumentParser, name: str, what: str) -> None:
    argument = command.add_argument(name, type=Path, metavar=name.upper(), help=what)
    argument.completer = argcomplete.FilesCompleter(("tflite",))  # type: ignore[attr-defined]


def _conversion(command: argparse.ArgumentParser) -> None:
    """The settings that optimize and explore share."""
    command.add_argument(
        "--input", choices=("arena",), default="arena", help="where the model's input lives (default: arena)"
    )
    command.add_argument("--int8-io", action="store_true", help="drop QUANTIZE and DEQUANTIZE at the model's border")
    command.add_argument(
        "--op-per", choices=("region", "block"), default="region",
        help="one custom operator for each region (default), or for each block: to read in Netron",
    )  # fmt: skip
    command.add_argument(
        "--no-fold", dest="fold", action="store_false",
        help="keep the channels that cannot influence any output, whatever the input",
    )  # fmt: skip
    command.add_argument(
        "--without", type=switches, default=(), metavar="NAME,...",
        help=f"leave ingredients out, to see their worth: {', '.join(SWITCHES)}",
    )  # fmt: skip
    _abi(command)


def _abi(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--abi", choices=("ilp32", "lp64"), default="ilp32",
        help="of the arena figures: 32-bit pointers (Arm, RISC-V, Xtensa; default) or 64-bit",
    )  # fmt: skip


# --- talking


def _answer(args: argparse.Namespace, document: dict[str, Any], readable: RenderableType) -> None:
    if args.json:
        sys.stdout.write(emit.to_json(document))
    else:
        console = _console(sys.stdout)
        with console.capture() as page:
            console.print(readable)
        print("\n".join(line.rstrip() for line in page.get().rstrip().splitlines()))
    sys.stdout.flush()


def _say(error: MemoptError) -> int:
    """On stderr, a line each: what (file), where, and what to try."""
    lines = [f"error: {error.what}" + (f" ({error.file})" if error.file else "")]
    lines += [f"  {word} {value}" for word, value in (("at", error.where), ("try:", error.hint)) if value]
    for line in lines:
        print(text.printable(line), file=sys.stderr)
    return error.exit_code


@contextlib.contextmanager
def _about(*paths: Path) -> Iterator[None]:
    """Errors inside are about these files."""
    try:
        yield
    except RuntimeUnavailable:
        raise
    except MemoptError as error:
        error.file = ", ".join(map(str, paths))
        raise


@contextlib.contextmanager
def _busy(args: argparse.Namespace, what: str) -> Iterator[None]:
    """A spinner on stderr when that is a terminal and people, not programs, wait."""
    columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn()
    console = _console(sys.stderr)
    with Progress(*columns, console=console, transient=True, disable=args.json or not console.is_terminal) as progress:
        progress.add_task(text.printable(what), total=None)
        yield


@contextlib.contextmanager
def _counted(args: argparse.Namespace, what: str) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on stderr when that is a terminal and people, not programs, wait."""
    console = _console(sys.stderr)
    columns = TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True, disable=args.json or not console.is_terminal) as progress:
        task = progress.add_task(text.printable(what), total=None)
        yield lambda done, of: progress.update(task, completed=done, total=of)


def _console(stream: Any) -> Console:
    console = Console(file=stream, markup=False, highlight=False, emoji=False)
    if not console.is_terminal:
        console.width = PAGE
    return console


def _escape_unprintable() -> None:
    """A name that the terminal's encoding lacks is escaped, never a crash."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


if __name__ == "__main__":
    sys.exit(main())
