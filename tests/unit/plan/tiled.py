"""Draw random networks whose layers run in tiles."""

import random
from functools import cache

from planning import plan_of
from property.forced import forced, mobile, random_settings
from property.networks import build

from tflm_memopt.convert.pipeline import ConversionOptions
from tflm_memopt.model.reader import Model, read
from tflm_memopt.plan.iteration.planned import Planned

OPTIONS = ConversionOptions(seconds=0.05)


@cache
def planned(seed: int) -> tuple[Model, Planned]:
    model = read(build(mobile(seed, most=4)))
    with forced(random_settings(random.Random(seed)), seed):
        return model, plan_of(model.graph, OPTIONS)
