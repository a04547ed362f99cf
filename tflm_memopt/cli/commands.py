"""Each command for a model takes parsed arguments, prints one answer, and returns the exit code."""

import argparse
import contextlib
import json
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

import tflm_memopt
from tflm_memopt.answers.batch import Batch, Entry
from tflm_memopt.answers.exploration import Exploration
from tflm_memopt.answers.optimized import Optimized
from tflm_memopt.answers.report import Report
from tflm_memopt.apps.reader import is_app
from tflm_memopt.cli import apps, arguments, console
from tflm_memopt.cli.keras import is_keras
from tflm_memopt.cli.progress import busy
from tflm_memopt.cli.shared import explored, fitted, on_boards
from tflm_memopt.cli.source import Source
from tflm_memopt.convert import saved
from tflm_memopt.emit import bundle
from tflm_memopt.emit.manifest import manifest
from tflm_memopt.emit.names import file_stem
from tflm_memopt.errors import DoesNotFit, UsageError, about
from tflm_memopt.files import (
    for_reports,
    keep,
    paths_below,
    read_file,
    read_model,
    same_on_disk,
    shown,
    stem,
    write_files,
)
from tflm_memopt.model.metadata import label_lines
from tflm_memopt.model.reader import read
from tflm_memopt.ops.packing import family
from tflm_memopt.options import FUNCTIONS
from tflm_memopt.plan.effort import Progress
from tflm_memopt.report import figures, svg, text
from tflm_memopt.runtime import arrays, stimuli
from tflm_memopt.targets.boards import boards
from tflm_memopt.targets.own_board import board

PACKED = "cortex-m4"
"""Target for which the command `fit` packs weights. Cortex-M7 and Cortex-M33 can run programs for the target
Cortex-M4.
"""


def optimize(args: argparse.Namespace) -> int:
    if is_app(args.model):
        return apps.optimize(args, given(args))
    if args.model.is_dir() and not is_keras(args.model):
        return _optimize_all(args, args.output or Path(f"{args.model.resolve().name}_memopt"))
    folder = args.output or Path(f"{args.model.stem}_memopt")
    report, files = _optimize_one(args, args.model, folder)
    page = text.optimized(report, folder, listed(files, folder))
    return console.answer(args, report.to_json, page, is_yes=report.changed or not args.fail_unchanged)


def _optimize_all(args: argparse.Namespace, folder: Path) -> int:
    """Rewrite every .tflite file of a folder, and return the worst exit code. If one model fails, the command continues
    with the next model.
    """
    arguments.refuse(args, arguments.ALONE, "one model", "one file")
    paths = sorted(path for path in args.model.iterdir() if path.suffix.lower() == ".tflite" and path.is_file())
    if not paths:
        raise UsageError(f"{args.model} has no .tflite files", hint="give a model, or a folder with .tflite files")
    entries, worst = [], console.DONE
    written: set[str] = set()
    for path in paths:
        try:
            report, files = _optimize_one(args, path, folder, written)
            written.update(same_on_disk(str(file)) for file in files)
            entries.append(Entry(shown(path), report))
        except Exception as error:
            known = console.typed(error)
            known.file = known.file or str(path)
            worst = max(worst, console.say(known))
            entries.append(Entry(shown(path), error=known))
    found = Batch(str(for_reports(args.model)), tuple(entries))
    console.answer(args, found.to_json, text.batch(found, folder))
    return max(worst, console.NO) if found.unchanged and args.fail_unchanged else worst


def _optimize_one(
    args: argparse.Namespace, model: Path, folder: Path, taken: Collection[str] = ()
) -> tuple[Report, list[Path]]:
    """Rewrite a model, and return a report and the written files."""
    plan = _saved(args.plan) if args.plan else None
    arguments.check_plot(args.plot)
    with about(model), busy(args, f"optimizing {model.name}") as progress:
        source = Source.of(model, args.calibrate, args.test, progress, verbose=args.verbose)
        whatever = args.force or bundle.MODULE in args.emit
        result = tflm_memopt.optimize(
            source.data, name=shown(model), **given(args), plan=plan,
            if_worthwhile=not whatever, progress=progress,
        )  # fmt: skip
        result = source.tested(result, progress)
        made = source.files(stem(shown(model)))
        original = next((folder / file for file in made), model)
        contents = {
            **saved.files(result, args.emit, _labels(args), _examples(args), folder, original),
            **_manifest(args, result),
            **made,
        }
    files = paths_below(folder, contents)
    if args.plot:
        files[args.plot] = svg.document(figures.before_and_after(result)).encode()
    if args.manifest:
        keep(args.manifest, files, "manifest")
    if twice := [path for path in files if same_on_disk(str(path)) in taken]:
        what = f"{twice[0]} was already written for another model with the same name"
        raise UsageError(what, code="would_overwrite", hint="rename one of the models")
    return result.report, write_files(files, [model])


def _manifest(args: argparse.Namespace, result: Optimized) -> dict[str, bytes]:
    if args.manifest is None:
        return {}
    with about(args.manifest):
        return manifest(read_file(args.manifest), stem(result.report.model), result.report.arena_size)


