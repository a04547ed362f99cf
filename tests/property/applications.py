"""Draw random applications, which are groups of models that share an arena."""

import random
from typing import Any

from applications import Machine, compare, interleaved
from models import Net
from property import sequences
from property.modules import ELSEWHERE

from tflm_memopt import App, AppModel, optimize
from tflm_memopt.apps.results import AppOptimized
from tflm_memopt.errors import DoesNotFit, UsageError

OPTIONS: dict[str, Any] = {"effort": 0.05, "seconds": 0.05, "core": "cortex-m4", "clock": 64, "target": "cortex-m4"}
IMPOSSIBLE = ("memory_unknown", "cannot_share", "time_unknown", "too_slow", *ELSEWHERE)
STEPS = 40


def examine(seed: int, machine: Machine) -> str:
    result = planned(random.Random(seed))
    order, runs = interleaved(result, STEPS, seed)
    refused = compare(machine, result, order, runs, seed)
    return f"{len(result.models)} models, {len(result.report.pausing)} pausing, {refused} turns refused"


def planned(rng: random.Random) -> AppOptimized:
    for _ in range(20):
        try:
            return optimize(application(rng))
        except (UsageError, DoesNotFit) as refusal:
            if refusal.code not in IMPOSSIBLE:
                raise
    raise AssertionError("twenty applications in a row were impossible")


def application(rng: random.Random) -> App:
    names = [f"m{i}" for i in range(rng.randint(2, 4))]
    yields = rng.choice((0.5, 1.0, 3.0)) if rng.random() < 0.5 else None
    models = {name: _model(rng, plain=yields is not None) for name in names}
    pairs = [(a, b) for i, a in enumerate(names) for b in names[:i] if rng.random() < 0.5]
    return App(models, pairs, yields, options=OPTIONS)


def _model(rng: random.Random, *, plain: bool) -> AppModel:
    retain, rows = rng.random() < 0.3, rng.randint(6, 24)
    if plain:
        return AppModel(network(rng, rows), retain=retain)
    if rng.random() < 0.2:
        return AppModel(sequences.network(rng.getrandbits(16)), retain=retain)
    pushed = rng.choice([n for n in (1, 2, 3, rows) if rows % n == 0])
    return AppModel(network(rng, rows), {"input": f"stream:{pushed}"} if rng.random() < 0.3 else {}, retain=retain)


def network(rng: random.Random, rows: int) -> bytes:
    net = Net(rng.getrandbits(16))
    x = net.input((1, rows, rng.randint(4, 16), rng.randint(1, 4)))
    for _ in range(rng.randint(2, 6)):
        _, h, w, c = net.shape(x)
        kernel = min(h, rng.choice((1, 3, 3, 5))), min(w, rng.choice((1, 3)))
        stride = (2, 2) if min(h, w) > 5 and rng.random() < 0.3 else (1, 1)
        match rng.choice(("conv", "conv", "depthwise", "residual", "pool")):
            case "conv":
                x = net.conv2d(x, rng.choice((2, 4, 8, 12)), kernel=kernel, stride=stride, activation="RELU")
            case "depthwise":
                x = net.depthwise_conv2d(x, kernel=kernel, stride=stride)
            case "residual":
                x = net.add(net.conv2d(x, c, kernel=kernel), x)
            case "pool":
                x = net.pool(x, kernel=(2, 2), stride=(2, 2)) if min(h, w) > 5 else x
    if rng.random() < 0.4:
        x = net.fully_connected(net.mean(x, (1, 2)), rng.randint(1, 9))
    return net.model(x)
