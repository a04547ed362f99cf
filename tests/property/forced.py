"""Makes plans that no planner would choose, in which layers run in random groups and tiles."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from unittest import mock

from property.layers import Layer
from property.networks import Recipe

from tflm_memopt.plan.layout import offsets as layout
from tflm_memopt.plan.layout.offsets import Layout, LayoutProblem, Reversible
from tflm_memopt.plan.search.cuts import CutLabel, Cuts
from tflm_memopt.plan.search.groups import UNLIMITED, Candidate, Chain, candidates, in_rows, wider, with_more_room
from tflm_memopt.plan.search.tiles import tiled_candidates
from tflm_memopt.plan.search.tiles_any import iterated
from tflm_memopt.plan.search.tiles_plan import Settings


def random_settings(rng: random.Random) -> Settings:
    cache = rng.random() < 0.6
    return Settings(
        stripe_rows=tuple(rng.sample((1, 2, 3, 4, 5, 6, 8), rng.randint(1, 3))),
        tile=rng.choice((1, 1, 2, 3, 5, 1000)),
        at_once=rng.choice((1, 2, 3, 4)),
        cache=cache,
        recompute=not cache or rng.random() < 0.6,
        group_channels=rng.choice((0, 1, 2, 3, 5, 8)),
        overlap=rng.random() < 0.5,
        max_overhead=rng.choice((1.5, 4.0, 50.0)),
    )


def random_cut(chain: Chain, settings: Settings, rng: random.Random, widening: random.Random | None = None) -> CutLabel:
    """Divide the layers into random groups that run in tiles."""
    tiled = tiled_candidates(chain, settings, UNLIMITED)
    groups: list[Candidate] = []
    last = len(chain.ops)
    while last:
        options = tiled[last] if rng.random() < 0.8 else []
        by_length = {c.first: [o for o in options if o.first == c.first] for c in options}
        if by_length:
            group = rng.choice(rng.choice(list(by_length.values())))
        else:
            rows = list(candidates(chain, last, UNLIMITED, orders=1))
            group = rng.choice([rows[0], *iterated(chain, rng.choice(rows), settings)])
        groups.append(_widened(group, chain, widening) if widening else group)
        last = group.first
    label = CutLabel(0, 0)
    for group in reversed(groups):
        worst = max(label.nbytes, group.nbytes)
        label = CutLabel(worst, label.macs + group.macs, (), group, label)
    return label


def _widened(group: Candidate, chain: Chain, rng: random.Random) -> Candidate:
    if rng.random() < 0.5:
        return in_rows(group, chain, rng.randrange(1 + len(group.stages)), rng.choice((0, 0, 64, 600, 1200)))
    first, last = sorted(rng.sample(range(len(group.stages) + 1), 2))
    group = wider(group, chain, first, last, rng.choice((2, 3, 4, 1000)))
    return with_more_room(group, chain, 0)


def forced(settings: Settings, seed: int) -> Any:
    """Replace the planner by a function that divides the layers into random groups."""

    def choose(cuts: Sequence[Cuts], _macs: int, *_: object) -> tuple[CutLabel, ...]:
        rng, widening = random.Random(seed), random.Random(f"widened {seed}")
        widened = widening if widening.random() < 0.5 else None
        return tuple(random_cut(cut.chain, settings, rng, widened) for cut in cuts)

    def place(problem: LayoutProblem, *, seconds: float, **_: object) -> Layout:
        backward = frozenset(i for i in range(len(problem.reversibles)) if random.Random(f"{seed} {i}").random() < 0.5)
        return replace(layout.place(problem.decided(backward), seconds=seconds), backward=backward)

    return mock.patch.multiple(
        "tflm_memopt.plan.planner",
        least_bytes=choose,
        layout=SimpleNamespace(
            place=place, fit=layout.fit, tighten=layout.tighten, Reversible=Reversible, LayoutProblem=LayoutProblem
        ),
        _lower=lambda _, backward: backward,
        _settings=lambda *_: settings,
    )


def mobile(seed: int, *, most: int = 6) -> Recipe:
    rng = random.Random(seed)
    layers: list[Layer] = []
    for _ in range(rng.randint(1, most)):
        layers += PARTS[rng.choice(list(PARTS))](rng)
    layers += rng.choice(TAILS)
    shape = (1, rng.randint(3, 20), rng.randint(1, 12), rng.randint(1, 4))
    return Recipe((shape,), tuple(layers), seed=seed & 0xFFFF)


def expanding(seed: int) -> Recipe:
    rng = random.Random(seed)
    shape = (1, rng.randint(5, 12), rng.randint(3, 8), rng.randint(1, 4))
    return Recipe((shape,), tuple(_inverted(rng)), seed=seed & 0xFFFF)


def separable(seed: int) -> Recipe:
    rng = random.Random(seed)
    window = {"kernel": (3, 3), "stride": (1, 1), "dilation": (1, 1), "channels": 3, "padding": "SAME"}
    layers = [_pointwise(rng, rng.randint(4, 16))]
    for _ in range(rng.randint(1, 3)):
        middle = rng.choice((_layer("depthwise", rng, **window), _layer("conv", rng, stride=(1, 1), dilation=(1, 1))))
        layers += [middle, _pointwise(rng, rng.randint(2, 16))]
    shape = (1, rng.randint(3, 14), rng.choice((5, 5, rng.randint(4, 20))), rng.randint(1, 4))
    return Recipe((shape,), tuple(layers), seed=seed & 0xFFFF)


def convolutions(seed: int) -> Recipe:
    """Return a network in which most layers read a multiple of 8 channels. Some kernels read a single pixel in place
    only if the number of channels is a multiple of 8.
    """
    rng = random.Random(seed)
    layers = [_pointwise(rng, rng.choice((8, 16)))]
    for _ in range(rng.randint(1, 3)):
        layers += [
            _layer("conv", rng, channels=rng.choice((4, 6, 8, 8, 14, 16))),
            _pointwise(rng, rng.choice((8, 16, 24))),
        ]
    return Recipe(((1, rng.randint(3, 14), rng.randint(2, 9), rng.randint(1, 4)),), tuple(layers), seed=seed & 0xFFFF)


BORDERS = ("INT8", "INT8", "FLOAT32", "UINT8", "INT16")


def bordered(recipe: Recipe) -> Recipe:
    return replace(recipe, outside=random.Random(f"border {recipe.seed}").choice(BORDERS))


def squeezed(seed: int) -> Recipe:
    rng = random.Random(seed)
    plain = mobile(seed, most=1)
    gates = [layer for _ in range(rng.randint(1, 3)) for layer in _squeezed(rng)]
    return replace(plain, inputs=((1, rng.randint(6, 20), rng.randint(4, 12), 3),), layers=(*gates, *plain.layers))


def _layer(kind: str, rng: random.Random, **options: Any) -> Layer:
    window = {
        "kernel": (rng.randint(1, 4), rng.randint(1, 4)),
        "stride": rng.choice(((1, 1), (1, 1), (2, 2), (2, 1), (1, 2), (3, 2))),
        "dilation": rng.choice(((1, 1), (1, 1), (1, 1), (2, 1), (1, 2))),
    }
    fixed = {"padding": rng.choice(("SAME", "VALID")), "activation": rng.choice(("NONE", "RELU6"))}
    return Layer(kind, **{**window, **fixed, "channels": rng.randint(1, 8), "flag": rng.random() < 0.5, **options})


def _pointwise(rng: random.Random, channels: int) -> Layer:
    return _layer("conv", rng, kernel=(1, 1), stride=(1, 1), dilation=(1, 1), channels=channels)


def _inverted(rng: random.Random) -> list[Layer]:
    middle = _layer("depthwise", rng, channels=3)
    return [_pointwise(rng, rng.randint(4, 16)), middle, _pointwise(rng, rng.randint(1, 6))]


def _bottleneck(rng: random.Random) -> list[Layer]:
    channels = rng.randint(1, 5)
    kernel = (rng.randint(1, 5), rng.randint(1, 4))
    middle = _layer("depthwise", rng, channels=3, kernel=kernel, stride=(1, 1), padding="SAME")
    return [
        _pointwise(rng, channels), _pointwise(rng, rng.randint(4, 16)), middle, _pointwise(rng, channels),
        _layer("add", rng, source=0, other=3),
    ]  # fmt: skip


def _squeezed(rng: random.Random) -> list[Layer]:
    channels, wide = rng.randint(1, 5), rng.choice((rng.randint(6, 16), rng.randint(32, 50)))
    middle = _layer("depthwise", rng, channels=3, stride=(1, 1), dilation=(1, 1), padding="SAME")
    gate = _layer(rng.choice(("gated", "gated", "averaged")), rng, kernel=(2, 2))
    group = [_pointwise(rng, channels), _pointwise(rng, wide), middle, gate, _pointwise(rng, channels)]
    return [*group, _layer("add", rng, source=0, other=4)] if rng.random() < 0.5 else group


def _shortcut(rng: random.Random) -> list[Layer]:
    alike = {"channels": rng.randint(1, 5), "stride": rng.choice(((1, 1), (2, 2), (2, 1))), "padding": "SAME"}
    return [
        _pointwise(rng, rng.randint(1, 5)), _layer("conv", rng, dilation=(1, 1), **alike),
        _layer("conv", rng, source=1, kernel=(1, 1), dilation=(1, 1), **alike), _layer("add", rng, source=0, other=1),
    ]  # fmt: skip


PARTS: dict[str, Callable[[random.Random], list[Layer]]] = {
    "conv": lambda rng: [_layer("conv", rng)],
    "depthwise": lambda rng: [_layer("depthwise", rng)],
    "pool": lambda rng: [_layer(rng.choice(("max", "average")), rng)],
    "inverted": _inverted,
    "bottleneck": _bottleneck,
    "residual": lambda rng: [_layer("residual", rng)],
    "shortcut": _shortcut,
    "relu": lambda rng: [_layer("relu", rng)],
}
TAILS: tuple[list[Layer], ...] = (
    [],
    [Layer("global")],
    [Layer("mean", stride=(1, 1), padding="VALID")],
    [Layer("mean"), Layer("dense")],
    [Layer("mean", padding="VALID"), Layer("conv", kernel=(1, 1), channels=5)],
    [Layer("dense"), Layer("softmax")],
)
