"""Chooses the first layer whose weights the devices divide. Devices divide earlier layers by the rows of feature maps.

The source is chapter 5 of Stahl's thesis on fused tiling. The formulas assume that the rows and weights of layers can
be divided evenly.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class SplitLayer:
    reads: int
    makes: int
    weights: int = 0


def footprint(layers: Sequence[SplitLayer], switch: int, devices: int) -> Fraction:
    """Return the memory of a device: the weights, and the largest pair of a layer's input and output (Eq. 5.12 and
    5.13).

    The devices divide the rows of layers[:switch], and the weights of all later layers.
    """
    counts = [devices if i < switch else 1 for i in range(len(layers))]
    maps = max((Fraction(a.reads + a.makes, n) for a, n in zip(layers, counts, strict=True)), default=Fraction(0))
    return maps + sum(Fraction(a.weights * n, devices) for a, n in zip(layers, counts, strict=True))


def least_memory(layers: Sequence[SplitLayer], devices: int) -> int:
    """Return how many of the first layers are divided by rows in the split with the least memory (Eq. 5.14, 5.15)."""
    return min(reversed(range(len(layers) + 1)), key=lambda switch: footprint(layers, switch, devices))
