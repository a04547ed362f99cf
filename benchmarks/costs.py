"""What kernels cost on a core, fitted to counted instructions: writes tflm_memopt/analysis/costs.json.

    python benchmarks/costs.py --models ../shared/models [--update docs/frontier.md]
    python benchmarks/costs.py --models ../shared/models --cores m4 m55 --only mlperf_tiny_kws_dscnn_int8
    python benchmarks/costs.py --missing

Random networks in random plans (tests/property) run under QEMU, operator by operator; for each kernel, non-negative
least squares of relative errors fit what one of each amount of its work (analysis/costs.py) takes. Plans of the models
in the folder are held out: how far off their estimates are is written beside the fit. Other cores' tables stay. With
--missing only kernels of operators that a table lacks are measured, in networks of rare operators; all others stay.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tables
from ai_edge_litert import schema_py_generated as schema

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from cores.cases import TOO_LARGE, Case, blob, model_cases, run
from cores.core import MEASURED, Core, missing_tools
from models import Net
from moving import arg_max, log_softmax, transpose_conv
from property.forced import PARTS, TAILS, forced, random_settings
from property.layers import INT16, SUPPORTED, Layer
from property.layers.computing import TWO_OPERANDS
from property.networks import Recipe, build
from property.oracle import convert

import tflm_memopt
from tflm_memopt.analysis import costs
from tflm_memopt.analysis.costs import AMOUNTS, Work, estimate
from tflm_memopt.errors import MemoptError, PlanError
from tflm_memopt.ops.packing import TARGETS
from tflm_memopt.plan.firing.work import work
from tflm_memopt.plan.planner import NO_RECOMPUTE, Options

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "tflm_memopt/analysis/costs.json"
PROGRAMS = ("generic", "cortex-m4", "cortex-m55")
"""For which targets plans are made; a core runs those of its own family, and those of the families below."""
DIGITS = 4
"""Of a coefficient."""
CARE = 0.75
"""0: absolute errors are made small, 1: relative ones; in between, those of large operators count more."""
RARE = 10
"""Of so many networks one has the operators that are seldom."""
HELD_OUT: Sequence[Mapping[str, Any]] = ({}, {"max_macs": 1.0}, {"max_macs": 1.3})
"""Settings of optimize() for each held out model."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A plan: what runs, and the work of each of its operators."""

    name: str
    cases: Sequence[Case]
    work: Sequence[Work]


@dataclass(frozen=True, slots=True)
class Counted:
    """Instructions of a sample: in all, and of each operator."""

    sample: Sample
    total: int
    operators: Sequence[int]


# ---- plans ----


