"""Plans random networks for two cores, and computes the expected outputs on one core."""

import random
from dataclasses import replace

from cores.cases import Case, model_cases
from planning import lowered, make_plan
from property.networks import Recipe, build

from tflm_memopt.convert import pipeline
from tflm_memopt.convert.pipeline import ConversionOptions
from tflm_memopt.convert.weights import copying
from tflm_memopt.model.reader import read
from tflm_memopt.plan.cores import EVEN, shard
from tflm_memopt.plan.effort import LEVELS
from tflm_memopt.plan.iteration.planned import Planned

TARGETS = ("generic", "cortex-m4", "cortex-m33")
ROOM = 4096
SPEEDS = (EVEN, (0.8, 1.0), (1.0, 0.3))


def drawn(seed: int) -> ConversionOptions:
    rng = random.Random(seed)
    return ConversionOptions(
        seconds=0,
        effort=LEVELS["low"],
        fold=rng.random() < 0.8,
        overlap=rng.random() < 0.8,
        reorder=rng.random() < 0.5,
        target=rng.choice(TARGETS),
        rematerialisation=False,
        reverse=rng.random() < 0.8,
        tiles=None,
        speeds=rng.choice(SPEEDS),
    )


def planned(data: bytes, options: ConversionOptions, room: int = 0) -> tuple[Planned, bytes] | None:
    """Return the checked plan and the rewritten model, or None if no layer can be divided between two cores."""
    source, options = read(data), replace(options, tiles=None, rematerialisation=False, speeds=options.speeds or EVEN)
    found = make_plan(source.graph, options)
    if found is None or any(op.stateful for op in found.graph.ops.values()):
        return None
    if room:
        found = replace(found, plan=copying(found, found.plan.head + room) or found.plan)
    shared = pipeline.checked(found.graph, shard(found, options.speeds or EVEN))
    return shared, lowered(source, shared, options)


def cases(data: bytes, options: ConversionOptions, room: int = 0) -> list[Case]:
    found = planned(data, options, room)
    return model_cases(found[1]) if found else []


def random_cases(recipe: Recipe) -> list[Case]:
    return cases(build(recipe), drawn(recipe.seed), room=recipe.seed % 2 * ROOM)
