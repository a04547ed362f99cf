"""Compile C modules of random networks with sanitizers, and compare the modules' outputs with TFLM's."""

import random
import tempfile
from dataclasses import replace
from pathlib import Path

from conftest import ROOT
from planning import make_plan
from property.oracle import EFFORTS, original
from property.ports import ported, ports_of

from tflm_memopt.answers.report import SourceReport
from tflm_memopt.convert import annotation, pipeline
from tflm_memopt.convert.pipeline import ConversionOptions
from tflm_memopt.emit.embedded import library
from tflm_memopt.emit.module import module
from tflm_memopt.emit.module_text import module_header, module_source
from tflm_memopt.errors import UsageError
from tflm_memopt.model.interface import METADATA, Changes, changes_of, metadata
from tflm_memopt.model.reader import read
from tflm_memopt.ops.packing import TARGETS
from tflm_memopt.plan.iteration.planned import Planned
from tflm_memopt.plan.search.tiles_plan import NO_RECOMPUTE
from tflm_memopt.rewrite.int8_io import Int8Interface, int8_io
from tflm_memopt.rowgraph.inputs import InputMode
from tflm_memopt.runtime.regions import regions
from tflm_memopt.runtime.verification import Verification
from tflm_memopt.runtime.verify import sample, verify

NAME = "net"
SECONDS = 0.05
RUNS = 3
ELSEWHERE = ("unsupported_input",)
IMPOSSIBLE = ("unsupported_input", "unsupported_operator")


def written(data: bytes, folder: Path, rng: random.Random) -> bytes:
    source = read(data)
    if why := annotation.left_whole(source):
        raise UsageError(why, code="unsupported_operator")
    border = int8_io(source.graph) if rng.random() < 0.85 else Int8Interface(source.graph, Changes(), {}, ())
    options = ConversionOptions(
        ops="group" if rng.random() < 0.2 else "region",
        seconds=SECONDS,
        fold=rng.random() < 0.8,
        target=rng.choice(("generic", *sorted(TARGETS))),
        tiles=rng.choice((None, NO_RECOMPUTE)),
        effort=rng.choice(EFFORTS),
    )
    planned = None
    for mode in _modes(source.graph.tensors[source.graph.inputs[0]].shape, rng):
        options = replace(options, input=mode)
        try:
            planned = make_plan(border.graph, options)
            break
        except UsageError as refusal:
            if mode.where == "arena" or refusal.code not in ELSEWHERE:
                raise
    if planned is None:
        raise UsageError("nothing to convert", code="unsupported_operator")
    new = pipeline.lower(source, border, planned, options)
    whole = module(NAME, read(new), _source(planned))
    (folder / f"{NAME}.h").write_text(module_header(whole))
    (folder / f"{NAME}.c").write_text(module_source(whole, sample(data, new)))
    for name, text in library(NAME, regions(read(new))).items():
        (folder / name).write_text(text)
    return new


def _modes(shape: tuple[int, ...], rng: random.Random) -> tuple[InputMode, ...]:
    rows = shape[1] if len(shape) > 1 else 1
    pushed = rng.choice([n for n in range(1, rows + 1) if rows % n == 0])
    elsewhere = InputMode("stream", pushed), InputMode("external")
    return (*rng.sample(elsewhere, rng.randint(0, 2)), InputMode())


def _source(planned: Planned) -> SourceReport | None:
    source = planned.graph.source
    return SourceReport(source.height, source.row_bytes, source.pushed) if source else None


def verified(data: bytes, new: bytes, folder: Path) -> Verification:
    return verify(data, new, runs=RUNS, c=folder)


def examine(seed: int, model: bytes | None = None) -> str:
    rng = random.Random(seed)
    data = model or ported(rng)
    try:
        original(data)
    except RuntimeError:
        return "TFLM does not run it"
    with tempfile.TemporaryDirectory(prefix="module-") as name:
        folder = Path(name)
        try:
            new = written(data, folder, rng)
        except UsageError as refusal:
            if refusal.code not in IMPOSSIBLE:
                raise
            return refusal.code
        found = verified(data, new, folder)
        if not found.bit_exact:
            kept = ROOT / f"build/soak/module{seed}"
            kept.mkdir(parents=True, exist_ok=True)
            for path in folder.iterdir():
                (kept / path.name).write_bytes(path.read_bytes())
            (kept / "original.tflite").write_bytes(data)
            (kept / "rewritten.tflite").write_bytes(new)
            raise AssertionError(f"seed {seed}, kept in {kept}: {ports_of(data)}\n{found}")
    where = changes_of(metadata(read(new).tree, METADATA)).input
    return f"module, {where.partition(':')[0] or 'arena'}"
