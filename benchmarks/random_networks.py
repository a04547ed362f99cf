"""Write random networks of up to 600 operators for seconds.py: `python benchmarks/random_networks.py FOLDER`.

The recipes are those of the tests (tests/property/networks.py), with fixed seeds. Recipes with too many operators are
shortened. The networks' outputs have no meaning.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from property.layers import INT16, KINDS, MOVING, SUPPORTED, Layer
from property.networks import Recipe, build

from tflm_memopt.model.reader import read

SIZES = (40, 100, 200, 300, 600)
"""Most operators."""
KIND_SETS = (tuple(SUPPORTED), tuple(KINDS), ("conv", "depthwise", "residual", "padded", *MOVING), INT16)


def layer(rng: random.Random, kinds: Sequence[str]) -> Layer:
    return Layer(
        kind=rng.choice(kinds),
        source=rng.choice((0, rng.randrange(5))),
        other=rng.randrange(7),
        channels=rng.randint(1, 8),
        kernel=(rng.randint(1, 5), rng.randint(1, 4)),
        stride=rng.choice(((1, 1), (2, 2), (rng.randint(1, 4), rng.randint(1, 3)))),
        dilation=rng.choice(((1, 1), (rng.randint(1, 3), rng.randint(1, 2)))),
        padding=rng.choice(("SAME", "VALID")),
        activation=rng.choice(("NONE", "RELU", "RELU6", "RELU_N1_TO_1")),
        flag=rng.random() < 0.5,
        spread=rng.choice((0, rng.randint(-6, 6))),
        zero_point=rng.choice((3, -128, 127)),
    )


def network(seed: int, layers: int, kinds: Sequence[str]) -> bytes:
    rng = random.Random(seed)
    inputs = tuple((1, rng.randint(1, 30), rng.randint(1, 9), rng.randint(1, 6)) for _ in range(rng.randint(1, 3)))
    body = tuple(layer(rng, kinds) for _ in range(layers))
    return build(Recipe(inputs, body, (), seed, "INT8", "INT16" if kinds is INT16 else "INT8"))


def largest(seed: int, operators: int, kinds: Sequence[str]) -> bytes:
    """Return the network of this seed with the most layers for this number of operators."""
    layers = operators
    while True:
        data = network(seed, layers, kinds)
        count = len(read(data).graph.ops)
        if count <= operators:
            return data
        layers = layers * operators // count


def main(folder: str) -> None:
    Path(folder).mkdir(parents=True, exist_ok=True)
    for size in SIZES:
        for number, kinds in enumerate(KIND_SETS):
            path = Path(folder) / f"random_{size:03}_{number}.tflite"
            path.write_bytes(largest(100 * size + number, size, kinds))


if __name__ == "__main__":
    main(*sys.argv[1:])
