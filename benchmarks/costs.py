"""Fit the costs of kernels on a core to counted instructions and write tflm_memopt/analysis/costs.json.

    python benchmarks/costs.py [--cores m4 m55]      fit the costs of all kernels again
    python benchmarks/costs.py --keep                keep all costs and measure only their errors again
    python benchmarks/costs.py --missing             measure only kernels that the file lacks

Plans of random networks (fit_networks.py) run under QEMU, operator by operator: each network in whole rows, in tiles of
two to eight columns, and with a random tiling. A fit by non-negative least squares finds how many instructions a kernel
takes for each multiplication, each stored value and so on (analysis/costs.py). The errors of the estimates are measured
with the networks of tests/unseen.py, which are not used for the fit. The option --cores leaves the costs of all other
cores unchanged.
"""

import argparse
import hashlib
import json
import math
import os
import pickle
import random
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import fit_networks
import numpy as np
import tables

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import unseen
from cores.cases import TOO_LARGE, Case, Outcome, blob, model_cases, run
from cores.core import MEASURED, Core, missing_tools
from known import NETWORKS
from property.forced import forced, random_settings
from property.oracle import convert

import tflm_memopt
from tflm_memopt.analysis import costs
from tflm_memopt.analysis.costs import AMOUNTS, Work, by_kernel, estimate
from tflm_memopt.convert.pipeline import ConversionOptions
from tflm_memopt.errors import MemoptError
from tflm_memopt.ops.packing import TARGETS
from tflm_memopt.plan.iteration.planned import Planned
from tflm_memopt.plan.iteration.work import work
from tflm_memopt.plan.search.tiles_plan import NO_RECOMPUTE, Settings
from tflm_memopt.rowgraph.inputs import IN_ARENA, SLIDING, InputMode
from tflm_memopt.runtime.host import WAIT, Status

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "tflm_memopt/analysis/costs.json"
PROGRAMS = ("generic", "cortex-m4", "cortex-m55", "rv32-v")
"""Each network is converted for all targets in PROGRAMS. A core runs programs for the core's own target and for more
general targets.
"""
KEPT = ROOT / "build/costs"
DIGITS = 4
CARE = 0.75
"""The fit minimizes absolute errors if CARE is 0, and relative errors if CARE is 1."""
LARGER_ERROR = 1.02
"""The fit of a kernel omits a cost if the error without the cost is at most LARGER_ERROR times the error with the cost.
"""
MORE = 4
"""Number of other random networks for each random network with rare operators."""
EFFORT = 0.01
"""The costs do not depend on the quality of plans, so a low search effort is enough."""
SEEDS_AT_ONCE = 5
WAYS = ("rows", "any", "pixels", "single", "wide", "groups")


@dataclass(frozen=True, slots=True)
class Sample:
    name: str
    cases: Sequence[Case]
    work: Sequence[Work]


@dataclass(frozen=True, slots=True)
class Counted:
    """Number of instructions of a plan and of each operator. The field `steps` has the number of clock readings for
    each operator.
    """

    sample: Sample
    total: int
    operators: Sequence[int]
    steps: Sequence[int]


def random_plans(target: str, seeds: Sequence[int], converter: str) -> Iterator[Sample]:
    """Return plans of random networks. If an earlier fit has saved the plans to a file, the plans are read from the
    file.
    """
    file = KEPT / converter / f"{target}-{seeds[0]}-{len(seeds)}.pickle"
    if not file.exists():
        found = list(_random_plans(target, seeds))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(pickle.dumps(found))
    for seed, model, planned in pickle.loads(file.read_bytes()):
        yield Sample(f"seed {seed}", model_cases(model, by_operator=True), tuple(work(planned)))