def _labels(args: argparse.Namespace) -> tuple[str, ...]:
    if args.labels is None:
        return ()
    if not bundle.PROJECTS.keys() & set(args.emit):
        hint = f"--emit {', '.join(bundle.PROJECTS)}"
        raise UsageError("--labels needs a project", hint=hint)
    try:
        return label_lines(read_file(args.labels).decode("utf-8"))
    except UnicodeDecodeError as error:
        what = f"{args.labels} is not UTF-8 text"
        raise UsageError(
            what, code="bad_data", hint="write one label per line in UTF-8, in the order of the output's values"
        ) from error


def _examples(args: argparse.Namespace) -> list[NDArray[Any]]:
    """Return the arrays of the option --inputs or, without --inputs, of --calibrate. Raises UsageError if --inputs is
    given and no emitted file uses inputs.
    """
    storing = (*bundle.PROJECTS, bundle.MODULE)
    if args.inputs and not set(storing) & set(args.emit):
        what = "--inputs needs a project or C module"
        raise UsageError(what, hint=f"--emit {', '.join(storing)}")
    return arrays.load(args.inputs or args.calibrate)


def listed(files: Iterable[Path], folder: Path) -> list[str]:
    """Return the names of written files for the answer, or only the name of the subfolder for files in a subfolder."""
    names = []
    for path in files:
        inside = path.relative_to(folder) if path.is_relative_to(folder) else Path(path.name)
        names.append(f"{inside.parts[0]}/" if len(inside.parts) > 1 else inside.name)
    return list(dict.fromkeys(names))


def fit(args: argparse.Namespace) -> int:
    """Print the boards on which a rewritten model fits. Return 1 if a named board is too small for the model, or if all
    known boards are too small.
    """
    if is_app(args.model):
        return apps.fit(args, given(args))
    data = _read(args.model)
    named = [board(name) for name in args.boards]
    with about(args.model), busy(args, f"optimizing {args.model.name}") as progress:
        wanted = {**given(args), "name": shown(args.model), "progress": progress}
        own = on_boards(args, lambda name: tflm_memopt.optimize(data, **wanted | {"board": name}))
        if len(own) == 1 == len(args.boards):
            (result,) = own.values()
            return fitted(args, tflm_memopt.fit(result, args.boards))
        result = tflm_memopt.optimize(data, **wanted)
        packed: Optimized | None = None
        if args.target is None and any(family(on.target) for on in named or boards().values()):
            with contextlib.suppress(DoesNotFit):  # Packed kernels need more scratch than generic kernels.
                packed = tflm_memopt.optimize(data, **wanted | {"target": PACKED})
    return fitted(args, tflm_memopt.fit(result, args.boards, packed, own))


def explore(args: argparse.Namespace) -> int:
    if is_app(args.model):
        return apps.explore(args, given(args, "explore"))

    def explore_model(progress: Progress) -> Exploration:
        return tflm_memopt.explore(
            read_model(args.model), name=shown(args.model), cost=args.cost, progress=progress,
            **given(args, "explore"),
        )  # fmt: skip

    def plans(result: Exploration) -> dict[Path, bytes]:
        return paths_below(args.plans, bundle.plans(result, args.model.stem)) if args.plans else {}

    return explored(args, explore_model, figures.frontier, text.exploration, plans)


def given(args: argparse.Namespace, function: str = "optimize") -> dict[str, Any]:
    """Return those command-line arguments, except `plan`, that are options of the function `function`."""
    found = {name: value for name, value in vars(args).items() if name in FUNCTIONS[function] and name != "plan"}
    return found | ({"interpreter": bundle.needs_interpreter(args.emit)} if "emit" in args else {})


def _saved(path: Path) -> Mapping[str, Any]:
    hint = "use NAME.plan.json, or a file of explore --plans"
    try:
        document = json.loads(read_file(path))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not a JSON document", code="bad_plan", hint=hint) from error
    if not isinstance(document, dict):
        raise UsageError(f"{path} does not contain a plan", code="bad_plan", hint=hint)
    return document


def verify(args: argparse.Namespace) -> int:
    if is_app(args.original):
        return apps.verify(args)
    if args.reset_every and not args.steps:
        raise UsageError("--reset-every needs --steps", hint="--steps 1000")
    original, rewritten = (_read(path) for path in (args.original, args.rewritten))
    for path, data in ((args.original, original), (args.rewritten, rewritten)):
        with about(path):
            read(data)
    given = arrays.load(args.inputs)
    with about(args.original, args.rewritten), busy(args, f"running {args.original.name} and {args.rewritten.name}"):
        result = tflm_memopt.verify(
            original,
            rewritten,
            runs=args.runs,
            seed=args.seed,
            inputs=given,
            steps=stimuli.Steps(args.steps, args.reset_every, args.cores),
            c=_module(args.c, args.rewritten),
        )
    return console.answer(args, result.to_json, text.verification(result), is_yes=result.bit_exact)


def _module(folder: Path | None, rewritten: Path) -> Path | None:
    """Return the file of the C module in the folder, or the folder if it has no C module with the model's name."""
    if folder is None:
        return None
    named = folder / f"{file_stem(rewritten.stem)}.c"
    return named if named.is_file() else folder


def _read(path: Path) -> bytes:
    with about(path):
        return read_model(path)
