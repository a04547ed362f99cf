"""Compares the constants of a rewritten model with those of the original, without running a model.

Each operator of a program must have the weights, biases and scales of an original operator, and vice versa. Two
operators match only if the operators that compute their inputs match, too. Programs may store constants without dead
channels, divided among devices, or with rows in reverse order.
"""

from __future__ import annotations

import contextlib
import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from tflm_memopt.convert import annotation
from tflm_memopt.errors import UsageError
from tflm_memopt.lower import numbers
from tflm_memopt.lower.numbers import Numbers
from tflm_memopt.lower.program import Program, ProgramOp
from tflm_memopt.lower.serialise import unpack
from tflm_memopt.model.graph import ABSENT, Graph, Op, Quantization, Tensor, TensorId, without_dead
from tflm_memopt.model.interface import Changes
from tflm_memopt.model.reader import Model, describe, is_region
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.rewrite.int8_io import int8_io
from tflm_memopt.rewrite.known import with_known
from tflm_memopt.rowgraph.fold import narrowed, narrowed_model
from tflm_memopt.rowgraph.inputs import SLIDING, InputMode, input_mode
from tflm_memopt.rowgraph.sliding import with_sliding
from tflm_memopt.rowgraph.supported import AnnotatedGraph
from tflm_memopt.runtime.regions import regions
from tflm_memopt.runtime.verification import ComparedConstants


def compare_constants(original: Model, rewritten: Model, changes: Changes) -> ComparedConstants:
    """Compare the constants of a rewritten model with those of the original model."""
    known = {region.program for region in regions(original)}
    programs = [unpack(region.program) for region in regions(rewritten) if region.program not in known]
    found = compare_programs(programs, nearest_form(programs, original, changes)) if programs else ComparedConstants()
    equal, different = _builtin(original.graph, rewritten.graph)
    return replace(found, equal=found.equal + equal, different=(*found.different, *different))


def compare_devices(original: Model, devices: Sequence[Model], changes: Changes) -> ComparedConstants:
    """Compare the constants of several devices' models with those of the original model."""
    programs = [unpack(region.program) for model in devices for region in regions(model)]
    return compare_programs(programs, nearest_form(programs, original, changes, parts=True))


def nearest_form(programs: Sequence[Program], original: Model, changes: Changes, *, parts: bool = False) -> Originals:
    """Return the operators of the original model, with constants in the form that resembles the constants of the
    programs most.

    The argument `parts` is true if the programs are parts of one model on several devices.
    """
    best, least = Originals(()), math.inf
    for ops in (_before_split if parts else _originals)(original, changes):
        tried = Originals(ops)
        found = compare_programs(programs, tried, parts=parts, explain=False)
        if (unlike := found.unknown + len(found.different)) < least:
            best, least = tried, unlike
        if not unlike:
            break
    return best


def _originals(model: Model, changes: Changes) -> Iterator[Sequence[RowOp]]:
    mode = input_mode(changes.input or "arena")
    annotated = annotation.annotate(_read(model, changes), annotation.left_whole(model), sliding=mode.where == SLIDING)
    for form in _forms_in_time(annotated, mode):
        for fold in (True, False):
            yield _row_ops(form, fold=fold)


def _before_split(model: Model, changes: Changes) -> Iterator[Sequence[RowOp]]:
    whole = _read(model, changes)
    for graph in (narrowed_model(without_dead(with_known(whole))), whole):
        yield _row_ops(annotation.annotate(graph, annotation.left_whole(model)), fold=False)


def _read(model: Model, changes: Changes) -> Graph:
    return int8_io(model.graph).graph if changes.inputs or changes.outputs else model.graph


def _row_ops(annotated: AnnotatedGraph, *, fold: bool) -> Sequence[RowOp]:
    rows = annotation.find_regions(annotated, fold=fold)
    return [rows.ops[key] for region in rows.regions for key in region.ops] if rows else []


def _forms_in_time(annotated: AnnotatedGraph, mode: InputMode) -> Iterator[AnnotatedGraph]:
    """If the input slides, yield several graphs, in which fewer and fewer layers keep rows. At the end, yield the
    unchanged graph.
    """
    for layers in (None, *reversed(range(len(annotated.graph.ops)))) if mode.where == SLIDING else ():
        with contextlib.suppress(UsageError):  # raised if the user gave the wrong original model
            yield with_sliding(annotated, mode.rows, layers)[0]
    yield annotated


