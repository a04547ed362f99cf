"""Replays operators that TFLM's own kernels run."""

from collections.abc import Mapping

from tflm_memopt.check.arena import TaggedArena
from tflm_memopt.errors import PlanError
from tflm_memopt.model.graph import TensorId
from tflm_memopt.plan.plan import Role
from tflm_memopt.rowgraph.graph import BuiltinNode, StoredIn


class KernelReplay:
    def __init__(self, arena: TaggedArena, parts: Mapping[TensorId, StoredIn]) -> None:
        self.arena, self.parts = arena, parts

    def run(self, number: int, node: BuiltinNode) -> None:
        """Raise PlanError if a builtin operator could overwrite an input byte before the operator reads the byte."""
        who = f"builtin operator {node.op}"
        scratch = -(-node.scratch // 16) * 16
        self.arena.private(Role.SCRATCH, number, scratch)
        for tensor in node.orders:
            self.access(tensor, who)
        for output in node.outputs:
            for tensor in node.orders:
                self._keeps_apart(node, tensor, output, who)
            if not (node.copies and self._in_place(node, output)):
                self.access(output)
        for tensor in node.inputs:
            if tensor not in node.orders:
                self.access(tensor, who)
        self.arena.private(Role.SCRATCH, number, scratch, reader=lambda _: who)

    def access(self, tensor: TensorId, reader: object = None) -> None:
        """Write all bytes of a tensor, or read all bytes if the name of a reader is given."""
        self.arena.run(*self._run_of(tensor), reader)

    def start(self, tensor: TensorId) -> int:
        return self._run_of(tensor)[1]

    def _run_of(self, tensor: TensorId) -> tuple[TensorId, int, int, int]:
        part = self.parts.get(tensor, StoredIn(tensor))
        nbytes = self.arena.sizes[tensor]
        buffer, start = self.arena.at(Role.TENSOR, part.storage, part.first + nbytes)
        return buffer.key, start + part.first, part.first, nbytes

    def _in_place(self, node: BuiltinNode, output: TensorId) -> bool:
        storage, _, first, nbytes = self._run_of(output)
        others = (self._run_of(t) for t in node.inputs)
        return any(s == storage and f < first + nbytes and first < f + n for s, _, f, n in others)

    def _keeps_apart(self, node: BuiltinNode, tensor: TensorId, output: TensorId, who: str) -> None:
        order, start, end = node.orders[tensor](), self.start(tensor), self.start(output)
        low, high = max(start, end), min(start + len(order.last_read), end + len(order.written))
        if low >= high:
            return
        lost = order.last_read[low - start : high - start] > order.written[low - end : high - end]
        if lost.any():
            raise PlanError(
                f"{who}, tensor {tensor}: byte {low - start + int(lost.argmax())} is overwritten before it is read"
            )
