"""Replays a group that runs row by row. Each iteration reads whole rows, and writes a row or adds to sums."""

from tflm_memopt.check.nest import StageNest
from tflm_memopt.check.replay import NO_OUTPUT, GroupReplay, Output
from tflm_memopt.check.windows import moved
from tflm_memopt.errors import PlanError


class RowReplay(GroupReplay):
    """Replays one group that runs row by row, such as any group with states, messages or two cores."""

    counter_bytes = 2

    def _output(self, step: StageNest) -> Output:
        op, nbytes = step.op, step.op.writes.row_bytes
        if op.scatters:
            return Output(-1, lambda: self._scatter(step))
        if op.leaves or (step.stage.iterative and step.done < len(step) - 1):
            return NO_OUTPUT
        row = 0 if step.stage.iterative else step.done
        at = self.arena.span(op.output, row, nbytes)
        return Output(at + nbytes - 1, lambda: self.arena.write(op.output, row, nbytes))

    def _scatter(self, step: StageNest) -> None:
        """Replay an iteration that changes some bytes of an output of one row and keeps all other bytes."""
        if step.done:
            self.arena.read_rows(step.op.output, 0, 1, step.op.writes.row_bytes, step)
        self.arena.write(step.op.output, 0, step.op.writes.row_bytes)

    def _read(self, step: StageNest) -> None:
        """Replay the reads of an iteration. Bytes that a COPY does not move may be overwritten before the reads."""
        op, moves = step.op, step.op.moves is not None and not step.op.scatters
        inside = [k for k, t in enumerate(op.inputs) if t not in self.states and not op.receives]
        for k in inside:
            rows, nbytes = step.reads()[k][0], op.reads[k].row_bytes
            if self.source.is_source(op.inputs[k]):
                for row in rows:
                    if (at := self.source.address(row)) is not None:
                        self.arena.read_run(op.inputs[k], at, row * nbytes, nbytes, step)
            elif not moves:
                self.arena.read_rows(op.inputs[k], rows.start, rows.stop, nbytes, step)
        for k, row, part in moved(op, step.done) if moves else ():  # The list `inside` contains no constant operand.
            if k in inside and not self.source.is_source(op.inputs[k]):
                self.arena.read_part(op.inputs[k], row, op.reads[k].row_bytes, part, step)

    def _taken_in(self, step: StageNest, k: int, rows: range) -> int:
        taps = rows[:: step.op.window.dilation_h] if k == 0 else rows
        return len(taps) * step.op.reads[k].row_bytes

    def _in_order(self, step: StageNest) -> None:
        """Raise PlanError if the output starts inside an input row, or overlaps a row that is read again."""
        op, row, nbytes = step.op, step.done, step.op.writes.row_bytes
        to = self.arena.span(op.output, row, nbytes)
        for tensor, seen in zip(op.inputs, op.reads, strict=True):
            if tensor in self.states:
                continue
            y, long = min(row, seen.h - 1), seen.row_bytes
            at = self.source.address(y) if self.source.is_source(tensor) else self.arena.span(tensor, y, long)
            if at is None:
                continue
            if at < to < at + long or (long < nbytes and to <= at < to + nbytes):
                raise PlanError(
                    f"{step}: the output starts {to - at} bytes after the start of tensor {tensor} that it replaces"
                )
