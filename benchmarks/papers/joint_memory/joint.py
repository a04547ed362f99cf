"""Plan the applications of Table 6.6 of Minakova's thesis (chapter 6), whose CNNs are cut into partitions.

The networks are int8 models with random weights. As in the thesis, megabytes are computed for float32 weights and
activations.
"""

from collections.abc import Mapping
from itertools import accumulate
from typing import NamedTuple

from papers.joint_memory import classifiers

import tflm_memopt
from tflm_memopt.model.reader import read

FLOAT = 4


class Application(NamedTuple):
    network: str
    partitions: int
    megabytes_in_thesis: float


APPLICATIONS: Mapping[int, Application] = {
    1: Application("MobileNet V2 1.0", 1, 14.90),
    2: Application("EfficientNet B0", 1, 27.30),
    3: Application("MobileNet V2 1.0", 2, 15.92),
    4: Application("EfficientNet B0", 2, 31.34),
}


def application(number: int) -> tuple[int, float]:
    """Return two sizes: the int8 activations in bytes, and the float32 weights and activations together in MB."""
    network, count, _ = APPLICATIONS[number]
    (model,) = classifiers.partitions(network)
    parts = classifiers.partitions(network, count)[:-1]
    cuts = [*accumulate(len(read(part).graph.ops) for part in parts)]
    app = tflm_memopt.App({"net": tflm_memopt.AppModel(model, pipeline=cuts)})
    head = tflm_memopt.optimize(app, effort="low").report.arena.head
    weights = sum(t.elements for t in read(model).graph.tensors.values() if t.data is not None)
    return head, round(FLOAT * (weights + head) / 1e6, 2)