def _random_plans(target: str, seeds: Sequence[int]) -> Iterator[tuple[int, bytes, Planned]]:
    """Yield seeds, models and plans of random networks. Plans that the checker refuses are left out."""
    for seed in seeds:
        rng = random.Random(seed)
        data, drawn, new = fit_networks.network(seed), rng.choice(WAYS), fit_networks.steps(seed)
        for way in ("rows",) if new else dict.fromkeys((drawn, "tiles", "rows")):
            tiles, where = None if way == "rows" else NO_RECOMPUTE, InputMode(SLIDING, new) if new else IN_ARENA
            options = ConversionOptions(
                seconds=0, fold=False, target=target, reorder=False, tiles=tiles, input=where, effort=EFFORT,
                reverse=way != "rows",
            )  # fmt: skip
            try:
                if way == "rows":
                    converted = convert(data, options)
                else:
                    with forced(_settings(way, rng), seed):
                        converted = convert(data, options)
                if converted is not None:
                    yield seed, *converted
            except MemoptError:
                continue


def converter_digest() -> str:
    tests = ROOT / "tests"
    files = [*(ROOT / "tflm_memopt").rglob("*.py"), *tests.glob("*.py"), *(tests / "property").rglob("*.py")]
    digest = hashlib.sha256()
    for file in (*sorted(files), Path(fit_networks.__file__), Path(__file__)):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _settings(way: str, rng: random.Random) -> Settings:
    drawn = random_settings(rng)
    match way:
        case "pixels":
            return replace(drawn, tile=1, group_channels=0)
        case "single":
            return replace(drawn, tile=1, at_once=1, group_channels=0)
        case "tiles":
            return replace(drawn, tile=rng.choice((2, 3, 4, 4, 5, 8)), at_once=1, group_channels=0)
        case "wide":
            return replace(drawn, tile=0xFFFF, group_channels=0)
        case "groups":
            return replace(drawn, tile=1, group_channels=rng.choice((2, 4, 8)))
    return drawn


def held_out(target: str) -> Iterator[Sample]:
    for name in unseen.NETWORKS:
        result = tflm_memopt.optimize(unseen.network(name), name=name, target=target)
        if result.plan:
            yield Sample(f"{name} {target}", model_cases(result.model, by_operator=True), result.work)


