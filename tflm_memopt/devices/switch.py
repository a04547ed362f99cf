"""Chooses the layer at which devices switch from splitting feature maps to splitting weights.

The source is chapter 5 of Stahl's thesis on fused tiling. The layers are assumed to divide evenly among the devices.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class SplitLayer:
    """Sizes of a layer's input, output and weights in any unit."""

    reads: int
    makes: int
    weights: int = 0


def footprint(layers: Sequence[SplitLayer], switch: int, devices: int) -> Fraction:
    """Return the memory of a device: its largest pair of input and output, and all its weights (Eq. 5.12 and 5.13).

    The devices divide the feature maps of layers[:switch] and the weights of all later layers.
    """
    counts = [devices if i < switch else 1 for i in range(len(layers))]
    maps = max((Fraction(a.reads + a.makes, n) for a, n in zip(layers, counts, strict=True)), default=Fraction(0))
    return maps + sum(Fraction(a.weights * n, devices) for a, n in zip(layers, counts, strict=True))


def least_memory(layers: Sequence[SplitLayer], devices: int) -> int:
    """Return how many leading layers should split feature maps for the least memory per device (Eq. 5.14, 5.15)."""
    return min(reversed(range(len(layers) + 1)), key=lambda switch: footprint(layers, switch, devices))
