"""Defines functions that run random cases and return the failures, one function for each kind of random test."""

import random
import shutil
import subprocess
import traceback
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

from applications import built
from compiling import part_of
from conftest import ROOT
from cores.cases import TOO_LARGE, run
from cores.core import CORES, missing_tools
from cores.draws import DRAWS, converted_cases, program_case
from hostile.judge import Outcome, judge
from hypothesis import HealthCheck, given, seed, settings
from hypothesis.strategies import SearchStrategy
from kernels import test_cores
from kernels.conftest import DSP, PLAIN, SANITIZED, THREADS, WATCHED, compiled, sample
from kernels.test_fuzz import without_listed_parts, write_pools, write_samples, write_shared
from projects import TFLM
from property import two_cores
from property.applications import examine as examine_application
from property.floats import examine_float, float_recipes, in_float
from property.forced import mobile, squeezed
from property.layers import COLUMNS, INT16, TAILS
from property.modules import examine as examine_module
from property.networks import Recipe, build, recipes
from property.sequences import examine as examine_sequence
from property.shapes import examine as examine_shapes
from property.sliding import examine as examine_window
from property.sliding import examine_recipe as examine_slid
from property.test_builtin_models import examine_builtin
from property.test_damaged_plans import examine_damaged
from property.test_partial_sums import examine_parts
from property.test_random_models import drawn as options
from property.test_random_models import examine, examine_forced
from property.test_shared_networks import examine_devices
from property.test_slow_memory import examine_spilled
from tflm.test_long_windows import examine_long

from tflm_memopt.emit.kernels import Needs
from tflm_memopt.format.codes import Part
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.packing import Family
from tflm_memopt.rewrite.rules import columns as exchanged

FOLDER = ROOT / "build/soak"
WHOLE = Needs(kinds=sum(1 << kind for kind in Kind if kind is not Kind.OWN), packings=(1 << 64) - 1)
FUZZER = "clang -DTMO_LIBFUZZER -std=c11 -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all"
RACES = 10
LIMITS = ("-timeout=10", "-rss_limit_mb=2000", "-max_len=194", "-len_control=0")
"""Limits of libFuzzer: seconds for a program, MB of memory, and bytes of a case."""


class Failure(NamedTuple):
    cases: range
    detail: str


def floats(cases: range) -> list[Failure]:

    def examine_one(recipe: Recipe) -> None:
        examine_float(recipe, options(recipe.seed))

    return drawn(cases, examine_one, float_recipes())


def columns(cases: range) -> list[Failure]:
    with patch.object(exchanged, "WORTH", 0):
        return drawn(cases, examine, recipes(sets=(COLUMNS,)))


def drawn(
    cases: range, examine: Callable[[Recipe], None], strategy: SearchStrategy[Recipe] | None = None
) -> list[Failure]:
    several = settings(
        max_examples=len(cases), deadline=None, database=None, suppress_health_check=list(HealthCheck), print_blob=True
    )
    try:
        several(seed(cases.start)(given(recipes() if strategy is None else strategy)(examine)))()
    except BaseException:
        return [Failure(cases, traceback.format_exc())]
    return []


def files(cases: range) -> list[Failure]:
    return [Failure(range(v.seed, v.seed + 1), v.detail) for v in judge(cases) if v.outcome is Outcome.DEFECT]


