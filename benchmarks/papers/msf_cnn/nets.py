"""Read the layer lists of msf-CNN's networks, which have shapes but no weights, and plan the networks.

As in msf-CNN, the bytes of the network's input do not count, nor those of a chain's output (`*_chain.json`). A layer is
an object with the keys "name", "type", "k", "s", "p", "h", "w", "cin", "ho", "wo" and "cout". Kernel "k", stride "s"
and padding "p" are [rows, columns]. For a layer of the type "add", the key "skip" is the index of the layer whose input
is also the second operand.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from papers.msf_cnn.keras_nets import mobilenet_v2

from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.rowop import RowOp, Rows, Window
from tflm_memopt.plan.pareto import undominated
from tflm_memopt.plan.search.cuts import CutLabel, chain_front
from tflm_memopt.plan.search.groups import UNLIMITED, Chain
from tflm_memopt.plan.search.tiles import tiled_candidates
from tflm_memopt.plan.search.tiles_plan import Input, Settings

BUDGETS = (1.0, 1.05, 1.1, 1.2, 1.3, 1.5, float("inf"))
KINDS = {
    "conv": Kind.CONV, "pw": Kind.CONV, "fc": Kind.CONV, "dw": Kind.DEPTHWISE, "add": Kind.ADD, "gap": Kind.MEAN,
    "maxpool": Kind.MAX_POOL, "avgpool": Kind.AVERAGE_POOL,
}  # fmt: skip


Layers = Sequence[Mapping[str, Any]]


def read(folder: Path) -> dict[str, Layers]:
    found = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}
    return {**found, "keras-mbv2-w035": mobilenet_v2(144, 0.35)}


def chain(layers: Layers) -> Chain:
    """Tensor number i is the input of layer i."""
    ops = tuple(_row_op(i, layer) for i, layer in enumerate(layers))
    return Chain(tuple(range(len(ops))), ops, frozenset({len(ops)}), 0)


def _row_op(index: int, layer: Mapping[str, Any]) -> RowOp:
    kind = KINDS[layer["type"]]
    source = Rows(layer["h"], layer["w"], layer["cin"])
    (kernel_h, kernel_w), (stride_h, stride_w), (pad_top, pad_left) = layer["k"], layer["s"], layer["p"]
    if kind is Kind.MEAN:
        kernel_h, kernel_w = source.h, source.w
    out = Rows(layer["ho"], layer["wo"], layer["cout"])
    per_output = {Kind.CONV: kernel_h * kernel_w * source.c, Kind.DEPTHWISE: kernel_h * kernel_w}
    inputs = (index, layer["skip"]) if kind is Kind.ADD else (index,)
    return RowOp(
        kind=kind,
        name=layer["name"],
        sources=(index,),
        inputs=inputs,
        output=index + 1,
        reads=(source,) * len(inputs),
        writes=out,
        input_zero_points=(0,) * len(inputs),
        output_zero_point=0,
        window=Window(kernel_h, kernel_w, stride_h, stride_w, 1, 1, pad_top, pad_left),
        macs=out.nbytes * per_output.get(kind, 0),
    )


def settings(name: str) -> Settings:
    return Settings(input=Input.FREE, count_output="chain" not in name, counter_bytes=0)


def at(points: Sequence[CutLabel], macs: int, overhead: float) -> CutLabel | None:
    return next((p for p in points if p.macs <= overhead * macs), None)


def tiled_front(chain: Chain, settings: Settings) -> list[CutLabel]:
    """Return the Pareto front of a chain whose groups are all tiled, with bytes counted as in section 6 of msf-CNN."""
    cheap = chain_front(chain, tiled_candidates(chain, settings.once, UNLIMITED))
    if not settings.recompute or not cheap:
        return cheap
    labels = [*cheap, *chain_front(chain, tiled_candidates(chain, settings, cheap[0].nbytes))]
    return undominated(labels, lambda label: (label.nbytes, label.macs))
