"""Writes a model for each device from a part of the original model."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tflm_memopt.devices.sharding import DeviceGraphs
from tflm_memopt.lower.rewrite import add_tensor, builtin_operators
from tflm_memopt.model import writer
from tflm_memopt.model.graph import Graph, TensorId
from tflm_memopt.model.names import OFFLINE_PLAN
from tflm_memopt.model.reader import Model


def device_models(source: Model, sharded: DeviceGraphs) -> tuple[bytes, ...]:
    return tuple(_model(source, graph, sharded) for graph in sharded.graphs)


def _model(source: Model, graph: Graph, sharded: DeviceGraphs) -> bytes:
    tree = writer.edit(source)
    main = tree.subgraphs[0]
    originals = list(main.operators)
    for tensor in sorted(graph.tensors.keys() - set(range(len(main.tensors)))):
        add_tensor(tree, graph.tensors[tensor])
    main.operators = [made for op in graph.ops for made in builtin_operators(tree, op, originals)]
    if graph.inputs or graph.outputs:
        replaced = _renamed(tree, graph, sharded.outputs)
        writer.replace_interface(tree, replaced)
    else:
        main.inputs = main.outputs = np.zeros(0, np.int32)
        tree.signatureDefs = []
    writer.drop_unused(tree)
    writer.drop_metadata(tree, OFFLINE_PLAN)  # The plan is for the tensors of the original model.
    return writer.write(tree)


def _renamed(tree: Any, graph: Graph, outputs: Mapping[TensorId, TensorId]) -> dict[TensorId, TensorId]:
    replaced = {old: new for old, new in outputs.items() if old != new}
    for old, new in replaced.items():
        name = graph.tensors[old].name
        writer.rename_tensor(tree, old, f"{name}/whole")
        writer.rename_tensor(tree, new, name)
    return replaced