def shared(cases: range) -> list[Failure]:
    folder = emptied(FOLDER / f"shared{cases.start}")
    return damaged(cases, folder, write_shared(folder), ((SANITIZED, len(cases)), (WATCHED, len(cases) // 10)))


def pools(cases: range) -> list[Failure]:
    folder = emptied(FOLDER / f"pools{cases.start}")
    return damaged(cases, folder, write_pools(folder), ((SANITIZED, len(cases)),))


def builds(cases: range) -> list[Failure]:
    """Damage programs that do not list the parts of the library that they need. Run the programs in a library that
    lacks random parts.
    """
    folder = emptied(FOLDER / f"builds{cases.start}")
    rng = random.Random(cases.start)
    share = rng.choice((0, 0.2, 0.5, 0.8, 0.95))
    needs = Needs(WHOLE.kinds, WHOLE.packings, sum(1 << part for part in Part if rng.random() < share))
    command = " ".join([SANITIZED, "-w", *part_of(needs)])  # A library that lacks parts may have unused functions.
    return damaged(cases, folder, without_listed_parts(write_samples(folder)), ((command, len(cases)),))


def damaged(
    cases: range, folder: Path, good: Sequence[Path], builds: Sequence[tuple[str, int]], *more: Path
) -> list[Failure]:
    failures = []
    for compiler, count in builds:
        fuzzer = compiled(compiler, "fuzz.c", emptied(folder / f"{count}") / "fuzz", THREADS, *more)
        command = [fuzzer, str(cases.start + 1), str(count), *good]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        if done.returncode:
            failures.append(Failure(cases, f"kept in {folder}: exit code {done.returncode}\n{done.stderr[-4000:]}"))
    if not failures:
        shutil.rmtree(folder)
    return failures


def emptied(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def programs(cases: range) -> list[Failure]:
    folder = FOLDER / f"programs{cases.start}"
    corpus = folder / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    good = write_samples(folder)
    for number in range(len(good)):
        (corpus / f"good{number}").write_bytes(number.to_bytes(2, "little"))
    fuzzer = compiled(FUZZER, "fuzz.c", folder / "fuzz", THREADS)
    flags = [f"-runs={len(cases)}", f"-seed={cases.start + 1}", f"-artifact_prefix={folder}/", *LIMITS]
    command = [fuzzer, *flags, corpus, "-ignore_remaining_args=1", *good]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        said = done.stderr[done.stderr.rfind("ERROR: ") :] if "ERROR: " in done.stderr else done.stderr[-2000:]
        return [Failure(cases, f"kept in {folder}:\n{said}")]
    shutil.rmtree(folder)
    return []


def dsp(cases: range) -> list[Failure]:
    folder, good = emptied(FOLDER / f"dsp{cases.start}"), []
    for case in cases:
        networks = converted_cases(3 * case, "cortex-m4"), converted_cases(case, "generic")
        for program in filter(None, (*(program_case(draw, case, Family.DSP) for draw in DRAWS), *chain(*networks))):
            good.append(folder / f"{len(good)}.bin")
            good[-1].write_bytes(sample(program.program, program.inputs, program.expected))
    source, flags = DSP
    return damaged(cases, folder, good, ((" ".join([SANITIZED, *flags]), 100 * len(good)),), source)


def cores(cases: range) -> list[Failure]:
    failures = []
    for core in CORES.values():
        if reason := missing_tools(core):
            raise RuntimeError(reason)
        drawn = [
            (case, f"{draw.__name__}, {family.name}", program)
            for case in cases for draw in DRAWS for family in core.families
            if (program := program_case(draw, case, family))
        ]  # fmt: skip
        drawn += [(case, "converted", program) for case in cases for program in converted_cases(case, core.target)]
        outcomes = run(core, [program for *_, program in drawn])
        for (case, what, _), outcome in zip(drawn, outcomes, strict=True):
            is_good = outcome.right and outcome.stack <= core.most_stack
            if outcome.status != TOO_LARGE and not is_good:
                failures.append(Failure(range(case, case + 1), f"{core.name}, {what}: {outcome}"))
    return failures


def races(cases: range) -> list[Failure]:
    folder = emptied(FOLDER / f"races{cases.start}")
    programs = [test_cores.race(emptied(folder / f"{n}"), command) for n, command in enumerate((PLAIN, WATCHED))]

    def examine_races(recipe: Recipe) -> None:
        given = two_cores.random_cases(recipe)
        for program in programs:
            done = test_cores.raced(program, given, RACES, cases.start + 1)
            assert done.returncode == 0, f"{recipe}\n{done.stdout}{done.stderr[-4000:]}"

    failures = each(cases, lambda case: examine_races(mobile(case))) + drawn(cases, examine_races)
    shutil.rmtree(folder)
    return failures


def float_modules(cases: range) -> list[Failure]:
    def examine_one(recipe: Recipe) -> None:
        examine_module(recipe.seed, in_float(build(recipe), recipe.seed))

    return drawn(cases, examine_one, float_recipes())


def each(cases: range, examine: Callable[[int], object]) -> list[Failure]:
    failures = []
    for case in cases:
        try:
            examine(case)
        except Exception:
            failures.append(Failure(range(case, case + 1), traceback.format_exc()))
    return failures


def apps(cases: range) -> list[Failure]:
    if missing := TFLM["missing"]():
        raise RuntimeError(missing)
    folder = FOLDER / f"apps{cases.start}"
    folder.mkdir(parents=True, exist_ok=True)
    machine = built(folder, TFLM["AUTUMN"])
    failures = each(cases, lambda case: examine_application(case, machine))
    shutil.rmtree(folder)
    return failures


Work = Callable[[range], list[Failure]]
KINDS: dict[str, tuple[Work, int]] = {
    "networks": (lambda cases: drawn(cases, examine), 50),
    "int16": (lambda cases: drawn(cases, examine, recipes(sets=(INT16,))), 50),
    "floats": (floats, 50),
    "builtin": (lambda cases: drawn(cases, examine_builtin), 25),
    "plans": (lambda cases: each(cases, examine_forced), 50),
    "damaged": (lambda cases: each(cases, examine_damaged), 10),
    "files": (files, 500),
    "tails": (lambda cases: drawn(cases, examine, recipes(sets=(TAILS,))), 50),
    "columns": (columns, 50),
    "long": (lambda cases: each(cases, examine_long), 50),
    "programs": (programs, 50_000),
    "cores": (cores, 50),
    "dsp": (dsp, 20),
    "modules": (lambda cases: each(cases, examine_module), 100),
    "float_modules": (float_modules, 50),
    "windows": (lambda cases: each(cases, examine_window) + drawn(cases, examine_slid), 100),
    "sequences": (lambda cases: each(cases, examine_sequence), 100),
    "races": (races, 50),
    "shared": (shared, 100_000),
    "apps": (apps, 250),
    "devices": (lambda cases: drawn(cases, examine_devices), 50),
    "sums": (lambda cases: drawn(cases, examine_parts), 50),
    "shapes": (lambda cases: each(cases, examine_shapes), 25),
    "pools": (pools, 100_000),
    "builds": (builds, 3_000),
    "spills": (lambda cases: each(cases, lambda seed: examine_spilled((squeezed if seed % 2 else mobile)(seed))), 50),
}


def work(kind: str, cases: range) -> list[Failure]:
    """The function has a name, because a lambda cannot be sent to another process."""
    return KINDS[kind][0](cases)