def seeds_of(networks: int) -> list[int]:
    more, known = fit_networks.MORE_FROM, fit_networks.KNOWN_FROM
    return [*range(networks), *range(more, more + networks // MORE), *range(known, known + len(NETWORKS))]


def count(core: Core, samples: Sequence[Sample]) -> Iterator[Counted]:
    """Count the instructions of plans. Plans that are too large for the core, or need a libm, are left out. Raises
    RuntimeError if an output byte is wrong.
    """
    fitting = [s for s in samples if all(len(blob([case])) <= core.blob_bytes for case in s.cases)]
    outcomes = iter(run(core, [case for sample in fitting for case in sample.cases]))
    for sample in fitting:
        mine = [next(outcomes) for _ in sample.cases]
        if any(o.status in (TOO_LARGE, Status.KERNEL) for o in mine):
            continue
        if not all(o.right or waits(o) for o in mine):
            raise RuntimeError(f"{sample.name} on {core.name}: {[(o.status, o.wrong) for o in mine]}")
        operators = tuple(n for o in mine for n in o.operators)
        total = sum(operators) if _keeps(sample) else sum(o.instructions for o in mine)
        yield Counted(sample, total, operators, tuple(n for o in mine for n in o.steps))


def _keeps(sample: Sample) -> bool:
    return any(done.state_writes for done in sample.work)


def waits(outcome: Outcome) -> bool:
    """Return whether an inference ended without outputs, because rows of the sliding input are missing."""
    return (outcome.status, outcome.wrong, outcome.canaries) == (WAIT, 0, True)


def in_loops(counted: Sequence[Counted]) -> list[Counted]:
    whole = [c for c in counted if not _keeps(c.sample)]
    readings = np.array([[sum(c.steps), 1] for c in whole], float).reshape(-1, 2)
    more = np.array([sum(c.operators) - c.total for c in whole], float)
    (each, _), *_ = np.linalg.lstsq(readings, more, rcond=None)
    done = []
    for c in counted:
        counts = [max(0, round(n - each * steps)) for n, steps in zip(c.operators, c.steps, strict=True)]
        total = round(c.total - each * sum(c.steps)) if _keeps(c.sample) else c.total
        done.append(replace(c, operators=tuple(counts), total=total))
    return done


def fitted(counted: Sequence[Counted]) -> dict[str, dict[str, float]]:
    rows: dict[str, list[tuple[tuple[float, ...], int]]] = defaultdict(list)
    for c in counted:
        for done, instructions in zip(c.sample.work, c.operators, strict=True):
            rows[done.kernel].append((tuple(getattr(done, name) for name in AMOUNTS), instructions))
    found = {}
    for kernel, seen in sorted(rows.items()):
        found[kernel] = per_unit(AMOUNTS, [amounts for amounts, _ in seen], [count for _, count in seen])
    return found


def per_unit(names: Sequence[str], amounts: Sequence[Sequence[float]], counts: Sequence[int]) -> dict[str, float]:
    """For each type of work, such as a multiplication, estimate how many instructions a kernel takes. Costs that hardly
    improve the fit are left out.
    """
    from scipy.optimize import nnls  # noqa: PLC0415

    x, y = np.array(amounts, float), np.array(counts, float)
    largest, care = np.maximum(x.max(axis=0), 1), np.maximum(y, 1) ** -CARE
    scaled, wanted = x / largest * care[:, None], y * care
    kept = np.arange(len(names))
    each, error = nnls(scaled, wanted)
    most, tried = error * LARGER_ERROR, True
    while tried:
        kept, each = kept[each > 0], each[each > 0]
        tried = False
        for k in np.argsort(np.linalg.norm(scaled[:, kept] * each, axis=0))[: len(kept) - 1]:
            fewer, error = nnls(scaled[:, np.delete(kept, k)], wanted)
            if error <= most:
                kept, each, tried = np.delete(kept, k), fewer, True
                break
    return {names[k]: float(f"{cost / largest[k]:.{DIGITS}g}") for k, cost in zip(kept.tolist(), each, strict=True)}


def errors(kernels: costs.Costs, counted: Sequence[Counted]) -> list[float]:
    return [sum(estimate(kernels, done) for done in c.sample.work) / c.total - 1 for c in counted]


def written(whole: Mapping[str, Any]) -> str:
    cores = {}
    for core, found in whole.items():
        cores[core] = {**found, "kernels": tables.by_kind(found["kernels"])}
    return tables.json_lines({"cores": cores}, 4) + "\n"


def stored(path: Path) -> dict[str, Any]:
    cores: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["cores"]
    return {core: {**found, "kernels": by_kernel(found["kernels"])} for core, found in cores.items()}


def error_table() -> str:
    titles = ("core", "kernels", "plans", "median error", "most too high", "most too low")
    return tables.markdown(titles, ([
        name, str(len(found["kernels"])), str(found["plans"]), f"{found['median']:.1%}", f"{found['high']:.1%}",
        f"{found['low']:.1%}",
    ] for name, found in stored(TABLE).items()))  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cores", nargs="+", choices=tuple(MEASURED), default=tuple(MEASURED))
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--missing", action="store_true", help="measure only kernels that the file lacks")
    what.add_argument("--keep", action="store_true", help="keep all costs and measure only their errors")
    parser.add_argument("--networks", type=int, default=420, metavar="N", help="fit to N networks for each target")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="processes (default: all cores)")
    parser.add_argument("--output", type=Path, default=TABLE, metavar="FILE", help="write this file, not the package's")
    args = parser.parse_args(arguments)
    chosen = {core.known_as: core for core in (MEASURED[name] for name in args.cores)}
    if reason := next(filter(None, map(missing_tools, chosen.values())), ""):
        parser.error(reason)
    try:
        old = stored(args.output if args.output.exists() else TABLE)
        if args.missing:
            seeds = [seed for seed in range(args.networks) if fit_networks.is_rare(seed)]
            found = old | _with_missing(old, _fits(chosen, seeds, args.jobs, old))
        else:
            fits = old if args.keep else _fits(chosen, seeds_of(args.networks), args.jobs)
            for name, fit in fits.items():
                fit["kernels"] = _with_undrawn(fit["kernels"], old.get(name, fit)["kernels"])
            found = old | _with_errors(chosen, fits)
        ordered = {name: found[name] for name in (core.known_as for core in MEASURED.values()) if name in found}
        args.output.write_text(written(ordered))
    except (MemoptError, OSError, RuntimeError, ValueError) as error:
        parser.error(str(error))
    return 0


def _with_undrawn(found: costs.Costs, old: costs.Costs) -> costs.Costs:
    drawn = {kernel.split()[0] for kernel in found}
    return dict(sorted(({**found} | {k: each for k, each in old.items() if k.split()[0] not in drawn}).items()))


def _fits(
    chosen: Mapping[str, Core], seeds: Sequence[int], jobs: int, tables_of: Mapping[str, Any] | None = None
) -> dict[str, dict[str, Any]]:
    known = {name: frozenset(tables_of[name]["kernels"] if tables_of else ()) for name in chosen}
    parts = [tuple(seeds[n :: -(-len(seeds) // SEEDS_AT_ONCE)]) for n in range(-(-len(seeds) // SEEDS_AT_ONCE))]
    converter = converter_digest()
    jobs_of = [(part, target, converter, chosen, known) for part in parts for target in _programs(chosen.values())]
    counted: dict[str, list[Counted]] = {name: [] for name in chosen}
    with ProcessPoolExecutor(jobs) as pool:
        for found in pool.map(_counted, *zip(*jobs_of, strict=True)):
            for name, samples in found.items():
                counted[name] += samples
    tables_found = {}
    for name, core in chosen.items():
        kernels = fitted(in_loops(counted[name]))
        print(f"{name}: {len(kernels)} kernels", file=sys.stderr)
        tables_found[name] = {"target": core.target, "plans": 0, "median": 0, "high": 0, "low": 0, "kernels": kernels}
    return tables_found


def _counted(
    seeds: Sequence[int], target: str, converter: str, chosen: Mapping[str, Core], known: Mapping[str, frozenset[str]]
) -> dict[str, list[Counted]]:
    """Count the instructions of all plans that use a kernel outside the set `known`."""
    plans = list(random_plans(target, seeds, converter))
    found = {}
    for name, core in chosen.items():
        if TARGETS[target] in core.families:
            wanted = [p for p in plans if {w.kernel for w in p.work} - known[name]]
            found[name] = [replace(c, sample=replace(c.sample, cases=())) for c in count(core, wanted)]
    return found


def _with_missing(
    tables_of: Mapping[str, dict[str, Any]], found: Mapping[str, dict[str, Any]]
) -> dict[str, dict[str, Any]]:
    return {
        name: tables_of[name] | {"kernels": dict(sorted((new["kernels"] | tables_of[name]["kernels"]).items()))}
        for name, new in found.items()
    }


def _with_errors(chosen: Mapping[str, Core], found: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    plans = {target: list(held_out(target)) for target in _programs(chosen.values())}
    done = {}
    for name, core in chosen.items():
        counted = in_loops(list(count(core, [sample for target in _programs([core]) for sample in plans[target]])))
        off = errors(found[name]["kernels"], counted)
        for c, error in zip(counted, off, strict=True):
            print(f"{name}: {c.sample.name}: {c.total:,}, {error:+.1%}", file=sys.stderr)
        median = round(float(np.median(np.abs(off))), 4)
        high, low = (math.ceil(1e4 * max(0, *each)) / 1e4 for each in (off, [-error for error in off]))
        done[name] = found[name] | {"plans": len(off), "median": median, "high": high, "low": low}
    return done


def _programs(cores: Iterable[Core]) -> list[str]:
    return [target for target in PROGRAMS if any(TARGETS[target] in core.families for core in cores)]


if __name__ == "__main__":
    sys.exit(main())
