"""The commands optimize, explore and verify for a model that is split among several devices."""

import argparse
from collections.abc import Sequence
from pathlib import Path

import tflm_memopt
from tflm_memopt.answers.devices import DevicesExploration
from tflm_memopt.apps.reader import is_app
from tflm_memopt.cli import arguments, commands, console
from tflm_memopt.cli.progress import busy
from tflm_memopt.cli.shared import explored
from tflm_memopt.convert import saved
from tflm_memopt.devices import network as devices
from tflm_memopt.devices import report as pages
from tflm_memopt.emit.names import file_stem
from tflm_memopt.emit.printing import to_json
from tflm_memopt.errors import UsageError, about
from tflm_memopt.files import paths_below, read_model, shown, stem, write_files
from tflm_memopt.plan.effort import Progress
from tflm_memopt.runtime import arrays


def optimize(args: argparse.Namespace) -> int:
    if args.devices == 1:
        arguments.refuse(args, ("link", "cut"), "several devices", "--devices 2")
        return commands.optimize(args)
    _together(args, arguments.ALONE)
    if others := sorted(set(args.emit) - set(devices.KINDS)):
        hint = (
            f"--emit {' or '.join(devices.KINDS)}, and use SetLink() of tmo_tflm.h and links/tmo_link.h in your program"
        )
        raise UsageError(f"--emit {others[0]} is for one device", hint=hint)
    folder = args.output or Path(f"{args.model.stem}_memopt")
    with about(args.model), busy(args, f"optimizing {args.model.name}") as progress:
        data = read_model(args.model)
        result = tflm_memopt.optimize_devices(
            data, args.devices, name=shown(args.model), link=args.link,
            cut=args.cut or (), **commands.given(args), progress=progress,
        )  # fmt: skip
    files = _files(result, args, folder)
    write_files(files, [args.model])
    page = pages.optimized(result.report, folder, commands.listed(files, folder))
    return console.answer(args, result.report.to_json, page)


def explore(args: argparse.Namespace) -> int:
    if args.devices == 1:
        arguments.refuse(args, ("link", "clock"), "several devices", "--devices 2")
        return commands.explore(args)
    _together(args, ("plans",))
    if args.cost:
        raise UsageError("--cost cannot be combined with --devices, whose cost is time", hint="omit --cost")
    if args.link is None:
        hint = "--link BYTES/S,LATENCY, and --clock"
        raise UsageError("the time of several devices depends on their links", hint=hint)

    def explore_devices(progress: Progress) -> DevicesExploration:
        return tflm_memopt.explore_devices(
            read_model(args.model), args.devices, name=shown(args.model), link=args.link,
            **commands.given(args), progress=progress,
        )  # fmt: skip

    return explored(args, explore_devices, pages.frontier, pages.exploration)


def _together(args: argparse.Namespace, flags: Sequence[str]) -> None:
    if is_app(args.model) or args.model.is_dir():
        raise UsageError("several devices share one model", hint="name one .tflite file")
    arguments.refuse(args, flags, "one device", "omit it, or omit --devices")


def _files(result: tflm_memopt.OptimizedDevices, args: argparse.Namespace, folder: Path) -> dict[Path, bytes]:
    report = result.report.to_json()
    made = {f"{file_stem(stem(shown(args.model)))}.report.json": to_json(report).encode()}
    for number, one in enumerate(result.models):
        own = f"device{number}"
        files = saved.files(one, args.emit, (), (), folder / own, args.model)
        made |= {f"{own}/{name}": content for name, content in files.items()}
    return paths_below(folder, made)


def verify(args: argparse.Namespace) -> int:
    if is_app(args.original) or not args.rewritten.is_dir():
        return commands.verify(args)
    arguments.refuse(args, arguments.OF_ONE, "one device", "verify one model")
    with about(args.original):
        original = read_model(args.original)
    models = device_files(args.rewritten, args.original.name)
    with about(args.rewritten), busy(args, f"running {len(models)} devices"):
        result = tflm_memopt.verify_devices(
            original, models, runs=args.runs, seed=args.seed, inputs=arrays.load(args.inputs)
        )
    return console.answer(args, result.to_json, pages.verified(result), is_yes=result.bit_exact)


def device_files(folder: Path, name: str = "") -> list[Path]:
    """Return the files of all devices' models in a folder. If a device has several models in the folder, the argument
    `name` is the file name of the chosen model.
    """
    found: list[Path] = []
    while models := sorted((folder / f"device{len(found)}").glob("*.tflite"), key=lambda path: path.name != name):
        if len(models) > 1 and models[0].name != name:
            raise UsageError(
                f"{models[0].parent} has {len(models)} models, but none is called {name}",
                code="other_model",
                hint=f"use the folder that optimize wrote for {name}",
            )
        found.append(models[0])
    if not found:
        raise UsageError(f"{folder} has no device0", hint="name a .tflite file, or the folder of optimize --devices")
    return found
