"""Compare the constants of a rewritten model with those of the original, without running a model.

Each operator of a program is unpacked and compared with the original's operators in the planner's form (RowOp). A
program does not say which operators it stands for. So each of its operators has to equal one of the original's; the
operator that writes its input has to equal the one that writes it in the original; and each operator of the original
has to be found. Constants of builtin operators have to be the same bytes.

Programs have the same constants in several forms: without dead channels, in parts on several devices, or with rows
counted from the last to the first.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from tflm_memopt.convert import annotation, pipeline
from tflm_memopt.errors import UsageError
from tflm_memopt.lower import numbers
from tflm_memopt.lower.numbers import Numbers
from tflm_memopt.lower.program import Program, ProgramOp
from tflm_memopt.lower.serialise import unpack
from tflm_memopt.model.graph import ABSENT, Graph, Quantization, Tensor
from tflm_memopt.model.interface import Changes
from tflm_memopt.model.reader import Model, describe, is_region
from tflm_memopt.ops.kinds import Kind
from tflm_memopt.ops.rowop import RowOp
from tflm_memopt.rewrite.int8_io import int8_io
from tflm_memopt.rowgraph.fold import narrowed
from tflm_memopt.rowgraph.inputs import SLIDING, input_mode
from tflm_memopt.runtime.regions import regions
from tflm_memopt.runtime.verification import ComparedConstants


def compare_constants(original: Model, rewritten: Model, changes: Changes) -> ComparedConstants:
    """Compare all operators of the rewritten model that have constants. changes: changes of the model's interface."""
    known = {region.program for region in regions(original)}
    programs = [unpack(region.program) for region in regions(rewritten) if region.program not in known]
    found = compare_programs(programs, nearest_form(programs, original, changes)) if programs else ComparedConstants()
    equal, different = _builtin(original.graph, rewritten.graph)
    return replace(found, equal=found.equal + equal, different=(*found.different, *different))


def compare_devices(original: Model, devices: Sequence[Model], changes: Changes) -> ComparedConstants:
    """Compare all operators with constants of the models of several devices. Each device may have a part of an original
    operator. changes: changes of the model's interface.
    """
    programs = [unpack(region.program) for model in devices for region in regions(model)]
    return compare_programs(programs, nearest_form(programs, original, changes))


def nearest_form(programs: Sequence[Program], original: Model, changes: Changes) -> Originals:
    """Return the form of the original that equals the most operators of the programs."""
    best, most = Originals(()), -1
    for ops in _originals(original, changes):
        tried = Originals(ops)
        found = [tried.equal(op, numbers.of_program(op, program)) for program in programs for op in _compared(program)]
        if (count := sum(map(bool, found))) > most:
            best, most = tried, count
        if count == len(found):
            break
    return best


def _compared(program: Program) -> Iterator[ProgramOp]:
    return (op for op in program.ops if op.kind not in numbers.NOT_COMPARED)


def _originals(model: Model, changes: Changes) -> Iterator[Sequence[RowOp]]:
    """Yield the original's operators in each form that programs may have: without dead channels, or with them."""
    graph = int8_io(model.graph).graph if changes.inputs or changes.outputs else model.graph
    annotated = annotation.annotate(graph, annotation.left_whole(model))
    forms = [annotated]
    mode = input_mode(changes.input or "arena")
    if mode.where == SLIDING:
        with contextlib.suppress(UsageError):  # the rewritten model has another original
            forms.insert(0, pipeline.slide(annotated, mode)[0])
    for form in forms:
        for fold in (True, False):
            rows = annotation.find_regions(form, fold=fold)
            if rows is not None:
                yield [rows.ops[key] for region in rows.regions for key in region.ops]


Parts = Mapping[bytes, Sequence[tuple[int, RowOp, int]]]
"""Digest of numbers -> operator, its form, and the first output channel of the part with these numbers."""


