"""Execute the partition of Figure 5.6 of Stahl's thesis, which divides the weights of four dense layers between two
devices. In the fused second and third layer, devices exchange partial sums instead of outputs. Figures are bytes that
both devices send, without message headers: planned by equation 5.17 of the thesis, and counted while two processes run
the partition. The weights of the third layer determine how many bytes a partial sum takes.
"""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from models import Net
from papers.fused_tiling.split_networks import optimized
from papers.fused_tiling.splits import LayerSplit, SplitLayer, sent

import tflm_memopt
from tflm_memopt.check.together import HEAD_BYTES
from tflm_memopt.cli.devices import device_files
from tflm_memopt.convert.request import request
from tflm_memopt.devices.network import Network
from tflm_memopt.devices.sharding import DeviceSharding
from tflm_memopt.ops.message import rows_of

UNITS = (4, 8, 16, 4, 4)
DEVICES = 2
FAN_OUT = (LayerSplit.FAN_OUT,) * 4
BEST = (LayerSplit.FAN_OUT, LayerSplit.FUSED_OUT, LayerSplit.FUSED_IN, LayerSplit.FAN_OUT)
SHARDINGS: Mapping[LayerSplit, DeviceSharding] = {
    LayerSplit.FAN_OUT: DeviceSharding.CHANNELS, LayerSplit.FUSED_OUT: DeviceSharding.CHANNELS,
    LayerSplit.FAN_IN: DeviceSharding.INPUTS, LayerSplit.FUSED_IN: DeviceSharding.INPUTS,
}  # fmt: skip
LARGEST = {1: 0, 2: 16, 3: 127}
"""With these weights of the third layer, a partial sum takes one, two or three bytes."""


def network(nbytes: int) -> bytes:
    net = Net(nbytes)
    x = net.input((1, UNITS[0]), (0.05, 0))
    for number, units in enumerate(UNITS[1:]):
        read, x = net.shape(x)[1], net.fully_connected(x, units, out=(0.2, 0))
        if number == BEST.index(LayerSplit.FUSED_IN):
            weights = np.full((units, read), LARGEST[nbytes], np.int8)
            if not LARGEST[nbytes]:
                weights[:, :: read // DEVICES] = 1
            filter_ = net.graph.tensors[net.graph.operators[-1].inputs[1]]
            net.tree.buffers[filter_.buffer].data = weights.view(np.uint8).ravel()
    return net.model(x)


def layers(nbytes: int) -> list[SplitLayer]:
    return [SplitLayer(a, b, a * b, nbytes) for a, b in pairwise(UNITS)]


@dataclass(frozen=True, slots=True)
class Row:
    planned: int
    executed: int
    bit_exact: bool


def executed(splits: Sequence[LayerSplit], nbytes: int) -> Row:
    model = network(nbytes)
    shared_by = Network(model, "dense", request({}), optimized)
    shardings = {op.index: SHARDINGS[split] for op, split in zip(shared_by.graph.ops, splits, strict=True)}
    shared = shared_by.converted(shardings, DEVICES)
    messages = sum(rows_of(tensor).h for tensor in shared_by.sharded(shardings, DEVICES).sent)
    with tempfile.TemporaryDirectory() as name:
        for number, one in enumerate(shared.models):
            path = Path(name) / f"device{number}" / "dense.tflite"
            path.parent.mkdir()
            path.write_bytes(one.model)
        found = tflm_memopt.verify_devices(model, device_files(Path(name)), runs=1)
    sent_by_all = sum(d.sent for d in found.devices) // found.runs - HEAD_BYTES * messages
    return Row(int(sent(layers(nbytes), splits, DEVICES)), sent_by_all, found.bit_exact)


def rows() -> list[Row]:
    return [executed(FAN_OUT, 3), *(executed(BEST, nbytes) for nbytes in sorted(LARGEST, reverse=True))]
