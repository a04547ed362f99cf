"""optimize and verify for several devices; for one, the commands of commands.py."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import tflm_memopt
from tflm_memopt.application.reader import is_app
from tflm_memopt.cli import commands, console
from tflm_memopt.convert import devices, saved
from tflm_memopt.emit import bundle
from tflm_memopt.emit.names import file_stem
from tflm_memopt.errors import UsageError, about
from tflm_memopt.files import keep, read_model, shown, stem, write_files
from tflm_memopt.report import text
from tflm_memopt.runtime import stimuli

ALONE = ("plan", "plot", "calibrate", "test", "labels", "frontier")
"""Flags that are for one device."""


def optimize(args: argparse.Namespace) -> int:
    """Rewrites a model, all of a folder, or a model for several devices."""
    if args.devices == 1:
        return commands.optimize(args)
    if is_app(args.model) or args.model.is_dir():
        raise UsageError("several devices share one model", code="devices_one", hint="a .tflite file")
    for flag in ALONE:
        if getattr(args, flag):
            raise UsageError(f"--{flag} is for one device", code="devices_flag", hint="--devices without it")
    if others := sorted(set(args.emit) - set(devices.KINDS)):
        hint = f"--emit {' or '.join(devices.KINDS)}, with SetLink() of tmo_tflm.h and links/tmo_link.h in your program"
        raise UsageError(f"--emit {others[0]} is for one device", code="devices_emit", hint=hint)
    folder = args.output or Path(f"{args.model.stem}_memopt")
    with about(args.model), console.busy(args, f"optimizing {args.model.name}") as progress:
        data = read_model(args.model)
        result = tflm_memopt.optimize_devices(
            data, args.devices, name=shown(args.model), **commands.settings(args), **commands.limits(args),
            progress=progress,
        )  # fmt: skip
    files = _files(result, args, folder)
    keep(args.model, files)
    write_files(files)
    console.answer(args, result.report.to_json(), text.devices(result.report, folder, _folders(files, folder)))
    return console.DONE


def _files(result: tflm_memopt.OptimizedDevices, args: argparse.Namespace, folder: Path) -> dict[Path, bytes]:
    report = result.report.to_json()
    made = {folder / f"{file_stem(stem(shown(args.model)))}.report.json": bundle.to_json(report).encode()}
    for number, one in enumerate(result.models):
        own = folder / f"device{number}"
        made |= {own / name: content for name, content in saved.files(one, args.emit, (), args.model, own).items()}
    return made


def _folders(files: dict[Path, Any], folder: Path) -> list[str]:
    inside = (path.relative_to(folder).parts for path in files)
    return list(dict.fromkeys(f"{parts[0]}/" if len(parts) > 1 else parts[0] for parts in inside))


def verify(args: argparse.Namespace) -> int:
    """The answer is no when a byte differs."""
    if is_app(args.original) or not args.rewritten.is_dir():
        return commands.verify(args)
    if args.c or args.steps:
        raise UsageError("--c and --steps are for one device", code="devices_verify", hint="verify one model")
    with about(args.original):
        original = read_model(args.original)
    models = device_files(args.rewritten)
    with about(args.rewritten), console.busy(args, f"running {len(models)} devices"):
        result = tflm_memopt.verify_devices(
            original, models, runs=args.runs, seed=args.seed, inputs=stimuli.load(args.inputs)
        )
    console.answer(args, result.to_json(), text.devices_verification(result))
    return console.DONE if result.bit_exact else console.NO


def device_files(folder: Path) -> list[Path]:
    """The models of all devices in a folder that optimize --devices wrote."""
    found: list[Path] = []
    while models := sorted((folder / f"device{len(found)}").glob("*.tflite")):
        found.append(models[0])
    if not found:
        raise UsageError(
            f"{folder} has no device0", code="no_devices", hint="a .tflite file, or the folder of optimize --devices"
        )
    return found
