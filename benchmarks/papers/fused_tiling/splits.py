"""Compute the costs of dividing layers among devices, as in the fused tiling thesis (Stahl, chapter 5).

The first layers are divided by rows of feature maps (FFMT), and all later layers by weights. LayerSplit lists the four
ways to divide weights.

Sizes are elements, as in the thesis, or bytes, if `sum_size` is the number of bytes of a partial sum. Device 0 has the
input and gets the output. Each layer is assumed to divide evenly among the devices.
"""

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from tflm_memopt.devices import switch


class LayerSplit(enum.Enum):
    """Ways to divide the weights of a layer among devices."""

    FAN_OUT = "FDTO"
    """Each device computes some outputs from all inputs."""
    FAN_IN = "FDTI"
    """Each device computes its part of every output's sum from some of the inputs."""
    FUSED_OUT = "FDT1"
    """Each device computes some outputs from all inputs, and sends no outputs, because the next layer is FUSED_IN."""
    FUSED_IN = "FDT2"
    """Each device computes partial sums from outputs that the same device computed in a FUSED_OUT layer."""


@dataclass(frozen=True, slots=True)
class SplitLayer(switch.SplitLayer):
    sum_size: int = 1


def possible(splits: Sequence[LayerSplit]) -> bool:
    followed = (*splits[1:], None)
    return splits[:1] != (LayerSplit.FUSED_IN,) and all(
        (a is LayerSplit.FUSED_OUT) == (b is LayerSplit.FUSED_IN) for a, b in zip(splits, followed, strict=True)
    )


def sent(layers: Sequence[SplitLayer], splits: Sequence[LayerSplit], devices: int) -> Fraction:
    """Return the bytes that all devices send together (equations 5.8, 5.9, 5.11 and 5.16 of the thesis)."""
    others, total = devices - 1, Fraction(0)
    for i, (a, split) in enumerate(zip(layers, splits, strict=True)):
        spread = i > 0 and _stays(splits, i - 1)
        if split in (LayerSplit.FAN_OUT, LayerSplit.FUSED_OUT) and not spread:
            total += a.reads * others
        if split is LayerSplit.FAN_OUT:
            total += a.makes * others * (1 if _stays(splits, i) else Fraction(1, devices))
        if split is LayerSplit.FAN_IN:
            total += Fraction(a.reads * others, devices)
        if split in (LayerSplit.FAN_IN, LayerSplit.FUSED_IN):
            total += a.sum_size * a.makes * others
    return total


def _stays(splits: Sequence[LayerSplit], i: int) -> bool:
    """Return whether every device receives the whole output of layer `i` (r in equation 5.20 of the thesis)."""
    wide = (LayerSplit.FAN_OUT, LayerSplit.FUSED_OUT)
    return splits[i] is LayerSplit.FAN_OUT and i + 1 < len(splits) and splits[i + 1] in wide


def plans(layers: Sequence[SplitLayer], devices: int) -> list[tuple[Fraction, tuple[LayerSplit, ...]]]:
    """Return all possible plans, sorted by the bytes that they send (equations 5.17 to 5.23 of the thesis)."""
    found = [(sent(layers, p, devices), p) for p in product(LayerSplit, repeat=len(layers)) if possible(p)]
    return sorted(found, key=lambda f: f[0])
