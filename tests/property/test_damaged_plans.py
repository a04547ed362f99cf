"""A damaged plan that the checker and the validator accept gives the right bytes."""

import json
import random
from collections import defaultdict
from collections.abc import Iterator
from contextlib import nullcontext
from copy import deepcopy
from typing import Any

import pytest
from conftest import seeds
from property import sequences, sliding
from property.forced import forced, mobile, random_settings
from property.networks import build

from tflm_memopt.convert.request import request
from tflm_memopt.errors import ModelError, UsageError
from tflm_memopt.ops.packing import TARGETS
from tflm_memopt.runtime.stimuli import NO_STEPS, Steps
from tflm_memopt.runtime.verify import verify

PLANS = 20
REFUSED = "damaged_program"
"""Error code of a program that the validator of the C library refuses."""
UNUSED = frozenset({"schema", "lower_bound", "proven", "target", "layout", "first", "last", "macs"})
"""Fields of a plan that the test does not damage: mandatory fields, and fields that do not change the program."""

Path = tuple[str | int, ...]


def damaged(document: Any, rng: random.Random) -> Any:
    document = deepcopy(document)
    for _ in range(rng.choice((1, 1, 2, 3))):
        fields: dict[tuple[str, ...], list[Path]] = defaultdict(list)
        for path in _paths(document):
            fields[tuple(key for key in path if isinstance(key, str))].append(path)
        alike = fields[rng.choice(sorted(fields))]
        *above, key = rng.choice(alike)
        holder = _at(document, above)
        holder[key] = _changed(holder[key], deepcopy(_at(document, rng.choice(alike))), rng)
    return document


def _paths(value: Any, path: Path = ()) -> Iterator[Path]:
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        if key not in UNUSED:
            yield (*path, key)
            yield from _paths(inner, (*path, key))


def _at(value: Any, path: Any) -> Any:
    for key in path:
        value = value[key]
    return value


def _changed(value: Any, other: Any, rng: random.Random) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return rng.choice((value + 1, value - 1, value + 16, value - 16, 0, 1, 2 * value, value // 2, other))
    if isinstance(value, list) and value:
        i, j = (rng.randrange(len(value)) for _ in range(2))
        without = value[:i] + value[i + 1 :]
        return rng.choice((without, [*without[:j], value[i], *without[j:]], [*value, deepcopy(value[i])]))
    return other


def examine_damaged(seed: int) -> None:
    rng = random.Random(f"damaged {seed}")
    data, wanted, steps = rng.choice((_with_input, _sliding, _with_states))(seed, rng)
    try:
        conversion = request({**wanted, "seconds": 0.05, "effort": 0.05}).conversion(data)
    except (ModelError, UsageError):
        return
    with forced(random_settings(rng), seed) if rng.random() < 0.5 and steps == NO_STEPS else nullcontext():
        made = conversion.once if conversion.rows else None
    for _ in range(PLANS if made else 0):
        document = damaged(json.loads(json.dumps(made.planned.plan.to_json())), rng)
        try:
            model = conversion.saved(document).model
        except UsageError:
            continue
        if model != made.model:
            try:
                found = verify(data, model, runs=2, seed=seed, steps=steps)
            except ModelError as error:
                if error.code != REFUSED:
                    raise
                continue
            assert found.bit_exact, f"{found.failure or found.difference}\n{json.dumps(document)}"


def _with_input(seed: int, rng: random.Random) -> tuple[bytes, dict[str, Any], Steps]:
    wanted = {"input": rng.choice(("arena", "arena", "stream", "external")), "target": rng.choice(sorted(TARGETS))}
    return build(mobile(seed)), wanted, NO_STEPS


def _sliding(seed: int, rng: random.Random) -> tuple[bytes, dict[str, Any], Steps]:
    data, rows = sliding.network(seed)
    return data, {"input": f"sliding:{rows}"}, Steps(14, rng.randint(1, 13))


def _with_states(seed: int, rng: random.Random) -> tuple[bytes, dict[str, Any], Steps]:
    return sequences.network(seed), {}, Steps(10, rng.randint(1, 9))


@pytest.mark.slow
def test_damaged_plans_are_refused_or_right() -> None:
    for seed in seeds(12):
        examine_damaged(seed)