@dataclass(frozen=True)
class Originals:
    ops: Sequence[RowOp]
    known: dict[tuple[numbers.ConstantForm, int], Mapping[bytes, set[int]]] = field(default_factory=dict, compare=False)
    """Maps the hash of constants to the indices of the original operators that have these constants."""
    ends: dict[int, set[int]] = field(default_factory=dict, compare=False)
    """For an operator (by its index) whose output channels are divided among devices, the channels at which the parts
    end.
    """

    @cached_property
    def forms(self) -> Sequence[tuple[int, RowOp]]:
        """Pairs of an index and an operator. Programs can store the constants of one operator in several forms, so an
        index can have several pairs.
        """
        return [(number, form) for number, op in enumerate(self.ops) for form in _forms(op)]

    def equal(self, op: ProgramOp, program: Program) -> set[int]:
        key = numbers.form_of(op, program), program.target
        if key not in self.known:
            found = defaultdict[bytes, set[int]](set)
            for number, _, expected in self._numbers(*key):
                found[numbers.digest(expected)].add(number)
            self.known[key] = found
        return self.known[key].get(numbers.digest(numbers.of_program(op, program)), set())

    def equal_parts(self, op: ProgramOp, program: Program) -> set[int]:
        form, found = numbers.form_of(op, program), numbers.digest(numbers.of_program(op, program))
        channels = program.tensors[op.output].channels
        for begins in (self.ends, None):
            parts = self._numbers(form, program.target, channels, begins)
            equal = [(number, end) for number, end, expected in parts if numbers.digest(expected) == found]
            if equal:
                break
        for number, end in equal:
            self.ends.setdefault(number, set()).add(end)
        return {number for number, _ in equal}

    def _numbers(
        self, form: numbers.ConstantForm, target: int, channels: int = 0, begins: Mapping[int, set[int]] | None = None
    ) -> Iterator[tuple[int, int, Numbers]]:
        for number, op in self.forms:
            if op.kind is not form.kind:
                continue
            first = None if begins is None else {0, *begins.get(number, ())}
            for end, part in _parts(op, channels, first):
                if (expected := numbers.of_original(part, form, target)) is not None:
                    yield number, end, expected

    def nearest(self, op: ProgramOp, program: Program) -> tuple[RowOp, Mapping[str, int]] | None:
        """Return the original operator with the fewest other constants than `op`, and how many constants of each array
        differ. Return None if most constants differ, because `op` then comes from an operator in an unknown form.
        """
        form, found = numbers.form_of(op, program), numbers.of_program(op, program)
        most = sum(array.size for array in found.values()) // 2
        channels = program.tensors[op.output].channels
        compared = (
            (self.ops[number], numbers.differences(found, expected))
            for each in (0, channels)
            for number, _, expected in self._numbers(form, program.target, each)
        )
        alike = [(near, counts) for near, counts in compared if counts is not None and sum(counts.values()) <= most]
        return min(alike, key=lambda one: sum(one[1].values()), default=None)


def _forms(op: RowOp) -> Iterator[RowOp]:
    yield op
    axes = op.traits.constants.kernel_axes
    if op.weights is not None and any(op.weights.shape[axis] > 1 for axis in axes):
        # A device that computes one row of a feature map may store weights with exchanged height and width.
        weights = op.weights.swapaxes(*axes)
        transposed = replace(op, window=op.window.transposed, weights=weights)
        yield transposed
        for form, values in ((op, op.weights), (transposed, weights)):
            for reversed_axes in (axes[:1], axes):
                yield replace(form, weights=np.flip(values, reversed_axes))
    elif op.constant:
        for is_reversed in ((0,), (0, 1)):
            yield replace(op, constant=replace(op.constant, values=np.flip(op.constant.values, is_reversed)))


def _parts(op: RowOp, channels: int, begins: Collection[int] | None) -> Iterator[tuple[int, RowOp]]:
    if not channels:
        yield op.writes.c, op
    elif op.is_convolution or (
        (op.is_depthwise or op.is_channelwise) and all(rows.c == op.writes.c for rows in op.reads)
    ):
        every = np.arange(op.writes.c)
        for first in range(op.writes.c - channels + 1):
            if begins is not None and first not in begins:
                continue
            written = (every >= first) & (every < first + channels)
            read = [np.ones(rows.c, np.bool_) if op.is_convolution else written for rows in op.reads]
            yield first + channels, narrowed(op, read, written, op.bias)