@dataclass(frozen=True)
class Originals:
    """Operators of the original to compare with."""

    ops: Sequence[RowOp]
    parts: dict[tuple[Kind, int, bool], Parts] = field(default_factory=dict, compare=False)
    """Parts that were looked for: by kind, number of output channels, and whether their constants are packed."""

    @cached_property
    def forms(self) -> Sequence[tuple[int, RowOp]]:
        """Each operator with its number, in both orders of its rows."""
        return [(number, form) for number, op in enumerate(self.ops) for form in _forms(op)]

    @cached_property
    def plain(self) -> Mapping[bytes, Sequence[tuple[int, RowOp]]]:
        """Operators by the digest of their numbers."""
        found = defaultdict(list)
        for number, form in self.forms:
            found[numbers.digest(form.kind, numbers.of_original(form))].append((number, form))
        return found

    @cached_property
    def packed(self) -> Mapping[bytes, Sequence[tuple[int, RowOp]]]:
        """Operators by the digest of their numbers in packed form."""
        found = defaultdict(list)
        for number, form in self.forms:
            found[numbers.digest(form.kind, numbers.of_packed_original(form))].append((number, form))
        return found

    def equal(self, op: ProgramOp, found: Numbers) -> Sequence[tuple[int, RowOp]]:
        """Return the operators that equal a program's operator with these numbers."""
        return (self.packed if op.packing else self.plain).get(numbers.digest(op.kind, found), ())

    def parts_equal_to(self, op: ProgramOp, found: Numbers, channels: int) -> Sequence[tuple[int, RowOp]]:
        """Return the parts of operators that equal a program's operator. channels: number of its output channels."""
        key = op.kind, channels, bool(op.packing)
        if key not in self.parts:
            self.parts[key] = self._parts(*key)
        parts = self.parts[key].get(numbers.digest(op.kind, found), ())
        return [(number, _part(form, at, channels)) for number, form, at in parts]

    def _parts(self, kind: Kind, channels: int, packed: bool) -> Parts:
        found = defaultdict(list)
        expected = numbers.of_packed_original if packed else numbers.of_original
        for number, form in self.forms:
            if form.kind is kind and _is_divisible(form):
                for at in range(form.writes.c - channels + 1):
                    part = numbers.digest(kind, expected(_part(form, at, channels)))
                    found[part].append((number, form, at))
        return found

    def nearest(self, op: ProgramOp, found: Numbers, channels: int) -> tuple[RowOp, Mapping[str, int]] | None:
        """Return the operator, or the part of one, of the same shape that differs least, and how much it differs."""
        same = [form for _, form in self.forms if form.kind is op.kind]
        parts = (
            _part(form, at, channels)
            for form in same
            if _is_divisible(form)
            for at in range(form.writes.c - channels + 1)
            if channels < form.writes.c
        )
        compared = ((form, numbers.differences(found, _expected(op, form))) for form in (*same, *parts))
        alike = [(form, counts) for form, counts in compared if counts is not None]
        return min(alike, key=lambda one: sum(one[1].values()), default=None)


def _expected(op: ProgramOp, form: RowOp) -> Numbers:
    return numbers.of_packed_original(form) if op.packing else numbers.of_original(form)


def _forms(op: RowOp) -> Iterator[RowOp]:
    """Yield the operator, and the same with rows, or rows and pixels, in reverse order."""
    yield op
    axes = op.traits.constants.kernel_axes
    if op.weights is not None and axes:
        for is_reversed in (axes[:1], axes):
            yield replace(op, weights=np.flip(op.weights, is_reversed))
    elif op.constant:
        for is_reversed in ((0,), (0, 1)):
            yield replace(op, constant=replace(op.constant, values=np.flip(op.constant.values, is_reversed)))


def _is_divisible(op: RowOp) -> bool:
    """Return whether a part of the operator can make some of the output channels alone."""
    if op.is_convolution:
        return True
    return (op.is_depthwise or op.is_channelwise) and all(rows.c == op.writes.c for rows in op.reads)


def _part(op: RowOp, first: int, channels: int) -> RowOp:
    """Return the part of an operator that computes output channels [first, first + channels)."""
    every = np.arange(op.writes.c)
    written = (every >= first) & (every < first + channels)
    read = [np.ones(rows.c, np.bool_) if op.is_convolution else written for rows in op.reads]
    return narrowed(op, read, written, op.bias)


