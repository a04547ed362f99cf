"""Test the memory maps of TFLM's layout and of the plan."""

import itertools
from pathlib import Path

from tflm_memopt.model.calls import called
from tflm_memopt.model.graph import Graph
from tflm_memopt.model.reader import read
from tflm_memopt.plan import memory_map
from tflm_memopt.plan.memory_map import MemoryMap
from tflm_memopt.tflm.arena import predict


def disjoint(memory: MemoryMap) -> bool:
    return not any(
        a.first < b.last and b.first < a.last and a.offset < b.offset + b.nbytes and b.offset < a.offset + a.nbytes
        for a, b in itertools.combinations(memory.buffers, 2)
    )


def test_tflms_layout_is_the_head_that_is_predicted(real_model: Path) -> None:
    model = read(real_model.read_bytes())
    arena = predict(model)
    memory = memory_map.of_tflm(model, "ilp32")
    assert (memory.head, memory.tail) == (arena.head, arena.tail)
    top = max(b.offset + b.nbytes for b in memory.buffers)
    assert memory.head - 16 < top <= memory.head
    assert memory.bound <= memory.head
    assert disjoint(memory)

    def runs(graph: Graph) -> int:
        return len(graph.ops) + sum(1 + runs(model.graphs[n]) for op in graph.ops for n in called(op))

    assert len(memory.live) == len(memory.phases) == runs(model.graph)