def compare_programs(
    programs: Sequence[Program], originals: Originals, *, parts: bool = True, explain: bool = True
) -> ComparedConstants:
    """If `parts` is true, operators may be parts of original operators. If `explain` is false, an operator whose
    constants differ from those of every original operator counts as unknown.
    """
    ops, different, seen, count, unknown = originals.ops, list[str](), set[int](), 0, 0
    for p, program in enumerate(programs):
        equal: dict[int, set[int]] = {}
        for n, op in enumerate(program.ops):
            if op.kind in numbers.NOT_COMPARED:
                continue
            matches = originals.equal(op, program) or (originals.equal_parts(op, program) if parts else set())
            if not matches:
                near = originals.nearest(op, program) if explain else None
                unknown += near is None
                if near:
                    counts = " and ".join(f"{count:,} {name}" for name, count in near[1].items())
                    where = f"operator {n} of program {p}, {op.kind.name},"
                    different.append(f"{where} is not '{near[0].name}' of the original: {counts} differ")
                continue
            equal[n] = matches
            seen |= matches
            count += bool(numbers.of_program(op, program).keys() & numbers.CONSTANTS)
        different += _elsewhere(p, program, equal, ops)
    missing = [op for n, op in enumerate(ops) if n not in seen and op.kind not in numbers.NOT_COMPARED]
    # Constants of partial sums cannot be compared with the original operator.
    if any(op.kind is numbers.SUMMED for program in programs for op in program.ops):
        unknown += len(missing)
    elif not different and not unknown:
        different += [f"{op.name} of the original is in no program" for op in missing]
    return ComparedConstants(count, unknown, tuple(different))


def _elsewhere(p: int, program: Program, equal: Mapping[int, set[int]], ops: Sequence[RowOp]) -> Iterator[str]:
    copied = _copied(ops)
    for n, makers in _makers(program):
        if n in equal and makers and makers <= equal.keys():
            made = {ops[number].output for maker in makers for number in equal[maker]}
            if not any(made & copied.get(t, {t}) for number in equal[n] for t in ops[number].inputs):
                yield f"operator {n} of program {p} has other inputs than in the original"


def _copied(ops: Sequence[RowOp]) -> Mapping[TensorId, set[TensorId]]:
    """Map the output of each operator without constants to itself and all tensors from which its values come.

    A program may copy values between two operators that are directly connected in another program.
    """
    found: dict[TensorId, set[TensorId]] = {}
    for op in ops:
        if op.kind in numbers.NOT_COMPARED:
            found[op.output] = {op.output}.union(*(found.get(t, {t}) for t in op.inputs))
    return found


def _makers(program: Program) -> Iterator[tuple[int, set[int]]]:
    places = [(t.base, t.offset, t.column_windows, t.height * t.width * t.channels) for t in program.tensors]
    written = defaultdict[object, set[int]](set)
    for n, op in enumerate(program.ops):
        yield from ((n, set(written[places[t]])) for t in op.inputs)
        written[places[op.output]].add(n)


def _builtin(before: Graph, after: Graph) -> tuple[int, list[str]]:
    known = defaultdict[tuple[str, str], list[Op]](list)
    for op in before.ops:
        if op.outputs:
            known[op.type, before.tensors[op.outputs[0]].name].append(op)
    equal, different = 0, []
    for op in after.ops:
        alike = [] if is_region(op) or not op.outputs else known[op.type, after.tensors[op.outputs[0]].name]
        wrong = [found for old in alike if (found := _wrong_constants(before, old, after, op)) is not None]
        if wrong:  # Several original operators may have an output with the same name.
            fewest = min(wrong, key=len)
            different += [f"builtin {describe(op)}: constant '{tensor.label}' differs" for tensor in fewest]
            equal += not fewest
    return equal, different


def _wrong_constants(before: Graph, old: Op, after: Graph, op: Op) -> list[Tensor] | None:
    """Return the constants of `op` that differ from the constants of `old`, or None if no constants can be compared."""
    if len(old.inputs) != len(op.inputs):
        return None
    pairs = [
        (before.tensors[a], after.tensors[b])
        for a, b in zip(old.inputs, op.inputs, strict=True)
        if ABSENT not in (a, b) and after.tensors[b].constant and before.tensors[a].constant
    ]
    if not pairs or any(kept.shape != new.shape for kept, new in pairs):
        return None  # `op` computes only a part of an original operator.
    return [new for kept, new in pairs if _constant(kept) != _constant(new)]


def _constant(tensor: Tensor) -> tuple[bytes, Quantization | None]:
    return b"" if tensor.data is None else tensor.data.tobytes(), tensor.quantization