def compare_programs(programs: Sequence[Program], originals: Originals) -> ComparedConstants:
    """Compare the operators of programs with those of the original."""
    ops, different, seen, count, unknown = originals.ops, list[str](), set[int](), 0, 0
    for p, program in enumerate(programs):
        equal: dict[int, set[int]] = {}
        for n, op in enumerate(program.ops):
            if op.kind in numbers.NOT_COMPARED:
                continue
            found, where = numbers.of_program(op, program), f"operator {n} of program {p}, {op.kind.name},"
            channels = program.tensors[op.output].channels
            matches = originals.equal(op, found) or originals.parts_equal_to(op, found, channels)
            if not matches:
                near = originals.nearest(op, found, channels)
                unknown += near is None
                different += [f"{where} is not '{near[0].name}' of the original: {_told(near[1])}"] if near else []
                continue
            if not any(numbers.filled(form, op, program) for _, form in matches):
                different.append(f"{where} differs in the padding of its packing or in its rounding constants")
            equal[n] = {number for number, _ in matches}
            seen |= equal[n]
            count += bool(found.keys() & numbers.CONSTANTS)
        different += _elsewhere(p, program, equal, ops)
    summed = any(op.kind is numbers.SUMMED for program in programs for op in program.ops)
    missing = [op for number, op in enumerate(ops) if number not in seen and op.kind not in numbers.NOT_COMPARED]
    if summed:  # several devices add up its products, in a form that is not compared
        unknown += len(missing)
    elif not different and not unknown:
        different += [f"{op.name} of the original is in no program" for op in missing]
    return ComparedConstants(count, unknown, tuple(different))


def _told(counts: Mapping[str, int]) -> str:
    """Describe the numbers that differ.

    >>> _told({"weights": 3, "biases": 1})
    '3 weights and 1 biases differ'
    """
    return " and ".join(f"{count:,} {name}" for name, count in counts.items()) + " differ"


def _elsewhere(p: int, program: Program, equal: Mapping[int, set[int]], ops: Sequence[RowOp]) -> Iterator[str]:
    """Describe operators that equal an operator of the original but whose input has another writer there."""
    for n, makers in _makers(program):
        if n in equal and makers and makers <= equal.keys():
            made = {ops[number].output for maker in makers for number in equal[maker]}
            if not any(made & set(ops[number].inputs) for number in equal[n]):
                yield f"operator {n} of program {p} has other inputs than in the original"


def _makers(program: Program) -> Iterator[tuple[int, set[int]]]:
    """For each input of each operator, yield the earlier operators that write its bytes. Buffers may share bytes."""
    places = [(t.base, t.offset, t.column_windows, t.height * t.width * t.channels) for t in program.tensors]
    written = defaultdict[object, set[int]](set)
    for n, op in enumerate(program.ops):
        yield from ((n, set(written[places[t]])) for t in op.inputs)
        written[places[op.output]].add(n)


def _builtin(before: Graph, after: Graph) -> tuple[int, list[str]]:
    """Return the number of builtin operators with their original constants, and descriptions of the others."""
    known = {(op.type, before.tensors[op.outputs[0]].name): op for op in before.ops if op.outputs}
    equal, different = 0, []
    for op in after.ops:
        old = None if is_region(op) or not op.outputs else known.get((op.type, after.tensors[op.outputs[0]].name))
        if old is None or len(old.inputs) != len(op.inputs):
            continue
        pairs = [
            (before.tensors[a], after.tensors[b])
            for a, b in zip(old.inputs, op.inputs, strict=True)
            if ABSENT not in (a, b) and after.tensors[b].constant and before.tensors[a].constant
        ]
        if any(kept.shape != new.shape for kept, new in pairs):
            continue  # a part of the original's operator
        wrong = [new for kept, new in pairs if _constant(kept) != _constant(new)]
        different += [f"builtin {describe(op)}: constant '{new.label}' differs" for new in wrong]
        equal += bool(pairs) and not wrong
    return equal, different


def _constant(tensor: Tensor) -> tuple[bytes, Quantization | None]:
    return b"" if tensor.data is None else tensor.data.tobytes(), tensor.quantization
