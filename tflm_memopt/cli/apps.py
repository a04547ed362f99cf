"""The commands for an application (app.toml)."""

import argparse
from pathlib import Path
from typing import Any

import tflm_memopt
from tflm_memopt.apps import report as pages
from tflm_memopt.apps import saved as saved_app
from tflm_memopt.apps.fit import fit_app
from tflm_memopt.apps.reader import read_app
from tflm_memopt.apps.verify import verify_app
from tflm_memopt.cli import arguments, console
from tflm_memopt.cli.progress import busy
from tflm_memopt.cli.shared import explored, fitted, on_boards
from tflm_memopt.errors import about
from tflm_memopt.files import paths_below, write_files


def optimize(args: argparse.Namespace, settings: dict[str, Any]) -> int:
    """Rewrite all models of an application. Settings in app.toml replace the values of flags."""
    arguments.refuse(args, (*arguments.ALONE, "flash_limit"), "one model", "a .tflite file")
    folder = args.output or Path(f"{args.model.stem}_memopt")
    app = read_app(args.model)
    with about(args.model), busy(args, f"optimizing {args.model.name}", lines=True) as progress:
        result = tflm_memopt.optimize(app, progress=progress, **settings)
        files = paths_below(folder, saved_app.files(result, args.emit))
    write_files(files, [args.model, *(Path(str(entry.model)) for entry in app.models.values())])
    changed = all(done.report.changed for done in result.models.values())
    page = pages.optimized(result, folder, [path.name for path in files])
    return console.answer(args, result.to_json, page, is_yes=changed or not args.fail_unchanged)


def explore(args: argparse.Namespace, settings: dict[str, Any]) -> int:
    arguments.refuse(args, ("plans", "cost"), "one model", "explore NAME.tflite")
    app = read_app(args.model)
    return explored(
        args,
        lambda progress: tflm_memopt.explore(app, progress=progress, **settings),
        pages.frontier,
        pages.exploration,
    )


def fit(args: argparse.Namespace, settings: dict[str, Any]) -> int:
    """Print the boards on which an application fits. Return 1 if a named board is too small for the application, or if
    every known board is too small.
    """
    app = read_app(args.model)
    with about(args.model), busy(args, f"optimizing {args.model.name}", lines=True) as progress:
        settings["progress"] = progress
        own = on_boards(args, lambda name: tflm_memopt.optimize(app, **settings | {"board": name}))
        complete = bool(own) and len(own) == len(set(args.boards))
        result = next(iter(own.values())) if complete else tflm_memopt.optimize(app, **settings)
    return fitted(args, fit_app(result, args.boards, own))


def verify(args: argparse.Namespace) -> int:
    arguments.refuse(args, ("inputs", *arguments.OF_ONE), "one model", "verify NAME.tflite DIR/NAME.tflite")
    app = read_app(args.original)
    with about(args.original), busy(args, f"verifying {args.original.name}", lines=True) as progress:
        result = verify_app(app, args.rewritten, progress, runs=args.runs, seed=args.seed)
    return console.answer(args, result.to_json, pages.verified(result.models), is_yes=result.bit_exact)
