"""The command `inspect`, which starts quickly because it does not import the planner."""

import argparse
from pathlib import Path

from tflm_memopt.cli import console
from tflm_memopt.convert.inspecting import inspect as inspected
from tflm_memopt.emit.names import file_stem
from tflm_memopt.errors import about
from tflm_memopt.files import paths_below, read_model, shown, write_files
from tflm_memopt.ops.packing import GENERIC
from tflm_memopt.report import text


def inspect(args: argparse.Namespace) -> int:
    with about(args.model):
        data = read_model(args.model)
        result = inspected(
            data, name=shown(args.model), abi=args.abi, target=args.target or GENERIC, kernels=args.kernels
        )
    files: dict[Path, bytes] = {}
    if args.output:
        from tflm_memopt.report import html  # noqa: PLC0415

        page = html.inspection(result).encode()
        files = paths_below(args.output, {f"{file_stem(args.model.stem)}.report.html": page})
    written = write_files(files, [args.model])
    return console.answer(args, result.to_json, text.inspection(result, list(map(str, written))))