def network(seed: int) -> Recipe:
    """Layers as small networks have them; every third one has any operators."""
    rng = random.Random(seed)
    channels = rng.choice((1, 3, 4, 8, 16, 32))
    width = rng.randint(3, 16)
    shape = (1, rng.randint(3, max(3, min(24, 4096 // channels // width))), width, channels)
    if seed % 3 == 0:
        inside = "INT16" if seed % 2 else "INT8"
        kinds = INT16 if seed % 2 else tuple(SUPPORTED)
        return Recipe((shape,), tuple(_any(rng, kinds) for _ in range(5)), seed=seed, inside=inside)
    layers = [layer for _ in range(rng.randint(1, 3)) for layer in rng.choice((_inverted, _plain, _part))(rng)]
    return Recipe((shape,), (*layers, *rng.choice(TAILS)), seed=seed)


def _wide(rng: random.Random) -> int:
    return rng.choice((3, 8, 12, 16, 24, 32, 48, 64))


def _any(rng: random.Random, kinds: Sequence[str]) -> Layer:
    kernel, stride = rng.choice(((1, 1), (2, 2), (3, 3))), rng.choice(((1, 1), (2, 2)))
    return Layer(rng.choice(kinds), channels=_wide(rng), kernel=kernel, stride=stride, flag=rng.random() < 0.5)


def _inverted(rng: random.Random) -> list[Layer]:
    """Expand, depthwise, project; some with a shortcut."""
    narrow, kernel, stride = _wide(rng), rng.choice(((3, 3), (3, 3), (5, 5), (10, 4))), rng.choice(((1, 1), (2, 2)))
    point = {"kernel": (1, 1), "activation": rng.choice(("NONE", "RELU6"))}
    block = [Layer("conv", channels=_wide(rng), **point), Layer("depthwise", channels=3, kernel=kernel, stride=stride),
             Layer("conv", channels=narrow, **point)]  # fmt: skip
    shortcut = stride == (1, 1) and rng.random() < 0.5
    return [Layer("conv", channels=narrow, **point), *block, Layer("add", other=3)] if shortcut else block


def _plain(rng: random.Random) -> list[Layer]:
    kernel = rng.choice(((1, 1), (3, 3), (3, 3), (5, 5)))
    return [Layer("conv", channels=_wide(rng), kernel=kernel, stride=rng.choice(((1, 1), (2, 2))))]


def _part(rng: random.Random) -> list[Layer]:
    return PARTS[rng.choice(list(PARTS))](rng)


def rare(seed: int) -> bytes:
    """Operators that random networks have seldom or never."""
    rng = random.Random(seed)
    h, w, c = rng.randint(2, 12), rng.randint(2, 12), rng.choice((4, 8, 24))
    net = Net(seed)
    x = net.input((1, h, w, c))
    outputs = [net.binary(kind, x, net.input((1, h, w, c)), out=(0.2, 3)) for kind in TWO_OPERANDS]
    outputs += [log_softmax(net, x), arg_max(net, x)]
    outputs.append(net.gather(net.input((1, h * w), None, dtype="INT32"), 1, c))
    rows = net.reshape(x, (1, h * w, c))
    product = net.tensor((1, h * w, h * w))
    net.op("BATCH_MATMUL", [rows, rows], [product], schema.BatchMatMulOptionsT(adjY=True))
    return net.model(*outputs, product)


def rare_int16(seed: int) -> bytes:
    """The same of int16."""
    rng = random.Random(seed)
    h, w, c = rng.randint(2, 12), rng.randint(2, 12), rng.choice((1, 4, 8, 24))
    net = Net(seed, activations="INT16")
    x, other = net.input((1, h, w, c)), net.input((1, h, w, c) if rng.random() < 0.5 else (c,))
    kernel, stride = rng.choice(((1, 1), (3, 3), (4, 2))), rng.choice(((1, 1), (2, 2)))
    leaky = schema.LeakyReluOptionsT(alpha=0.3)
    return net.model(
        *(net.binary(kind, x, other, out=(0.2, 0)) for kind in ("ADD", "SUB")),
        net.unary("LEAKY_RELU", x, dtype="INT16", out=(0.05, 0), options=leaky),
        transpose_conv(net, x, rng.choice((1, 4, 16)), kernel=kernel, stride=stride),
    )


def converting(seed: int) -> bytes:
    """Operators that give elements another type, from and to float32, int16 and int8."""
    rng = random.Random(seed)
    shape = 1, rng.randint(2, 12), rng.randint(2, 12), rng.choice((3, 8, 24))
    net = Net(seed)
    real, small, wide = net.input(shape, None, dtype="FLOAT32"), net.input(shape), net.input(shape, dtype="INT16")
    outputs = [net.unary("DEQUANTIZE", x, dtype="FLOAT32", out=None) for x in (small, wide)]
    outputs += [net.unary("QUANTIZE", x, out=(0.03, 3)) for x in (real, wide)]
    outputs += [net.unary("QUANTIZE", x, dtype="INT16", out=(0.001, 0)) for x in (real, small, wide)]
    return net.model(*outputs)


RARE_NETWORKS = (rare, rare_int16, converting)


def random_plans(target: str, count: int, *, every: int = 1) -> Iterator[Sample]:
    """Of so many networks, without those that the checker refuses: chance draws plans that cannot be laid out.

    every: RARE draws nothing but rare operators.
    """
    for seed in range(0, count, every):
        turn = seed // RARE
        data = RARE_NETWORKS[turn % 3](seed) if seed % RARE == 0 else build(network(seed))
        tiles = None if (turn // 3 if seed % RARE == 0 else seed) % 4 == 0 else NO_RECOMPUTE
        options = Options(seconds=0, fold=False, target=target, reorder=False, turn=False, tiles=tiles)
        try:
            if tiles is None:
                converted = convert(data, options)
            else:
                with forced(random_settings(random.Random(seed)), seed):
                    converted = convert(data, options)
        except PlanError:
            continue
        if converted is not None:
            model, planned = converted
            done = tuple(work(planned.plan, planned.partition.ops))
            yield Sample(f"seed {seed}", model_cases(model, by_operator=True), done)


def plans_of(path: Path, target: str) -> Iterator[Sample]:
    """Plans of a model within several limits, those that differ."""
    seen = set()
    for settings in HELD_OUT:
        result = tflm_memopt.optimize(path.read_bytes(), name=path.name, int8_io=True, target=target, **settings)
        if result.model not in seen:
            seen.add(result.model)
            cases = model_cases(result.model, by_operator=True)
            yield Sample(f"{path.stem} {target} {dict(settings)}", cases, result.work)


# ---- counts ----


def count(core: Core, samples: Sequence[Sample]) -> Iterator[Counted]:
    """Runs them. RuntimeError when a byte is wrong; those that the core has no room for are left out."""
    fitting = [s for s in samples if all(len(blob([case])) <= core.blob_bytes for case in s.cases)]
    outcomes = iter(run(core, [case for sample in fitting for case in sample.cases]))
    for sample in fitting:
        mine = [next(outcomes) for _ in sample.cases]
        if any(o.status == TOO_LARGE for o in mine):
            continue
        if not all(o.right for o in mine):
            raise RuntimeError(f"{sample.name} on {core.name}: {[(o.status, o.wrong) for o in mine]}")
        operators = tuple(n for o in mine for n in o.operators)
        yield Counted(sample, sum(o.instructions for o in mine), operators)


# ---- fit ----


def fitted(counted: Sequence[Counted]) -> dict[str, list[float]]:
    """The costs of each kernel, those that are never negative and whose estimates are least off."""
    from scipy.optimize import nnls  # noqa: PLC0415 (slow to import, and everything else here does without)

    rows: dict[str, list[tuple[tuple[float, ...], int]]] = defaultdict(list)
    for c in counted:
        for done, instructions in zip(c.sample.work, c.operators, strict=True):
            rows[done.kernel].append((done.amounts, instructions))
    found = {}
    for kernel, seen in sorted(rows.items()):
        amounts, counts = np.array([a for a, _ in seen], float), np.array([n for _, n in seen], float)
        weight = np.maximum(counts, 1) ** -CARE
        largest = np.maximum(amounts.max(axis=0), 1)
        each = nnls(amounts / largest * weight[:, None], counts * weight)[0] / largest
        found[kernel] = [float(f"{value:.{DIGITS}g}") for value in each]
    return found


def errors(kernels: costs.Costs, counted: Sequence[Counted]) -> list[float]:
    """By how much the estimate of each plan is off, as a share of what was counted."""
    return [sum(estimate(kernels, done) for done in c.sample.work) / c.total - 1 for c in counted]


# ---- files ----


def written(tables_of: Mapping[str, Mapping[str, Any]]) -> str:
    """costs.json: a line for each kernel."""
    whole = {"library": tflm_memopt.__version__, "amounts": AMOUNTS, "cores": tables_of}
    text = json.dumps(whole, indent=1)
    return re.sub(r"\[\s+([^\[\]{}]*?)\s+\]", lambda found: f"[{' '.join(found[1].split())}]", text) + "\n"


def table(tables_of: Mapping[str, Mapping[str, Any]]) -> str:
    """What the documents say of it."""
    titles = ("core", "kernels", "plans", "median error", "worst")
    return tables.markdown(titles, ([
        name, str(len(found["kernels"])), str(found["plans"]), f"{found['median']:.1%}", f"{found['worst']:.1%}",
    ] for name, found in tables_of.items()))  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cores", nargs="+", choices=tuple(MEASURED), default=tuple(MEASURED))
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--models", type=Path, metavar="DIR", help="with .tflite files to hold out")
    what.add_argument("--missing", action="store_true", help="measure what the table lacks, and nothing else")
    parser.add_argument("--only", nargs="+", metavar="STEM", help="these models of the folder only")
    parser.add_argument("--networks", type=int, default=120, metavar="N", help="random ones for each target")
    parser.add_argument("--output", type=Path, default=TABLE, metavar="FILE", help="instead of the package's")
    parser.add_argument("--update", type=Path, metavar="FILE", help="rewrite the table of errors in this document")
    args = parser.parse_args(arguments)
    chosen = {core.known_as: core for core in (MEASURED[name] for name in args.cores)}
    models = [] if args.missing else sorted(args.models.glob("*.tflite"))
    paths = [p for p in models if not args.only or p.stem in args.only]
    if reason := next(filter(None, map(missing_tools, chosen.values())), ""):
        parser.error(reason)
    if not paths and not args.missing:
        parser.error(f"no .tflite files in {args.models}")
    try:
        if args.update:
            tables.require(args.update, "costs")
        old = json.loads(args.output.read_text()) if args.output.exists() else {"cores": {}}
        if args.missing:
            found = old["cores"] | _with_missing(old["cores"], _fits(chosen, RARE * args.networks, every=RARE))
        else:
            found = old["cores"] | _with_errors(chosen, _fits(chosen, args.networks), paths)
        ordered = {name: found[name] for name in (core.known_as for core in MEASURED.values()) if name in found}
        args.output.write_text(written(ordered))
    except (MemoptError, OSError, RuntimeError, ValueError) as error:
        parser.error(str(error))
    print(table(ordered))
    if args.update:
        tables.update(args.update, "costs", table(ordered))
    return 0


def _fits(chosen: Mapping[str, Core], networks: int, *, every: int = 1) -> dict[str, dict[str, Any]]:
    """By core. Nothing is held out yet."""
    plans = {target: list(random_plans(target, networks, every=every)) for target in _programs(chosen.values())}
    found = {}
    for name, core in chosen.items():
        kernels = fitted([c for target in _programs([core]) for c in count(core, plans[target])])
        print(f"{name}: {len(kernels)} kernels", file=sys.stderr)
        found[name] = {"target": core.target, "plans": 0, "median": 0, "worst": 0, "kernels": kernels}
    return found


def _with_missing(
    tables_of: Mapping[str, dict[str, Any]], found: Mapping[str, dict[str, Any]]
) -> dict[str, dict[str, Any]]:
    """The tables of these cores with the kernels of operators that they lack."""
    done = {}
    for name, new in found.items():
        table = tables_of[name]
        known = {kernel.split()[0] for kernel in table["kernels"]}
        added = {kernel: each for kernel, each in new["kernels"].items() if kernel.split()[0] not in known}
        done[name] = table | {"kernels": dict(sorted((table["kernels"] | added).items()))}
    return done


def _with_errors(
    chosen: Mapping[str, Core], found: Mapping[str, dict[str, Any]], paths: Sequence[Path]
) -> dict[str, dict[str, Any]]:
    """The same, with how far off the estimates for these models are."""
    plans = {t: [plan for path in paths for plan in plans_of(path, t)] for t in _programs(chosen.values())}
    done = {}
    for name, core in chosen.items():
        counted = [c for target in _programs([core]) for c in count(core, plans[target])]
        off = [abs(e) for e in errors(found[name]["kernels"], counted)]
        print(f"{name}: {len(off)} plans held out, median {np.median(off):.1%}, worst {max(off):.1%}", file=sys.stderr)
        done[name] = found[name] | {
            "plans": len(off), "median": round(float(np.median(off)), 4), "worst": round(max(off), 4),
        }  # fmt: skip
    return done


def _programs(cores: Iterable[Core]) -> list[str]:
    """The targets whose programs some of them run."""
    return [target for target in PROGRAMS if any(TARGETS[target] in core.families for core in cores)]


if __name__ == "__main__":
    sys.exit(main())
