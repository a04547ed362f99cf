"""The integer programs of the fused tiling thesis (Stahl, chapter 5) for layers that several devices share.

    switch = least_memory(layers, devices)                # layers[:switch] split their feature maps (FFMT),
    splits = least_sent(layers[switch:], devices)         # the others their weights, each in one of four ways
    footprint(layers, switch, devices), sent(layers[switch:], splits, devices)

What sizes count is up to the caller: elements, as in the thesis, or bytes. In bytes an int8 value counts one and a
partial sum as many as its bound needs (SplitLayer.sum_size). Device 0 has the input and gets the output. All
layers are assumed to divide evenly. The converter uses the first program (tflm_memopt/devices/switch.py).
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from tflm_memopt.devices import switch as devices
from tflm_memopt.devices.switch import least_memory, solved
from tflm_memopt.plan import cp_sat

__all__ = ["LayerSplit", "SplitLayer", "footprint", "least_memory", "least_sent", "possible", "sent"]


class LayerSplit(enum.Enum):
    """Way of splitting a layer's weights."""

    FAN_OUT = "FDTO"
    """Each device computes some outputs from all inputs."""
    FAN_IN = "FDTI"
    """Each device computes partial sums of all outputs from some inputs."""
    FUSED_OUT = "FDT1"
    """A fan-out whose outputs stay on their devices."""
    FUSED_IN = "FDT2"
    """A fan-in of these outputs: the layer after FUSED_OUT."""


@dataclass(frozen=True, slots=True)
class SplitLayer(devices.SplitLayer):
    """Sizes of a layer, and of its partial sums."""

    sum_size: int = 1
    """Size of a partial sum in a message, as a multiple of a value's."""
    sums: int | None = None
    """Partial sums of a device, where the next layer does not read as many values: a pool in between, say, which runs
    on values that are scaled. None: as many as `makes`.
    """

    @property
    def all_sums(self) -> int:
        """Return the size of all partial sums of a device in messages."""
        return self.sum_size * (self.makes if self.sums is None else self.sums)


def footprint(layers: Sequence[SplitLayer], switch: int, devices: int) -> Fraction:
    """Return the memory of a device if layers[:switch] split feature maps and the others weights: the largest pair of
    input and output, and all its weights (Eq. 5.12 and 5.13).
    """
    shares = [devices if i < switch else 1 for i in range(len(layers))]
    maps = max((Fraction(a.reads + a.makes, n) for a, n in zip(layers, shares, strict=True)), default=Fraction(0))
    return maps + sum(Fraction(a.weights * n, devices) for a, n in zip(layers, shares, strict=True))


def possible(splits: Sequence[LayerSplit]) -> bool:
    """Return whether fused layers are in pairs."""
    followed = (*splits[1:], None)
    return splits[:1] != (LayerSplit.FUSED_IN,) and all(
        (a is LayerSplit.FUSED_OUT) == (b is LayerSplit.FUSED_IN) for a, b in zip(splits, followed, strict=True)
    )


def sent(layers: Sequence[SplitLayer], splits: Sequence[LayerSplit], devices: int) -> Fraction:
    """Return the bytes that all devices send together (Eq. 5.8, 5.9, 5.11 and 5.16)."""
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
            total += a.all_sums * others
    return total


def _stays(splits: Sequence[LayerSplit], i: int) -> bool:
    """Return whether each device gets a layer's whole output, as the next layer reads all of it (r of Eq. 5.20)."""
    wide = (LayerSplit.FAN_OUT, LayerSplit.FUSED_OUT)
    return splits[i] is LayerSplit.FAN_OUT and i + 1 < len(splits) and splits[i + 1] in wide


def least_sent(layers: Sequence[SplitLayer], devices: int) -> tuple[LayerSplit, ...]:
    """Return the splits with the fewest bytes sent (Eq. 5.17-5.23)."""
    cp_sat.load()
    from ortools.sat.python import cp_model  # noqa: PLC0415 (see cp_sat.load)

    model, count, others = cp_model.CpModel(), len(layers), devices - 1
    chosen = [{split: model.new_bool_var(f"{split.value}{i}") for split in LayerSplit} for i in range(count)]
    stays = [model.new_bool_var(f"r{i}") for i in range(count)]
    for i, of in enumerate(chosen):
        model.add_exactly_one(of.values())
        behind = chosen[i + 1] if i + 1 < count else {}
        model.add(of[LayerSplit.FUSED_OUT] == behind.get(LayerSplit.FUSED_IN, 0))
        wide = behind.get(LayerSplit.FAN_OUT, 0) + behind.get(LayerSplit.FUSED_OUT, 0)
        model.add(stays[i] <= of[LayerSplit.FAN_OUT])
        model.add(stays[i] <= wide)
        model.add(stays[i] >= of[LayerSplit.FAN_OUT] + wide - 1)
    if chosen:
        model.add(chosen[0][LayerSplit.FUSED_IN] == 0)
    terms = []  # each term is multiplied by the number of devices
    for i, (a, of) in enumerate(zip(layers, chosen, strict=True)):
        wide = of[LayerSplit.FAN_OUT] + of[LayerSplit.FUSED_OUT]
        # stays[i] is 1 only between a fan-out and a wide layer, so a product of it with either variable is stays[i].
        terms.append(devices * others * a.reads * (wide - (stays[i - 1] if i else 0)))
        terms.append(others * a.makes * (of[LayerSplit.FAN_OUT] + (devices - 1) * stays[i]))
        terms.append(others * a.reads * of[LayerSplit.FAN_IN])
        terms.append(devices * others * a.all_sums * (of[LayerSplit.FAN_IN] + of[LayerSplit.FUSED_IN]))
    model.minimize(sum(terms))
    solver = solved(model)
    return tuple(next(split for split, taken in of.items() if solver.boolean_value(taken)) for of in chosen)
